"""When a memory was changed on this machine, as far as its history or its file tells."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from pipeline.store import SIGNED

if TYPE_CHECKING:
    from pipeline.store import Document, Generation, Store


class Moments:
    """Tells when texts of `store` came about; nothing of it is later than `now`."""

    def __init__(self, store: Store, now: datetime) -> None:
        self._store = store
        self._now = now

    def of(self, document: Document) -> datetime:
        """Return when the file of `document` got the text that it has."""
        found = self._kept(document.path, document.digest)
        if found is None and self._store.is_as_written(document):
            # Its change is no longer kept; what Reverie wrote into it tells.
            found = document.memory.updated or document.memory.created
        if found is None:
            found = datetime.fromtimestamp((self._store.root / document.path).lstat().st_mtime, UTC)
        return min(found if found.tzinfo else found.replace(tzinfo=UTC), self._now)

    def left(self, path: str) -> datetime:
        """Return when the file at `path` left; now, where somebody removed it and nothing tells."""
        return min(self._kept(path, None) or self._now, self._now)

    @cached_property
    def _history(self) -> list[Generation]:
        return sorted(self._store.history(), key=lambda item: -item.number)

    def _kept(self, path: str, after: str | None) -> datetime | None:
        """Return when the newest change came that left `after` at `path`, None where none is kept."""
        for item in self._history:
            change = next((file for file in item.files if file.path == path), None)
            if change is None:
                continue
            if change.after != after:
                return None
            if not item.run.startswith(SIGNED):
                return item.at
            # To put a name to a text is no change of it.
            after = change.before
        return None
