"""A damaged ledger: set aside, and a new one with what can still be read of it that stands nowhere else.

Dialogue is read again from the transcripts, events lie in the spool, memories and what was forgotten in the
store. What was spent, what waits for a person's decision and when which dream ran is in the ledger alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import locks
from pipeline.core.errors import LedgerError
from pipeline.ledger import connection as ledgers
from pipeline.record import record

_KEPT = ("model_calls", "breaker", "inbox", "tombstones", "dream_states", "dream_refusals", "chores")
"""Tables whose rows are taken over; none of them points into another."""
_SPENT = "model_calls"
_ASIDE = ".damaged-"
_MAGIC = b"SQLite format 3\0"
_MOST_GROWTH = 64


@record
class Renewed:
    """What became of a damaged ledger: where it is now, and the tables of which not all could be read."""

    aside: Path
    lost: tuple[str, ...]

    @property
    def spend_is_whole(self) -> bool:
        """Whether all that was spent is still known."""
        return _SPENT not in self.lost


def sweep(path: Path, *, days: int | None, now: datetime) -> int:
    """Remove what was set aside of the ledger at `path` over `days` days ago (None: never); return how many.

    It holds what was said, which is kept no longer than that in a sound one. Raises OSError.
    """
    removed = 0
    if days is None:
        return removed
    for file in path.parent.glob(f"{path.name}{_ASIDE}*"):
        if now.timestamp() - file.lstat().st_ctime > days * 86_400:
            file.unlink()
            removed += 1
    return removed


def renew(path: Path, *, now: datetime) -> Renewed | None:
    """Set the ledger at `path` aside and make a new one; None where SQLite finds the file sound after all.

    Nobody else may write to it: the caller holds ``worker.lock``. Only a file that SQLite calls damaged is
    touched: one that is locked, of a newer schema or somebody else's stays. Raises LedgerError.
    """
    with ledgers.translated(path), locks.lock(path.with_name(path.name + ".lock"), timeout=10.0) as held:
        if not held:
            raise LedgerError("another process is at work on it", file=str(path), fix="Try again.")
        if _is_sound(path):
            return None
        aside = path.with_name(f"{path.name}{_ASIDE}{now:%Y%m%dT%H%M%S}")
        for end in ("-wal", "-shm", ""):
            part = path.with_name(path.name + end)
            if part.exists():
                part.rename(aside.with_name(aside.name + end))
    with ledgers.open_ledger(path) as ledger:
        return Renewed(aside, tuple(_take_over(aside, ledger)))


def _is_sound(path: Path) -> bool:
    """Whether SQLite finds nothing wrong. Raises what it raises where it can't tell, as for a locked file."""
    if not path.exists():
        return True
    try:
        with closing(sqlite3.connect(path, timeout=ledgers.BUSY_SECONDS)) as raw:
            return bool(raw.execute("PRAGMA quick_check").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        if ledgers.is_damage(error):
            return False
        raise


def _take_over(aside: Path, ledger: ledgers.Ledger) -> Iterator[str]:
    """Copy the rows that can be read; yield the tables of which some could not."""
    with closing(_opened(aside)) as old:
        for table in _KEPT:
            here = [row["name"] for row in ledger.rows(f"PRAGMA table_info({table})")]
            rows, whole = _readable(old, table, here)
            with ledger.transaction():
                for row in rows:
                    names = ", ".join(row)
                    marks = ", ".join("?" * len(row))
                    ledger.execute(
                        f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", [*row.values()]
                    )
            if not whole:
                yield table


def _opened(aside: Path) -> sqlite3.Connection:
    """Return a connection to the damaged file; to a copy in memory with zeros for its end where that is gone,
    as SQLite reads nothing of a file that is shorter than it says."""
    old = sqlite3.connect(aside, timeout=ledgers.BUSY_SECONDS)
    try:
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError:
        raw = bytearray(aside.read_bytes())
        size = int.from_bytes(raw[16:18], "big") * int.from_bytes(raw[28:32], "big")
        if raw.startswith(_MAGIC) and len(raw) < size <= _MOST_GROWTH * len(raw):
            old.close()
            raw[18:20] = b"\x01\x01"  # Not with a log: what is in memory has none.
            old = sqlite3.connect(":memory:")
            old.deserialize(bytes(raw).ljust(size, b"\0"))
    return old


def _readable(old: sqlite3.Connection, table: str, columns: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of `table` from both of its ends up to what is damaged, and whether these are all."""
    try:
        there = [row[1] for row in old.execute(f"PRAGMA table_info({table})")]
    except sqlite3.DatabaseError:
        return [], False
    names = [name for name in columns if name in there]
    if not names:
        return [], False
    found: dict[tuple[Any, ...], None] = {}
    for order in ("", f" ORDER BY {names[0]} DESC"):
        try:
            for row in old.execute(f"SELECT {', '.join(names)} FROM {table}{order}"):
                found[tuple(row)] = None
        except sqlite3.DatabaseError:
            continue
        return [dict(zip(names, row, strict=True)) for row in found], True
    return [dict(zip(names, row, strict=True)) for row in found], False
