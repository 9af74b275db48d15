"""Taking over the memories of a project that is now here, where they could not be known to be its own."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.hooklib.places import PROJECT_STORE
from pipeline.store.ownership import moves
from pipeline.worker.moved import follow


def adopt(app: App, former: Path) -> Path:
    """Make the memories of the project that was at `former` those of the one here; return their folder.

    Raises InputError when something is still at `former`, there are no memories of it, or this project's
    folder is one that a setting names; StoreError when this project has memories already.
    """
    # Nothing is there that could say where `..` leads.
    old = Path(os.path.normpath(former.expanduser().absolute()))
    if old.is_dir():
        raise InputError(
            "this project is still there, and its memories are its own",
            file=str(old),
            fix="Move the project first, or copy the memory files you want.",
        )
    root = paths.named_root(Path.cwd())
    if root is None:
        raise InputError(
            "a setting names this project's memory folder (autoMemoryDirectory)",
            fix="Move the files there yourself, then run `reverie reindex`.",
        )
    source = paths.project_folder(old) / PROJECT_STORE
    if not source.is_dir():
        raise InputError(
            "there are no memories of a project that was there",
            file=str(source),
            fix="Give the path exactly as it was." + app.known_stores(),
        )
    target = paths.project_store(Path.cwd())
    with app.ledger() as ledger, app.alone(ledger):
        moves.bring(source, target, root)
        follow(ledger, target)
    app.follow(app.open_store())
    return target
