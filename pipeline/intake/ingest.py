"""Ingestion: from a transcript file to rows in the ledger, exactly once, redacted on the way.

    file_state → cursor → read → redact → one transaction: rows, branches, conversations, offset

A phase of its own beside extraction: it costs no model call, so it always runs in full, also for a history
of which only the newest part will be extracted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import orjson

from pipeline.config import Settings
from pipeline.core.clock import Clock
from pipeline.core.errors import InputError, UnreadableError
from pipeline.core.paths import speakable
from pipeline.domain.speech import Entry, tally
from pipeline.intake.left_alone import why_left_alone
from pipeline.ledger import Ledger, files, secrets
from pipeline.ledger.entries import commit_ingest
from pipeline.safety.recognised import Fingerprint
from pipeline.safety.redaction import redact
from pipeline.transcript import Cursor, Reading, abandoned, read

_WORD_CHARS = 64
"""Characters kept of a record's type, which for an unknown one is whatever the file says."""


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


class KnownFiles:
    """The files the ledger has, taken in one query, to tell which of thousands need no second look."""

    def __init__(self, ledger: Ledger) -> None:
        self._cursors = files.cursors(ledger)

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
        if not isinstance(cursor, dict):
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
    asked_for: bool = False,
    source: str = "claude-code",
) -> Ingested:
    """Read what is new in `path` into `ledger` and return what was done.

    `quiet` says that nobody is writing any more, so that a last line without a newline is taken.
    `reimport` reads from the first byte again; rows already there stay (D-C5). A file that is gone is marked
    so, once, and its rows are kept (D-C4). One of a project that is left alone is skipped, unless a person
    `asked_for` this very file. Raises InputError for no transcript, UnreadableError for one not ours to read.
    """
    state, stat = files.file_state(ledger, key), stat_of(path)
    if stat is None:
        return _note_gone(ledger, path, key, clock)
    if not asked_for and (why := why_left_alone(ledger, key, settings, path=path)):
        return Ingested(key, path, skipped=f"left alone: {why}")
    # A damaged cursor gives the beginning, where rows that are known already stay as they are.
    cursor = Cursor() if state is None or reimport else Cursor.from_json(state.cursor_json)
    same = cursor.size == stat.st_size and cursor.mtime_ns == stat.st_mtime_ns
    # A prompt that still waits for its copy is told on a quiet pass, though the file did not change.
    if same and cursor.offset == stat.st_size and not (quiet and cursor.queue):
        return Ingested(key, path, skipped="unchanged")
    size, mtime_ms = stat.st_size, stat.st_mtime_ns // 1_000_000
    files.begin_ingest(ledger, key, str(path), source=source, size=size, mtime_ms=mtime_ms)
    try:
        reading = read(path, cursor, quiet=quiet)
    except FileNotFoundError:
        return _note_gone(ledger, path, key, clock)
    except InputError:
        files.refuse(ledger, key)
        raise
    learned = _Learned(ledger, clock)
    result = commit_ingest(
        ledger,
        key,
        _redacted(reading.entries, learned),
        settle=learned.settle,
        cursor_json=lambda: reading.cursor.to_json(),
        offset=lambda: reading.cursor.offset,
        size=size,
        mtime_ms=mtime_ms,
        restarted=lambda: reading.restarted,
        bad=reading.bad,
        type_counts=lambda: _counts(reading.type_counts),
        abandoned=abandoned,
        gap_minutes=settings.extraction.conversation_gap_minutes,
        now=clock.now(),
    )
    return _done(key, path, result.new_rows, reading)


def _done(key: str, path: Path, new: int, reading: Reading) -> Ingested:
    bad, restarted = len(reading.bad), reading.restarted
    return Ingested(key, path, new, bad, restarted=restarted, bytes_read=reading.bytes_read)


def stat_of(path: Path) -> os.stat_result | None:
    """Return what the system knows of `path`, None when it is not there."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(
            f"can't be seen: {error.strerror or error}",
            file=str(path),
            fix="Check the path and its permissions.",
        ) from error


def _note_gone(ledger: Ledger, path: Path, key: str, clock: Clock) -> Ingested:
    first = files.mark_gone(ledger, key, clock.now())
    return Ingested(key, path, skipped="gone" if first else "gone before")


@lru_cache(maxsize=4096)
def _word(text: str) -> str:
    """Return a name out of a record without secrets; the same few come again and again."""
    return redact(text).text


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of record types, whose unknown names are as much a stranger's text as the rest."""
    word_counts: dict[str, int] = {}
    for name, count in counts.items():
        tally(word_counts, _word(name)[:_WORD_CHARS], count)
    return word_counts


class _Learned:
    """What one pass recognised that was not known: what to keep of it, and the sessions it stands in."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.known = secrets.recognised(ledger)
        self._ledger = ledger
        self._clock = clock
        self._fingerprints: list[Fingerprint] = []
        self._sessions: set[str] = set()

    def settle(self) -> None:
        """Keep what was learned, and take it out of what those sessions had said before."""
        secrets.keep(self._ledger, self.known, self._fingerprints, self._sessions, now=self._clock.now())

    def text(self, text: str, session: str) -> str:
        """Return `text` without secrets, those that were known before included."""
        if not text:
            return text
        redacted = redact(text)
        for value in redacted.values:
            fingerprints = self.known.learn(value)
            if fingerprints:
                self._fingerprints += fingerprints
                self._sessions.add(session)
        return self.known.mask(redacted.text)


def _redacted(entries: Iterator[Entry], learned: _Learned) -> Iterator[Entry]:
    def masked(text: str) -> str:
        return learned.known.mask(_word(text))

    for entry in entries:
        word = masked if learned.known else _word
        if entry.text or entry.note:
            text, note = (
                learned.text(entry.text, entry.session_id),
                learned.text(entry.note, entry.session_id),
            )
            if (text, note) != (entry.text, entry.note):
                entry = replace(entry, text=text, note=note)
        kind = word(entry.type)[:_WORD_CHARS]
        tools = tuple(map(word, entry.tool_names))
        touched = tuple(map(word, entry.files))
        branch = word(entry.branch) if entry.branch else ""
        sender = word(entry.origin)[:_WORD_CHARS] if entry.origin else ""
        writes = tuple(map(word, entry.memory_writes))
        reads = tuple(map(word, entry.memory_reads))
        started = word(entry.entrypoint) if entry.entrypoint else entry.entrypoint
        if (kind, tools, touched, branch, sender, writes, reads, started) != (
            entry.type,
            entry.tool_names,
            entry.files,
            entry.branch,
            entry.origin,
            entry.memory_writes,
            entry.memory_reads,
            entry.entrypoint,
        ):
            entry = replace(
                entry,
                type=kind,
                tool_names=tools,
                files=touched,
                branch=branch,
                origin=sender,
                memory_writes=writes,
                memory_reads=reads,
                entrypoint=started,
            )
        if entry.written:
            entry = replace(
                entry, written=tuple(replace(item, path=word(item.path)) for item in entry.written)
            )
        yield entry
