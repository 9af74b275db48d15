"""Plans changes of a store without touching a file: where a memory goes, what an update keeps, how pins move.

A plan is an operation for `Store.apply`, made against what the store holds now; applying it fails when a
file is no longer what it was planned against.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.core.errors import ConflictError, DocumentError, KeptAsItIsError
from pipeline.core.ids import digest, new_id
from pipeline.domain.memory import Memory
from pipeline.domain.quotes import QUOTES
from pipeline.hooklib import ownership
from pipeline.store.catalogue.scanner import Scanner
from pipeline.store.changes.planned_places import PlannedPlaces
from pipeline.store.derived.memory_index_writer import MemoryIndexWriter
from pipeline.store.file_operations import ChangeSet, Move, Operation, Put, Restore, Retire, WriteFile
from pipeline.store.files import document, names
from pipeline.store.files.layout import ARCHIVE, VAULT, bytes_at, inside, memory_folders
from pipeline.store.files.scanning import Document
from pipeline.store.graph.relations import keys_of
from pipeline.store.history.episodes import Episode, episode_path, with_entries
from pipeline.store.journal_entry import mode_of
from pipeline.store.ownership.permission import is_tended
from pipeline.store.ownership.written_log import WrittenLog


class Planner:
    """Plans for the store at `root`; what was planned and not applied yet keeps its name and path.

    A `flat` store, a team's folder, has no folders by type: new files go where the team's are.
    """

    def __init__(
        self,
        root: Path,
        scanner: Scanner,
        written: WrittenLog,
        index: MemoryIndexWriter,
        *,
        flat: bool = False,
    ) -> None:
        self._flat = flat
        self._root = root
        self._scanner = scanner
        self._written = written
        self._index = index
        self._planned = PlannedPlaces(root)

    def drop(self) -> None:
        """Forget what was planned; its names are free again."""
        self._planned.clear()

    def put(self, memory: Memory, *, existing: Document | None = None, approved: bool = False) -> Put:
        """Plan a memory file: a new one, or `existing` with what differs replaced.

        A new one gets a name and a path that nobody has. An existing one keeps name, path, id and unknown
        keys; ConflictError when it is foreign or was edited by hand, unless nothing would change or a
        person `approved` this very change.
        """
        if existing is not None:
            return _revised(memory, existing, ours=approved or is_tended(existing, self._written))
        memory = replace(memory, id=memory.id or new_id())
        placed = self._placed(memory)
        self._planned.add(placed.path, placed)
        data = document.compose(placed)
        return Put(placed.path, data, None, document.parse(data, placed.path))

    def put_as(self, data: bytes, existing: Document, *, now: datetime) -> Restore:
        """Plan `data`, the whole file of `existing` as a person wrote it, byte for byte but for its time.

        A file that is not ours stays its author's: what they change of it by our hand makes it no more ours.
        DocumentError when it can't be read, has not the id by which others point at the memory, or points at
        itself.
        """
        if not document.is_utf8(data):
            raise DocumentError("not UTF-8", file=existing.path, fix="Save the text as UTF-8.")
        memory = document.parse(data, existing.path)
        if memory.id != existing.own_id:
            deed = "changed" if memory.id else "taken out"
            raise DocumentError(
                f"its id was {deed}, by which other memories know it",
                file=existing.path,
                fix=f"Leave the front matter there, with the line `id: {existing.own_id}`."
                if existing.own_id
                else "Leave out the `id`.",
            )
        _require_others(memory, existing)
        values: dict[str, Any] = {}
        if memory.updated is not None and memory.updated == existing.memory.updated:
            values["updated"] = now
        if memory.is_a_guess and memory.origin == existing.memory.origin:
            values["origin"] = "user-confirmed"
        if values:
            with suppress(KeptAsItIsError):
                data = document.compose(replace(memory, **values), data)
        document.parse(data, existing.path)  # What was written can be read again.
        known = self._written.digest(existing.path)
        record = digest(data) if known == existing.digest else known or ""
        mode = mode_of(inside(self._root, existing.path))
        return Restore(existing.path, data, existing.digest, record, mode)

    def rename(self, memory: Memory, existing: Document, *, approved: bool = False) -> Put | Move:
        """Plan `existing` with what differs in `memory` replaced, and its file under the new name.

        The former name becomes an alias. A file that a line of MEMORY.md which is not ours links to keeps its
        name, or that link would break. ConflictError as for `put`.
        """
        put = self.put(memory, existing=existing, approved=approved)
        if existing.path in self._index.links_outside():
            return put
        fresh = replace(put.memory, name=memory.name, aliases=())
        placed = self._placed(fresh, existing.path)
        if placed.name == existing.head.name:
            return put
        aliases = [*put.memory.aliases, existing.head.name]
        aliases = [alias for alias in dict.fromkeys(aliases) if alias != placed.name]
        moved = replace(placed, aliases=tuple(aliases))
        self._planned.add(moved.path, moved)
        data = document.compose(moved, existing.raw)
        made = document.parse(data, moved.path)
        return Move(existing.path, moved.path, existing.digest, data, digest(data), made)

    def relate(self, document: Document, links: tuple[dict[str, Any], ...]) -> Put | Restore:
        """Plan `document` with the relations `links`, and nothing else changed.

        A file with relations that gives no id of its own gets the one by which it is known, where it can be
        written without touching other lines. A file that is not ours stays its author's: it is not taken for
        ours because a relation of it changed.
        Raises KeptAsItIsError where other lines would change.
        """
        if is_tended(document, self._written):
            return self.put(replace(document.memory, relations=links), existing=document)
        return _related(document, links, mode_of(inside(self._root, document.path)), self._written)

    def retire(self, document: Document, *, year: int, reason: str, superseded_by: str = "") -> Retire:
        """Plan the move of a memory to ``archive/<year>/``; its bytes stay as they are.

        `superseded_by` is the id of the memory that takes its place; `retired` tells it afterwards.
        """
        target = names.archive_path(document.path, year, self._planned.in_archive(f"{ARCHIVE}/{year}"))
        self._planned.add(target)
        return Retire(document.path, target, document.digest, reason, document.id, superseded_by)

    def pin(self, document: Document, own: Memory | None = None) -> tuple[Put | Move, ...]:
        """Plan what pins a memory: ``pinned: true`` and the move into ``vault/``; empty when it is pinned.

        A file that is not ours is moved as it is. Where a line of MEMORY.md that is not ours links to it, it
        stays in its place, and is written as `own`: the memory with no more said for it than is borne out.
        ConflictError without it there, when the move would lose the type, or the bytes are not UTF-8.
        """
        return self._repin(document, partial(_pinned, own=own))

    def unpin(self, document: Document) -> tuple[Put | Move, ...]:
        """Plan what unpins a memory, its move back included; empty when it is not pinned.

        ConflictError as for `pin`, and when a file that is not ours says itself that it is pinned.
        """
        return self._repin(document, _unpinned)

    def append_episodes(self, entries: Sequence[Episode]) -> WriteFile | None:
        """Plan `entries`, all of one day, at the end of its log; None when they are in it already."""
        current = bytes_at(self._root, episode_path(entries[0].day)) if entries else None
        return with_entries(current, entries)

    def caught_up(self, change: ChangeSet) -> ChangeSet:
        """Return `change`; of files to which others have added meanwhile, with what is to be written now."""
        operations: list[Operation] = []
        for operation in change.operations:
            found: Operation | None = operation
            if isinstance(operation, WriteFile) and operation.again is not None:
                current = bytes_at(self._root, operation.path)
                if operation.expected != (None if current is None else digest(current)):
                    found = operation.again(current)
            operations += [found] if found else []
        return replace(change, operations=operations)

    def _folder(self) -> str | None:
        """Return the folder that new files go to, None where that is by their type.

        The one store that ``team/`` holds, or that folder itself: only what lies in a store is shared. One
        below it that a person named is meant as it is.
        """
        if not self._flat:
            return None
        if ownership.team_level(str(self._root)) != 1:
            return ""
        stores = [folder for folder in memory_folders(self._root)[1:] if "/" not in folder]
        if len(stores) > 1:
            raise ConflictError(
                f"the team has {len(stores)} folders: {', '.join(stores)}",
                file=str(self._root),
                fix=f"Name one of them: `--store {self._root}/{stores[0]}`.",
            )
        return stores[0] if stores else ""

    def _placed(self, memory: Memory, path: str = "") -> Memory:
        """Return `memory`, whose file is now at `path`, with a name and path that nobody has.

        A merged-away name stays taken, and so does what was planned and is not applied yet.
        """
        planned, named = self._planned.paths(but=memory.id), self._planned.names(but=memory.id)
        with self._scanner.together():
            paths, taken_names = self._scanner.taken(memory.id, path, planned, named)
            return names.place_new(memory, paths, taken_names, self._folder())

    def _repin(
        self,
        document: Document,
        plan_move: Callable[[Document, Container[str], set[str], str | None], Put | Move | None],
    ) -> tuple[Put | Move, ...]:
        taken, _ = self._scanner.taken("", "", self._planned.paths(), self._planned.names())
        plan = plan_move(document, taken, self._index.links_outside(), self._written.digest(document.path))
        if isinstance(plan, Move):
            self._planned.add(plan.target)
        return () if plan is None else (plan,)


def _revised(memory: Memory, existing: Document, *, ours: bool) -> Put:
    """Plan `existing` with what differs in `memory` replaced.

    Name, path, id, pin, aliases and unknown keys stay, but for quotes. ConflictError when the file is not
    `ours`, unless nothing would change.
    """
    head = existing.head
    extra = {**head.extra, **memory.extra}
    if QUOTES not in memory.extra:
        # No unknown key: what was said for it is taken back by leaving it out.
        extra.pop(QUOTES, None)
    if isinstance(head.extra.get("metadata"), dict):
        extra["metadata"] = {**head.extra["metadata"], **(memory.extra.get("metadata") or {})}
    merged = replace(
        memory,
        name=head.name,
        path=existing.path,
        id=head.id or memory.id,
        pinned=head.pinned,
        aliases=tuple(dict.fromkeys([*head.aliases, *memory.aliases])),
        extra=extra,
    )
    # A file whose identity stands elsewhere stays as it is, without an id, until something changes.
    # But that of another's copy is written: as ours it would keep the id that it shares.
    same = merged == existing.memory and not existing.twin
    data = existing.raw if same else document.compose(merged, existing.raw)
    if data != existing.raw and not ours:
        raise ConflictError(
            "edited by hand" if not existing.foreign else "not written by Reverie",
            file=existing.path,
            fix="Propose the change in the inbox instead; its editor decides.",
        )
    return Put(existing.path, data, existing.digest, document.parse(data, existing.path))


def _require_others(memory: Memory, existing: Document) -> None:
    """Raise DocumentError where `memory` has a relation to itself that `existing` had not."""
    own = {existing.id, existing.name}
    fresh = keys_of(memory.relations) - keys_of(existing.head.relations)
    if any(target in own for target, _, _ in fresh):
        raise DocumentError(
            "a memory can't be related to itself",
            file=existing.path,
            fix="Give another memory as `target`, or leave that relation out.",
        )


def _related(
    existing: Document, links: tuple[dict[str, Any], ...], mode: int, written: WrittenLog
) -> Restore:
    memory = replace(document.parse(existing.raw, existing.path), relations=links)
    # Others know it by this id from now on: in the file, it goes wherever the file does.
    named = replace(memory, id=existing.id) if links else memory
    try:
        data = document.compose(named, existing.raw)
    except KeptAsItIsError:
        data = document.compose(memory, existing.raw)
    known = written.digest(existing.path)
    record = digest(data) if known == existing.digest else known or ""
    return Restore(existing.path, data, existing.digest, record, mode)


def _pinned(
    existing: Document,
    taken: Container[str],
    linked: Collection[str],
    record: str | None,
    *,
    own: Memory | None,
) -> Put | Move | None:
    """Plan the move of a memory into ``vault/``, with ``pinned: true`` when the file is ours.

    `taken` are the common forms of paths in use; `linked` are paths that lines outside our block of MEMORY.md
    link to: such a file is pinned where it is, as `own` where it is not ours. `record` is the digest we last
    wrote. None when it is pinned already. ConflictError as for `Planner.pin`.
    """
    if existing.path.startswith(f"{VAULT}/"):
        return None
    ours, raw = record == existing.digest, existing.raw
    if existing.path in linked:
        if existing.memory.pinned:
            return None
        if not ours and own is None:
            raise ConflictError(
                "a line of MEMORY.md that is not ours links to it, so it can't be moved as it is",
                file=existing.path,
                fix="`reverie pin` writes it where it is.",
            )
        memory = existing.memory if ours or own is None else replace(own, id=existing.id or own.id)
        data = document.compose(replace(memory, pinned=True), raw)
        return Put(existing.path, data, existing.digest, document.parse(data, existing.path))
    data = document.compose(replace(existing.memory, pinned=True), raw) if ours else raw
    return _moved(existing, names.moved_path(existing.path, VAULT, taken), data, record)


def _unpinned(
    existing: Document, taken: Container[str], linked: Collection[str], record: str | None
) -> Put | Move | None:
    """Plan the move of a memory out of ``vault/`` to the folder of its type; arguments as in `_pinned`.

    None when it is not pinned. ConflictError when the file is not ours and says itself that it is
    pinned, or when the move would break a link.
    """
    if not existing.memory.pinned:
        return None
    ours = record == existing.digest
    path = existing.path
    in_vault = path.startswith(f"{VAULT}/")
    if in_vault and path in linked:
        raise ConflictError(
            "a line of MEMORY.md that is not ours links to it", file=path, fix="Change that line first."
        )
    target = names.moved_path(path, existing.memory.type_row.folder, taken) if in_vault else path
    data = existing.raw
    if ours:
        data = document.compose(replace(existing.memory, pinned=False, path=target), data)
    memory = document.parse(data, target)
    if memory.pinned:
        raise ConflictError(
            "its front matter says that it is pinned, and it was written or edited by someone else",
            file=path,
            fix="Remove the line `pinned` from the file.",
        )
    return _moved(existing, target, data, record) if in_vault else Put(path, data, existing.digest, memory)


def _moved(existing: Document, target: str, data: bytes, record: str | None) -> Move:
    memory = document.parse(data, target)
    if memory.type != existing.memory.type:
        raise ConflictError(
            f"only its folder says that it is a {existing.memory.type}",
            file=existing.path,
            fix=f"Write `type: {existing.memory.type}` into its front matter first.",
        )
    record_digest = digest(data) if record == existing.digest else record or ""
    # A file without an id is known by the same one in its new place.
    memory = replace(memory, id=memory.id or existing.id)
    return Move(existing.path, target, existing.digest, data, record_digest, memory)
