"""A project that was moved or renamed: known again, and its memories brought to where they are looked for.

Claude Code names a project's folder after its path, so a renamed project starts with an empty one. What
stays the same when a folder is renamed are the numbers the file system has for it and for what is in it, and
when the latter was changed. They are kept with the memories, and a folder with the same ones is the same
project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.errors import StoreError
from pipeline.hooklib import jsonish, ownership
from pipeline.store.files.layout import PRIVATE, private_folder
from pipeline.store.ownership import access

JOIN_BY_HAND = "Move the files you want from one to the other, then run `reverie reindex`."
_IDENTITY = "root-id"
_MOST_ENTRIES = 40
"""Entries of a project's folder that are kept, the first by name."""


def remember(root: Path, project: Path) -> None:
    """Keep beside the memories at `root` by what the folder `project` is known again."""
    file = root / PRIVATE / _IDENTITY
    now = _identity(project)
    if now and now != _read(file):
        with access.writing(root):
            write_atomic(file, json.dumps(now).encode())


def find(stores: Iterable[str], project: Path) -> Path | None:
    """Return which of `stores` is that of the project which was moved to `project`; None unless one is.

    Its project is gone from where it was, and the folder at `project` is the one that was there.
    """
    now = _identity(project)
    found = [Path(store) for store in stores if now and _is_of(store, now)]
    return found[0] if len(found) == 1 else None


def left_behind(stores: Iterable[str], store: Path) -> str:
    """Return, in a clause, where memories lie that this project had at another place; "" when none do.

    They stay there when the project, moved or renamed, had memories of its own before it was known again:
    two folders are not made one. `store` is this project's, `stores` are all that are known.
    """
    root = paths.named_root(Path.cwd())
    old = find(stores, root) if root is not None and store.is_dir() else None
    if old is None or old == store or not old.is_dir() or not any(old.iterdir()):
        return ""
    former = ownership.owner(str(old))
    return f"the memories of when this project was at {former} are still in {old}, as it has others here"


def bring(old: Path, new: Path, project: Path) -> None:
    """Move the store at `old` to `new`, for `project`, and note it.

    Raises StoreError when there is something at `new`: two folders of memories are not made one. So it does,
    with nothing moved, when the one at `old` is that of a project which is still there, or has a link in our
    own folder.
    """
    theirs = access.owner(old)
    if not ownership.may_use(theirs, str(project)):
        raise StoreError(
            f"the memories here are those of {theirs}, which is there still, or on a disk that is missing",
            file=str(old),
            fix="Give the path of the project that moved; `reverie status` there names its memory folder.",
        )
    private_folder(old)
    if new.is_dir() and any(new.iterdir()):
        raise StoreError(
            f"this folder has memories of its own, and so has {old}",
            file=str(new),
            fix=JOIN_BY_HAND,
        )
    with access.writing(new):
        if new.is_dir():
            new.rmdir()
        ensure_dir(new.parent)
        os.rename(old, new)  # noqa: PTH104 - the names are the point
    # Should we die here: the owner is gone, so whoever opens it next takes it over.
    access.require_owner(new, project, claim=True)


def _is_of(store: str, now: dict[str, Any]) -> bool:
    known = _read(Path(store) / PRIVATE / _IDENTITY)
    entries = known.get("entries")
    if known.get("folder") != now["folder"] or not isinstance(entries, dict) or not entries:
        return False
    pairs = [(kept, now["entries"].get(name)) for name, kept in entries.items()]
    same = sum(_number(kept) == _number(found) for kept, found in pairs)
    # Numbers are given again when a folder is deleted and another made; times are not.
    untouched = any(kept == found for kept, found in pairs)
    try:
        return untouched and 2 * same >= len(entries) and ownership.is_gone(ownership.owner(store))
    except OSError:
        return False


def _identity(project: Path) -> dict[str, Any]:
    """Return the numbers of a folder and of what is in it, {} where there is nothing to tell it by."""
    try:
        with os.scandir(project) as listing:
            infos = {entry.name: entry.stat(follow_symlinks=False) for entry in listing}
        folder = project.stat().st_ino
    except OSError:
        return {}
    first = sorted(name for name in infos if name.isprintable())[:_MOST_ENTRIES]
    entries = {name: [infos[name].st_ino, infos[name].st_mtime_ns] for name in first}
    return {"folder": folder, "entries": entries} if entries else {}


def _number(entry: object) -> object:
    """Return the number in what is kept of an entry; an odd one has none, which is no other's."""
    return entry[0] if isinstance(entry, list) and entry else object()


def _read(file: Path) -> dict[str, Any]:
    try:
        value = jsonish.loads(jsonish.decode(file.read_bytes()))
    except (OSError, ValueError):
        return {}  # none yet, or an odd one: it is made anew
    return value if isinstance(value, dict) else {}
