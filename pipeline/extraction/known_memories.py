"""What the model is shown of the memories that exist: the nearest and the open in full, others by name.

A memory in full has its sentences numbered, so that an update can name one. Only what was shown so can be
updated. The search index finds the nearest, in the store and in the user scope; it never decides anything.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import TypeVar

from pipeline.context import PhaseContext, open_store
from pipeline.core.errors import ConflictError, SearchError
from pipeline.core.home import Home
from pipeline.core.zone import day
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import sentences
from pipeline.extraction.strategies import Span
from pipeline.ledger.inbox import InboxItem
from pipeline.safety.invisible import visible, visible_line
from pipeline.search.fts import SearchIndex
from pipeline.search.refresh import bring_in_step
from pipeline.store import Document, Snapshot, Store
from pipeline.text.similarity import ALIKE_BY_WORDS
from pipeline.verify.provenance import said_at, sources_of

LOG = logging.getLogger("reverie.extraction")
LIST_CHARS = 6_000
"""Most of the prompt that names and descriptions may take: about 50 memories."""
_LISTED_CHARS = 110
"""What is shown of a description there: enough to tell what is known already."""
WAITING_CHARS = 3_000
NONE = "(none)"
LEAST_KNOWN_CHARS = 4_500
"""What memories in full may take even beside a few words."""
_KNOWN_PER_CHAR = 3
"""Characters of memories in full for each of new dialogue: a short exchange changes few."""
_OPEN = frozenset({"task", "problem", "error", "project"})
"""Types of what mostly ends one day: it is shown before what stays, so that the end finds it."""
_MOST_OPEN = 30
_MOST_LINES = 60
_LINE_CHARS = 2_000
_PER_LINE = 6
_USER_SHARE = 4
"""The user scope gets at most one in so many characters."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that exists, with what stands behind its name when it is shown.

    `everywhere` says that it is of the user scope, `provisional` that it was taken from this conversation.
    """

    memory: Memory
    everywhere: bool = False
    provisional: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a request shows: memories in full, and the texts of all three parts."""

    full: tuple[Known, ...] = ()
    texts: tuple[str, ...] = ()
    listing: str = NONE
    waiting: str = NONE

    @property
    def text(self) -> str:
        """Return the memories in full as the prompt has them."""
        return "\n".join(self.texts) or NONE


def gather(phase: PhaseContext, span: Span, waiting: Sequence[InboxItem], *, provisional: bool) -> Shown:
    """Return what to show with `span`: what was taken from its dialogue or written in it, then the nearest,
    and then what may have come to its end since it was said, the newest first.

    With `provisional` the first are marked so.
    """
    texts = [utterance.text for utterance in span.new[-_MOST_LINES:]]
    return steadily(phase.store, partial(_gather, phase, span, waiting, texts, provisional))


def nearest(phase: PhaseContext, texts: Sequence[str], *, limit: int) -> list[list[Known]]:
    """Return for each of `texts` the memories of either scope that are like it, at most `limit`."""

    def look(snapshot: Snapshot) -> list[list[Known]]:
        found: list[list[tuple[float, Known]]] = [[] for _ in texts]
        for store, documents, everywhere in _scopes(phase, snapshot):
            alike = _searched(
                phase.home, store, documents, lambda index: [index.neighbours(text, limit) for text in texts]
            )
            by_path = {document.path: document for document in documents}
            for near, paths in zip(found, alike or [[] for _ in texts], strict=True):
                near += [
                    (-likeness, Known(by_path[path].memory, everywhere))
                    for path, likeness in paths
                    if likeness >= ALIKE_BY_WORDS
                ]
        return [[known for _, known in sorted(near, key=_first)[:limit]] for near in found]

    return steadily(phase.store, look)


def _first(pair: tuple[float, Known]) -> float:
    return pair[0]


