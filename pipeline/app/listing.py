"""What `list` tells: the live memories of both scopes, or those that left, chosen and put in order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.scopes import scope_of
from pipeline.core.errors import UsageError
from pipeline.hooklib.memory_format import author_of, speaker
from pipeline.hooklib.ownership import TOLD
from pipeline.search.refresh import borne_out
from pipeline.store import Document
from pipeline.text.since import since as moment_of
from pipeline.verify.provenance import said_at

SORTS = ("type", "name", "said", "changed")
LONG_AGO = datetime.min.replace(tzinfo=UTC)
"""Stands for a moment that nobody knows, where an order needs one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One live memory; `scope` is ``project``, ``team``, ``user``, or `scopes.Where` has it, where two of
    them say it word for word.

    `said` is when it was last said, `changed` when it was last written; None where nobody knows. `origin` is
    what the file says of itself, `by` who says it as far as that is borne out.
    """

    name: str
    type: str
    description: str
    origin: str
    by: str
    path: str
    pinned: bool
    scope: str
    said: datetime | None
    created: datetime | None
    changed: datetime | None


@dataclass(frozen=True, slots=True)
class Left:
    """One memory that is no longer live: when it left, why, and where its text is."""

    name: str
    at: datetime | None
    reason: str
    path: str
    scope: str


def live(
    app: App, kind: str | None, *, since: str = "", sort: str = SORTS[0]
) -> tuple[list[Listed], list[str]]:
    """Return the memories, all or of one type, changed since then, and lines about the files
    that can't be read as one.

    Raises UsageError for a type, an order or a day that there is not.
    """
    if sort not in SORTS:
        raise UsageError(f"there is no order {sort!r}", fix=f"Orders: {', '.join(SORTS)}.")
    begin = moment_of(since, app.clock.now()) if since else None
    problems: list[str] = []
    found = []
    for scope in scopes.all_of(app):
        documents, odd = scope.memories(kind)
        own = scope_of(scope)
        found += [(own, document) for document in documents]
        problems += odd
    rows = []
    proved = borne_out(app.home, [document for _, document in found])
    for where, document in scopes.once(found):
        row = listed(document, where, proved)
        if begin is None or (row.changed or LONG_AGO) >= begin:
            rows.append(row)
    return in_order(rows, sort), problems


def left(app: App, *, since: str = "") -> list[Left]:
    """Return the memories that left, the last first; those of a day that nobody knows at the end."""
    begin = moment_of(since, app.clock.now()) if since else None
    rows = [
        Left(PurePosixPath(item.path).stem, item.at, item.reason, item.target, scope_of(scope))
        for scope in scopes.keepers(app)
        if not scope.is_fresh
        for item in scope.open_store().retired()
    ]
    rows = [row for row in rows if begin is None or (row.at or LONG_AGO) >= begin]
    return sorted(rows, key=lambda row: row.at or LONG_AGO, reverse=True)


def listed(document: Document, scope: str, proved: Collection[str]) -> Listed:
    """Return what is told of one memory; `proved` are the paths of `search.refresh.borne_out`."""
    head = document.head
    hand = TOLD if document.path in proved else document.hand
    return Listed(
        head.name,
        head.type,
        head.description,
        head.origin,
        speaker(head.origin, hand, author_of(head.extra)),
        head.path,
        head.pinned,
        scope,
        said_at(head),
        head.created,
        head.updated or head.created,
    )


def in_order(rows: list[Listed], sort: str) -> list[Listed]:
    """Return `rows` in one of the orders (`SORTS`)."""
    if sort == "name":
        return sorted(rows, key=lambda row: row.name)
    if sort == "type":
        return sorted(rows, key=lambda row: (row.type, row.name))
    return sorted(rows, key=lambda row: _moment(row, sort), reverse=True)


def when_said(document: Document) -> datetime:
    """Return when a memory was last said, else created: by that it stands in the order ``said``."""
    return said_at(document.head) or document.head.created or LONG_AGO


def _moment(row: Listed, sort: str) -> datetime:
    return (row.said or row.created if sort == "said" else row.changed) or LONG_AGO
