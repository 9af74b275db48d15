"""What is no longer among the live memories: what became of it, where its text is, and how it comes back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from pathlib import PurePosixPath

from pipeline.app.changes import memory_changes
from pipeline.core import zone
from pipeline.core.errors import InputError, StoreError, UnknownMemoryError
from pipeline.core.ids import digest
from pipeline.store import (
    Document,
    Retired,
    Snapshot,
    Store,
    scan_archive,
    short_ids,
    turns_of,
    was_written,
)
from pipeline.store.history.forgotten import ON_REQUEST
from pipeline.text.near import did_you_mean

FORGOTTEN = ON_REQUEST
"""The reason for which a memory is retired that a person has forgotten."""
_ID_PREFIX = 6
_MERGE, _SUPERSEDE = "merge: ", "supersede: "
"""How the reason begins for which a dream retired a memory that lives on in another."""


def read(store: Store, name: str, look: Snapshot | None = None) -> Document:
    """Return the memory that `name` means, by a `look` that was made just now where there is one.

    Raises UnknownMemoryError, which says of one that is no longer there what became of it.
    """
    try:
        found = (look or store.scan()).by_name(name)
        # A file that somebody moves just then can hide from a look; from the next it does not.
        return found or store.scan().named(name)
    except UnknownMemoryError:
        gone = left(store, name) or removed(store, name)
        if gone is None:
            raise
        raise gone from None


def left(store: Store, name: str, option: str = "", undo: str = "") -> UnknownMemoryError | None:
    """Return what became of the memory `name` by a change of `store`; None when none took it away.

    `option` is what `reverie restore` needs to mean this store, `undo` what `reverie undo` does.
    """
    return _archived(store, name, option) or _undone(store, name, undo)


def _archived(store: Store, name: str, option: str) -> UnknownMemoryError | None:
    """Return what became of the memory that `name` meant, where its text is, and how it comes back."""
    item = latest(store, name)
    if item is None:
        return None
    stem = PurePosixPath(item.path).stem
    back = f"`reverie restore {option}{_argument(store, item, name)}`"
    fix = f"Its text is in {item.target}; {back} brings it back."
    heir = _heir(store, item)
    if heir:
        fix = f"See `reverie show {heir}`. {fix}"
    return UnknownMemoryError(f"“{stem}” {_fate(item, heir)}{_on(item.at)}", fix=fix)


def note_on(store: Store, name: str, found: Document) -> str:
    """Return what a person should know who gets `found` for `name`, which another memory had; else ""."""
    item = None if name in (found.name, found.path, found.id) else latest(store, name)
    if item is None or _heir(store, item) != found.name:
        return ""
    fate = f"“{PurePosixPath(item.path).stem}” {_fate(item, found.name)}{_on(item.at)}"
    return f"{fate}; its own text is in {item.target}"


def accepted_on(store: Store, found: Document) -> str:
    """Return on which day a person let `found` be written as it stands, by a yes in the inbox; else ""."""
    for item in store.history():
        wrote = any(file.path == found.path and file.after == found.digest for file in item.files)
        if wrote and not item.undone:
            return zone.day(item.at) if item.reason.startswith("inbox ") else ""
    return ""


def _undone(store: Store, name: str, option: str) -> UnknownMemoryError | None:
    """Return that the memory `name` was made by a change that was undone, and what brings it back."""
    kept = store.history()
    for item in kept:
        if item.undone or turns_of(item.run)[1] % 2 == 0:
            continue
        try:
            changes = memory_changes(store.diff_of(item))
        except StoreError:
            # Damaged: `reverie history` says so.
            continue
        if any(change.word == "removed" and name == change.memory.name for change in changes):
            fix = f"`reverie undo {option}{short_ids(kept)[item.run]}` brings it back."
            return UnknownMemoryError(
                f"“{name}” went when the change that made it was undone{_on(item.at)}", fix=fix
            )
    return None


def removed(store: Store, name: str) -> UnknownMemoryError | None:
    """Return that somebody else removed the file of the memory `name`."""
    for edit in store.hand_edits():
        if edit.word == "removed" and edit.found_by is None and PurePosixPath(edit.path).stem == name:
            kept = store.hand_edit_diff(edit) is not None
            fix = (
                f"`reverie diff {name}` shows what it said."
                if kept
                else "`reverie list` shows what is there."
            )
            return UnknownMemoryError(f"the file of “{name}” was removed by hand", file=edit.path, fix=fix)
    return None


def make_way(store: Store, path: str, then: str, option: str = "") -> str:
    """Return what makes room for a memory to come back at `path`, where a file is; `then` follows it.

    `option` is what `reverie forget` needs to mean this store.
    """
    taken = next((d for d in store.scan().documents if d.path == path), None)
    if taken is None:
        return f"Move that file away, then {then}."
    return (
        f"`reverie forget {option}{taken.name}`, then {then}. To keep both, give that file another name, "
        "also in the line `name:` in it."
    )


def latest(store: Store, name: str) -> Retired | None:
    """Return what `name` means of what was retired; of several the last that left."""
    retired = store.retired()
    found = [item for item in retired if _means(item, name)]
    if not found and (former := scan_archive(store.root).by_name(name)):
        found = [item for item in retired if item.target == former.path]
    return max(found, key=lambda item: item.at.timestamp() if item.at else math.inf, default=None)


def record_of(store: Store, item: Retired, data: bytes) -> str:
    """Return the digest of what we had last written where `item` was that holds `data`; "" where not ours.

    What came back counts by it as what it was: as ours, as edited by hand, or as somebody else's.
    """
    if store.is_team:
        return ""
    present = digest(data)
    for made in store.history():
        for file in made.files if made.run == item.run else ():
            if file.path == item.path and file.before == present:
                return file.record
    return present if was_written(store.root, item.path, present) else ""


def not_in_archive(name: str, items: Iterable[Retired]) -> InputError:
    """Return the error for a `name` that none of `items` in the archive has."""
    near = did_you_mean(name, (PurePosixPath(item.path).stem for item in items))
    return InputError(
        f"the archive has no {name!r}", fix=f"{near}`reverie list --retired` shows what left, and when."
    )


def _means(item: Retired, name: str) -> bool:
    stem = PurePosixPath(item.path).stem
    named = name in (stem, item.path, item.target, stem.removesuffix(f"-{item.id[:_ID_PREFIX]}"))
    return named or (len(name) >= _ID_PREFIX and item.id.startswith(name))


def _argument(store: Store, item: Retired, name: str) -> str:
    """Return what `restore` has to be given for `item`: its name, or its path where that means another."""
    stem = PurePosixPath(item.path).stem
    return stem if latest(store, stem) == item else item.target


def _heir(store: Store, item: Retired) -> str:
    """Return the name of the live memory that took the place of `item`, perhaps by way of others, or ""."""
    live = {d.id: d.name for d in store.scan().documents if d.id}
    successors = {other.id: other.superseded_by for other in store.retired() if other.id}
    heir, seen = item.superseded_by, set[str]()
    while heir and heir not in live and heir not in seen:
        seen.add(heir)
        heir = successors.get(heir, "")
    return live.get(heir, "")


def _fate(item: Retired, heir: str) -> str:
    if item.reason == FORGOTTEN:
        return "was forgotten"
    into = f" “{heir}”" if heir else " another memory, which left as well"
    if item.superseded_by:
        return f"{'was merged into' if item.reason.startswith(_MERGE) else 'was superseded by'}{into}"
    return f"was retired ({item.reason.removeprefix('retire: ')})" if item.reason else "was retired"


def _on(at: datetime | None) -> str:
    return f" on {zone.day(at)}" if at else ""
