"""A store: one directory of memories, shared with Claude Code and with people who edit it.

Changes are planned (`put`, `retire`, `append_episode`) without touching a file and then made together by
`apply`. Only files that Reverie wrote and nobody changed since are ever rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from pipeline.core import locks
from pipeline.core.atomic import ensure_dir
from pipeline.core.clock import SystemClock, iso
from pipeline.core.errors import StoreError
from pipeline.core.ids import digest
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES
from pipeline.store.changes.planner import Planner
from pipeline.store.derived import catalog, usage
from pipeline.store.file_operations import Applied, Change, ChangeSet, IndexWrite
from pipeline.store.files import scanning
from pipeline.store.files.layout import PRIVATE, check_path
from pipeline.store.files.scanning import Snapshot
from pipeline.store.history import generations as kept
from pipeline.store.history import retention, undo
from pipeline.store.history.undo import Undone
from pipeline.store.ownership import access

_STALE_LEAST = 32
_STALE_SHARE = 50


class Store(Planner):
    """The store at `path`; open it with `Store.open`."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool = False,
        later: bool = False,
        index_lines: int = INDEX_LINES,
        index_bytes: int = INDEX_BYTES,
        lock_seconds: float = 30.0,
        generations: int = kept.KEEP,
    ) -> Store:
        """Open the store at `path`, which may be a link to a directory; finish an interrupted change set.

        With `create` a missing directory is made, mode 0700; with `later` it is when the first
        change is. Limits are those of MEMORY.md; a change
        waits `lock_seconds` for another process; the last `generations` of each kind are kept for undo.
        Raises StoreError when there is no directory or an interrupted change can't be finished.
        """
        if create:
            with access.writing(path):
                ensure_dir(path)
        if not path.is_dir() and not (later and access.can_be_made(path)):
            raise StoreError("no such directory", file=str(path), fix="Check --store, or create it.")
        root = Path(os.path.realpath(path))
        private = root / PRIVATE
        if private.is_symlink() or (private.exists() and not private.is_dir()):
            what = "a link" if private.is_symlink() else "a file"
            raise StoreError(
                f"{what} where a folder must be", file=str(private), fix="Remove it; Reverie makes a folder."
            )
        store = cls(
            path,
            root,
            index_lines=index_lines,
            index_bytes=index_bytes,
            lock_seconds=lock_seconds,
            generations=generations,
        )
        if store._sets.interrupted():
            with store._locked():
                store._recover()
        return store

    def claim(self, project: Path) -> None:
        """Take this store for the project at `project`, when it is first written if it is not there yet.

        Raises StoreError, now or then, when it belongs to another project.
        """
        self._claimant = project
        if self.root.is_dir():
            access.require_owner(self.root, project, claim=True)

    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        """Make all of `change` or nothing, and bring MEMORY.md along in the same change set.

        A change set applied before is not applied again. With `generation` every touched file is kept as
        it was, so that `undo` can bring it back. Raises ConflictError when a file is not what it was
        planned against, StoreError when the store is busy or can't be written.
        """
        for operation in change.operations:
            check_path(operation.path)
        try:
            with self._locked():
                self._recover()
                record = self._sets.record(change.id)
                if record is not None:
                    return Applied(True, [item["path"] for item in record["operations"]])
                return self._apply(change, generation)
        finally:
            self._planned.clear()

    def undo(self, run_id: str, *, at: datetime | None = None) -> Undone:
        """Bring back every file that change set `run_id` touched, byte for byte, as one change set.

        That one is called ``undo-<run_id>`` and can itself be undone. Undone before, nothing happens.
        Raises ConflictError, naming the files, where a later edit would be lost, and StoreError when
        `run_id` is not in `history`.
        """
        with self._locked():
            self._recover()
        generations = self.history()
        chosen = kept.pick(generations, run_id)
        if chosen.undone:
            return Undone(run_id, (), True, chosen.reason, chosen.at)
        change_id = kept.undo_id(run_id)
        if any(item.run == change_id for item in generations):
            # Undone, and then that undone: what stands is the second of the two.
            return replace(self.undo(kept.undo_id(change_id), at=at), run=run_id)
        restores = undo.plan(self.root, run_id, generations, self._written.digest)
        with self._locked():
            self._board.remember(kept.own_lines(self.root, run_id))
        applied = self.apply(ChangeSet(change_id, f"undo of {run_id}", restores, at), generation=True)
        paths = tuple(item.path for item in restores)
        return Undone(run_id, paths, applied.already, chosen.reason, chosen.at)

    def reindex(self, *, now: datetime, index_lines: int | None = None) -> list[str]:
        """Rebuild every derived file; return the paths written, which are none when nothing changed.

        With `index_lines` MEMORY.md gets no more lines than that, until it is next rebuilt.
        """
        with self._locked(), scanning.collector_paused(), self._board.at_most(index_lines):
            self._recover()
            snapshot = self.scan()
            wrote = self._rebuild(snapshot, now)
            state = usage.write_state(self.root, now)
            jobs = {
                usage.STATE: state,
                catalog.CORE: catalog.write_core(self.root, snapshot.documents, now),
                ".gitignore": catalog.write_gitignore(self.root),
                scanning.INDEX_JSON: catalog.write_index_json(self.root, snapshot.documents, now),
            }
            self._written.compact()
        return wrote + [path for path, written in jobs.items() if written]

    def count_uses(self, found: Sequence[usage.Use], ledger: str, *, now: datetime) -> int:
        """Add `found`, of the ledger with that identity, to ``_state.json``; return how many were new.

        Told again, they are not counted again. No memory is touched. Raises StoreError as `apply` does.
        """
        with self._locked():
            return usage.count_uses(self.root, found, ledger, now)

    def _apply(self, change: ChangeSet, generation: bool) -> Applied:
        snapshot = self._glance()
        now = SystemClock().now()
        self._board.show(snapshot, now, change.operations)
        operations: list[Change] = list(change.operations)
        restored = {operation.path for operation in operations}
        for path in self._board.paths():
            if path in restored:
                continue
            current = self._bytes(path)
            data = self._board.render(path, current)
            if data is not None and data != current:
                operations.append(IndexWrite(path, data, None if current is None else digest(current)))
        self._seen = {item.path: item for item in snapshot.documents}
        for operation in change.operations:
            self._seen.pop(operation.path, None)
        at = change.at or now
        applied = self._sets.apply(
            change.id,
            change.reason,
            operations,
            self._board.render,
            at=iso(at),
            keep=partial(self._keep, change, at, operations) if generation else None,
        )
        if generation:
            retention.prune(self.root, self._generations, at)
        self._settle(applied)
        if sum(not item.cached for item in snapshot.documents) > max(
            _STALE_LEAST, len(snapshot.documents) // _STALE_SHARE
        ):
            catalog.write_index_json(self.root, self.scan().documents, now)
        return applied

    def _keep(self, change: ChangeSet, at: datetime, operations: Sequence[Change]) -> None:
        kept.keep(
            self.root,
            change.id,
            change.reason,
            at,
            operations,
            record=self._written.digest,
            indexes=self._board.paths(),
            lines=self._board.own_lines(),
        )

    def _recover(self) -> None:
        if self._sets.interrupted():
            self._seen = None
            self._board.show(None, SystemClock().now(), rescan=self.scan)
        self._settle(self._sets.recover(self._board.render))
        retention.sweep_temps(self.root, SystemClock().now().timestamp())

    def _settle(self, applied: Applied | None) -> None:
        """Bring the index in line when someone else's file stayed where ours was planned."""
        if applied is not None and applied.conflicts:
            self._rebuild(self.scan(), SystemClock().now())

    def _rebuild(self, snapshot: Snapshot, now: datetime) -> list[str]:
        self._board.show(snapshot, now)
        return [path for path in self._board.paths() if self._sets.replace_index(path, self._board.render)]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with access.writing(self.path):
            private = access.private_dir(self.root)
            if self._claimant is not None and not access.owner(self.root):
                access.require_owner(self.root, self._claimant, claim=True)
            with locks.lock(private / "lock", timeout=self._lock_seconds) as held:
                if not held:
                    raise StoreError(
                        "another Reverie process is writing",
                        file=str(self.path),
                        fix="Try again in a minute.",
                    )
                yield
