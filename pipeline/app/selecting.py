"""Memories by what their front matter says, with or without words to look for: what a tool filters by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from pipeline.app import scopes, search
from pipeline.app.application import App
from pipeline.app.listing import LONG_AGO
from pipeline.app.scopes import scope_of
from pipeline.core.clock import iso
from pipeline.core.errors import UsageError
from pipeline.domain.memory import TYPES, Memory
from pipeline.hooklib.memory_format import author_of, speaker
from pipeline.hooklib.ownership import TOLD
from pipeline.search.refresh import borne_out
from pipeline.store import Document
from pipeline.text.since import since as moment_of
from pipeline.verify.provenance import said_at

MOST = 1_000
"""Hits that are filtered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a memory must be: of one of `types`, with one of `tags`, or with all where `all_tags`."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    all_tags: bool = False
    min_importance: float = 0.0
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Selected:
    """A memory that was found: its head, who says it as far as that is borne out, its scope, its score."""

    memory: Memory
    by: str
    said: str
    scope: str
    score: float


def select(
    app: App, query: str, wanted: Filter, *, limit: int, offset: int = 0, problems: list[str] | None = None
) -> tuple[list[Selected], bool]:
    """Return `limit` memories after the first `offset`, and whether there are more.

    With a `query` the best come first, else the last changed. Raises UsageError for a type or a day that
    there is not, and what `search.search` raises.
    """
    for kind in wanted.types:
        if kind not in TYPES:
            raise UsageError(f"there is no type {kind!r}", fix=f"Types: {', '.join(TYPES)}.")
    now = app.clock.now()
    begin = moment_of(wanted.since, now) if wanted.since else LONG_AGO
    end = moment_of(wanted.until, now) if wanted.until else None
    fitting = (
        row
        for row in (_found(app, query, problems) if query.strip() else _every(app))
        if _fits(row[0].head, wanted) and _in_time(row[0].head, begin, end)
    )
    # One more than is shown tells whether there are more; no head is read behind it.
    found = list(islice(fitting, offset + limit + 1))
    part = found[offset : offset + limit]
    proved = borne_out(app.home, [document for document, _, _ in part])
    rows = [_selected(document, scope, score, proved) for document, scope, score in part]
    return rows, len(found) > offset + limit


def _found(app: App, query: str, problems: list[str] | None) -> Iterator[tuple[Document, str, float]]:
    there = [scope for scope in scopes.all_of(app) if not scope.is_fresh]
    if not there:
        return
    hits = search.search(app, query, limit=MOST, snippets=False, problems=problems)
    # The search looked at every store just now.
    stores = [scope.open_store() for scope in there]
    documents = {
        (str(store.path), document.path): document
        for store in stores
        for document in store.last_look().documents
    }
    for hit in hits:
        document = documents.get((hit.store, hit.path))
        if document is not None:
            yield document, hit.scope, hit.score


def _every(app: App) -> Iterator[tuple[Document, str, float]]:
    found = [
        (scope_of(scope), document)
        for scope in scopes.all_of(app)
        if not scope.is_fresh
        for document in scope.memories(None)[0]
        if not document.retired
    ]
    rows = sorted(scopes.once(found), key=lambda row: _changed(row[1].head), reverse=True)
    yield from ((document, scope, 1.0) for scope, document in rows)


def _fits(head: Memory, wanted: Filter) -> bool:
    tags = {tag.casefold() for tag in head.tags}
    asked = {tag.casefold() for tag in wanted.tags}
    tagged = asked <= tags if wanted.all_tags else not asked or bool(asked & tags)
    return (
        tagged
        and (not wanted.types or head.type in wanted.types)
        and head.importance >= wanted.min_importance
    )


def _in_time(head: Memory, begin: datetime, end: datetime | None) -> bool:
    return begin <= _changed(head) and (end is None or _changed(head) < end)


def _changed(head: Memory) -> datetime:
    return head.updated or head.created or LONG_AGO


def _selected(document: Document, scope: str, score: float, proved: set[str]) -> Selected:
    head, moment = document.head, said_at(document.memory)
    hand = TOLD if document.path in proved else document.hand
    by = speaker(head.origin, hand, author_of(head.extra))
    return Selected(head, by, iso(moment) if moment else "", scope, score)
