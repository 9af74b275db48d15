"""Several files changed as one, across a crash: staged bytes, then an intent, then the renames.

    .reverie/staged/<id>-<n>      new bytes, fsynced, before anything else
    .reverie/intent.json          from here on the change will happen
    <files replaced one by one>
    .reverie/done/<id>.json       the intent, renamed: it has happened (the last 200 are kept)

A crash before the intent leaves the old files; after it, the next opening finishes the work. A file
someone else wrote meanwhile (neither the digest it had nor the one we give it) stays theirs and our bytes
go to ``.reverie/conflicts/``. The caller holds the store's lock throughout.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import faults
from pipeline.core.atomic import ensure_dir, fsync_dir, write_atomic, write_temp
from pipeline.core.errors import ConflictError, PathEscapeError, StoreError
from pipeline.core.ids import digest
from pipeline.store import journal_entry
from pipeline.store.file_operations import Applied, Change, IndexWrite, Move, Restore, Retire
from pipeline.store.files.layout import PRIVATE, bytes_at, inside, is_same_file, private_folder
from pipeline.store.files.names import common_form
from pipeline.store.history import archive, generations
from pipeline.store.journal_entry import digest_of, file_id, install, mode_of
from pipeline.store.ownership.written_log import WrittenLog

KEEP_DONE = 200
_TRIES = 5

Render = Callable[[str, bytes | None], bytes | None]
"""Gives an index file's new bytes from its path and its present bytes; None leaves it as it is."""


