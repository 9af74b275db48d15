"""Whose a store is: the one rule of hooks, worker and commands.

Claude Code names a project's folder after its path with every odd character made ``-``, so two projects can
meet in one. The first to write in the store leaves its root in ``.reverie/root``, in Unicode's composed form,
since systems differ in which form they give a path; the store is its alone. A store that a person chose by a
setting or a variable may be shared.
"""

import os

from pipeline.hooklib import claude_settings, places

OWNER = f"{places.PRIVATE}/root"
_LONGEST = 8192


def project_store(cwd: str) -> str:
    """Return the memory folder Claude Code loads for a session in `cwd`.

    ``autoMemoryDirectory`` from the user's or the project's settings wins; else ``<config
    dir>/projects/<sanitised git root>/memory``. Raises ValueError for a name that no file can have.
    """
    return _store(places.project_root(cwd))


def is_chosen(root: str) -> bool:
    """Whether a setting or a variable names the store of the project at `root`, so that it may be shared."""
    return bool(places.dir_named() or claude_settings.chosen_store(root))


def owner(store: str) -> str:
    """Return the root of the project that has claimed `store`, "" when none has. Raises OSError."""
    try:
        return os.fsdecode(places.read_file(f"{store}/{OWNER}", _LONGEST)).strip("\n")
    except FileNotFoundError:
        return ""


def composed(root: str) -> str:
    """Return `root` as an owner's is written down."""
    if root.isascii():
        return root
    import unicodedata

    return unicodedata.normalize("NFC", root)


def may_use(owner: str, root: str) -> bool:
    """Whether the project at `root` may use a store that belongs to `owner` ("": to nobody)."""
    return owner in ("", composed(root))


def project_of(cwd: str) -> "tuple[str, str]":
    """Return root and store of the project a session in `cwd` belongs to; the store "" when it is another's.

    A store whose owner can't be read counts as nobody's: recall only reads, and the host loads it anyway.
    """
    root = places.project_root(cwd)
    store = _store(root)
    if is_chosen(root):
        return root, store
    try:
        return root, store if may_use(owner(store), root) else ""
    except OSError:
        return root, store


def _store(root: str) -> str:
    return claude_settings.chosen_store(root) or f"{places.project_folder(root)}/{places.PROJECT_STORE}"
