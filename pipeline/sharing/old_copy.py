"""Whether a folder of memories, or a file in it, is what it was earlier: somebody put an old copy back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.sharing.state import Here, State
    from pipeline.store import Document, Generation, Store


class OldCopy:
    """Tells it of `store`, of which `state` is what a sync left."""

    def __init__(self, store: Store, state: State) -> None:
        self._store = store
        self._state = state

    @cached_property
    def is_whole(self) -> bool:
        """Whether the folder has not lived through the changes that it had at the last sync."""
        return newest(self._history) < self._state.generation

    def made_here(self, document: Document, was: Here) -> bool:
        """Whether changes on this machine, such as an undo, led from what `was` there to `document`."""
        wanted: str | None = document.digest
        for item in self._history:
            change = next((file for file in item.files if file.path == document.path), None)
            if change is None:
                continue
            if change.after != wanted:
                return False
            # A move has what was there at another path.
            if was.digest in {
                file.before or "" for file in item.files if file.path in (change.path, was.path)
            }:
                return True
            wanted = change.before
        return False

    @cached_property
    def _history(self) -> list[Generation]:
        return self._store.history()


def newest(history: list[Generation]) -> int:
    """Return the number of the newest change of `history`, 0 where there is none."""
    return max((item.number for item in history), default=0)
