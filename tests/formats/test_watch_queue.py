"""When a file that changes is read: soon, less often the more it changes, and always in the end."""

from __future__ import annotations

from pathlib import Path

from pipeline.formats.watch.queue import FileQueue, Pace

A, B = Path("/p/a.jsonl"), Path("/p/b.jsonl")


def queue() -> FileQueue:
    return FileQueue(Pace(2.0))


def taken(of: FileQueue, at: float) -> str:
    found = of.take(at)
    return found[0] if found else ""


def test_the_pace_is_that_of_the_seed() -> None:
    pace = Pace()
    assert (pace.settle, pace.hot, pace.longest, pace.between, pace.again) == (2.0, 5.0, 15.0, 3.0, 2.0)


def test_a_file_is_in_it_once_and_read_when_it_was_left_alone() -> None:
    files = queue()
    files.add("a", A, 0.0)
    files.add("a", A, 1.0)
    files.add("b", B, 1.5)
    assert (len(files), files.wait(1.5)) == (2, 1.5)
    assert [taken(files, at) for at in (2.9, 3.0, 3.4, 3.5, 9.0)] == ["", "a", "", "b", ""]
    assert files.wait(9.0) is None


def test_a_hot_file_is_left_alone_for_longer_but_not_for_ever() -> None:
    files = queue()
    for at in (0.0, 1.0, 2.0):
        files.add("a", A, at)
    assert files.hottest == ("a", 3)
    assert [taken(files, at) for at in (6.9, 7.0)] == ["", "a"]
    found = []
    for at in range(100, 116):
        found.append(taken(files, at))
        files.add("a", A, at)
    assert found == [""] * 15 + ["a"]


def test_a_file_rests_after_it_was_read() -> None:
    files = queue()
    files.add("a", A, 0.0)
    assert taken(files, 2.0) == "a"
    files.done("a", 10.0)
    files.add("a", A, 10.5)
    assert [taken(files, at) for at in (12.9, 13.0)] == ["", "a"]


def test_a_failure_waits_twice_as_long_each_time_up_to_the_timer() -> None:
    files, waits = queue(), []
    files.add("a", A, 0.0, settled=True)
    assert taken(files, 0.0) == "a", "a look around waits for nothing"
    for _ in range(6):
        files.failed("a", A, 100.0, longest=30.0)
        waits.append(files.wait(100.0))
        assert taken(files, 200.0) == "a"
    assert waits == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    files.done("a", 200.0)
    files.failed("a", A, 300.0, longest=30.0)
    assert files.wait(300.0) == 2.0
