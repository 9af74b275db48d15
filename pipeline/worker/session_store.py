"""Which memory folder a session belongs to, and that no two projects share one unawares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import paths
from pipeline.hooklib.places import PROJECT_STORE
from pipeline.ledger import Ledger, files, utterances

if TYPE_CHECKING:
    from pipeline.store import Store


def store_for(ledger: Ledger, key: str) -> Path:
    """Return the memory folder for the sessions of source file `key`, by where they began."""
    known = files.store_of(ledger, key)
    if known:
        return Path(known)
    cwd = utterances.first_cwd(ledger, key)
    if not cwd:
        # Not remembered: the next rows tell where it began, and a worktree's memory is its repository's.
        return paths.projects_dir() / Path(key).parent / PROJECT_STORE
    store_path = paths.project_store(Path(cwd))
    # Remembered, since a worktree that is gone tomorrow can't be resolved to its repository any more.
    files.remember_store(ledger, key, str(store_path))
    return store_path


def claim(ledger: Ledger, key: str, store: Store) -> None:
    """Take `store` for the project in which the session in `key` began, at the first use.

    Raises StoreError when it belongs to another project, so that the memories of two never mix.
    """
    cwd = utterances.first_cwd(ledger, key)
    if cwd:
        check_owner(store, Path(cwd), claim=True)


def check_owner(store: Store, cwd: Path, *, claim: bool = False) -> None:
    """Raise StoreError when `store` has the name of the project at `cwd` but belongs to another one.

    A folder that a person chose by a setting may be shared; so may one that the name of `cwd` does not
    lead to, such as a repository's, seen from a worktree that is gone.
    """
    root = paths.named_root(cwd)
    if root is not None and paths.project_store(cwd) == store.path:
        if claim:
            store.claim(root)
        else:
            from pipeline.store import require_owner

            require_owner(store.root, root, claim=False)
