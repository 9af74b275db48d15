"""Whose memories a session may be told: the project it runs in, and that project's store."""

import os

from pipeline.hooklib import places

_OWNER = "/.reverie/root"


def project_of(cwd: str) -> "tuple[str, str]":
    """Return root and store of the project a session in `cwd` belongs to; the store "" when it is another's.

    Claude Code names a project's folder after its path with every odd character made ``-``, so two projects
    can meet in one; what the first one taught is none of the second's business.
    """
    root = places.project_root(cwd)
    chosen = places.chosen_store(root)
    store = chosen or f"{places.project_folder(root)}/{places.PROJECT_STORE}"
    if chosen or places.dir_named():
        return root, store
    try:
        owner = os.fsdecode(places.read_file(store + _OWNER, 8192)).strip("\n")
    except OSError:
        return root, store  # nobody has claimed it
    if owner and not root.isascii():
        import unicodedata

        return root, store if owner == unicodedata.normalize("NFC", root) else ""
    return root, store if owner in ("", root) else ""
