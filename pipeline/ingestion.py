"""Ingestion: from a transcript file to rows in the ledger, exactly once, redacted on the way.

    file_state → cursor → read → redact → one transaction: rows, branches, conversations, offset

A phase of its own beside extraction: it costs no model call, so it always runs in full, also for a history
of which only the newest part will be extracted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from pipeline.clock import Clock
from pipeline.config import Settings
from pipeline.domain.speech import Entry
from pipeline.errors import InputError
from pipeline.ledger import Ledger, ingest
from pipeline.paths import speakable
from pipeline.redact import redact
from pipeline.transcript import Cursor, abandoned, read


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one pass over one file did; `skipped` is "" or why nothing was read."""

    key: str
    path: Path
    new_rows: int = 0
    bad: int = 0
    skipped: str = ""
    restarted: str = ""
    bytes_read: int = 0


def file_key(path: Path, roots: tuple[Path, ...] = ()) -> str:
    """Return the name of `path` in the ledger: relative to the first of `roots` that holds it.

    Elsewhere it is the file's own folder and name, so that a backup tree and the live one share keys
    (seed 4, D-03). Raises InputError for a name that is not UTF-8.
    """
    real = speakable(path.resolve())
    for root in roots:
        if real.is_relative_to(root.resolve()):
            return real.relative_to(root.resolve()).as_posix()
    return f"{real.parent.name}/{real.name}"


class Known:
    """The files the ledger has, taken in one query, to tell which of thousands need no second look."""

    def __init__(self, ledger: Ledger) -> None:
        self._cursors = ingest.cursors(ledger)

    def unchanged(self, path: Path) -> Ingested | None:
        """Return the answer for a file that stands as it was read, found by its path; else None.

        None decides nothing: `ingest_file` then looks at the file by its key.
        """
        key, text = self._cursors.get(str(path), ("", ""))
        try:
            cursor = orjson.loads(text) if text else {}
            stat = os.stat(path) if cursor else None  # noqa: PTH116 - half of Path.stat's time
        except (ValueError, OSError):
            return None
        if stat is None or (cursor.get("mtime_ns"), cursor.get("size")) != (stat.st_mtime_ns, stat.st_size):
            return None
        return Ingested(key, path, skipped="unchanged") if cursor.get("offset") == stat.st_size else None


def ingest_file(
    ledger: Ledger,
    path: Path,
    *,
    key: str,
    settings: Settings,
    clock: Clock,
    quiet: bool = False,
    reimport: bool = False,
    source: str = "claude-code",
) -> Ingested:
    """Read what is new in `path` into `ledger` and return what was done.

    `quiet` says that nobody is writing any more, so that a last line without a newline is taken.
    `reimport` reads from the first byte again; rows already there stay (D-C5). A file that is gone is marked
    so, once, and its rows are kept (D-C4). Raises InputError for what is no transcript.
    """
    state = ingest.file_state(ledger, key)
    try:
        stat = path.stat()
    except FileNotFoundError:
        first = ingest.mark_gone(ledger, key, clock.now())
        return Ingested(key, path, skipped="gone" if first else "gone before")
    cursor = Cursor() if state is None or reimport else _cursor(state.cursor_json)
    same = cursor.size == stat.st_size and cursor.mtime_ns == stat.st_mtime_ns
    # A prompt that still waits for its copy is told on a quiet pass, though the file did not change.
    if same and cursor.offset == stat.st_size and not (quiet and cursor.queue):
        return Ingested(key, path, skipped="unchanged")
    mtime_ms = stat.st_mtime_ns // 1_000_000
    ingest.begin_ingest(ledger, key, str(path), source=source, size=stat.st_size, mtime_ms=mtime_ms)
    reading = read(path, cursor, quiet=quiet)
    result = ingest.commit_ingest(
        ledger,
        key,
        _redacted(reading.entries),
        cursor_json=lambda: json.dumps(asdict(reading.cursor)),
        offset=lambda: reading.cursor.offset,
        size=stat.st_size,
        mtime_ms=mtime_ms,
        restarted=lambda: reading.restarted,
        bad=reading.bad,
        type_counts=reading.type_counts,
        abandoned=abandoned,
        gap_minutes=settings.extraction.conversation_gap_minutes,
        now=clock.now(),
    )
    return Ingested(
        key,
        path,
        new_rows=result.new_rows,
        bad=len(reading.bad),
        restarted=reading.restarted,
        bytes_read=reading.bytes_read,
    )


def _cursor(text: str) -> Cursor:
    if not text:
        return Cursor()
    try:
        return Cursor(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"the ledger's cursor can't be read: {error}", fix="Run `reverie ingest --file F --reimport`."
        ) from error


def _redacted(entries: Iterator[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if entry.text or entry.note:
            text, note = redact(entry.text), redact(entry.note)
            if text.found or note.found:
                entry = replace(entry, text=text.text, note=note.text)
        yield entry
