"""From a transcript file to rows in the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.intake.ingest import Here, Task, file_key, ingest_file, look_at, take_in, until_kept
from pipeline.ledger import conversations, files, open_ledger, retention, utterances
from pipeline.ledger.entries import OvertakenError
from tests.support.extraction import NOTHING, Bench, fact, reply
from tests.support.transcripts import Transcript, assistant, tool_result, tool_use


def test_only_what_is_new_is_read(bench: Bench) -> None:
    session = Transcript()
    session.user("one")
    path = session.write(bench.path(session))
    first = bench.ingest(path)
    assert (first.new_rows, first.bytes_read) == (1, path.stat().st_size)
    assert bench.ingest(path).skipped == "unchanged"
    session.user("two")
    session.write(path)
    second = bench.ingest(path)
    assert second.new_rows == 1 and second.bytes_read < 2 * path.stat().st_size - first.bytes_read
    assert [u.text for u in utterances.utterances(bench.ledger, first.key, after_row=0)] == ["one", "two"]


def test_reading_again_from_the_start_adds_nothing(bench: Bench) -> None:
    session = Transcript()
    session.user("one")
    path = session.write(bench.path(session))
    bench.ingest(path)
    again = bench.ingest(path, reimport=True)
    assert (again.new_rows, again.bytes_read) == (0, path.stat().st_size)


def test_bug_024_a_file_that_is_gone_is_noted_once_and_its_lines_stay(bench: Bench) -> None:
    session = Transcript()
    session.user("keep the retries at 3, please")
    path = session.write(bench.path(session))
    key = bench.ingest(path).key
    path.unlink()
    assert [bench.ingest(path).skipped for _ in range(3)] == ["gone", "gone before", "gone before"]
    bench.script([reply(fact(1, "keep the retries at 3"))])
    assert [o.word for o in bench.run(bench.turns(key))] == ["applied"]


def test_bug_024_a_file_may_go_between_the_look_and_the_opening(bench: Bench) -> None:
    session = Transcript()
    session.user("one")
    path = session.write(bench.path(session))
    # The ledger notes a file just before it is opened; that note takes the file away.
    bench.ledger.connection.create_function("take_away", 0, lambda: path.unlink(missing_ok=True))
    bench.ledger.execute(
        "CREATE TEMP TRIGGER noted AFTER INSERT ON memory_file_states BEGIN SELECT take_away(); END"
    )
    done = bench.ingest(path)
    state = files.file_state(bench.ledger, done.key)
    assert done.skipped == "gone" and state and (state.gone, state.status) == (True, "idle")


def test_bug_024_a_file_never_seen_is_no_error(bench: Bench, tmp_path: Path) -> None:
    bench.ingest(tmp_path / "never.jsonl")
    assert bench.ingest(tmp_path / "never.jsonl").skipped == "gone before"


SECRETS = {
    "anthropic": "sk-ant-api03-" + "MadeUp1" * 6,
    "aws": "AKIA" + "MADEUPKEY7EXAMPL",
    "github": "ghp_" + "madeUp7" * 6,
    "slack": "xoxb-" + "1234567890-madeUpToken",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJtYWRlIjoidXAifQ.c2lnbmF0dXJlbWFkZXVw",
    "password": "hunter2-made-up",
    "url": "s3cr3t-of-the-db",
    "private": "my doctor is Dr. Quince",
}
LEAKY = (
    f"use {SECRETS['anthropic']} and {SECRETS['aws']} then {SECRETS['github']} or {SECRETS['slack']} "
    f"bearer {SECRETS['jwt']} with password = {SECRETS['password']} at "
    f"postgres://bob:{SECRETS['url']}@db/x <private>{SECRETS['private']}</private> and keep retries at 3"
)


def everything_below(*roots: Path) -> bytes:
    return b"".join(p.read_bytes() for root in roots for p in root.rglob("*") if p.is_file())


def test_bug_091_no_secret_gets_past_the_reader(bench: Bench) -> None:
    session = Transcript()
    session.user(LEAKY)
    session.add(tool_result(LEAKY))
    session.assistant(f"I set {SECRETS['github']} for you.")
    key = bench.hear(session)
    bench.script([reply(fact(1, "and keep retries at 3", name="kept"))])
    bench.run(bench.turns(key))
    assert bench.names() == ["kept"]
    places = {"prompt": bench.prompt().encode(), "files": everything_below(bench.store.root, bench.root)}
    found = [(n, p) for n, secret in SECRETS.items() for p in places if secret.encode() in places[p]]
    assert found == []
    assert all(b"and keep retries at 3" in data and b"[redacted:" in data for data in places.values())
    assert b"Quince" not in places["prompt"]


def test_bug_091_a_secret_that_the_model_makes_up_is_not_kept(bench: Bench) -> None:
    session = Transcript()
    session.user(LEAKY)
    key = bench.hear(session)
    told = fact(1, "and keep retries at 3", statement=f"The key is {SECRETS['aws']}.")
    bench.script([reply(told)])
    (outcome,) = bench.run(bench.turns(key))
    assert [r["reason"] for r in outcome.rejected] == ["holds a secret"]
    assert SECRETS["aws"].encode() not in everything_below(bench.store.root)


def test_bug_022_what_the_harness_says_is_not_the_person(bench: Bench) -> None:
    session = Transcript()
    session.user("<task-notification>ci pass: always use tabs</task-notification>")
    session.user("<local-command-stdout>always use tabs</local-command-stdout>", isMeta=True)
    session.sidechain("always use tabs")
    session.tool("Bash", {"command": "x"}, "always use tabs")
    session.user("I prefer spaces")
    key = bench.hear(session)
    bench.script([NOTHING])
    bench.run(bench.turns(key))
    people = [line for line in bench.prompt().splitlines() if "PERSON" in line]
    assert len(people) == 1 and people[0].endswith("I prefer spaces")
    assert "always use tabs" not in bench.prompt()


@pytest.mark.parametrize(
    "damaged",
    [
        *("", "[", "[]", "7", '{"what": 1}', '{"offset": "x"}', '{"offset": -1}', '{"offset": 1e3}'),
        '{"offset": 9999999999999999999999, "size": 5}',
        '{"offset": 40, "line": -3}',
        '{"offset": 40, "at": "not a time"}',
        '{"offset": 40, "queue": "99999999999999999999999+5w|x"}',
    ],
)
def test_a_damaged_cursor_costs_time_only(bench: Bench, damaged: str) -> None:
    session = Transcript()
    session.user("one")
    path = session.write(bench.path(session))
    bench.ingest(path)
    bench.ledger.execute("UPDATE memory_file_states SET cursor_json = ?", (damaged,))
    session.user("two")
    session.write(path)
    again = bench.ingest(path)
    assert again.new_rows == 1
    assert [u.text for u in utterances.utterances(bench.ledger, again.key, after_row=0)] == ["one", "two"]
    assert bench.ingest(path).skipped == "unchanged"


def test_no_secret_in_a_name_gets_past_the_reader(bench: Bench, tmp_path: Path) -> None:
    secret = SECRETS["github"]
    place = f"/x/projects/p/memory/{secret}.md"
    session = Transcript(entrypoint=f"cli {secret}")
    session.user("keep the retries at 3")
    session.add(assistant([tool_use(secret, {}), tool_use("Write", {"file_path": place})]))
    session.add({"type": secret, "x": 1})
    session.add({"type": "x" * 60 + f" {secret} " + "y" * 9000, "x": 1})
    key = bench.ingest(session.write(bench.path(session))).key
    assert secret[:8].encode() not in everything_below(tmp_path / "home")
    state = files.file_state(bench.ledger, key)
    assert state and sorted(map(len, state.type_counts))[-1] == 64
    assert sum(state.type_counts.values()) == 4


def test_types_counted_in_many_passes_stay_few(bench: Bench) -> None:
    session = Transcript()
    for number in range(150):
        session.add({"type": f"odd-{number}", "x": 1})
        if number % 50 == 49:
            key = bench.ingest(session.write(bench.path(session))).key
    state = files.file_state(bench.ledger, key)
    assert state and len(state.type_counts) == 65 and sum(state.type_counts.values()) == 150


@pytest.mark.parametrize(
    ("path", "root", "key"),
    [
        ("projects/-w-shop/a.jsonl", "projects", "-w-shop/a.jsonl"),
        ("backup/-w-shop/a.jsonl", "projects", "-w-shop/a.jsonl"),
        ("projects/-w-shop/a.jsonl", "projects/-w-shop", "-w-shop/a.jsonl"),
        ("projects/-w-shop/deep/a.jsonl", "projects", "-w-shop/deep/a.jsonl"),
    ],
)
def test_a_file_has_the_same_key_wherever_its_tree_is(tmp_path: Path, path: str, root: str, key: str) -> None:
    assert file_key(tmp_path / path, (tmp_path / root,)) == key


def test_a_reimport_replaces_what_was_read_and_says_what_it_changed(bench: Bench) -> None:
    session = Transcript()
    session.user("hello there")
    session.assistant("hello")
    path = session.write(bench.path(session))
    key = bench.ingest(path).key
    [item] = conversations.list_conversations(bench.ledger)
    conversations.set_status(bench.ledger, item.id, "ready", now=bench.clock.now())
    path.write_bytes(path.read_bytes().replace(b"hello there", b"hullo, all of you") + b"no record\n")
    done = bench.ingest(path, reimport=True)
    places = "SELECT content, byte_offset, byte_length FROM memory_transcript_entries WHERE superseded = 0"
    held = [tuple(row) for row in bench.ledger.rows(places)]
    assert [text for text, _, _ in held] == ["hullo, all of you", "hello"]
    first, second, _ = path.read_bytes().splitlines()
    places_now = [(0, len(first)), (len(first) + 1, len(second))]
    assert [(offset, length) for _, offset, length in held] == places_now
    assert (done.restarted, done.new_rows) == ("reimported", 0)
    assert (done.changed.rows, done.changed.conversations) == (1, (item.id,))
    assert [found.status for found in conversations.list_conversations(bench.ledger)] == ["ready"]
    again = bench.ingest(path, reimport=True)
    state = files.file_state(bench.ledger, key)
    assert again.changed.rows == 0 and state and state.bad_lines == 1
    assert sum(state.type_counts.values()) == 2, "each record is counted once"


def test_a_reimport_brings_no_deleted_dialogue_back(bench: Bench) -> None:
    session = Transcript()
    session.user("my door code is in here")
    path = session.write(bench.path(session))
    key = bench.ingest(path).key
    retention.delete(bench.ledger, [key], first=len, unread=True)
    bench.ingest(path, reimport=True)
    assert bench.ledger.value("SELECT group_concat(content) FROM memory_transcript_entries") == ""


def test_what_another_process_read_meanwhile_is_neither_doubled_nor_undone(bench: Bench) -> None:
    session = Transcript()
    session.user("one")
    path = session.write(bench.path(session))
    key = bench.ingest(path).key
    session.user("two")
    session.write(path)
    with_it: Any = {"settings": bench.settings, "clock": bench.clock}

    def slowly(task: Task) -> Here:
        with open_ledger(bench.ledger.path) as other:
            assert ingest_file(other, path, key=key, **with_it).new_rows == 1
        return Here(task)

    task = look_at(bench.ledger, path, key=key, quiet=False, reimport=False, **with_it)
    assert isinstance(task, Task)
    with pytest.raises(OvertakenError, match="another process"):
        take_in(bench.ledger, task, slowly, **with_it)
    state = files.file_state(bench.ledger, key)
    assert state and (state.last_processed_offset, state.status) == (path.stat().st_size, "idle")
    assert state.type_counts == {"user": 2}
    tries = []

    def one_pass() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OvertakenError("meanwhile")
        return "kept"

    assert until_kept(one_pass) == "kept"


def test_a_file_that_came_back_is_no_longer_gone(bench: Bench) -> None:
    session = Transcript()
    session.user("one")
    path = session.write(bench.path(session))
    key = bench.ingest(path).key
    aside = path.rename(path.with_suffix(".aside"))
    bench.ingest(path)
    aside.rename(path)
    bench.ingest(path)
    state = files.file_state(bench.ledger, key)
    assert state and not state.gone
