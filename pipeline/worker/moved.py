"""A project that was moved or renamed keeps its memories, wherever the folder with them is now."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.core import paths
from pipeline.core.errors import InputError, StoreError
from pipeline.hooklib import ownership, places
from pipeline.ledger import Ledger, files
from pipeline.ledger.moves import move_store

LOG = logging.getLogger("reverie.worker")


def take_over(ledger: Ledger, cwd: Path) -> str:
    """Take over the memories of the project in `cwd` if it was moved here; return where it was, or "".

    Its folder of memories may lie where it was, or have been renamed with it. What can't be done is logged:
    the work goes on with what is there.
    """
    try:
        root = paths.named_root(cwd)
        if root is None or not root.is_dir():
            return ""
        store = paths.project_store(cwd)
        is_new = not (store.is_dir() and any(store.iterdir()))
        if not is_new and not ownership.has_moved(ownership.owner(str(store)), str(root)):
            return ""
        from pipeline.store.ownership import moves
        from pipeline.store.ownership.access import require_owner

        if is_new:
            old = moves.find(files.stores(ledger), root)
            if old is None or old == store:
                return ""
            moves.bring(old, store, root)
        else:
            require_owner(store, root, claim=True)
    except (StoreError, InputError, OSError) as error:
        LOG.warning("%s: memories of a moved project can't be taken over: %s", cwd, error)
        return ""
    return follow(ledger, store)


def follow(ledger: Ledger, store: Path) -> str:
    """Bring what the ledger knows of `store` from where it was before; return the project's former root."""
    former = [str(move["from"]) for move in ownership.moves(str(store))]
    for root in former:
        old = Path(places.project_folder(root)) / places.PROJECT_STORE
        if old != store and not old.exists():
            move_store(ledger, str(old), str(store))
    if former:
        LOG.info("the memories of %s are those of %s now", former[-1], ownership.owner(str(store)))
    return former[-1] if former else ""
