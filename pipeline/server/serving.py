"""The use cases as a server has them: a store that was opened is kept, so that only what changed is read."""

from __future__ import annotations

from pathlib import Path

from pipeline.app.application import App
from pipeline.store import Store


class ServedApp(App):
    """`App` for the project at `folder`, whose stores are those `kept` by whoever serves in this thread."""

    def __init__(self, folder: Path, *, user: bool, graph: str | None, kept: dict[Path, Store]) -> None:
        super().__init__(folder=folder, user=user, graph=graph)
        self._kept = kept

    def open_store(self, *, create: bool = False) -> Store:
        """Open the memory folder as `App.open_store` does, or give the one that is kept."""
        path = self.store_path
        known = self._kept.get(path)
        if known is None or create or not path.is_dir() or known.interrupted():
            known = self._kept[path] = super().open_store(create=create)
        elif self.store_override is None:
            from pipeline.worker import check_owner

            check_owner(known, self.here)
        return known
