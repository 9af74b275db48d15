"""Prompts typed while the assistant worked: said once, under an id that lasts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.transcript import Cursor, read
from tests.support.transcripts import Transcript, enqueue, write_lines

Play = Callable[[Transcript], object]


def spoken(path: Path, *, quiet: bool = True) -> list[tuple[str | None, str, str]]:
    return [
        (e.type, str(e.channel), e.text) for e in read(path, quiet=quiet).entries if e.speaker == "person"
    ]


def delivered(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.queue("dequeue")
    t.user("fix the header")


def attached(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.queue("remove")
    t.queued("fix the header")
    t.assistant("Yes.")


def removed(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.queue("remove")
    t.assistant("Yes.")
    t.user("thanks")


def copied_late(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.queue("remove")
    t.assistant("Yes.")
    t.queued("fix the header")


def never_delivered(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.assistant("Working.")


def overtaken(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.user("forget it")


def said_again(t: Transcript) -> None:
    overtaken(t)
    t.user("fix the header")


def joined(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.enqueue("and the footer")
    t.user("fix the header\nand the footer")


def taken_back(t: Transcript) -> None:
    t.enqueue("fix the header")
    t.raw({"type": "queue-operation", "operation": "popAll", "content": "fix the header"})
    t.user("fix the footer")


def command(t: Transcript) -> None:
    t.enqueue("/review the header")
    t.queue("dequeue")
    t.slash("review", "the header")


def shell(t: Transcript) -> None:
    t.enqueue("git status")
    t.queue("dequeue")
    t.user("<bash-input>git status</bash-input>")
    t.assistant("Clean.")
    t.user("good")


def notice(t: Transcript) -> None:
    t.enqueue("<task-notification>ci passed</task-notification>")
    t.assistant("Good.")


def bare_command(t: Transcript) -> None:
    t.enqueue("/compact")


QUEUED = ("queue-operation", "queued", "fix the header")


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        (delivered, [("user", "typed", "fix the header")]),
        (attached, [("attachment", "queued", "fix the header")]),
        (removed, [QUEUED, ("user", "typed", "thanks")]),
        (copied_late, [QUEUED]),
        (never_delivered, [QUEUED]),
        (overtaken, [QUEUED, ("user", "typed", "forget it")]),
        (said_again, [QUEUED, ("user", "typed", "forget it"), ("user", "typed", "fix the header")]),
        (joined, [("user", "typed", "fix the header\nand the footer")]),
        (taken_back, [("user", "typed", "fix the footer")]),
        (command, [("user", "slash", "/review the header")]),
        (shell, [("user", "typed", "good")]),
        (notice, []),
        (bare_command, []),
    ],
)
def test_a_queued_prompt_is_said_once(tmp_path: Path, play: Play, expected: list[object]) -> None:
    session = Transcript()
    session.user("start")
    play(session)
    path = session.write(tmp_path)
    assert spoken(path) == [("user", "typed", "start"), *expected]
    line_by_line, cursor = [], Cursor()
    for end in range(1, len(session.records) + 1):
        write_lines(path, session.records[:end])
        reading = read(path, cursor, quiet=end == len(session.records))
        line_by_line += [e for e in reading.entries if e.speaker == "person"]
        cursor = Cursor.from_json(reading.cursor.to_json())
    assert [(e.type, e.channel, e.text) for e in line_by_line] == spoken(path)


def test_a_waiting_prompt_is_told_when_the_file_is_quiet_and_not_before(tmp_path: Path) -> None:
    session = Transcript()
    session.enqueue("fix the header")
    path = session.write(tmp_path)
    assert spoken(path, quiet=False) == []
    reading = read(path, quiet=True)
    [entry] = reading.entries
    session.user("fix the header")
    session.user("fix the header")
    session.write(path)
    again = [e.text for e in read(path, reading.cursor).entries]
    assert again == ["", "fix the header"]
    assert entry.at == "2026-03-02T09:00:00+00:00" and not entry.chained


def test_its_id_lasts_and_its_words_stay_out_of_the_cursor(tmp_path: Path) -> None:
    session = Transcript()
    session.enqueue("the password is hunter2")
    session.enqueue("the password is hunter3")
    path = session.write(tmp_path)
    first, second = read(path, quiet=True).entries
    assert [e.uuid for e in read(path, quiet=True).entries] == [first.uuid, second.uuid]
    assert first.uuid != second.uuid
    for quiet in (False, True):
        reading = read(path, quiet=quiet)
        list(reading.entries)
        assert reading.cursor.queue and "hunter" not in reading.cursor.to_json()


def test_a_long_queue_is_told_rather_than_kept(tmp_path: Path) -> None:
    session = Transcript()
    for number in range(40):
        session.enqueue(f"task {number}")
    path = session.write(tmp_path)
    assert [text for _, _, text in spoken(path, quiet=False)] == [f"task {n}" for n in range(8)]
    assert len(spoken(path)) == 40


@pytest.mark.parametrize("stamp", ["never", "2999-01-01T00:00:00Z", None])
def test_an_impossible_time_is_unknown(tmp_path: Path, stamp: str | None) -> None:
    path = write_lines(tmp_path / "s.jsonl", [enqueue("fix it", timestamp=stamp)])
    [entry] = read(path, quiet=True).entries
    assert (entry.at, entry.at_source, entry.session_id) == (None, "unknown", "s")
