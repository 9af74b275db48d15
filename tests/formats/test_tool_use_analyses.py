"""Patterns of classes, files used together, sessions like one, errors: on traces whose values are counted."""

import json
import os
from pathlib import Path

import pytest

from pipeline.formats.keisei import coaccess as pairs
from pipeline.formats.keisei.classes import classify
from pipeline.formats.keisei.coaccess import coaccess, shared_folder
from pipeline.formats.keisei.events import events
from pipeline.formats.keisei.failures import by_tool, errors_per_session
from pipeline.formats.keisei.patterns import patterns
from pipeline.formats.keisei.similar import Sessions
from tests.support import traces
from tests.support.transcripts import Transcript

REAL = Path(os.environ.get("REVERIE_SHARED") or Path(__file__).parents[3] / "shared") / "data" / "transcripts"
IDS = [f"5e551011-0000-4000-8000-{n:012}" for n in range(6)]


def label(event):
    return classify(event).label


def hand_counted(folder):
    for path in traces.transcripts(folder):
        yield from events(path, quiet=True)


def of(folder, *talks):
    folder.mkdir(exist_ok=True)
    for talk in talks:
        yield from events(talk.write(folder), quiet=True)


def touching(session, *touches, start="2026-03-02T09:00:00Z"):
    """A session that reads files, each so many seconds after the one before."""
    talk = Transcript(session, start=start, step_seconds=0)
    for seconds, path in touches:
        talk.now += seconds * (talk.now.resolution * 1_000_000)
        talk.tool("Read", {"file_path": path})
    return talk


# -- patterns of classes


def test_a_pattern_came_twice_in_a_session_or_in_two_sessions(tmp_path):
    found = {
        item.event_class: (item.times, item.sessions, item.most)
        for item in patterns(hand_counted(tmp_path), label)
    }
    assert found == {
        "tool_use:Bash": (5, 2, 4), "tool_result": (4, 3, 2), "user": (2, 2, 1), "tool_use:Read": (2, 2, 1),
        "user_correction": (2, 2, 1),
    }  # fmt: skip


def test_patterns_across_sessions_alone(tmp_path):
    talk = Transcript(IDS[0])
    talk.tool("Edit", {"file_path": "/a"})
    talk.tool("Edit", {"file_path": "/a"})
    first = talk.records[0]["timestamp"]
    everything = patterns(of(tmp_path, talk), label)
    edits = next(item for item in everything if item.event_class == "tool_use:Edit")
    assert (edits.times, edits.most_in) == (2, IDS[0])
    assert (edits.first_ms, edits.last_ms) == (
        1772442000000,
        1772442010000,
    ) and first == "2026-03-02T09:00:00.000Z"
    assert patterns(of(tmp_path, talk), label, cross_session=True) == []


# -- files used together


def test_files_within_five_minutes_are_a_pair_in_the_order_of_the_alphabet(tmp_path):
    talk = touching(IDS[0], (0, "/p/b.py"), (100, "/p/a.py"), (301, "/p/c.py"), (299, "/p/a.py"))
    found = [(pair.file_a, pair.file_b, pair.count) for pair in coaccess(of(tmp_path, talk))]
    assert found == [("/p/a.py", "/p/b.py", 1), ("/p/a.py", "/p/c.py", 1)]


def test_pairs_add_up_over_sessions_and_do_not_go_across_them(tmp_path):
    talks = [touching(session, (0, "/p/a"), (1, "/p/b")) for session in IDS[:3]]
    other = touching(IDS[4], (0, "/p/c"))
    (pair,) = coaccess(of(tmp_path, *talks, other))
    assert (pair.count, pair.sessions) == (3, 3)


def test_at_most_ten_different_files_back(tmp_path):
    talk = touching(IDS[0], *((1, f"/p/{n:02}") for n in range(12)))
    found = [pair for pair in coaccess(of(tmp_path, talk)) if pair.file_a == "/p/00"]
    assert [pair.file_b for pair in found] == [f"/p/{n:02}" for n in range(1, 11)]


def test_one_file_can_be_asked_about_and_folders_to_look_through_are_none(tmp_path):
    talk = touching(IDS[0], (0, "/p/a.py"), (1, "/p/xa.py"), (1, "/q/c.py"))
    talk.tool("Grep", {"path": "/p"})
    found = list(coaccess(of(tmp_path, talk), file="a.py"))
    assert [(pair.file_a, pair.file_b) for pair in found] == [("/p/a.py", "/p/xa.py"), ("/p/a.py", "/q/c.py")]
    assert coaccess(of(tmp_path, talk), times=2) == []


def test_of_too_many_pairs_the_rare_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_PAIRS", 8)
    often = [(1, "/p/a"), (1, "/p/b")] * 4
    talk = touching(IDS[0], *often, *((400, f"/x/{n // 2}{'ab'[n % 2]}") for n in range(2)))
    rare = touching(IDS[1], *((1, f"/y/{n}") for n in range(9)))
    found = coaccess(of(tmp_path, talk, rare))
    assert found[0].file_a == "/p/a" and found[0].count == 7 and len(found) <= 8


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (("/a/b/c", "/a/b/d"), "/a/b/"),
        (("/a/b", "/c"), "/"),
        (("x", "y"), ""),
        ((), ""),
        (("/a/bc", "/a/bd"), "/a/"),
    ],
)
def test_the_folder_that_paths_share(paths, folder):
    assert shared_folder(paths) == folder


