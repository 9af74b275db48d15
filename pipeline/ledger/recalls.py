"""What recall put into contexts, line by line and memory by memory, and which memories were asked for.

The hooks leave one file for each session; what the worker read of it is here. A row of `recall_log` is one
memory in one line of such a file, or a use: somebody asked for the memory itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any, Literal

from pipeline.core import faults
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import record

Use = Literal["show", "recall", "read"]
"""How a memory was asked for: by a person's `reverie show` or `recall`, or read from its file."""

LEFT_OUT = -1
"""The mark in `counted` of a row that can't be counted: no store of ours has that memory."""


@record
class Progress:
    """How far a session's file was read: `taken` bytes of it, of which `head` holds the first few.

    `base` counts the bytes of earlier files of the same session, so that `base` plus an offset names a line
    for good.
    """

    taken: int = 0
    base: int = 0
    head: bytes = b""


@record
class Item:
    """One memory in a line: `why` are the words that led to it; `chars` and `tokens` measure its piece."""

    memory: str
    name: str
    path: str
    store: str
    digest: str
    score: float
    why: tuple[str, ...]
    chars: int
    tokens: int


@record
class Line:
    """One line: `kind` is ``sent``, ``start`` or ``reset``, `at` epoch seconds, `hook` what it came from.

    `position` is its first byte, those of earlier files of the session counted (stored as ``place``).
    `chars` and `tokens` measure all that was put in, the frame included; `prompt` is a short digest.
    """

    position: int
    kind: str
    at: float
    hook: str
    cwd: str
    store: str
    chars: int
    tokens: int
    left_out: int
    prompt: str
    items: tuple[Item, ...] = ()


@record
class BadLine:
    """A line, or a part of one, that can't be understood, with the beginning of its text."""

    position: int
    reason: str
    text: str


@record
class Logged:
    """One row of the log, to be counted; `use` is "" for a memory that was merely put into a context."""

    id: int
    at: float
    use: str
    store: str
    memory: str
    path: str


@record
class Given:
    """How often one memory was put into contexts of one folder in a quarter of an hour, or asked for.

    `at` is the last time, in epoch seconds; `use` is "" where it was put into a context. `store` is the
    memory's own, `session_store` that of the session's project.
    """

    memory: str
    name: str
    store: str
    session_store: str
    use: str
    at: float
    times: int


@record
class SessionTotals:
    """What one session was given in all; times are epoch seconds."""

    session: str
    cwd: str
    first: float
    last: float
    times: int
    memories: int
    chars: int
    tokens: int


_LINE = "place, kind, at, hook, cwd, store, chars, tokens, left_out, prompt"
_ITEM = "memory, name, path, store, digest, score, why, chars, tokens"
_TOTALS = """
SELECT session, max(cwd) AS cwd, min(at) AS first, max(at) AS last, sum(kind <> 'reset') AS times,
  (SELECT count(*) FROM recall_log g WHERE g.session = l.session AND g.place IS NOT NULL) AS memories,
  sum(chars) AS chars, sum(tokens) AS tokens
FROM recall_lines l
"""


def identity(ledger: Ledger) -> str:
    """Return what tells this ledger from every other: counts kept elsewhere name it."""
    return str(ledger.value("SELECT id FROM identity"))


# -- the hooks' files ---------------------------------------------------------------------------------


def progress(ledger: Ledger) -> dict[str, Progress]:
    """Return how far each session's file was read."""
    rows = ledger.rows("SELECT session, taken, base, head FROM recall_files")
    return {row["session"]: Progress(row["taken"], row["base"], row["head"]) for row in rows}


def add_lines(
    ledger: Ledger,
    session: str,
    lines: Iterable[Line],
    bad: Iterable[BadLine],
    *,
    before: Progress | None,
    after: Progress,
) -> bool:
    """Keep what was read of a session's file, together with how far that is; all of it or nothing.

    Nothing, and False, when it is no longer read as far as `before` says: another process was faster.
    """
    with ledger.transaction():
        if _progress(ledger, session) != before:
            return False
        for line in lines:
            _add(ledger, session, line)
        add_bad(ledger, session, bad)
        ledger.execute(
            "INSERT OR REPLACE INTO recall_files (session, taken, base, head) VALUES (?, ?, ?, ?)",
            (session, after.taken, after.base, after.head),
        )
        faults.reach("recall.before_commit")
    faults.reach("recall.after_commit")
    return True


def begin_anew(ledger: Ledger, session: str) -> None:
    """Note that the file of `session` was removed: the next one of that name is read from its start."""
    ledger.execute(
        "UPDATE recall_files SET base = base + taken, taken = 0, head = ? WHERE session = ?", (b"", session)
    )


def _progress(ledger: Ledger, session: str) -> Progress | None:
    row = ledger.row("SELECT taken, base, head FROM recall_files WHERE session = ?", (session,))
    return None if row is None else Progress(*row)


def _add(ledger: Ledger, session: str, line: Line) -> None:
    values = astuple(line)[:-1]
    ledger.execute(
        f"INSERT OR IGNORE INTO recall_lines (session, {_LINE}) VALUES (?, {_placeholders(values)})",
        (session, *values),
    )
    ledger.executemany(
        f"INSERT OR IGNORE INTO recall_log (session, place, item, at, hook, {_ITEM})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (session, line.position, number, line.at, line.hook, *_item_values(item))
            for number, item in enumerate(line.items)
        ],
    )


def _item_values(item: Item) -> tuple[Any, ...]:
    return tuple(
        json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else value
        for value in (getattr(item, field.name) for field in fields(item))
    )