def of_user_scope(phase: PhaseContext, shown: Mapping[str, Memory]) -> dict[str, Document]:
    """Return by name those of `shown` that are memories of the user scope and none of the store's own."""
    own = phase.store.scan()
    return {
        document.name: document
        for store, documents, everywhere in _scopes(phase, own)
        if everywhere
        for document in documents
        if document.name in shown and own.by_name(document.name) is None
    }


def steadily(store: Store, action: Callable[[Snapshot], T]) -> T:
    """Do `action` on `store` as it is, again if a file changed in between: Claude may write at any time."""
    for _ in range(3):
        try:
            return action(store.scan())
        except ConflictError:
            store.drop_plans()
    return action(store.scan())


def in_full(known: Known) -> str:
    """Return a memory with its sentences numbered, and when and by whom they were said.

    Its description is left out: it says no more than they do.
    """
    memory = known.memory
    whole = _spoken(memory.sources, memory)
    marks = [
        *(["provisional"] if known.provisional else []),
        *(["all projects"] if known.everywhere else []),
        *([known.note] if known.note else []),
    ]
    head = f"## {visible_line(memory.name)} ({'; '.join([visible_line(memory.type), whole, *marks])})"
    lines = [head]
    for number, sentence in enumerate(sentences(memory.body), start=1):
        part = "" if sentence.part == "statement" else f"({sentence.part}) "
        own = _spoken(sources_of(memory, sentence.text), memory)
        text = visible(sentence.text).replace("\n", "\n    ")
        lines.append(f"{number}. {part}{text}" + ("" if own == whole else f" [{own}]"))
    return "\n".join(lines) + "\n"


def listing(documents: Iterable[Document]) -> str:
    """Return ``- name (type): description`` lines of the first `documents` that fit, ordered by name."""
    chosen: list[str] = []
    used = 0
    for document in documents:
        # A foreign file's name and type can be any text; it must not break out of its line.
        given = (document.head.name, document.head.type, document.head.description)
        name, type_name, description = map(visible_line, given)
        line = f"- {name} ({type_name}): {description[:_LISTED_CHARS]}"
        used += len(line) + 1
        if used > LIST_CHARS:
            break
        chosen.append(line)
    return "\n".join(sorted(chosen)) or NONE


def _gather(
    phase: PhaseContext,
    span: Span,
    waiting: Sequence[InboxItem],
    texts: Sequence[str],
    provisional: bool,
    snapshot: Snapshot,
) -> Shown:
    own = {document.path for document in taken_from(snapshot, span)}
    first = [
        Known(document.memory, provisional=provisional and document.path in own, note=note)
        for document in snapshot.documents
        if (note := _written(document, phase.store, span)) or document.path in own
    ]
    budget = _budget(phase.settings.extraction.known_chars, span)
    full: list[Known] = []
    rendered: list[str] = []
    nearer: list[Document] = []
    for store, documents, everywhere in _scopes(phase, snapshot):
        ranked = _ranked(phase.home, store, documents, texts)
        candidates = [Known(document.memory, everywhere) for document in ranked]
        if not everywhere:
            seen = {known.memory.path for known in first}
            candidates = [*first, *(known for known in candidates if known.memory.path not in seen)]
            seen |= {known.memory.path for known in candidates}
            others = (document for document in documents if document.path not in seen)
            candidates += [Known(document.memory) for document in _newest_open(others)]
            nearer = ranked
        room = budget // _USER_SHARE if everywhere else budget
        for known in candidates:
            text = in_full(known)
            if len(text) <= room:
                full.append(known)
                rendered.append(text)
                room -= len(text)
    shown = {known.memory.path for known in full if not known.everywhere}
    nearer_paths = {document.path for document in nearer}
    rest = [*nearer, *(document for document in snapshot.documents if document.path not in nearer_paths)]
    return Shown(
        tuple(full),
        tuple(rendered),
        listing(document for document in rest if document.path not in shown),
        _waiting(waiting),
    )


