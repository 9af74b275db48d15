"""One memory by its name, for who asks again and again: only what changed is looked at.

A command looks at every file of a store once. A server that did so at each question would take as long as the
store is large. So the last look is kept, and counts as long as the folders have the times they had and the
file in question is as it was; a name that it does not have is looked for anew.
"""

from __future__ import annotations

from pathlib import Path
from threading import local

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.core.clock import SystemClock
from pipeline.core.errors import UnknownMemoryError
from pipeline.store import Document, Snapshot, Store
from pipeline.store.files.layout import FileStamp, folder_times

_Times = dict[str, tuple[int, int]]
_TICK_NS = 20_000_000
"""Two changes within one tick of the kernel's clock leave the same times; ticks are shorter."""


class Finder(local):
    """The last look at each store that was asked for; each thread has its own."""

    def __init__(self) -> None:
        self._looks: dict[Path, tuple[Store, _Times, Snapshot]] = {}

    def find(self, asked: App, name: str) -> tuple[App, Document]:
        """Return the memory that `name` means and its scope; errors are those of `scopes.holder`."""
        for app in scopes.all_of(asked):
            known = self._known(app, name)
            if known is not None:
                return app, known
        app = scopes.holder(asked, name)
        store = app.open_store()
        begun, times = _now_ns(), folder_times(store.root)
        snapshot = store.scan()
        # What is written in the very tick of a look leaves the times as they were.
        settled = all(ctime + _TICK_NS < begun for _, ctime in times.values())
        self._looks[app.store_path] = (store, times if settled else {}, snapshot)
        found = snapshot.by_name(name)
        if found is None:
            raise UnknownMemoryError(f"no memory is called {name!r}", fix="It went just now: ask again.")
        return app, found

    def _known(self, app: App, name: str) -> Document | None:
        store, times, snapshot = self._looks.get(app.store_path) or (None, {}, None)
        if store is None or snapshot is None or folder_times(store.root) != times:
            return None
        found = snapshot.by_name(name)
        return found if found is not None and _is_same(store, found) else None


def _now_ns() -> int:
    return int(SystemClock().now().timestamp() * 1e9)


def _is_same(store: Store, document: Document) -> bool:
    try:
        return FileStamp.of((store.root / document.path).lstat()) == document.stamp
    except OSError:
        return False
