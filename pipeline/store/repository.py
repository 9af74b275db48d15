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
from pathlib import Path

from pipeline import locks
from pipeline.atomic import ensure_dir
from pipeline.clock import SystemClock
from pipeline.domain.memory import Memory
from pipeline.errors import ConflictError, StoreError, UnknownMemoryError
from pipeline.ids import digest, new_id
from pipeline.store import access, derived, document, episodes, names, scanning
from pipeline.store.change_set import ChangeSets
from pipeline.store.index_board import IndexBoard
from pipeline.store.layout import ARCHIVE, MAX_DERIVED, PRIVATE, check_path, inside, read_regular
from pipeline.store.plan import Applied, Change, ChangeSet, IndexWrite, Put, Retire, WriteFile
from pipeline.store.scanning import Document, Snapshot
from pipeline.store.written import Written

_STALE_LEAST = 32
_STALE_SHARE = 50


class Store:
    """The store at `path`; open it with `Store.open`."""

    def __init__(
        self, path: Path, root: Path, *, index_lines: int, index_bytes: int, lock_seconds: float
    ) -> None:
        self.path = path
        self.root = root
        self._lock_seconds = lock_seconds
        self._written = Written(root / PRIVATE / "written.jsonl")
        self._sets = ChangeSets(root, self._written)
        self._board = IndexBoard(root, max_lines=index_lines, max_bytes=index_bytes)
        self._known: dict[str, Document] | None = None
        self._seen: dict[str, Document] | None = None
        self._planned: dict[str, Memory | None] = {}

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool = False,
        index_lines: int = 200,
        index_bytes: int = 25_000,
        lock_seconds: float = 30.0,
    ) -> Store:
        """Open the store at `path`, which may be a link to a directory; finish an interrupted change set.

        With `create` a missing directory is made, mode 0700. Limits are those of MEMORY.md; a change
        waits `lock_seconds` for another process. Raises StoreError when there is no directory or an
        interrupted change can't be finished.
        """
        if create:
            with access.writing(path):
                ensure_dir(path)
        if not path.is_dir():
            raise StoreError("no such directory", file=str(path), fix="Check --store, or create it.")
        root = Path(os.path.realpath(path))
        if (root / PRIVATE).is_symlink():
            raise StoreError("a link", file=str(root / PRIVATE), fix="Remove it; Reverie makes a folder.")
        store = cls(path, root, index_lines=index_lines, index_bytes=index_bytes, lock_seconds=lock_seconds)
        if store._sets.interrupted():
            with store._locked():
                store._recover()
        return store

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

    def is_ours(self, document: Document) -> bool:
        """Whether Reverie wrote this file and nobody changed it since."""
        return self._written.digest(document.path) == document.digest

    def writable(self) -> bool:
        """Whether files can be made in the store."""
        return os.access(self.root, os.W_OK | os.X_OK)

    def put(self, memory: Memory, *, existing: Document | None = None) -> Put:
        """Plan a memory file: a new one, or `existing` with what differs replaced.

        A new one gets a name and a path that nobody has. An existing one keeps name, path, id and unknown
        keys; ConflictError when it is foreign or was edited by hand, unless nothing would change.
        """
        if existing is not None:
            return self._put_over(memory, existing)
        memory = replace(memory, id=memory.id or new_id())
        placed = self._place(memory, self._glance())
        self._planned[placed.path.lower()] = placed
        data = document.compose(placed)
        return Put(placed.path, data, None, document.parse(data, placed.path))

    def retire(self, document: Document, *, year: int, reason: str) -> Retire:
        """Plan the move of a memory to ``archive/<year>/``; its bytes stay as they are."""
        folder = inside(self.root, f"{ARCHIVE}/{year}")
        there = folder.iterdir() if folder.is_dir() else ()
        taken = {f"{ARCHIVE}/{year}/{file.name}".lower() for file in there}
        target = names.archive_path(document.path, year, taken | set(self._planned))
        self._planned[target.lower()] = None
        return Retire(document.path, target, document.digest, reason)

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

    def apply(self, change: ChangeSet) -> Applied:
        """Make all of `change` or nothing, and bring MEMORY.md along in the same change set.

        A change set applied before is not applied again. Raises ConflictError when a file is not what it
        was planned against, StoreError when the store is busy or can't be written.
        """
        for operation in change.operations:
            check_path(operation.path)
        try:
            with self._locked():
                self._recover()
                record = self._sets.record(change.id)
                if record is not None:
                    return Applied(True, [item["path"] for item in record["operations"]])
                return self._apply(change)
        finally:
            self._planned.clear()

    def reindex(self, *, now: datetime) -> list[str]:
        """Rebuild every derived file; return the paths written, which are none when nothing changed."""
        with self._locked():
            self._recover()
            snapshot = self.scan()
            wrote = self._rebuild(snapshot, now)
            state = derived.write_state(self.root, now)
            jobs = {
                derived.STATE: state,
                derived.CORE: derived.write_core(self.root, snapshot.documents, now),
                ".gitignore": derived.write_gitignore(self.root),
                scanning.INDEX_JSON: derived.write_index_json(self.root, snapshot.documents, now),
            }
            self._written.compact()
        return wrote + [path for path, written in jobs.items() if written]

    def _glance(self) -> Snapshot:
        """Return the store by its file names; what this object saw before is not looked at again.

        Good enough for an index or a free name; every file that is changed is compared on its own.
        """
        return self.scan() if self._seen is None else scanning.scan(self.root, self._seen, glance=True)

    def _apply(self, change: ChangeSet) -> Applied:
        snapshot = self._glance()
        now = SystemClock().now()
        self._board.show(snapshot, now, change.operations)
        operations: list[Change] = list(change.operations)
        for path in self._board.paths():
            current = self._bytes(path)
            data = self._board.render(path, current)
            if data is not None and data != current:
                operations.append(IndexWrite(path, data, None if current is None else digest(current)))
        self._seen = {item.path: item for item in snapshot.documents}
        for operation in change.operations:
            self._seen.pop(operation.path, None)
        applied = self._sets.apply(change.id, change.reason, operations, self._board.render)
        self._settle(applied)
        if sum(not item.cached for item in snapshot.documents) > max(
            _STALE_LEAST, len(snapshot.documents) // _STALE_SHARE
        ):
            derived.write_index_json(self.root, self.scan().documents, now)
        return applied

    def _recover(self) -> None:
        if self._sets.interrupted():
            self._seen = None
            self._board.show(None, SystemClock().now(), rescan=self.scan)
        self._settle(self._sets.recover(self._board.render))

    def _settle(self, applied: Applied | None) -> None:
        """Bring the index in line when someone else's file stayed where ours was planned."""
        if applied is not None and applied.conflicts:
            self._rebuild(self.scan(), SystemClock().now())

    def _rebuild(self, snapshot: Snapshot, now: datetime) -> list[str]:
        self._board.show(snapshot, now)
        return [path for path in self._board.paths() if self._sets.replace_index(path, self._board.render)]

    def _place(self, memory: Memory, snapshot: Snapshot) -> Memory:
        others = [item for item in snapshot.documents if item.id != memory.id]
        paths = {item.path.lower() for item in others} | {path.lower() for path in snapshot.broken}
        paths |= {problem.path.lower() for problem in snapshot.problems}
        planned = [item for item in self._planned.values() if item and item.id != memory.id]
        paths |= {item.path.lower() for item in planned}
        taken_names = {item.name.lower() for item in others} | {item.name.lower() for item in planned}
        return names.place(memory, paths, taken_names)

    def _put_over(self, memory: Memory, existing: Document) -> Put:
        head = existing.head
        extra = {**head.extra, **memory.extra}
        if isinstance(head.extra.get("metadata"), dict):
            extra["metadata"] = {**head.extra["metadata"], **(memory.extra.get("metadata") or {})}
        merged = replace(
            memory,
            name=head.name,
            path=existing.path,
            id=head.id or memory.id,
            pinned=head.pinned,
            extra=extra,
        )
        data = document.compose(merged, existing.raw)
        if data != existing.raw and not self.is_ours(existing):
            raise ConflictError(
                "edited by hand" if not existing.foreign else "not written by Reverie",
                file=existing.path,
                fix="Propose the change in the inbox instead; its editor decides.",
            )
        return Put(existing.path, data, existing.digest, document.parse(data, existing.path))

    def _bytes(self, path: str) -> bytes | None:
        try:
            return read_regular(inside(self.root, path), MAX_DERIVED)[0]
        except FileNotFoundError:
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with access.writing(self.path):
            private = access.private_dir(self.root)
            with locks.lock(private / "lock", timeout=self._lock_seconds) as held:
                if not held:
                    raise StoreError(
                        "another Reverie process is writing",
                        file=str(self.path),
                        fix="Try again in a minute.",
                    )
                yield
