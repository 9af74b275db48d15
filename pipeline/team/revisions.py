"""A team's revisions: pushed in a member's name, pulled in the order of their numbers, never changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.record import record, values_of

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

BATCH = 500
"""Revisions that are read or sent at a time, which bounds the memory it takes."""
MOST_BYTES = 1_000_000
"""As the layout of the database has it: a longer revision is refused there."""
_MOST_IN_PART = 4_000_000
_COLUMNS = "number, digest, memory, parents, author, machine, body, kept_at"


@record
class Outgoing:
    """A revision to be pushed: `digest` in 40 hexadecimal digits, `body` its text, `parents` digests."""

    digest: str
    memory: str
    parents: tuple[str, ...]
    body: str


@record
class Incoming:
    """A revision in the database: `author` is the login that pushed it, `kept_at` the server's time."""

    number: int
    digest: str
    memory: str
    parents: tuple[str, ...]
    author: str
    machine: str
    body: str
    kept_at: datetime


def parts_of(items: Sequence[Outgoing]) -> Iterator[Sequence[Outgoing]]:
    """Give `items` in parts that a slow line carries within the time of a transaction."""
    start = size = 0
    for number, item in enumerate(items):
        size += len(item.body)
        if size > _MOST_IN_PART and number > start:
            yield items[start:number]
            start, size = number, len(item.body)
    if items[start:]:
        yield items[start:]


def push(connection: psycopg.Connection[Any], team: str, machine: str, revisions: Sequence[Outgoing]) -> int:
    """Add `revisions` to `team` in the name of whoever asks; return how many it lacked."""
    items = [values_of(revision) for revision in revisions]
    row = connection.execute("SELECT push(%s, %s, %s::jsonb)", [team, machine, json.dumps(items)]).fetchone()
    assert row is not None
    return int(row[0])


def after(
    connection: psycopg.Connection[Any], team: str, number: int, *, limit: int = BATCH
) -> tuple[Incoming, ...]:
    """Return the first `limit` revisions of `team` past `number`, oldest first; fewer where they are long."""
    first = f"SELECT {_COLUMNS} FROM revision WHERE team = %s AND number > %s ORDER BY number LIMIT %s"
    so_far = "sum(octet_length(body)) OVER (ORDER BY number) - octet_length(body)"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM (SELECT *, {so_far} AS before FROM ({first}) AS next) AS counted "
        "WHERE before < %s ORDER BY number",
        [team, number, limit, _MOST_IN_PART],
    )
    return tuple(_incoming(row) for row in rows)


def digest_at(connection: psycopg.Connection[Any], team: str, number: int) -> str:
    """Return the digest of the revision of `team` with that number, "" where there is none."""
    sql = "SELECT digest FROM revision WHERE team = %s AND number = %s"
    row = connection.execute(sql, [team, number]).fetchone()
    return "" if row is None else str(row[0])


def heads(connection: psycopg.Connection[Any], team: str) -> Iterator[Incoming]:
    """Give the revisions of `team` that no later one replaces, by number, a batch in memory at a time."""
    with connection.cursor(name="heads") as cursor:
        cursor.itersize = BATCH
        cursor.execute(f"SELECT {_COLUMNS} FROM head WHERE team = %s ORDER BY number", [team])
        for row in cursor:
            yield _incoming(row)


def note_pull(
    connection: psycopg.Connection[Any], team: str, machine: str, *, read_to: int, waiting: int
) -> None:
    """Tell the team how far this machine has read, and how many revisions wait here."""
    connection.execute(
        "INSERT INTO machine (team, machine, pulled_at, pulled_to, waiting) VALUES (%s, %s, now(), %s, %s) "
        "ON CONFLICT (team, login, machine) DO UPDATE SET pulled_at = now(), "
        "pulled_to = greatest(machine.pulled_to, excluded.pulled_to), waiting = excluded.waiting",
        [team, machine, read_to, waiting],
    )


def _incoming(row: Sequence[Any]) -> Incoming:
    number, digest, memory, parents, author, machine, body, kept_at = row
    return Incoming(number, digest, memory, tuple(parents), author, machine, body, kept_at)
