"""Steps of traces, and sequences of them that come again: what counts, what ends one, and the evidence."""

import pytest

from pipeline.formats.keisei import sequences as mining
from pipeline.formats.keisei.events import events
from pipeline.formats.keisei.sequences import MOST_EVIDENCE, repeated_sequences
from pipeline.formats.keisei.steps import steps
from tests.support.transcripts import Transcript, assistant, tool_use

RELEASE = ("make test", "git commit", "git push")


def session(name, *parts, start="2026-03-02T09:00:00Z", **more):
    """A session of commands; a text in brackets is a prompt, ``!`` before a command says that it fails."""
    talk = Transcript(f"5e551011-0000-4000-8000-{name:012}", start=start, **more)
    talk.user("Go on.")
    for part in parts:
        if part.startswith("["):
            talk.user(part)
        elif part.startswith("@"):
            tool, _, path = part[1:].partition(" ")
            talk.tool(tool, {"file_path": path})
        else:
            talk.tool("Bash", {"command": part.lstrip("!")}, is_error=part.startswith("!"))
    return talk


@pytest.fixture
def found(tmp_path):
    """Return the repeated sequences of sessions, as (steps, times, sessions)."""

    def ask(*talks, **options):
        return [(item.steps, item.times, item.sessions) for item in sequences(tmp_path, *talks, **options)]

    return ask


def sequences(folder, *talks, **options):
    return repeated_sequences(all_events(folder, talks), **options)


def all_events(folder, talks):
    for talk in talks:
        folder.mkdir(exist_ok=True)
        yield from events(talk.write(folder), quiet=True)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git commit -m 'fix: all'", ["git commit"]),
        ("cd web && npm run build 2>&1 | tail -5", ["npm run build"]),
        ("git add -A && git commit -m x && git push", ["git add", "git commit", "git push"]),
        ("API_KEY=sk-1234567890abcdef curl https://u:p@host/x", ["curl"]),
        ("uv run pytest tests/x.py", ["pytest"]),
        ("python -m pytest -q", ["python", "pytest"]),
        ("for f in *.py; do rm $f; done", ["rm"]),
        ("cat notes.md | grep x", []),
        ("make", ["make"]),
        ("./scripts/run.sh now", ["run.sh"]),
        ("", []),
    ],
)
def test_what_a_command_is_in_short(tmp_path, command, expected):
    talk = session(1, command)
    assert [step.what for step in steps(all_events(tmp_path, [talk]))] == expected


def test_work_on_files_is_told_by_tool_and_kind(tmp_path):
    talk = session(1, "@Edit /x/a.PY", "@Write /x/Makefile", "@Grep /x/src.d", "@TodoWrite /x", "@mcp__a__b ")
    assert [step.what for step in steps(all_events(tmp_path, [talk]))] == [
        "Edit *.py", "Write", "Grep", "mcp__a__b",
    ]  # fmt: skip


def test_a_sequence_that_comes_again_is_found_with_its_evidence(tmp_path):
    talks = [session(n, "make test", "git commit -m x", "git push", "[and now?]", "ls") for n in (1, 2)]
    (release,) = sequences(tmp_path, *talks)
    assert (release.steps, release.times, release.sessions) == (RELEASE, 2, 2)
    assert [place.session for place in release.occurrences] == [talk.session_id for talk in talks]
    calls = [record["uuid"] for record in talks[0].records if record["type"] == "assistant"]
    assert release.occurrences[0].events == tuple(f"{uuid}:0" for uuid in calls[:3])
    assert release.first_ms == release.occurrences[0].at_ms == 1772442005000


def test_the_commands_of_one_line_are_one_event(tmp_path):
    talks = [session(n, "make test && git push") for n in (1, 2)]
    (both,) = sequences(tmp_path, *talks)
    assert both.steps == ("make test", "git push") and len(both.occurrences[0].events) == 1


