"""What can be seen of a store and planned for it; nothing here changes a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.core.clock import SystemClock
from pipeline.core.errors import DocumentError, UnknownMemoryError
from pipeline.core.ids import digest, new_id
from pipeline.domain.memory import Memory
from pipeline.store.changes import planning
from pipeline.store.changes.journal import ChangeSets
from pipeline.store.derived.memory_index_writer import IndexBoard
from pipeline.store.file_operations import Move, Put, Retire, WriteFile
from pipeline.store.files import document, names, scanning
from pipeline.store.files.layout import ARCHIVE, MAX_DERIVED, PRIVATE, inside, read_regular
from pipeline.store.files.scanning import Document, Snapshot
from pipeline.store.history import archive_log, episodes
from pipeline.store.history import generations as kept
from pipeline.store.history.archive_log import Retired
from pipeline.store.history.generations import FileDiff
from pipeline.store.history.manifest import Generation
from pipeline.store.ownership.written import Written


class Planner:
    """The half of a `Store` that looks and plans."""

    def __init__(
        self,
        path: Path,
        root: Path,
        *,
        index_lines: int,
        index_bytes: int,
        lock_seconds: float,
        generations: int = kept.KEEP,
    ) -> None:
        self.path = path
        self.root = root
        self._lock_seconds = lock_seconds
        self._claimant: Path | None = None
        self._generations = generations
        self._written = Written(root / PRIVATE / "written.jsonl")
        self._sets = ChangeSets(root, self._written)
        self._board = IndexBoard(root, max_lines=index_lines, max_bytes=index_bytes)
        self._known: dict[str, Document] | None = None
        self._seen: dict[str, Document] | None = None
        self._planned: dict[str, Memory | None] = {}

    def scan(self) -> Snapshot:
        """Return every memory and every problem; only files that changed are read again."""
        if self._known is None:
            self._known = scanning.from_index(self.root)
        now = SystemClock().now().timestamp()
        snapshot = scanning.scan(self.root, self._known)
        ours = self._written.paths()
        for item in snapshot.documents:
            item.foreign = item.path not in ours
        snapshot.problems += self._board.problems()
        self._known = scanning.trusted(snapshot.documents, int(now * 1e9))
        self._seen = {item.path: item for item in snapshot.documents}
        return snapshot

    def read(self, name: str) -> Document:
        """Return the memory that `name` means (see `Snapshot.by_name`); UnknownMemoryError if none."""
        found = self.scan().by_name(name)
        if found is None:
            raise UnknownMemoryError(f"no memory is called {name!r}", fix="`reverie list` shows every name.")
        return found

    def is_as_written(self, document: Document) -> bool:
        """Whether this file went through Reverie's hands and nobody else changed it since."""
        return self._written.digest(document.path) == document.digest

    def is_ours(self, document: Document) -> bool:
        """Whether Reverie wrote this file of itself, not at a person's word, and nobody changed it since."""
        return document.head.origin != "hand-written" and self.is_as_written(document)

    def writable(self) -> bool:
        """Whether files can be made in the store."""
        return os.access(self.root, os.W_OK | os.X_OK)

    def put(self, memory: Memory, *, existing: Document | None = None, approved: bool = False) -> Put:
        """Plan a memory file: a new one, or `existing` with what differs replaced.

        A new one gets a name and a path that nobody has. An existing one keeps name, path, id and unknown
        keys; ConflictError when it is foreign or was edited by hand, unless nothing would change or a
        person `approved` this very change.
        """
        if existing is not None:
            return planning.revised(memory, existing, ours=approved or self.is_ours(existing))
        memory = replace(memory, id=memory.id or new_id())
        placed = planning.placed(memory, self._glance(), self._planned)
        self._planned[placed.path.lower()] = placed
        data = document.compose(placed)
        return Put(placed.path, data, None, document.parse(data, placed.path))

    def retire(self, document: Document, *, year: int, reason: str, superseded_by: str = "") -> Retire:
        """Plan the move of a memory to ``archive/<year>/``; its bytes stay as they are.

        `superseded_by` is the id of the memory that takes its place; `retired` tells it afterwards.
        """
        folder = inside(self.root, f"{ARCHIVE}/{year}")
        there = folder.iterdir() if folder.is_dir() else ()
        taken = {f"{ARCHIVE}/{year}/{file.name}".lower() for file in there}
        target = names.archive_path(document.path, year, taken | set(self._planned))
        self._planned[target.lower()] = None
        return Retire(document.path, target, document.digest, reason, document.id, superseded_by)

    def pin(self, document: Document) -> tuple[Put | Move, ...]:
        """Plan what pins a memory: ``pinned: true`` and the move into ``vault/``; empty when it is pinned.

        A file that is not ours is moved as it is. ConflictError as in `planning.pinned`.
        """
        return self._repin(document, planning.pinned)

    def unpin(self, document: Document) -> tuple[Put | Move, ...]:
        """Plan what unpins a memory, its move back included; empty when it is not pinned.

        ConflictError as in `planning.unpinned`.
        """
        return self._repin(document, planning.unpinned)

    def append_episode(
        self,
        *,
        date: str,
        time: str,
        title: str,
        type_name: str,
        marker: str,
        tags: Sequence[str] = (),
        link: str = "",
        summary: Sequence[str] = (),
        pending: WriteFile | None = None,
    ) -> WriteFile | None:
        """Plan one more entry in the day's log, or None when `marker` (a run id) is in it already.

        `pending` is an earlier plan for the same day in the same change set; use the new one instead.
        """
        path = episodes.episode_path(date)
        current = self._bytes(path)
        plan = episodes.with_entry(
            pending.data if pending else current,
            date=date,
            time=time,
            title=title,
            type_name=type_name,
            tags=tags,
            link=link,
            summary=summary,
            marker=marker,
        )
        if plan is None:
            return None
        return replace(plan, expected=None if current is None else digest(current))

    def drop_plans(self) -> None:
        """Forget what was planned and will not be applied; its names are free again."""
        self._planned.clear()

    def history(self) -> list[Generation]:
        """Return the change sets that were applied with a generation, newest first, as far as kept."""
        return kept.history(self.root)

    def diff(self, run_id: str) -> list[FileDiff]:
        """Return what change set `run_id` changed, by path; StoreError when it is not in `history`."""
        return kept.diff(self.root, run_id)

    def digests_before(self, run_id: str) -> dict[str, str]:
        """Return id → digest of the memories that change set `run_id` changed, as they were before it."""
        found = {}
        for change in self.diff(run_id):
            if change.before is not None and change.path not in self._board.paths():
                try:
                    found[document.parse(change.before, change.path).id] = digest(change.before)
                except DocumentError:
                    # No memory, such as a page of the diary.
                    continue
        return found

    def retired(self) -> list[Retired]:
        """Return what lies in the archive with its reason and, where there is one, its successor."""
        return archive_log.read(self.root)

    def _glance(self) -> Snapshot:
        """Return the store by its file names; what this object saw before is not looked at again.

        Good enough for an index or a free name; every file that is changed is compared on its own.
        """
        return self.scan() if self._seen is None else scanning.scan(self.root, self._seen, glance=True)

    def _repin(
        self,
        document: Document,
        how: Callable[[Document, set[str], set[str], str | None], Put | Move | None],
    ) -> tuple[Put | Move, ...]:
        snapshot = self._glance()
        taken = planning.taken_paths(snapshot.documents, snapshot, self._planned)
        plan = how(document, taken, self._board.links_outside(), self._written.digest(document.path))
        if isinstance(plan, Move):
            self._planned[plan.target.lower()] = None
        return () if plan is None else (plan,)

    def _bytes(self, path: str) -> bytes | None:
        try:
            return read_regular(inside(self.root, path), MAX_DERIVED)[0]
        except FileNotFoundError:
            return None
