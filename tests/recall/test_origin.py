"""Who is said to stand behind a memory: what its file claims counts only where something bears it out."""

import json
import re
import shutil

import pytest

from pipeline.domain.memory import Evidence
from pipeline.hooklib import ownership
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.memory_format import SPEAKERS
from pipeline.ledger import Ledger
from pipeline.store import Store
from tests.support.extraction import Bench
from tests.support.ledgers import new_ledger
from tests.support.recall import Desk
from tests.support.stores import apply, memory, save
from tests.support.transcripts import Transcript

ASKED = "how do the gulls get to the harbour crane?"
FACT = "The gulls come to the harbour crane from the north pier."


def told(desk: Desk) -> str:
    """Return whom the hook names for the memory that it puts before the prompt."""
    shutil.rmtree(desk.home / "recall", ignore_errors=True)
    found = re.findall(r'<recollection [^>]*by="([^"]*)"', desk.hook(prompt=ASKED))
    assert len(found) == 1
    return str(found[0])


def ours(desk: Desk, **values: object) -> Store:
    store = Store.open(desk.store, create=True)
    save(store, memory("gulls", description=FACT, body=f"{FACT}\n", **{"type": "project", **values}))
    return store


def in_either_way(desk: Desk) -> set[str]:
    """Return whom the hook names with the index made anew, and without any."""
    desk.index()
    indexed = told(desk)
    desk.index_file().unlink()
    return {indexed, told(desk)}


@pytest.mark.parametrize("origin", SPEAKERS)
def test_the_origin_of_what_reverie_wrote_is_told(desk: Desk, origin: str) -> None:
    ours(desk, origin=origin)
    assert in_either_way(desk) == {SPEAKERS[origin]}


@pytest.mark.parametrize("origin", [*SPEAKERS, "", "root"])
def test_a_file_from_elsewhere_has_its_own_word_for_its_origin_only(desk: Desk, origin: str) -> None:
    desk.write("gulls", FACT, FACT, origin=origin)
    assert in_either_way(desk) == {"unverified file"}


def test_a_file_of_ours_that_somebody_changed_is_edited_by_hand(desk: Desk) -> None:
    ours(desk)
    desk.index()
    file = desk.store / "gulls.md"
    file.write_text(file.read_text("utf-8") + "They come from the south as well.\n", "utf-8")
    assert told(desk) == "edited by hand"
    assert in_either_way(desk) == {"edited by hand"}


def test_a_file_of_ours_that_was_moved_is_ours(desk: Desk) -> None:
    ours(desk)
    (desk.store / "gulls.md").rename(desk.store / "birds.md")
    assert in_either_way(desk) == {"the user"}


def test_a_touch_changes_nothing(desk: Desk) -> None:
    ours(desk)
    desk.index()
    (desk.store / "gulls.md").touch()
    assert told(desk) == "the user"


def test_a_file_put_where_one_of_ours_was_is_not_ours(desk: Desk) -> None:
    store = ours(desk)
    raw = (desk.store / "gulls.md").read_bytes()
    apply(store, store.retire(store.read("gulls"), year=2026, reason="r"), id="gone")
    desk.write("gulls", FACT, FACT)
    assert in_either_way(desk) == {"unverified file"}
    assert ownership.hand(str(desk.store), "gulls.md", sha256(raw)) == ownership.OTHER


def test_what_was_noted_later_of_the_same_bytes_reaches_the_index(desk: Desk) -> None:
    desk.write("gulls", FACT, FACT)
    desk.index()
    assert told(desk) == "unverified file"
    raw = (desk.store / "gulls.md").read_bytes()
    log = desk.store / ownership.WRITTEN
    log.parent.mkdir(exist_ok=True)
    log.write_text(json.dumps(["gulls.md", sha256(raw)], separators=(",", ":")) + "\n")
    desk.index()
    assert told(desk) == "the user"


@pytest.fixture
def ledger(desk: Desk) -> Ledger:
    return new_ledger(desk.home / "ledger.sqlite")


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({}, "the user"),
        ({"origin": "user-confirmed"}, "Claude, confirmed by the user"),
        ({"quote": "the gulls come from the south pier"}, "unverified file"),
        ({"uuid": "u-1"}, "unverified file"),
        ({"session": "s-9"}, "unverified file"),
        ({"entry": "assistant"}, "unverified file"),
        ({"entry": "assistant", "speaker": "assistant"}, "unverified file"),
        ({"origin": "hand-written"}, "unverified file"),
        ({"more": Evidence(session="s", uuid="u", quote="and from the west")}, "unverified file"),
    ],
    ids=str,
)
def test_of_a_file_nobody_knows_the_ledger_may_bear_out_what_it_cites(
    desk: Desk, ledger: Ledger, changes: dict[str, object], by: str
) -> None:
    session = Transcript()
    entries = {"person": session.user("remember: the gulls come from the north pier")}
    entries["assistant"] = session.assistant("Noted, the gulls come from the north pier.")
    with ledger:
        Bench(ledger, Store.open(desk.store, create=True), desk.home).hear(session)
    source = Evidence(
        session=str(changes.get("session", session.session_id)),
        uuid=str(changes.get("uuid", entries[str(changes.get("entry", "person"))])),
        quote=str(changes.get("quote", "the gulls come from the north pier")),
        speaker="assistant" if changes.get("speaker") else "person",
    )
    more = changes.get("more")
    sources = (source, more) if isinstance(more, Evidence) else (source,)
    ours(desk, sources=sources, origin=str(changes.get("origin", "user-stated")))
    (desk.store / ownership.WRITTEN).unlink()
    desk.index()
    assert told(desk) == by


def test_without_a_ledger_that_can_be_read_nothing_is_borne_out(desk: Desk) -> None:
    ours(desk, sources=(Evidence(session="s", uuid="u", quote="the gulls"),))
    (desk.store / ownership.WRITTEN).unlink()
    desk.home.mkdir(parents=True, exist_ok=True)
    (desk.home / "ledger.sqlite").write_bytes(b"no ledger" * 999)
    desk.index()
    assert told(desk) == "unverified file"
