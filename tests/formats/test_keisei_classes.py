"""The classes of events: ten labels in kei-memory's order, and what words may say of a class."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.formats.keisei.classes import classify, cues, strict_counts
from pipeline.formats.keisei.events import Event, events
from tests.support.traces import ONE, result, stamped
from tests.support.transcripts import assistant, tool_use, user, write_lines


def read(path: Path, *records) -> list[Event]:
    lines = [
        stamped(ONE, f"2026-04-25T00:00:{number:02}Z", f"u{number}", record) if "type" in record else record
        for number, record in enumerate(records)
    ]
    return list(events(write_lines(path / "s.jsonl", lines)))


def label(path: Path, *records, strict: bool = False) -> str:
    return classify(read(path, *records)[-1], strict=strict).label


CALL = assistant([tool_use("Read", {"file_path": "/a"}, "t1")])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bash: /x: Permission  Denied", ("permission_denied",)),
        ("ACCESS DENIED by policy", ("permission_denied",)),
        ("you did this AGAIN", ("user_correction",)),
        ("against the plan", ()),
        ("stop  doing that", ("user_correction",)),
        ("don't repeat it", ("user_correction",)),
        ("dont do it", ("user_correction",)),
        ("you're wrong", ("user_correction",)),
        ("youre wrong", ("user_correction",)),
        ("it is broken", ("user_correction",)),
        ("wrong once more", ("user_correction",)),
        ("once more, please", ()),
        ("Опять не работает", ("user_correction",)),
        ("ты ошибся", ("user_correction",)),
        ("не  делай так", ("user_correction",)),
        ("the worktree could not be added: FAILED", ("worktree_error",)),
        ("denied, says the worktree", ()),
        ("worktree\nerror", ()),
        ("cargo build of the workspace", ("cargo_workspace",)),
        ("Workspace: use Cargo", ("cargo_workspace",)),
        ("cargo\nworkspace", ()),
        ("Retrying in 3 s", ("retry_loop",)),
        ("attempt 4 of 5", ("retry_loop",)),
        ("attempt to write", ()),
        # "again" is looked for first, so that "try again" alone is never a retry loop (K-C5).
        ("try again", ("user_correction", "retry_loop")),
        ("permission denied, worktree error", ("permission_denied", "worktree_error")),
        ("", ()),
    ],
)
def test_cues_and_their_order(text, found):
    assert cues(text) == found


def test_a_line_of_many_worktrees_is_looked_at_once():
    # A pattern with ".*" would need 10^11 steps for it.
    assert cues("worktree " * 300_000) == ()


def test_an_error_beats_all_and_names_its_tool(tmp_path):
    failed = user([result("t1", "worktree: permission denied, retry", is_error=True)])
    (_, event) = read(tmp_path, CALL, failed)
    assert classify(event) == ("tool_error:Read", ("permission_denied", "worktree_error", "retry_loop"))
    assert label(tmp_path, failed) == "tool_error"


def test_calls_and_results_are_told_by_what_they_are(tmp_path):
    assert label(tmp_path, CALL) == "tool_use:Read"
    assert label(tmp_path, CALL, user([result("t1", "ok")])) == "tool_result"
    assert label(tmp_path, {"ts": 1, "kind": "tool_use", "tool": "Bash", "message": "x"}) == "tool_use:Bash"
    assert label(tmp_path, {"ts": 1, "kind": "tool_result", "tool": "Bash"}) == "tool_result"
    assert label(tmp_path, {"ts": 1, "kind": "tool_use"}) == "tool_use"


def test_other_lines_are_told_by_their_type_or_are_other(tmp_path):
    assert label(tmp_path, {"type": "permission-mode"}) == "permission-mode"
    assert label(tmp_path, assistant("Done.")) == "assistant"
    assert label(tmp_path, {"ts": 1, "kind": "other", "message": "x"}) == "other"
    assert label(tmp_path, {"sessionId": "s"}) == "other"


def test_what_a_file_says_does_not_change_the_class_of_reading_it(tmp_path):
    read_it = user([result("t1", "again: retry, permission denied, cargo workspace")])
    (_, event) = read(tmp_path, CALL, read_it)
    assert classify(event) == ("tool_result", ())
    command = assistant([tool_use("Bash", {"command": "git worktree list || echo error, retry again"})])
    assert label(tmp_path, command) == "tool_use:Bash"
    assert label(tmp_path, assistant("I will try again.")) == "assistant"


def test_a_persons_own_words_may_be_the_class(tmp_path):
    (event,) = read(tmp_path, user("Stop doing that, it is broken again"))
    assert classify(event) == ("user_correction", ("user_correction",))
    assert label(tmp_path, user("permission denied for /x, what now?")) == "permission_denied"
    assert label(tmp_path, user("Add a button.")) == "user"
    # The client's own words in a line of the person's are not theirs.
    assert label(tmp_path, user("<system-reminder>try again</system-reminder>")) == "user"


def test_what_a_program_says_corrects_nobody(tmp_path):
    (_, event) = read(tmp_path, CALL, user([result("t1", "try again", is_error=True)]))
    assert classify(event).cues == ("retry_loop",)


def test_a_class_that_a_line_brings_along_stays(tmp_path):
    line = {"ts": 1, "kind": "tool_use", "tool": "Bash", "event_class": "cargo_workspace", "is_error": True}
    assert label(tmp_path, line) == "cargo_workspace"
    assert label(tmp_path, line, strict=True) == "cargo_workspace"


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([CALL], "tool_use:Read"),
        # It takes the words of a file, of a command and of the assistant for the class,
        ([CALL, user([result("t1", "once again")])], "user_correction"),
        ([assistant([tool_use("Bash", {"command": "retry"})])], "retry_loop"),
        ([assistant("Permission denied.")], "permission_denied"),
        # does not know of a result that it is one, nor its tool,
        ([CALL, user([result("t1", "fine")])], "user"),
        ([CALL, user([result("t1", "again", is_error=True)])], "tool_error"),
        # and of a flat line not its kind.
        ([{"ts": 1, "kind": "tool_use", "tool": "Bash", "message": "ls"}], "other"),
        ([{"ts": 1, "kind": "tool_use", "tool": "Bash", "is_error": True}], "tool_error:Bash"),
        ([{"ts": 1, "kind": "other", "message": "опять"}], "user_correction"),
    ],
)
def test_strict_labels_are_kei_memorys(tmp_path, records, expected):
    assert label(tmp_path, *records, strict=True) == expected


def test_strict_rows_are_kei_memorys(tmp_path):
    found = read(
        tmp_path,
        assistant([tool_use("A", {}, "t1"), tool_use("B", {}, "t2")]),
        user([result("t1", "x"), result("t2", "x")]),
    )
    assert [(e.block, e.role, strict_counts(e)) for e in found] == [
        (0, "tool_use", True),
        (1, "tool_use", True),
        (0, "tool_result", True),
        (1, "tool_result", False),
    ]
