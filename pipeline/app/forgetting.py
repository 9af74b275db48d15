"""What a person took away does not come back by the same words, or on the same bytes.

`forget` and a rejected proposal note the sources of a memory in its store, the undo of an extraction those
that the extraction brought; `restore` and the undo of an undo lift them. A dream is held by the bytes of the
memories it was about (`consolidation.vetoes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, memory_changes
from pipeline.app.retired import FORGOTTEN
from pipeline.domain.memory import Evidence
from pipeline.ledger.inbox import AGAIN, CITED, OFFERED, SYNCED, InboxItem
from pipeline.store import FileDiff, Store, turns_of

REJECTED = "rejected in the inbox"
UNDONE = "undone on request"


@dataclass(frozen=True, slots=True)
class Words:
    """What rests on some words: name, sources and text of each memory, and why it was taken away.

    `wanted` says that a person wants it back.
    """

    reason: str
    memories: tuple[tuple[str, tuple[Evidence, ...], str], ...] = ()
    wanted: bool = False

    def note(self, store: Store, now: datetime, *, turned: bool = False) -> None:
        """Write it down in `store`, or when it is `turned`, the opposite."""
        lifted = self.wanted != turned
        for name, sources, text in self.memories:
            store.note_forgotten(sources, name=name, reason=self.reason, now=now, text=text, lifted=lifted)


def note_rejected(app: App, item: InboxItem, *, lifted: bool = False) -> None:
    """Write down, in the store, what keeps `item` from being proposed again, or `lifted`, that nothing does.

    An extraction's proposal is known by its sources, one to withdraw a memory by that one's name, a dream's
    by the bytes of the memories it is about.
    """
    if item.kind in ("conflict", CITED, OFFERED, SYNCED):
        return  # A no to these takes nothing away: the memory stays as it is.
    store, now = app.open_store(create=True), app.clock.now()
    if item.kind.startswith("dream:"):
        if lifted:
            return  # It waits again itself: no dream need propose it a second time.
        from pipeline.consolidation import vetoes

        vetoes.note_rejected(store, item.payload, item.id, now)
        return
    sources = () if item.kind == "retire" else tuple(_sources(item.payload))
    name = str(item.payload.get("name") or "")
    store.note_forgotten(sources, name=name, reason=REJECTED, now=now, lifted=lifted)


def lift_accepted(store: Store, item: InboxItem, now: datetime) -> None:
    """Let the words of `item` count again: a yes to it was undone, which barred them; here is another."""
    if (
        item.payload.get(AGAIN)
        and item.kind not in (CITED, OFFERED, SYNCED)
        and not item.kind.startswith("dream:")
    ):
        sources = () if item.kind == "retire" else tuple(_sources(item.payload))
        name = str(item.payload.get("name") or "")
        store.note_forgotten(sources, name=name, reason=UNDONE, now=now, lifted=True)


def words_undone(store: Store, run: str) -> Words:
    """Return what the undo of change set `run`, which may be an undo itself, takes away or brings back."""
    base, turns = turns_of(run)
    again = turns % 2 == 1
    kind, _, about = _reason(store, base).partition(" ")
    files = store.diff(run)
    if again:
        # As the change set did it that comes back.
        files = [FileDiff(item.path, item.after, item.before) for item in files]
    changes = memory_changes(files)
    if (
        kind in ("extraction", "inbox")
        and about not in (CITED, OFFERED, SYNCED)
        and not about.startswith("dream:")
    ):
        return Words(UNDONE, tuple((item.memory.name, _brought(item), "") for item in changes), again)
    if kind in ("forget", "restore"):
        memories = tuple((item.memory.name, item.memory.sources, item.memory.body) for item in changes)
        return Words(FORGOTTEN, memories, again == (kind == "restore"))
    return Words("")


def _brought(change: MemoryChange) -> tuple[Evidence, ...]:
    """Return the sources that `change` gave a memory; none for one that was withdrawn."""
    before = {source.pointer for source in change.before.sources} if change.before else set()
    after = change.after.sources if change.after else ()
    return tuple(source for source in after if source.pointer not in before)


def _reason(store: Store, run: str) -> str:
    return next((item.reason for item in store.history() if item.run == run), "")


def _sources(payload: Mapping[str, Any]) -> Iterator[Evidence]:
    for source in payload.get("sources") or ():
        try:
            yield Evidence.of(source)
        except (TypeError, ValueError):
            # One that nobody can follow bars nothing; the name is kept where no other is left.
            continue
