"""One memory as one reads it: its text, where it comes from, what was said around it, what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.app import explaining, graph, history, retired, scopes, text_links
from pipeline.app.application import App
from pipeline.app.descriptions import of_former_text
from pipeline.app.explaining import Why
from pipeline.app.graph import RelatedView
from pipeline.app.history import Change
from pipeline.app.scopes import Scope, scope_of
from pipeline.app.text_links import Piece
from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.hooklib.asleep import asleep_in
from pipeline.ledger import Ledger, utterances
from pipeline.recall.live.anchors import freshness
from pipeline.store import Document, Retired

_AROUND = 2
"""Utterances shown before and after the one that a memory cites."""
_MOST_AROUND = 4_000
_MOST_TEXT = 800
"""Characters of an utterance that are shown."""
_THERE = "all there"


@dataclass(frozen=True, slots=True)
class Utterance:
    """What was said, by whom and when; `is_cited` says that the memory rests on it."""

    speaker: str
    at: str
    text: str
    is_cited: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a memory is about: `state` is ``there`` or ``gone``, "" where that can't be told."""

    text: str
    state: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A memory of one scope with all that is known of it.

    `ref` means it in an address; `text` is its body with what its links lead to; `talks` are what was said
    around each of its sources, in their order; `band` is "" for one that is awake; `changes` are its history,
    the newest first.
    """

    scope: Scope
    ref: str
    document: Document
    text: tuple[Piece, ...]
    why: Why
    band: str
    talks: tuple[tuple[Utterance, ...], ...]
    anchors: tuple[Anchor, ...]
    related: tuple[RelatedView, ...]
    changes: tuple[Change, ...]

    @property
    def of_former_text(self) -> Sequence[str]:
        """Return which of title and description fit a former text, and this one no more."""
        return of_former_text(self.document.memory, self.changes)


@dataclass(frozen=True, slots=True)
class Gone:
    """A memory that left: what is known of that, and its file as it lies in the archive."""

    scope: Scope
    item: Retired
    text: str


def scoped(app: App, scope: str, name: str) -> App:
    """Return the scope called `scope`; without one that in which `name` is found.

    Raises InputError for a scope that there is not, and what `scopes.holder` raises.
    """
    if not scope:
        return scopes.holder(app, name)
    found = next((each for each in scopes.all_of(app) if scope_of(each) == scope), None)
    if found is None:
        raise InputError(f"there are no memories of the scope {scope!r} here", fix="Take a link of the list.")
    return found


def ref_of(app: App, path: str) -> str:
    """Return what means the memory at `path` of the store of `app`: its name, where no other has it."""
    look = app.open_store().scan()
    document = look.by_name(path)
    if document is None or not document.name.strip("."):
        return path
    named = look.by_name(document.name)
    return document.name if named is not None and named.path == document.path else path


def read(app: App, name: str, scope: str = "") -> Reading:
    """Return the memory `name` of `scope`. Raises what `scoped` does, and UnknownMemoryError."""
    holder = scoped(app, scope, name)
    store = holder.open_store()
    document = retired.read(store, name)
    why = explaining.why(holder, document.path)
    with holder.ledger(to_look=True) as ledger:
        talks = tuple(_around(ledger, source) for source in why.sources)
    root = str(paths.project_root(app.here)) if holder.store_override is None else ""
    return Reading(
        scope_of(holder),
        ref_of(holder, document.path),
        document,
        text_links.linked(app, holder, document.memory.body.strip()),
        why,
        asleep_in(str(store.root)).get(document.path, ""),
        talks,
        tuple(Anchor(text, _state(text, root)) for text in document.memory.anchors),
        tuple(graph.related(holder, store, document.path)),
        tuple(history.of_memory(holder, document)),
    )


def gone(app: App, name: str, scope: str = "") -> Gone | None:
    """Return the memory that `name` meant and that left for the archive, None where none did."""
    for keeper in scopes.keepers(app):
        if keeper.is_fresh or (scope and scope_of(keeper) != scope):
            continue
        store = keeper.open_store()
        item = retired.latest(store, name)
        if item is not None:
            raw = (store.root / item.target).read_bytes()
            return Gone(scope_of(keeper), item, raw.decode("utf-8", "replace"))
    return None


def _state(anchor: str, root: str) -> str:
    found = freshness([anchor], root)
    return "there" if found == _THERE else "gone" if found else ""


def _around(ledger: Ledger, source: Mapping[str, Any]) -> tuple[Utterance, ...]:
    """Return what was said before and after what `source` cites, and that itself; none if that is lost."""
    entry = utterances.find_entry(ledger, source["session"], source["uuid"])
    if entry is None or not entry.text:
        return ()
    key, row = entry.source_file, entry.row
    before = utterances.utterances_before(ledger, key, row=row, max_chars=_MOST_AROUND, at_least_one=True)
    after = utterances.utterances(ledger, key, after_row=row, limit_chars=_MOST_AROUND)
    return (
        *_shown(before, entry.uuid)[-_AROUND:],
        Utterance(entry.speaker or "", entry.at or "", entry.text, True),
        *_shown(after, entry.uuid)[:_AROUND],
    )


def _shown(spoken: Sequence[Any], cited: str) -> list[Utterance]:
    return [
        Utterance(item.speaker, item.at or "", _clipped(item.text)) for item in spoken if item.uuid != cited
    ]


def _clipped(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT].rstrip()} …"
