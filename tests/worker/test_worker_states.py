"""Every command, hook and worker with a ledger, disk or transcript that can't be used: words for a person."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from pipeline.cli import table
from tests.support.workshop import Workshop
from tests.worker.test_worker_damage import LATER, RETRIED, garbage, ledger_of, lived, page_of

MEMORY = "from-now-on"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("init", "--yes"),
    ("install", "--yes"),
    ("uninstall", "--dry-run"),
    ("mode",),
    ("mode", "observe"),
    ("adopt", "--dry-run"),
    ("allow",),
    ("config",),
    ("config", "set", "spend.calls_per_hour", "50"),
    ("hooks",),
    ("statusline", "--setting"),
    ("schedule", "status"),
    ("status",),
    ("doctor",),
    ("audit",),
    ("list",),
    ("show", MEMORY),
    ("why", MEMORY),
    ("search", "linter"),
    ("add", "The build box has twelve cores."),
    ("procedure", "Deploy it", "--step", "Push the image"),
    ("update", MEMORY, "--importance", "0.6"),
    ("edit", MEMORY, "--file", "/dev/null"),
    ("restore", MEMORY),
    ("pin", MEMORY),
    ("unpin", MEMORY),
    ("reindex",),
    ("tags",),
    ("core",),
    ("reflection",),
    ("relate", MEMORY, "REQUIRES", MEMORY),
    ("related", MEMORY),
    ("edges",),
    ("decay",),
    ("graphs",),
    ("export", "cognitive", "OUT"),
    ("import", "cognitive", "OUT"),
    ("sync", "claude-code", "OUT"),
    ("team", "status"),
    ("share", "editor"),
    ("unshare", "editor"),
    ("embed",),
    ("inbox",),
    ("inbox", "accept", "1"),
    ("inbox", "reject", "1"),
    ("history",),
    ("diff",),
    ("recall", "run the linter before a commit"),
    ("injected",),
    ("timeline",),
    ("episodes",),
    ("episode", "Talked it over"),
    ("day",),
    ("process", "--estimate"),
    ("process",),
    ("process", "--batch"),
    ("process", "--batch", "--cancel"),
    ("extract", "--transcript", "TRANSCRIPT"),
    ("ingest", "--dir", "FOLDER"),
    ("conversations",),
    ("transition", "ready"),
    ("health-check",),
    ("calendar",),
    ("dialogue", "list"),
    ("dialogue", "search", "linter"),
    ("traces",),
    ("traces", "show", "TRANSCRIPT"),
    ("patterns",),
    ("similar", "TRANSCRIPT"),
    ("coaccess",),
    ("errors",),
    ("agents",),
    ("journal", "update"),
    ("task", "start", "build"),
    ("agent-memory", "init"),
    ("agent-memory", "sync", "--dry-run"),
    ("graph",),
    ("bundle", "nothing", "--yes"),
    ("rerun", "nothing"),
    ("dialogue", "delete", "--older-than", "30", "--yes"),
    ("dream",),
    ("consolidate", "--dry-run"),
    ("reflect", "--dry-run"),
    ("report",),
    ("undo",),
    ("forget", MEMORY),
    ("uninstall", "--purge", "--yes"),
)
HEALS = (("work",), ("work", "--retry"))
"""What mends a damaged ledger, and so comes last, each on its own."""
NEED_NO_LEDGER = {"demo", "eval", "mcp", "open", "replay", "watch", "worker"}
"""They work in a home of their own, or until they are stopped (`tests/server`, `tests/web`, `tests/team`)."""
NOT_FOR_PEOPLE = re.compile(r"Traceback|fault in Reverie|\[Errno|(?<!\.)\bsqlite3?\.|\b[A-Z][A-Za-z]+Error\b")
ROOM = 24_000
"""Bytes a file may have on the disk that is full: what a command prints fits, a ledger does not."""


@contextmanager
def damaged(shop: Workshop, transcript: Path) -> Iterator[None]:
    garbage(ledger_of(shop))
    yield


@contextmanager
def damaged_within(shop: Workshop, transcript: Path) -> Iterator[None]:
    page_of("memory_transcript_entries")(ledger_of(shop))
    yield


@contextmanager
def full(shop: Workshop, transcript: Path) -> Iterator[None]:
    shop.longest_file = ROOM
    yield
    shop.longest_file = -1


@contextmanager
def unreadable(shop: Workshop, transcript: Path) -> Iterator[None]:
    transcript.chmod(0)
    yield
    if transcript.exists():
        transcript.chmod(0o600)


@contextmanager
def locked(shop: Workshop, transcript: Path) -> Iterator[None]:
    with closing(sqlite3.connect(ledger_of(shop), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


State = Callable[[Workshop, Path], AbstractContextManager[None]]
STATES = {"damaged": damaged, "damaged within": damaged_within, "full": full, "unreadable": unreadable}
SLOW = (("work",), ("status",), ("dream",))
"""What is tried with a locked ledger, as a writer waits for five seconds."""


def test_every_command_is_tried() -> None:
    known = {name for group in table.COMMANDS.values() for name in group} - NEED_NO_LEDGER
    assert known == {words[0] for words in (*COMMANDS, *HEALS)}


def run(shop: Workshop, transcript: Path, words: tuple[str, ...]) -> str:
    """Run a command, which must speak to a person; return what it said."""
    named = {"TRANSCRIPT": str(transcript), "FOLDER": str(shop.folder), "OUT": str(shop.folder / "out")}
    done = shop.reverie(*(named.get(word, word) for word in words), REVERIE_NOW=LATER)
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1), (words, said)
    assert not NOT_FOR_PEOPLE.search(said), (words, said)
    assert said.strip(), words
    if done.returncode:
        assert re.search(r"^(error: |! |✗ |\s*error )|\berrors?\b|^fail|not", said, re.MULTILINE), (
            words,
            said,
        )
    return said


SWEEP = [
    # In each state every second command, so that each is tried in two; the others if the whole is run.
    pytest.param(
        STATES[name],
        COMMANDS[part::2],
        id=f"{name}-{part}",
        marks=[pytest.mark.whole] if (at + part) % 2 else [],
    )
    for at, name in enumerate(STATES)
    for part in range(2)
]


@pytest.mark.parametrize(("state", "commands"), SWEEP)
def test_each_command_says_in_words_what_is_wrong(
    shop: Workshop, state: State, commands: Sequence[tuple[str, ...]]
) -> None:
    session = lived(shop)
    transcript = shop.folder / f"{session.session_id}.jsonl"
    with state(shop, transcript):
        for words in commands:
            run(shop, transcript, words)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("words", HEALS, ids=" ".join)
def test_what_can_be_made_anew_is_and_all_is_read_when_the_trouble_is_over(
    shop: Workshop, state: State, words: tuple[str, ...]
) -> None:
    session = lived(shop)
    transcript = shop.folder / f"{session.session_id}.jsonl"
    before = shop.memories()
    with state(shop, transcript):
        run(shop, transcript, words)
    assert shop.reverie(*words, REVERIE_NOW=RETRIED).returncode == 0
    assert set(before) < set(shop.memories()), "the turn that waited is read"
    assert not list((shop.home / "spool").glob("*.json"))
    assert "learns nothing" not in shop.started(REVERIE_NOW=RETRIED)


def test_a_locked_ledger_is_named_by_the_commands_that_write(shop: Workshop) -> None:
    session = lived(shop)
    transcript = shop.folder / f"{session.session_id}.jsonl"
    with locked(shop, transcript):
        told = {words: run(shop, transcript, words) for words in SLOW}
    assert "Another process is writing" in told["work",] and "Last runs" in told["status",]


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_hooks_and_worker_end_well_and_a_session_says_it_in_one_line(shop: Workshop, state: State) -> None:
    session = lived(shop)
    transcript = shop.folder / f"{session.session_id}.jsonl"
    with state(shop, transcript):
        assert shop.work(REVERIE_NOW=LATER) in (0, 1)
        room = state is not full
        line = shop.started(room=room, REVERIE_NOW=LATER)
        assert line.count("\n") == 0 and line.startswith("Reverie"), line
        assert not NOT_FOR_PEOPLE.search(line)
        assert re.search("damaged|keeps nothing for now|can't be read", line), line
        assert not NOT_FOR_PEOPLE.search(shop.status_line(REVERIE_NOW=LATER))
    log = "\n".join(shop.log())
    assert "Traceback" not in log
