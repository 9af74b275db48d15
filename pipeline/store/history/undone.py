"""Which changes of a store were undone: asked by each pass of a worker, and nearly always none."""

from __future__ import annotations

from pathlib import Path

from pipeline.store.history.generation_folders import folders


def undone_runs(root: Path) -> set[str]:
    """Return the ids of the change sets kept at `root` whose undo stands; empty where nothing is kept."""
    if not any(folder.name.startswith("undo") for folder in folders(root)):
        return set()
    from pipeline.store.history.generations import history

    return {item.run for item in history(root) if item.undone}
