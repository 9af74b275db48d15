"""What traces show, against decoding their lines; and a line in a journal, against a bare one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import orjson

from bench.material import write_transcript
from bench.measure import Ratio, compare
from pipeline.formats.keisei import journals
from pipeline.formats.keisei.coaccess import coaccess
from pipeline.formats.keisei.events import Event, events
from pipeline.formats.keisei.failures import errors_per_session
from pipeline.formats.keisei.sequences import repeated_sequences
from pipeline.formats.keisei.similar import Sessions

LINE = {"kind": "start", "name": "build", "start_epoch": 1777438080, "ts": "2026-04-29T04:48:00Z"}


def _decode(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def _like(found: Iterable[Event]) -> None:
    Sessions().add(found)


QUESTIONS: dict[str, Callable[[Iterable[Event]], object]] = {
    "patterns": repeated_sequences,
    "coaccess": coaccess,
    "errors": errors_per_session,
    "similar": _like,
}


def asked(question: str, folder: Path, rounds: int, megabytes: int = 10) -> Ratio:
    """Ask one question of a trace of that size, against `orjson.loads` of its lines."""
    path = folder / "trace.jsonl"
    write_transcript(path, megabytes)
    answer = QUESTIONS[question]
    return compare(lambda: answer(events(path, quiet=True)), lambda: _decode(path), rounds)


def appended(folder: Path, rounds: int, lines: int = 50) -> Ratio:
    """Add lines to a journal one after another, against flock, write and fsync alone."""
    ours, bare = folder / "ours.jsonl", folder / "bare.jsonl"
    data = orjson.dumps(LINE) + b"\n"

    def append() -> None:
        for _ in range(lines):
            journals.append(ours, [LINE])

    def write() -> None:
        for _ in range(lines):
            handle = os.open(bare, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            fcntl.flock(handle, fcntl.LOCK_EX)
            os.write(handle, data)
            os.fsync(handle)
            os.close(handle)

    return compare(append, write, rounds)
