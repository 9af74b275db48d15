"""Telling at a glance which of many transcripts need no second look."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.intake.ingest import KnownFiles
from tests.support.extraction import Bench
from tests.support.transcripts import Transcript


def _touched(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _rewritten(path: Path) -> None:
    stamp = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes() + b"{}\n")
    os.utime(path, ns=(stamp, stamp))


@pytest.fixture
def path(bench: Bench) -> Path:
    session = Transcript()
    session.user("one")
    return session.write(bench.path(session))


def test_a_file_as_it_was_read_is_answered_with_its_key(bench: Bench, path: Path) -> None:
    key = bench.ingest(path).key
    found = KnownFiles(bench.ledger).unchanged(path)
    assert found is not None and (found.key, found.skipped) == (key, "unchanged")


@pytest.mark.parametrize("change", [_touched, _rewritten, Path.unlink])
def test_any_change_calls_for_a_look(bench: Bench, path: Path, change: Callable[[Path], None]) -> None:
    bench.ingest(path)
    change(path)
    assert KnownFiles(bench.ledger).unchanged(path) is None


def test_a_file_never_read_or_read_in_part_calls_for_a_look(bench: Bench, path: Path) -> None:
    assert KnownFiles(bench.ledger).unchanged(path) is None
    path.write_bytes(path.read_bytes() + b'{"type": "us')
    bench.ingest(path)
    assert KnownFiles(bench.ledger).unchanged(path) is None