def _placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def add_bad(ledger: Ledger, session: str, bad: Iterable[BadLine]) -> None:
    """Keep what can't be understood of a session's file."""
    ledger.executemany(
        "INSERT OR IGNORE INTO recall_bad_lines (session, place, reason, text) VALUES (?, ?, ?, ?)",
        [(session, *astuple(line)) for line in bad],
    )


# -- uses ---------------------------------------------------------------------------------------------


def note_use(
    ledger: Ledger, use: Use, *, store: str, memory: str, name: str, path: str, digest: str, now: Moment
) -> None:
    """Note that a person asked for a memory; `path` is relative to `store`."""
    ledger.execute(
        "INSERT INTO recall_log (session, item, at, hook, store, memory, name, path, digest, score, why,"
        " chars, tokens) VALUES ('', 0, ?, ?, ?, ?, ?, ?, ?, 0, '[]', 0, 0)",
        (seconds(now), use, store, memory, name, path, digest),
    )


def note_reads(ledger: Ledger, reads: Iterable[tuple[str, str, str, float]]) -> None:
    """Note that the assistant read files: session, what marks that very read, absolute path, epoch seconds.

    A read that another session's file repeats, as a fork does, is noted once.
    """
    ledger.executemany(
        "INSERT OR IGNORE INTO recall_log (session, item, at, hook, store, memory, name, path, digest, score,"
        " why, chars, tokens, mark) VALUES (?, 0, ?, 'read', '', '', '', ?, '', 0, '[]', 0, 0, ?)",
        [(session, at, path, read_key) for session, read_key, path, at in reads],
    )


def uncounted(ledger: Ledger, *, limit: int) -> list[Logged]:
    """Return the oldest rows that no store's counts have yet."""
    rows = ledger.rows(
        "SELECT id, at, hook, place, store, memory, path FROM recall_log WHERE counted = 0"
        " ORDER BY id LIMIT ?",
        (limit,),
    )
    return [
        Logged(row["id"], row["at"], "" if row["place"] is not None else row["hook"], *tuple(row)[4:])
        for row in rows
    ]


def set_counted(ledger: Ledger, rows: Iterable[int], state: int = 1) -> None:
    """Note that `rows` are counted, or with `LEFT_OUT` that they can't be."""
    with ledger.transaction():
        ledger.executemany("UPDATE recall_log SET counted = ? WHERE id = ?", [(state, row) for row in rows])


# -- looking ------------------------------------------------------------------------------------------


def sessions(ledger: Ledger, *, limit: int = 20) -> list[SessionTotals]:
    """Return the totals of the sessions that were given something, the latest first."""
    rows = ledger.rows(f"{_TOTALS} GROUP BY session ORDER BY last DESC, session LIMIT ?", (limit,))
    return [SessionTotals(*row) for row in rows]


def given(ledger: Ledger, begin: Moment, end: Moment) -> list[Given]:
    """Return which memories came to mind from `begin` on and before `end`, as far as their names are known.

    There is a row for each quarter of an hour, so that a day of any zone can be summed.
    """
    rows = ledger.rows(
        "SELECT g.memory, g.name, g.store, coalesce(l.store, '') AS session_store,"
        " iif(g.place IS NULL, g.hook, '') AS use, max(g.at) AS at, count(*) AS times"
        " FROM recall_log g LEFT JOIN recall_lines l ON l.session = g.session AND l.place = g.place"
        " WHERE g.at >= ? AND g.at < ? AND g.name <> ''"
        " GROUP BY 1, 2, 3, 4, 5, CAST(g.at / 900 AS INTEGER) ORDER BY at, g.name",
        (seconds(begin), seconds(end)),
    )
    return [Given(*row) for row in rows]


def matching(ledger: Ledger, start: str) -> list[str]:
    """Return the sessions whose name begins with `start`, the latest first."""
    rows = ledger.rows(
        "SELECT session FROM recall_lines WHERE substr(session, 1, ?) = ? GROUP BY session"
        " ORDER BY max(at) DESC",
        (len(start), start),
    )
    return [row["session"] for row in rows]


def totals(ledger: Ledger, session: str) -> SessionTotals | None:
    """Return what `session` was given in all, None when that is nothing."""
    row = ledger.row(f"{_TOTALS} WHERE session = ? GROUP BY session", (session,))
    return None if row is None else SessionTotals(*row)


def lines(ledger: Ledger, session: str) -> list[Line]:
    """Return what `session` was given, in order."""
    items: dict[int, list[Item]] = {}
    for row in ledger.rows(
        f"SELECT place, {_ITEM} FROM recall_log WHERE session = ? AND place IS NOT NULL ORDER BY place, item",
        (session,),
    ):
        values = {**dict(row), "why": tuple(json.loads(row["why"]))}
        items.setdefault(values.pop("place"), []).append(Item(**values))
    found = []
    for row in ledger.rows(f"SELECT {_LINE} FROM recall_lines WHERE session = ? ORDER BY place", (session,)):
        values = dict(row)
        position = values.pop("place")
        found.append(Line(position, **values, items=tuple(items.get(position, ()))))
    return found


def bad_lines(ledger: Ledger, session: str) -> list[BadLine]:
    """Return what can't be understood of the file of `session`, in order."""
    rows = ledger.rows(
        "SELECT place, reason, text FROM recall_bad_lines WHERE session = ? ORDER BY place", (session,)
    )
    return [BadLine(*row) for row in rows]