# -- errors


def test_errors_of_each_session(tmp_path):
    found = {item.session: item for item in errors_per_session(hand_counted(tmp_path))}
    counted = {name: (item.calls, item.errors, item.denied, item.corrections) for name, item in found.items()}
    assert counted == {traces.ONE: (5, 2, 1, 1), traces.TWO: (1, 0, 0, 0), traces.OLD: (2, 0, 0, 1)}
    assert found[traces.ONE].by_tool == {"Bash": 1, "Read": 1} and found[traces.ONE].share == 0.4
    assert by_tool(found.values()) == [("Bash", 5, 1), ("Read", 2, 1), ("Edit", 1, 0)]


def test_what_a_person_refused_is_told_apart(tmp_path):
    talk = Transcript(IDS[0])
    talk.user("Push it.")
    talk.refusal("Not on a Friday.", "Bash", {"command": "git push"})
    talk.tool("Bash", {"command": "ls"}, "no such file", is_error=True)
    (item,) = errors_per_session(of(tmp_path, talk))
    assert (item.calls, item.errors, item.refused) == (2, 2, 1)


def test_failures_of_real_transcripts_are_those_that_stand_in_them():
    if not REAL.is_dir():
        pytest.skip(f"no real transcripts at {REAL}")
    for path in sorted(REAL.glob("cli/*.jsonl")):
        calls = errors = 0
        for record in plainly_read(path.read_text("utf-8")):
            message = record.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            blocks = content if isinstance(content, list) else []
            calls += sum(block["type"] == "tool_use" for block in blocks)
            errors += sum(block["type"] == "tool_result" and bool(block.get("is_error")) for block in blocks)
        (found,) = errors_per_session(events(path, quiet=True))
        assert (found.calls, found.errors) == (calls, errors), path


def plainly_read(text):
    """Yield the records of a transcript without our reader; some lines hold two, some are spoilt."""
    decoder = json.JSONDecoder()
    for line in filter(str.strip, text.split("\n")):
        at = 0
        while at < len(line):
            try:
                record, at = decoder.raw_decode(line, at)
            except ValueError:
                break
            yield record


# -- sessions like one


def about(session, prompt, *files):
    talk = Transcript(session)
    talk.user(prompt)
    for path in files:
        talk.tool("Edit", {"file_path": path})
    return talk


@pytest.fixture
def known(tmp_path):
    """Four sessions: two on the gateway, one on docs that shares a file with them, one of its own."""
    held = Sessions()
    held.add(
        of(
            tmp_path,
            about(IDS[0], "Add retries to the payment gateway", "/home/dev/shop/gateway.py"),
            about(IDS[1], "The payment gateway times out, look at the retries", "/home/dev/shop/gateway.py"),
            about(
                IDS[2], "Write the docs for the shop", "/home/dev/shop/gateway.py", "/home/dev/shop/docs.md"
            ),
            about(IDS[3], "Schreib ein Gedicht über den Herbst"),
        )
    )
    return held


def test_the_likest_session_comes_first_with_what_both_have(known):
    found = known.like(IDS[0])
    assert [item.session for item in found] == [IDS[1], IDS[2]]
    assert found[0].score > 2 * found[1].score > 0
    shared = [feature.text for feature in found[0].shared]
    assert {"payment", "gateway", "retries", "gateway.py", "Edit *.py"} <= set(shared) and shared[
        -1
    ] != "payment"
    assert found[0].title == "The payment gateway times out, look at the retries"


def test_a_copy_of_the_project_elsewhere_has_the_same_files(tmp_path):
    held = Sessions()
    talks = [about(IDS[0], "One", "/home/dev/shop/a.py"), about(IDS[1], "Two", "/srv/copy/a.py")]
    talks[1].records = [record | {"cwd": "/srv/copy"} for record in talks[1].records]
    held.add(of(tmp_path, *talks))
    assert "a.py" in [feature.text for feature in held.like(IDS[0])[0].shared]


def test_words_can_be_asked_for(known):
    assert [item.session for item in known.like_text("payment GATEWAY retries")] == [IDS[0], IDS[1]]
    assert known.like_text("unheard of") == known.like("nobody") == []


def test_one_identical_session_is_wholly_alike(tmp_path):
    held = Sessions()
    held.add(of(tmp_path, about(IDS[0], "Bump the version"), about(IDS[1], "Bump the version")))
    assert held.like(IDS[0])[0].score == 1.0


def test_a_secret_is_no_word_that_sessions_share(tmp_path):
    key = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    held = Sessions()
    held.add(of(tmp_path, *(about(session, f"Use {key} for the gateway") for session in IDS[:2])))
    (item,) = held.like(IDS[0])
    assert "gateway" in [feature.text for feature in item.shared]
    assert not [feature for feature in item.shared if "Ab1".lower() in feature.text.lower()]
    assert "Ab1" not in item.title