def _newest_open(documents: Iterable[Document]) -> list[Document]:
    """Return the documents of an open type by the day on which they were last said, then a few others."""

    def order(document: Document) -> tuple[bool, float, str]:
        moment = said_at(document.head)
        return document.head.type not in _OPEN, -(moment.timestamp() if moment else 0.0), document.path

    return nsmallest(_MOST_OPEN, documents, key=order)


def _budget(most: int, span: Span) -> int:
    fresh = sum(len(utterance.text) for utterance in span.new)
    return min(most, max(LEAST_KNOWN_CHARS, _KNOWN_PER_CHAR * fresh))


def taken_from(snapshot: Snapshot, span: Span) -> list[Document]:
    """Return the memories that were taken from this very conversation, by their sources' entries.

    What an earlier conversation taught is none of these, though its last words may stand before the new ones.
    """
    session = span.new[0].session_id
    spoken = {
        (utterance.session_id, utterance.uuid)
        for utterance in (*span.context, *span.new)
        if utterance.session_id == session and utterance.row >= span.begins_row
    }
    return [
        document
        for document in snapshot.documents
        if any((source.session, source.uuid) in spoken for source in document.head.sources)
    ]


def _written(document: Document, store: Store, span: Span) -> str:
    if not span.written:
        return ""
    paths = {str(store.path / document.path), str(store.root / document.path)}
    return "written by the assistant itself" if paths & set(span.written) else ""


def _scopes(phase: PhaseContext, snapshot: Snapshot) -> Iterable[tuple[Store, list[Document], bool]]:
    """Yield the store at work and, where it is another, the user-scope one, each with its memories."""
    yield phase.store, snapshot.documents, False
    everyone = Home(phase.home).user_store
    if everyone.is_dir() and everyone.resolve() != phase.store.root:
        store = open_store(everyone, phase.settings)
        yield store, store.scan().documents, True


def _ranked(home: Path, store: Store, documents: Sequence[Document], texts: Sequence[str]) -> list[Document]:
    """Return the documents that share words with `texts`, best first."""

    def rank(index: SearchIndex) -> list[str]:
        scores = Counter[str]()
        for text in texts:
            scores.update(dict(index.search(text[:_LINE_CHARS], _PER_LINE)))
        return sorted(scores, key=lambda path: (-scores[path], path))

    by_path = {document.path: document for document in documents}
    return [by_path[path] for path in _searched(home, store, documents, rank) or [] if path in by_path]


def _searched(
    home: Path, store: Store, documents: Sequence[Document], ask: Callable[[SearchIndex], T]
) -> T | None:
    """Return what `ask` gets from the search index of `store`, which is brought up to date first.

    None when it can't be used: a disposable index must not stop the reading, and no memory counts as near.
    """
    try:
        with SearchIndex.open(home, store.path) as index:
            bring_in_step(home, store, documents, index)
            return ask(index)
    except SearchError as error:
        LOG.warning("%s", error)
        return None


def _waiting(items: Sequence[InboxItem]) -> str:
    lines: list[str] = []
    used = 0
    for item in reversed(items):
        payload = item.payload
        if item.kind not in ("new", "update", "retire"):
            continue
        text = payload.get("body") or "; ".join(new for _, new in payload.get("replaces") or ())
        line = f"- {payload.get('update_of') or payload.get('name')} ({item.kind}): "
        line = visible_line(line + (text or str(payload.get("reason", ""))))[:500]
        used += len(line) + 1
        if used > WAITING_CHARS:
            break
        lines.append(line)
    return "\n".join(lines) or NONE


def _spoken(sources: Sequence[Evidence], memory: Memory) -> str:
    """Return when and by whom something was said, as far as its sources tell."""
    if not sources:
        if memory.dictated_at is not None:
            return f"{day(memory.dictated_at)}, person"
        return "by hand" if memory.origin == "hand-written" else "day and speaker unknown"
    moment = said_at(Memory("", "", "", "", sources=tuple(sources)))
    who = " and ".join(sorted({source.speaker for source in sources}, reverse=True))
    return f"{day(moment, 'day unknown')}, {who}"
