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
