"""Memories of which a change may alter the relations, as they were and as they are planned: values."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.core.errors import DocumentError, KeptAsItIsError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.store import Document, Move, Operation, Put, Restore, Store, is_live
from pipeline.store.files import document as files
from pipeline.store.files.layout import bytes_at
from pipeline.store.graph.relations import Links


@dataclass(slots=True)
class Text:
    """A memory of which the relations may change; `operation` is what was planned of it, if anything."""

    id: str
    title: str
    links: Links
    before: Links
    former_title: str = ""
    document: Document | None = None
    operation: Put | Move | None = None
    fixed: bool = False
    """Whether its file is to stay as it is, whatever happens at the other end."""
    returning: Restore | None = None
    """What brings it back, where it was not there."""
    regained: Links = ()
    """Relations that others have to it and the file that comes back has not."""

    @property
    def changed(self) -> bool:
        """Whether other relations are planned than its file, or its operation, has."""
        planned = self.operation.memory.relations if self.operation else self.before
        return self.links != planned


def planned_text(store: Store, operation: Operation) -> Text | None:
    """Return the memory that `operation` writes, None where it writes none or one that no relation concerns.

    What a person wrote, and what comes back, stays as it is.
    """
    if isinstance(operation, Restore):
        return _as_it_is(store, operation)
    if not isinstance(operation, Put | Move):
        return None
    old = _former(store, operation)
    memory = operation.memory
    former = old.shown_title if old else ""
    before = old.relations if old else ()
    ident = memory.id
    if not ident and (memory.relations or before):
        ident = _id_of(store, operation, memory)
    return Text(ident, memory.shown_title, memory.relations, before, former, operation=operation)


def _as_it_is(store: Store, operation: Restore) -> Text | None:
    if operation.data is None or not is_live(operation.path):
        return None
    old = _former(store, operation)
    returning = operation if operation.expected is None else None
    if old is None and returning is None and b"target" not in operation.data:
        return None
    memory = _parsed(operation.data, operation.path)
    if memory is None:
        return None
    ident = _id_of(store, operation, memory)
    former = old.shown_title if old else ""
    before = old.relations if old else ()
    return Text(ident, memory.shown_title, memory.relations, before, former, fixed=True, returning=returning)


def _former(store: Store, operation: Put | Move | Restore) -> Memory | None:
    """Return the memory that `operation` changes, None where that has no relation."""
    raw = None if operation.expected is None else bytes_at(store.root, operation.path)
    return _parsed(raw, operation.path) if raw is not None and b"target" in raw else None


def _id_of(store: Store, operation: Put | Move | Restore, memory: Memory) -> str:
    """Return the id by which others know the `memory` that `operation` writes, which its file may lack."""
    snapshot = store.scan()
    here = next((item for item in snapshot.documents if item.path == operation.path), None)
    if memory.id and (here is None or here.own_id != memory.id):
        return memory.id
    if here is not None:
        return here.id
    present = {item.path for item in snapshot.documents}
    return store.identities.of(operation.path, digest(operation.data or b""), present).id


def _parsed(raw: bytes, path: str) -> Memory | None:
    try:
        return files.parse(raw, path)
    except DocumentError:
        return None  # Whatever it says, nothing can be read from it.


def is_renamed(text: Text) -> bool:
    """Whether `text` has another title than before."""
    return bool(text.former_title) and text.former_title != text.title


def with_links(operation: Put | Move, links: Links) -> Put | Move:
    """Return `operation` with the relations `links` in the memory that it writes."""
    path = operation.target if isinstance(operation, Move) else operation.path
    memory = replace(operation.memory, relations=links)
    data = files.compose(memory, operation.data)
    made = files.parse(data, path)
    if isinstance(operation, Move):
        ours = operation.record == digest(operation.data)
        record = digest(data) if ours else operation.record
        return replace(operation, data=data, memory=made, record=record)
    return replace(operation, data=data, memory=made)


def with_regained(operation: Restore, text: Text) -> Restore:
    """Return `operation`, by which `text` comes back, with what it regained among the file's relations.

    One that can't take them without other lines changing comes back as it was.
    """
    data = operation.data or b""
    memory = files.parse(data, operation.path)
    related = replace(memory, id=memory.id or text.id, relations=(*memory.relations, *text.regained))
    try:
        data = files.compose(related, data)
    except (DocumentError, KeptAsItIsError):
        return operation  # `reverie doctor` tells of the end that lacks.
    return replace(operation, data=data)
