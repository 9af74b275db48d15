"""One file of a change set: what its intent says, and how it is carried out, again after a crash too."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.core.atomic import fsync_dir
from pipeline.core.errors import PathEscapeError
from pipeline.core.ids import digest
from pipeline.store.file_operations import Change, IndexWrite, Move, Put, Restore, Retire, WriteFile
from pipeline.store.files.layout import PRIVATE, bytes_at, check_path, inside, read_regular

_MOST_ASIDE = 200
"""Characters of the name of a file that gave way."""
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_KINDS: dict[type, str] = {
    Put: "memory",
    IndexWrite: "index",
    Retire: "retire",
    Move: "move",
    Restore: "restore",
    WriteFile: "file",
}
_MORE = {
    "retire": ("target", "expected", "why", "id", "superseded_by"),
    "move": ("target", "new", "record"),
    "restore": ("new", "record"),
}
"""What an entry of each kind holds beside its path."""
_STAGED = re.compile(r"[A-Za-z0-9_-]+")


def file_id(change_id: str) -> str:
    """Return `change_id` if it can be a file name, else a digest of it."""
    return change_id if _SAFE_ID.fullmatch(change_id) else digest(change_id)[:40]


def aside_name(staged: str, path: str) -> str:
    """Return how the file `staged` for `path` is called where it gave way and lies beside the others."""
    return f"{staged}-{PurePosixPath(path).name}"[-_MOST_ASIDE:]


def set_aside(root: Path, change_id: str, path: str) -> bytes | None:
    """Return what change set `change_id` had for `path` where another's file stayed; None once it is gone."""
    folder = root / PRIVATE / "conflicts"
    begin, end = f"{file_id(change_id)}-", f"-{PurePosixPath(path).name}"
    for file in sorted(folder.glob("*")) if folder.is_dir() else ():
        whole = len(file.name) < _MOST_ASIDE
        if file.name.endswith(end[-_MOST_ASIDE:]) and (file.name.startswith(begin) or not whole):
            return read_regular(file)[0]
    return None


def digest_of(root: Path, path: str) -> str | None:
    """Return the digest of the file at `path`, or None when there is none."""
    data = bytes_at(root, path)
    return None if data is None else digest(data)


def mode_of(target: Path) -> int:
    """Return the permission bits of `target`, or those of a new private file."""
    try:
        return stat.S_IMODE(target.lstat().st_mode)
    except FileNotFoundError:
        return 0o600


def describe(operation: Change) -> dict[str, Any]:
    """Return the intent's entry for `operation`, all but the name of its staged file."""
    item: dict[str, Any] = {"path": operation.path, "expected": operation.expected}
    item["kind"] = _KINDS[type(operation)]
    if isinstance(operation, Retire):
        item |= {"target": operation.target, "why": operation.reason, "id": operation.id}
        return item | {"superseded_by": operation.superseded_by}
    if isinstance(operation, Move):
        item |= {"target": operation.target}
    if isinstance(operation, Move | Restore):
        item |= {"record": operation.record}
    if isinstance(operation, Put):
        item |= {"id": operation.memory.id}
    return item | {"new": None if operation.data is None else digest(operation.data)}


def sound(intent: Any) -> bool:
    """Whether `intent`, as read from the disk, has the shape that `describe` gives its entries."""
    if not isinstance(intent, dict) or not isinstance(intent.get("operations"), list):
        return False
    texts = (intent.get("id"), intent.get("reason", ""), intent.get("at", ""))
    return all(isinstance(text, str) for text in texts) and all(map(_sound, intent["operations"]))


def _sound(item: Any) -> bool:
    if not isinstance(item, dict) or item.get("kind") not in _KINDS.values():
        return False
    must = {"path", *_MORE.get(item["kind"], ("new",))}
    if not must <= item.keys() or not all(isinstance(item[key], str) for key in must - {"new"}):
        return False
    optional = (item.get("expected"), item.get("new"), item.get("staged"))
    if not all(value is None or isinstance(value, str) for value in optional):
        return False
    if item.get("staged") and not _STAGED.fullmatch(item["staged"]):
        return False
    try:
        for path in must & {"path", "target"}:
            check_path(item[path])
    except PathEscapeError:
        return False
    return True


def carry_out(root: Path, staged: Path | None, item: dict[str, Any]) -> bool:
    """Do what `item` says, or see that it was done; False when someone else's file is in the way.

    `staged` is the file with the new bytes, which may be gone when this was done before.
    """
    if item["kind"] == "retire":
        return _retire(root, item)
    if item["kind"] == "move":
        return _move(root, staged, item)
    current = digest_of(root, item["path"])
    if current == item["new"]:
        _drop(staged)
        return True
    if current != item["expected"]:
        return False
    target = inside(root, item["path"])
    if item["new"] is None:
        target.unlink()
        return True
    return staged is not None and staged.exists() and install(staged, target, fresh=current is None)


def install(staged: Path, target: Path, *, fresh: bool) -> bool:
    """Rename into place; a `fresh` name must not exist yet, and False says that it does."""
    if not fresh:
        staged.replace(target)
        return True
    try:
        os.link(staged, target)
    except FileExistsError:
        return False
    except OSError:
        # Some file systems have no hard links; the check just before is all there is then.
        staged.replace(target)
        return True
    staged.unlink()
    return True


def written_by(operations: Iterable[dict[str, Any]], conflicts: set[str]) -> Iterator[tuple[str, str]]:
    """Yield what changes in the record of our own memories; an empty digest: it is no longer there."""
    for item in operations:
        if item["path"] in conflicts:
            continue
        if item["kind"] in ("memory", "retire"):
            yield item["path"], item.get("new", "")
        elif item["kind"] == "restore":
            yield item["path"], item["record"]
        elif item["kind"] == "move":
            yield item["path"], ""
            yield item["target"], item["record"]


def _retire(root: Path, item: dict[str, Any]) -> bool:
    source, target = inside(root, item["path"]), inside(root, item["target"])
    if digest_of(root, item["path"]) != item["expected"]:
        return bool(digest_of(root, item["target"]) == item["expected"])
    if digest_of(root, item["target"]) is not None:
        return False
    source.rename(target)
    fsync_dir(source.parent)
    return True


def _move(root: Path, staged: Path | None, item: dict[str, Any]) -> bool:
    source, target = inside(root, item["path"]), inside(root, item["target"])
    source_digest, target_digest = digest_of(root, item["path"]), digest_of(root, item["target"])
    if source_digest is None and target_digest == item["new"]:
        _drop(staged)
        return True
    if source_digest != item["expected"]:
        return False
    if target_digest != item["new"] and (
        target_digest is not None
        or staged is None
        or not staged.exists()
        or not install(staged, target, fresh=True)
    ):
        return False
    _drop(staged)
    # The copy must be durable before the original goes.
    fsync_dir(target.parent)
    source.unlink()
    fsync_dir(source.parent)
    return True


def _drop(staged: Path | None) -> None:
    if staged is not None:
        staged.unlink(missing_ok=True)
