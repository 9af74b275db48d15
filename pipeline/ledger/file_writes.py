"""What the assistant wrote into memory files, as the transcripts tell: which call, of which session, when.

Calls on branches that a person left count as well: the file was written all the same. A call that a fork's
transcript repeats is one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.core.clock import parse_time
from pipeline.domain.authorship import FileWrite
from pipeline.domain.speech import Entry
from pipeline.ledger.connection import Ledger

_COLUMNS = "path, uuid, tool, session, at, until, digest, before, changed"


def note(ledger: Ledger, entries: Iterable[Entry]) -> None:
    """Keep what `entries` say was written; within the transaction that keeps the entries themselves."""
    rows = [
        (w.path, w.uuid, w.tool, entry.session_id, w.at, w.until, w.digest, w.before, w.changed)
        for entry in entries
        if entry.written
        for w in entry.written
    ]
    if rows:
        ledger.executemany(
            f"INSERT OR IGNORE INTO file_writes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
        )


def below(ledger: Ledger, folders: Sequence[str]) -> dict[str, list[FileWrite]]:
    """Return what was written below each of `folders` (absolute, without a slash at the end), oldest first.

    The keys are paths relative to the folder.
    """
    found: dict[str, list[FileWrite]] = {}
    for folder in dict.fromkeys(folders):
        # "0" follows the slash: all that begins with the folder and a slash comes before it.
        rows = ledger.rows(
            f"SELECT {_COLUMNS} FROM file_writes WHERE path > ? AND path < ?",
            (f"{folder}/", f"{folder}0"),
        )
        for row in rows:
            path, uuid, tool, session, at, until, digest, before, changed = tuple(row)
            times = _seconds(at), _seconds(until)
            write = FileWrite(path, uuid, tool, session, *times, digest, before, bool(changed))
            found.setdefault(path[len(folder) + 1 :], []).append(write)
    return {path: sorted(writes, key=lambda write: write.done_at) for path, writes in found.items()}


def count_below(ledger: Ledger, folders: Iterable[str]) -> int:
    """Return how many writes below `folders` (as for `below`) the ledger knows."""
    sql = "SELECT count(*) FROM file_writes WHERE path > ? AND path < ?"
    return sum(int(ledger.value(sql, (f"{folder}/", f"{folder}0"))) for folder in folders)


def _seconds(text: str | None) -> float | None:
    moment = parse_time(text)
    return None if moment is None else moment.timestamp()
