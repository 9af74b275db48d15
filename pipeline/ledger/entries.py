"""Take what a transcript's reader gives into the ledger, exactly once.

A pass is: `files.begin_ingest`, a commit of its own that shows where a crash happened; then
`commit_ingest`, one transaction for entries, links, branch flags, conversations and the new offset. Passes
over many files may share one transaction, begun by the caller (`Ledger.together`). Text must be redacted
before it comes here.

An entry is known by session, uuid and block; one without a uuid by a digest of its session, place
and text. Speech is also unique by uuid and block over all sessions, because a fork or a resume copies entries
into another session's file. The first row wins, and what a fork copied counts only while the session it comes
from was not read. When a file was rewritten, rows it no longer holds are marked superseded, never deleted:
memories cite them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pipeline.core import faults
from pipeline.core.clock import parse_time
from pipeline.core.errors import LedgerError
from pipeline.core.ids import digest
from pipeline.domain.speech import BareLink, Entry
from pipeline.ledger import conversations, file_writes, lineage, links, recalls, reimport
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.ledger.files import file_id, store_state
from pipeline.record import record

_BATCH_ENTRIES = 4096
_BATCH_CHARS = 4_000_000
_LARGEST = 2**63 - 1

_INSERT = """
INSERT INTO memory_transcript_entries (
  session_id, source_file, role, content, tool_names, timestamp, cwd, file_id, byte_offset, byte_length,
  block, uuid, speaker, channel, message_id, at_source, entrypoint, memory_writes, note, input_tokens,
  output_tokens, files, origin, worked_at, branch)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (uuid, block, session_id) DO UPDATE SET
  superseded = 0, abandoned = 0, source_file = excluded.source_file, file_id = excluded.file_id,
  byte_offset = excluded.byte_offset, byte_length = excluded.byte_length, role = excluded.role,
  content = iif(content = '' AND speaker IS NOT NULL, '', excluded.content),
  tool_names = excluded.tool_names, timestamp = excluded.timestamp,
  at_source = excluded.at_source, speaker = excluded.speaker, channel = excluded.channel,
  memory_writes = excluded.memory_writes, note = iif(content = '' AND speaker IS NOT NULL, '', excluded.note),
  files = excluded.files,
  origin = excluded.origin, worked_at = excluded.worked_at, branch = excluded.branch