class Journal:
    """The change sets of the store at `root` (a real path)."""

    def __init__(self, root: Path, written: WrittenLog) -> None:
        self._root = root
        self._written = written
        self._private = root / PRIVATE
        self._staged = self._private / "staged"
        self._intent = self._private / "intent.json"
        self._done = self._private / "done"

    def interrupted(self) -> bool:
        """Whether a change set was begun and not finished."""
        return self._intent.exists()

    def leftovers(self) -> list[str]:
        """Return staged files that belong to no change set, relative to the store."""
        if self.interrupted() or not self._staged.is_dir():
            return []
        staged = private_folder(self._root, "staged")
        return sorted(f"{PRIVATE}/staged/{file.name}" for file in staged.iterdir())

    def record(self, change_id: str) -> dict[str, Any] | None:
        """Return the record of an applied change set, or None."""
        try:
            record = orjson.loads((self._done / f"{file_id(change_id)}.json").read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            record = None
        # That it is there says that it has happened, whatever it holds.
        return record if journal_entry.sound(record) else {"id": change_id, "operations": []}

    def apply(
        self,
        change_id: str,
        reason: str,
        operations: Sequence[Change],
        render: Render,
        *,
        at: str = "",
        keep: Callable[[], None] | None = None,
    ) -> Applied:
        """Apply `operations` as one; `at` is the time in the records.

        `keep` writes the generation of this change set, once nothing stands in the way of it.

        Raises ConflictError when a file is not what it was planned against, StoreError when the disk
        refuses before the intent is written; in both cases nothing has changed.
        """
        self._check(operations)
        intent: dict[str, Any] = {"id": change_id, "reason": reason, "at": at, "kept": keep is not None}
        try:
            intent["operations"] = self._stage(change_id, operations)
            faults.reach("store.staged")
            if keep is not None:
                keep()
                faults.reach("store.generation_written")
            write_atomic(self._intent, orjson.dumps(intent))
        except StoreError:
            self.sweep()
            raise
        except OSError as error:
            self.sweep()
            raise _disk_error(error, self._root) from error
        faults.reach("store.intent_written")
        try:
            return self._carry_out(intent, render)
        except OSError as error:
            raise _disk_error(error, self._root) from error

    def recover(self, render: Render) -> Applied | None:
        """Finish an interrupted change set, if there is one, and drop staged files nobody will use."""
        if not self.interrupted():
            self.sweep()
            return None
        try:
            intent = orjson.loads(self._intent.read_bytes())
        except ValueError:
            intent = None
        if not journal_entry.sound(intent):
            # Renamed into place whole, so only a damaged disk explains this: nothing can be finished.
            ensure_dir(self._private / "conflicts")
            self._intent.replace(self._private / "conflicts" / "intent.json")
            return None
        return self._carry_out(intent, render)

    def sweep(self) -> None:
        """Remove staged files while no change set is under way."""
        for name in self.leftovers():
            (self._root / name).unlink(missing_ok=True)
        if not self.interrupted():
            generations.sweep(self._root)

    def replace_index(self, path: str, render: Render) -> bool:
        """Bring one index file up to date; True if it was written.

        Read again right before the rename: a line that someone added meanwhile is kept.
        """
        for _ in range(_TRIES):
            target = inside(self._root, path)
            current = bytes_at(self._root, path)
            data = render(path, current)
            if data is None or data == current:
                return False
            staged = write_temp(ensure_dir(self._staged) / "index", data, mode=mode_of(target))
            before = None if current is None else digest(current)
            if digest_of(self._root, path) == before and install(staged, target, fresh=current is None):
                fsync_dir(target.parent)
                return True
            staged.unlink(missing_ok=True)
        raise ConflictError(
            "someone keeps writing it", file=path, fix="Try again when the other writer rests."
        )

    def _check(self, operations: Sequence[Change]) -> None:
        seen: dict[str, list[str]] = defaultdict(list)
        for operation in operations:
            before = seen[common_form(operation.path)]
            if any(is_same_file(self._root, operation.path, path) for path in before):
                raise StoreError(f"two operations on {operation.path}", fix="Plan one operation per file.")
            before.append(operation.path)
            if isinstance(operation, IndexWrite):
                continue
            if digest_of(self._root, operation.path) != operation.expected:
                raise ConflictError(
                    "changed since it was read", file=operation.path, fix="Look at the store again and retry."
                )
            if isinstance(operation, Retire | Move) and digest_of(self._root, operation.target) is not None:
                raise ConflictError("already exists", file=operation.target, fix="Plan the move again.")

    def _stage(self, change_id: str, operations: Sequence[Change]) -> list[dict[str, Any]]:
        ensure_dir(self._staged)
        out: list[dict[str, Any]] = []
        prepared: set[Path] = set()
        for number, operation in enumerate(operations):
            item = journal_entry.describe(operation)
            folder = inside(self._root, item.get("target", operation.path)).parent
            if folder not in prepared:
                self._prepare(folder)
                prepared.add(folder)
            if not isinstance(operation, Retire) and operation.data is not None:
                item["staged"] = f"{file_id(change_id)}-{number}"
                self._write_staged(item["staged"], operation.data, operation)
            out.append(item)
        fsync_dir(self._staged)
        return out

    def _write_staged(self, name: str, data: bytes, operation: Change) -> None:
        restored = operation if isinstance(operation, Restore) else None
        mode = restored.mode if restored else mode_of(inside(self._root, operation.path))
        temp = write_temp(self._staged / name, data, mode=mode)
        if restored and restored.mtime_ns is not None:
            os.utime(temp, ns=(restored.mtime_ns, restored.mtime_ns))
        temp.replace(self._staged / name)

    def _prepare(self, folder: Path) -> None:
        """Make the folder now, and find out now whether it can be written."""
        ensure_dir(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(folder))

    def _carry_out(self, intent: dict[str, Any], render: Render) -> Applied:
        paths: list[str] = []
        conflicts: list[str] = []
        lost: set[str] = set()
        for item in intent["operations"]:
            try:
                # What was to live on in a file that we could not write stays where it is.
                orphan = item["kind"] == "retire" and item["superseded_by"] in lost
                written = not orphan and self._carry_out_entry(item, render)
            except PathEscapeError:
                written = self._give_way(item)
            if not written and item["kind"] == "memory" and item.get("id"):
                lost.add(item["id"])
            (paths if written else conflicts).append(item["path"])
            faults.reach("store.file_replaced")
        for folder in {
            (self._root / item.get("target", item["path"])).parent for item in intent["operations"]
        }:
            if folder.is_dir():
                fsync_dir(folder)
        self._written.append(journal_entry.written_by(intent["operations"], set(conflicts)))
        archive.note(self._root, intent, conflicts)
        if intent.get("kept"):
            stayed = [item for item in intent["operations"] if item["path"] in conflicts]
            generations.seal(
                self._root, intent["id"], [*conflicts, *(item.get("target", "") for item in stayed)]
            )
            faults.reach("store.generation_sealed")
        faults.reach("store.files_replaced")
        ensure_dir(self._done)
        self._intent.replace(self._done / f"{file_id(intent['id'])}.json")
        fsync_dir(self._done)
        fsync_dir(self._private)
        faults.reach("store.done")
        self._prune()
        return Applied(False, paths, conflicts)

    def _carry_out_entry(self, item: dict[str, Any], render: Render) -> bool:
        staged = self._staged / item["staged"] if item.get("staged") else None
        if journal_entry.carry_out(self._root, staged, item):
            return True
        if item["kind"] == "index":
            if staged is not None:
                staged.unlink(missing_ok=True)
            self.replace_index(item["path"], render)
            return True
        return self._give_way(item)

    def _give_way(self, item: dict[str, Any]) -> bool:
        """Keep theirs and put ours aside."""
        staged = self._staged / item.get("staged", "")
        if staged.is_file():
            aside = ensure_dir(self._private / "conflicts") / journal_entry.aside_name(
                staged.name, item["path"]
            )
            staged.replace(aside)
        return False

    def _prune(self) -> None:
        done = private_folder(self._root, "done")
        records = sorted(done.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        for old in records[:-KEEP_DONE]:
            old.unlink(missing_ok=True)


def _disk_error(error: OSError, root: Path) -> StoreError:
    return StoreError(
        f"the store can't be written: {error.strerror or error}",
        file=str(error.filename or root),
        fix="Make room on the disk and the folder writable; the change is made at the next try.",
    )
