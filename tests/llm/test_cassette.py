import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import CassetteError, OverloadedError
from pipeline.llm.budget import Usage
from pipeline.llm.cassette import RecordProvider, ReplayProvider, encode, in_words, is_replayed
from pipeline.llm.fakes import ScriptedProvider
from pipeline.llm.request import Message, RawReply, Request

SCHEMA: dict[str, Any] = {"type": "object"}
REPLY = RawReply('{"memories": []}\n\n', "refusal", Usage(5, 6, 7, 8), "anthropic", "claude-haiku-4-5")


def request(text: str = "line one\r\nline two\n", purpose: str = "extract turn") -> Request:
    return Request(purpose, "claude-haiku-4-5", "The rules.\n", (Message("user", text),), 500)


def record(folder: Path, *requests: Request) -> None:
    for each in requests:
        RecordProvider(ScriptedProvider([REPLY]), folder).send(each, SCHEMA)


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    record(tmp_path, request())
    reply = ReplayProvider(tmp_path).send(request(), SCHEMA)
    assert (reply.text, reply.stop_reason, reply.usage) == (REPLY.text, REPLY.stop_reason, REPLY.usage)
    assert (reply.provider, reply.model) == ("replay", "claude-haiku-4-5")


def test_the_file_reads_well(tmp_path: Path) -> None:
    record(tmp_path, request())
    [file] = tmp_path.iterdir()
    kept = json.loads(file.read_text("utf-8"))
    assert file.name == f"extract-turn-{kept['digest'][:12]}.json"
    assert kept["format"] == 1 and kept["origin"] == "api" and kept["purpose"] == "extract turn"
    assert kept["request"]["messages"] == [{"role": "user", "content": ["line one\r", "line two", ""]}]
    assert kept["request"]["schema"] == SCHEMA and kept["reply"]["usage"]["estimated"] is False


def test_answers_given_by_hand_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_RECORD_ORIGIN", "transcribed")
    record(tmp_path, request())
    kept = json.loads(next(tmp_path.iterdir()).read_text("utf-8"))
    assert (kept["origin"], kept["reply"]["usage"]["estimated"]) == ("transcribed", True)


def test_a_miss_names_the_digest_and_the_nearest_recordings(tmp_path: Path) -> None:
    record(tmp_path, request("a"), request("b", "dream"))
    with pytest.raises(CassetteError) as caught:
        ReplayProvider(tmp_path).send(request("c"), SCHEMA)
    near = next(file.name for file in tmp_path.iterdir() if file.name.startswith("extract"))
    assert near in str(caught.value) and "dream-" not in str(caught.value)


@pytest.mark.parametrize("change", [{"schema": {"type": "array"}}, {"text": "line one"}])
def test_any_difference_is_a_miss(tmp_path: Path, change: dict[str, Any]) -> None:
    record(tmp_path, request())
    asked = request(change.get("text", "line one\r\nline two\n"))
    with pytest.raises(CassetteError):
        ReplayProvider(tmp_path).send(asked, change.get("schema", SCHEMA))


def test_what_was_not_played_is_listed(tmp_path: Path) -> None:
    record(tmp_path, request("a"), request("b"), request("c"))
    replay = ReplayProvider(tmp_path)
    replay.send(request("b"), SCHEMA)
    assert len(replay.unplayed()) == 2
    for text in "acab":
        replay.send(request(text), SCHEMA)
    assert replay.unplayed() == []


def test_a_recording_is_never_overwritten_or_asked_twice(tmp_path: Path) -> None:
    record(tmp_path, request())
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    inner = ScriptedProvider(["another answer"])
    assert RecordProvider(inner, tmp_path).send(request(), SCHEMA).text == REPLY.text
    assert inner.history == []
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_errors_are_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(OverloadedError):
        RecordProvider(ScriptedProvider([OverloadedError()]), tmp_path).send(request(), SCHEMA)
    assert list(tmp_path.iterdir()) == []


def test_secrets_are_scrubbed_and_the_recording_still_plays(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    record(tmp_path, request(f"my token is {secret}"))
    assert secret not in next(tmp_path.iterdir()).read_text("utf-8")
    assert ReplayProvider(tmp_path).send(request(f"my token is {secret}"), SCHEMA).text == REPLY.text


def test_the_same_call_gives_the_same_bytes() -> None:
    assert encode(request(), SCHEMA, REPLY, origin="api") == encode(request(), SCHEMA, REPLY, origin="api")


def _good() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(encode(request(), SCHEMA, REPLY, origin="synthetic"))
    return kept


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        json.dumps({**_good(), "format": 2}),
        json.dumps({**_good(), "origin": "dreamt"}),
        json.dumps({**_good(), "reply": {"text": ["x"]}}),
    ],
)
def test_a_file_that_is_no_cassette_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text, "utf-8")
    with pytest.raises(CassetteError, match=r"x\.json"):
        ReplayProvider(tmp_path)


def test_two_recordings_of_one_call_and_a_missing_folder_are_errors(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(_good()), "utf-8")
    with pytest.raises(CassetteError, match=r"b\.json.*a\.json"):
        ReplayProvider(tmp_path)
    with pytest.raises(CassetteError, match="nowhere"):
        ReplayProvider(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("origin", "named", "words"),
    [
        ("api", "replay", "replayed from a recording made at the API"),
        (
            "transcribed",
            "replay (transcribed)",
            "replayed from a recording copied from a model's chat, no API",
        ),
        ("synthetic", "replay (synthetic)", "replayed from a recording written by hand"),
    ],
)
def test_a_replayed_reply_says_where_it_came_from(
    tmp_path: Path, origin: Any, named: str, words: str
) -> None:
    (tmp_path / "x.json").write_bytes(encode(request(), SCHEMA, REPLY, origin=origin))
    replay = ReplayProvider(tmp_path)
    assert (replay.name, replay.send(request(), SCHEMA).provider, in_words(named)) == (named, named, words)
    assert is_replayed(named)


def test_a_folder_of_several_origins_says_so(tmp_path: Path) -> None:
    for text, origin in (("a", "api"), ("b", "transcribed")):
        (tmp_path / f"{text}.json").write_bytes(encode(request(text), SCHEMA, REPLY, origin=origin))  # type: ignore[arg-type]
    assert in_words(ReplayProvider(tmp_path).name) == "replayed from a recording of several origins"


def test_what_is_transcribed_while_it_is_recorded_says_so_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_RECORD_ORIGIN", "transcribed")
    reply = RecordProvider(ScriptedProvider([REPLY]), tmp_path).send(request(), SCHEMA)
    assert in_words(reply.provider) == "copied from a model's chat, no API" and not is_replayed(
        reply.provider
    )


@pytest.mark.parametrize("provider", ["", "anthropic", "claude-cli", "offline", "scripted", "dream"])
def test_of_a_models_own_reply_there_is_nothing_to_say(provider: str) -> None:
    assert in_words(provider) == ""
