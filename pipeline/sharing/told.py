"""Which revision a memory here is, and which machine told it: for `why`, from what the last sync left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import InputError
from pipeline.record import record
from pipeline.safety.invisible import visible_name
from pipeline.sharing.authors import AUTHOR, SINCE
from pipeline.sharing.recorded import records_of
from pipeline.sharing.repository import Repository
from pipeline.sharing.revisions import memory_id
from pipeline.sharing.state import Share

if TYPE_CHECKING:
    from pipeline.store import Document, Store


@record
class Told:
    """Who of the team says it and since which day ("" where there is no team), which machine and when.

    `revision` names the record, which is the `first` of its memory or not; `changed` says that the file was
    changed since, so that it is in no record.
    """

    author: str
    decided: str
    machine: str
    at: str
    revision: str
    here: bool
    first: bool
    changed: bool


def told_of(home: Path, store: Store, document: Document) -> Told | None:
    """Return what the newest record of `document` tells, None where it is kept in step with nothing."""
    share = Share.of(home, store.path)
    state = share.read() if share.file.is_file() else None
    if state is None:
        return None
    ident = memory_id("" if document.twin else document.own_id, document.path)
    here = state.here.get(ident)
    if here is None or not here.heads:
        return None
    found = records_of(Repository(share.repository, state.remote), ident, here.heads)
    if not found:
        raise InputError(
            "the record of its last change is not there", file=str(share.repository), fix="Sync again."
        )
    last = max(found, key=lambda item: (item.clock, item.name))
    extra = document.memory.extra if state.team else {}
    return Told(
        author=visible_name(str(extra.get(AUTHOR) or "")),
        decided=visible_name(str(extra.get(SINCE) or "")),
        machine=last.machine,
        at=last.at,
        revision=last.name,
        here=last.machine == state.machine,
        first=not last.parents,
        changed=here.digest != document.digest,
    )


def forgotten_elsewhere(home: Path, store: Store, own: str, path: str) -> str:
    """Return on which other machine the memory with the id `own` was forgotten, "" for none."""
    share = Share.of(home, store.path)
    state = share.read() if share.file.is_file() else None
    ident = memory_id(own, path)
    known = state.known.get(ident) if state is not None else None
    if state is None or known is None or known.blob:
        return ""
    repository = Repository(share.repository, state.remote)
    found = [item for item in records_of(repository, ident, known.heads) if item.forgotten]
    machines = sorted({item.machine for item in found} - {state.machine})
    return f"machine {machines[0]}" if machines else ""
