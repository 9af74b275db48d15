"""Every recorded reply is whole, says truly where it comes from, and is asked for by some test.

The dream's and the selection's recordings are played where their cases are told
(`test_dream_recorded.py`, `test_prefetch.py`), with the same demand: none is left over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.evaluation.manner import SECOND_READER
from pipeline.evaluation.suite import MANNERS, Session, sessions
from pipeline.llm.cassette import cassette_name, load
from pipeline.llm.request import Message, Request, request_digest
from tests.support import dream_cases, select_cases
from tests.support.readings import ALWAYS, played

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CASSETTES = sorted(FIXTURES.rglob("cassettes*/**/*.json"))
AT_THE_API: tuple[str, ...] = ()
"""Folders of `fixtures/` whose recordings were made at the API itself: none yet. A cassette can be edited
by hand, so its own word for it (``origin``) is believed only when it is repeated here."""
IN_PIECES = 3
PLAYED = {
    f"{session.folder.relative_to(FIXTURES).as_posix()}/{recordings.name}": (session, manner, pieces)
    for session in (*sessions(FIXTURES / "eval"), Session(FIXTURES / "demo"))
    for manner, pieces in (("", 1), ("", IN_PIECES), *((manner, 1) for manner in MANNERS))
    if (recordings := session.recordings(manner=manner, pieces=pieces)).is_dir()
}
"""What is played here: a folder of recordings → its session, the manner of replies, in how many pieces."""
PLAYED_ELSEWHERE = {
    *(f"dream/cassettes/{case}" for case in dream_cases.CASES),
    *(f"select/cassettes/{case}" for case in select_cases.CASES),
    "permissions/cassettes",
    "procedures/cassettes",
    "permissions/held_back/cassettes",
    *(f"pairs/cassettes/{folder.name}" for folder in (FIXTURES / "pairs" / "cassettes").iterdir()),
}


def place(file: Path) -> str:
    return file.relative_to(FIXTURES).as_posix()


FOLDERS: dict[str, list[Path]] = {}
for _file in CASSETTES:
    FOLDERS.setdefault(place(_file.parent), []).append(_file)
"""Each folder of recordings and its files."""


def request_of(value: dict[str, Any]) -> Request:
    """Return the request that a cassette holds, as it was sent."""
    sent = value["request"]
    messages = tuple(Message(m["role"], "\n".join(m["content"])) for m in sent["messages"])
    return Request(value["purpose"], sent["model"], "\n".join(sent["system"]), messages, sent["max_tokens"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_cassette_stands_under_the_digest_of_its_own_request(folder: str) -> None:
    for file in FOLDERS[folder]:
        value = json.loads(file.read_bytes())
        assert value["digest"] == request_digest(request_of(value), value["request"]["schema"]), file
        assert file.name == cassette_name(value["purpose"], value["digest"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_cassette_says_truly_who_replied(folder: str) -> None:
    for file in FOLDERS[folder]:
        origin = json.loads(file.read_bytes())["origin"]
        assert origin in ("api", "transcribed", "synthetic"), file
        assert (origin == "api") == place(file).startswith(AT_THE_API), file
        # Only the API counts its tokens; whoever stands in for it can but estimate them.
        assert load(file).reply.usage.estimated == (origin != "api"), file


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_reply_that_is_wrong_on_purpose_says_so(folder: str) -> None:
    for file in FOLDERS[folder]:
        value = json.loads(file.read_bytes())
        folder_manner = file.parent.name.removeprefix("cassettes-")
        first_reader = value["purpose"].startswith("extract.") and value["purpose"] != SECOND_READER
        wanted = folder_manner if folder_manner in MANNERS and first_reader else None
        assert value.get("manner") == wanted, file


def test_every_folder_of_recordings_is_played_by_a_test() -> None:
    assert set(FOLDERS) == {*PLAYED, *PLAYED_ELSEWHERE}


SWEEP = [
    pytest.param(folder, marks=[] if session.name in ALWAYS else [pytest.mark.whole])
    for folder, (session, _, _) in PLAYED.items()
]


@pytest.mark.parametrize("folder", SWEEP)
def test_every_recording_of_a_session_is_played(folder: str) -> None:
    session, manner, pieces = PLAYED[folder]
    found = played(session, manner=manner, pieces=pieces)
    assert [item.word for item in found.reading.outcomes if item.word.startswith("failed")] == []
    assert found.unplayed == [[]]