def test_what_failed_ends_a_sequence(found):
    talks = [session(n, "make test", "!git commit", "git push") for n in (1, 2)]
    assert found(*talks) == []
    assert found(*talks, only_successful=False) == [(RELEASE, 2, 2)]


def test_a_call_without_a_result_has_not_worked(found):
    talks = [session(n, "make test") for n in (1, 2)]
    for talk in talks:
        talk.add(assistant([tool_use("Bash", {"command": "git push"}, "toolu_x")]))
    assert found(*talks) == []


def test_a_persons_word_ends_a_sequence_even_before_a_look(found):
    assert found(*[session(n, "make test", "[now push]", "git push") for n in (1, 2)]) == []
    assert found(*[session(n, "make test", "[look]", "cat x", "git push") for n in (1, 2)]) == []
    assert found(*[session(n, "make test", "cat x", "git push") for n in (1, 2)]) == [(RELEASE[::2], 2, 2)]


def test_a_long_pause_ends_a_sequence(found):
    slow = [session(n, "make test", "git push", step_seconds=1000) for n in (1, 2)]
    assert found(*slow) == []


def test_the_same_step_in_a_row_is_one_and_circles_are_told_once(found):
    turns = ["@Edit /a.py", "@Edit /b.py", "make test", "make test"] * 4
    assert found(session(1, *turns)) == [(("Edit *.py", "make test"), 4, 1)]


def test_a_part_is_given_only_where_it_came_more_often_than_the_whole(found):
    talks = [session(n, *RELEASE, "[more]", *RELEASE) for n in (1, 2)]
    assert found(*talks) == [(RELEASE, 4, 2)]
    more = [session(n, "make test", "git commit", "[no push]") for n in (3, 4, 5)]
    assert found(*talks, *more) == [(("make test", "git commit"), 7, 5), (RELEASE, 4, 2)]


def test_commands_alone_skip_all_else(found):
    talks = [session(n, "make test", f"@Edit /x.{n}", "git push") for n in (1, 2)]
    assert found(*talks) == []
    assert found(*talks, commands_only=True) == [(("make test", "git push"), 2, 2)]


def test_less_can_be_asked_for(found):
    talks = [session(n, *RELEASE) for n in (1, 2)]
    assert found(*talks, times=3) == found(*talks, sessions=3) == found(*talks, shortest=4) == []
    assert found(*talks, longest=2) == [(RELEASE[1:], 2, 2), (RELEASE[:2], 2, 2)]
    assert len(found(*talks, longest=2, most=1)) == 1


def test_what_a_fork_copied_counts_once(found, tmp_path):
    talk, fork = session(1, *RELEASE), session(2)
    fork.records = [record | {"sessionId": fork.session_id} for record in talk.records]
    assert found(talk, fork) == []


def test_sub_agents_calls_are_left_out(found):
    talks = [session(n, *RELEASE) for n in (1, 2)]
    for talk in talks:
        talk.records = [record | {"isSidechain": True} for record in talk.records]
    assert found(*talks) == []


def test_of_many_occurrences_some_are_named_and_all_counted(tmp_path):
    talk = session(1, *(["make test", "git push", "[again]"] * (MOST_EVIDENCE + 5)))
    (item,) = sequences(tmp_path, talk)
    assert item.times == MOST_EVIDENCE + 5 and len(item.occurrences) == MOST_EVIDENCE


def test_no_more_steps_are_held_than_there_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr(mining, "MOST_STEPS", 7)
    talks = [session(n, *RELEASE) for n in (1, 2, 3, 4)]
    reading = all_events(tmp_path, talks)
    # Two sessions and what stands between them; the last one is not read any more.
    assert [item.times for item in repeated_sequences(reading)] == [2]
    assert talks[3].session_id in {event.session for event in reading}


def test_two_runs_give_the_same(tmp_path):
    talks = [session(n, *RELEASE, "git status", "make lint", "git status") for n in (1, 2, 3)]
    assert sequences(tmp_path, *talks) == sequences(tmp_path, *talks)