WHERE superseded = 1
ON CONFLICT DO NOTHING
"""
"""What was deleted from the ledger (`pipeline.ledger.retention`) stays so when its file is read again."""
_BAD_LINE = "INSERT INTO bad_lines (file_id, place, reason) VALUES (?, ?, ?)"


@record
class IngestResult:
    """What one pass brought: rows that are new, entries that were known, and what a reimport changed."""

    new_rows: int
    duplicates: int
    changed: reimport.Changed = reimport.NOTHING


class OvertakenError(LedgerError):
    """Another process has read on in the file meanwhile: what was read of it is not kept."""


def commit_ingest(
    ledger: Ledger,
    key: str,
    entries: Iterable[Entry | BareLink],
    *,
    cursor_json: str | Callable[[], str],
    offset: int | Callable[[], int],
    size: int,
    mtime_ms: int,
    restarted: str | Callable[[], str],
    bad: Sequence[tuple[int, str]],
    type_counts: Mapping[str, int] | Callable[[], Mapping[str, int]],
    abandoned: links.Abandoned,
    gap_minutes: float,
    now: Moment,
    settle: Callable[[], None] = lambda: None,
    stamp: Callable[[], tuple[int, int]] = lambda: (0, 0),
    begun_at: str | None = None,
) -> IngestResult:
    """Commit one pass over the file `key`: all of it or nothing.

    `entries` may be an iterator over any amount: a few megabytes are held at a time, and the write lock is
    taken when the first are there, as `restarted` is asked. All other callables, and `bad`, are asked when
    all are there: `stamp` for time (ns) and size as read, `abandoned` for what the person left behind.
    `begun_at` is the cursor as the ledger had it when the pass began; raises OvertakenError where it has
    another by now.
    """
    batches = _batches(entries)
    first = next(batches, [])
    with ledger.transaction():
        file = _file_at(ledger, key, begun_at)
        restart_reason, before = _begin_anew(ledger, file, restarted)
        tip, reached, last_row = links.tip(ledger, file), links.reached(ledger, file), _last_row(ledger)
        offered, copies = 0, dict[str, bool]()
        for batch in chain([first], batches):
            reached = links.add(ledger, file, batch, after=reached)
            offered += _keep(ledger, file, key, batch, copies, seconds(now))
        grown_after = None if links.mark_branches(ledger, file, tip, abandoned) else last_row
        conversations.rebuild(ledger, file, gap_minutes=gap_minutes, now=now, grown_after=grown_after)
        ledger.executemany(_BAD_LINE, [(file, *line) for line in bad])
        settle()
        store_state(
            ledger,
            file,
            cursor_json=cursor_json() if callable(cursor_json) else cursor_json,
            offset=offset() if callable(offset) else offset,
            size=size,
            mtime_ms=mtime_ms,
            restarted=bool(restart_reason),
            type_counts=type_counts() if callable(type_counts) else type_counts,
            after_row=last_row,
            stamp=stamp(),
        )
        new = _new_rows(ledger, file, last_row)
        changed = reimport.compared(ledger, file, before) if before else reimport.NOTHING
        faults.reach("ingest.before_commit")
    faults.reach("ingest.after_commit")
    return IngestResult(new, offered - new, changed)


def _begin_anew(ledger: Ledger, file: int, restarted: str | Callable[[], str]) -> tuple[str, dict[int, int]]:
    """Take the file as unread if it is read from its start again; return why, and what is replaced."""
    reason = restarted() if callable(restarted) else restarted
    before = reimport.spoken(ledger, file) if reason == reimport.REASON else {}
    if reason:
        _supersede(ledger, file)
    return reason, before


def _file_at(ledger: Ledger, key: str, begun_at: str | None) -> int:
    """Return the row id of a file. Raises OvertakenError unless its cursor is still that of `begun_at`."""
    file = file_id(ledger, key)
    if begun_at is None:
        return file
    if ledger.value("SELECT cursor_json FROM memory_file_states WHERE id = ?", (file,)) != begun_at:
        raise OvertakenError(
            f"{key} was read by another process meanwhile",
            file=str(ledger.path),
            fix="Try again: what it read is kept.",
        )
    return file


def _keep(
    ledger: Ledger,
    file: int,
    key: str,
    batch: Sequence[Entry | BareLink],
    copies: dict[str, bool],
    now: float,
) -> int:
    """Keep the entries of a batch and what they show being done; return how many were worth a row."""
    entries = [entry for entry in batch if isinstance(entry, Entry)]
    offered = _insert(ledger, file, key, _own(ledger, entries, copies))
    _note_deeds(ledger, entries, now)
    return offered


def _last_row(ledger: Ledger) -> int:
    return int(ledger.value("SELECT coalesce(max(id), 0) FROM memory_transcript_entries"))


def _new_rows(ledger: Ledger, file: int, last_row: int) -> int:
    """Return how many rows of the file came after `last_row`."""
    # Told not to take the index of the file's places, which would read all that the file ever had.
    counted = "SELECT count(*) FROM memory_transcript_entries NOT INDEXED WHERE id > ? AND file_id = ?"
    return int(ledger.value(counted, (last_row, file)))


def _supersede(ledger: Ledger, file: int) -> None:
    """Take the file as unread: what this pass sees again comes back, the rest stays superseded."""
    ledger.execute("UPDATE memory_transcript_entries SET superseded = 1 WHERE file_id = ?", (file,))
    links.forget(ledger, file)
    ledger.execute("DELETE FROM bad_lines WHERE file_id = ?", (file,))


def _batches(entries: Iterable[Entry | BareLink]) -> Iterator[list[Entry | BareLink]]:
    batch: list[Entry | BareLink] = []
    chars = 0
    for entry in entries:
        # The entries of one record stay together, since they share a link.
        if (len(batch) >= _BATCH_ENTRIES or chars >= _BATCH_CHARS) and entry.offset != batch[-1].offset:
            yield batch
            batch, chars = [], 0
        batch.append(entry)
        if isinstance(entry, Entry):
            chars += len(entry.text) + len(entry.note)
    if batch:
        yield batch


def _own(ledger: Ledger, batch: Sequence[Entry], read: dict[str, bool]) -> list[Entry]:
    """Return the entries of a batch but for copies of what its own session tells; `read` has the answers."""
    found = []
    for entry in batch:
        source = entry.forked_from
        if source and source not in read:
            read[source] = lineage.is_read(ledger, source)
        if not source or not read[source]:
            found.append(entry)
    return found


def _insert(ledger: Ledger, file: int, key: str, batch: Sequence[Entry]) -> int:
    """Insert a batch's rows; return how many entries were worth one."""
    rows = [_row(entry, file, key) for entry in batch if _is_kept(entry)]
    ledger.executemany(_INSERT, rows)
    return len(rows)


def _note_deeds(ledger: Ledger, batch: Sequence[Entry], now: float) -> None:
    """Note which memory files a batch shows being read and written."""
    recalls.note_reads(ledger, _reads(batch, now))
    file_writes.note(ledger, batch)


def _reads(batch: Sequence[Entry], now: float) -> Iterator[tuple[str, str, str, float]]:
    """Yield the memory files that a batch shows being read, as `recalls.note_reads` takes them."""
    for entry in batch:
        for number, path in enumerate(entry.memory_reads):
            read_at = parse_time(entry.at)
            read_key = f"{entry.uuid or digest(f'{entry.session_id} {entry.offset}')}/{number}"
            yield entry.session_id, read_key, path, read_at.timestamp() if read_at else now


def _is_kept(entry: Entry) -> bool:
    return bool(entry.text or entry.note or entry.memory_writes or entry.tool_names)


def _row(entry: Entry, file: int, key: str) -> tuple[Any, ...]:
    speaker = entry.speaker if entry.text.strip() else None
    role = {"person": "user", "assistant": "assistant"}.get(speaker or "", entry.type)
    uuid = entry.uuid or "x-" + digest(f"{entry.session_id}\n{entry.offset}\n{entry.text or entry.note}")[:32]
    writes = json.dumps(entry.memory_writes, ensure_ascii=False) if entry.memory_writes else ""
    return (
        entry.session_id,
        key,
        role,
        entry.text,
        ",".join(entry.tool_names),
        entry.at,
        entry.cwd,
        file,
        entry.offset,
        entry.length,
        entry.block,
        uuid,
        speaker,
        entry.channel if speaker else None,
        entry.message_id,
        entry.at_source,
        entry.entrypoint,
        writes,
        entry.note,
        min(entry.input_tokens, _LARGEST),
        min(entry.output_tokens, _LARGEST),
        json.dumps(entry.files, ensure_ascii=False) if entry.files else "",
        entry.origin if speaker else "",
        entry.worked_at if speaker else None,
        entry.branch if speaker else "",
    )
