"""The library: append, query, update, archive, delete and count the memories of a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pipeline.core import faults
from pipeline.formats.agent_memory import querying, schema, writing
from pipeline.formats.agent_memory.errors import AgentMemoryError, invalid
from pipeline.formats.agent_memory.folder import Folder
from pipeline.formats.agent_memory.layout import FILES, archive_file, archive_files
from pipeline.formats.agent_memory.options import HARD, MOST_BYTES
from pipeline.formats.agent_memory.querying import Query
from pipeline.formats.agent_memory.reading import fingerprint
from pipeline.formats.agent_memory.schema import KINDS, LEARNING, TASK, Record, stamp

_SUGGESTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to change of a memory; None leaves a field as it is, and "" takes the category away."""

    content: str | None = None
    category: str | None = None
    tags: Sequence[str] | None = None
    importance: str | None = None
    archived: bool | None = None
    task_metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """What a query found: the memories of this page, how many there are in all, whether more follow."""

    memories: list[Record]
    total: int
    limit: int
    offset: int

    @property
    def has_more(self) -> bool:
        """Whether the next page has any."""
        return self.offset + len(self.memories) < self.total


class AgentMemory(Folder):
    """Agent-memory's files in one folder, for one thread. What writes holds the folder's lock meanwhile."""

    # -- append ---------------------------------------------------------------------------------------

    def append(
        self,
        kind: str,
        content: str,
        *,
        category: str | None = None,
        tags: Iterable[str] = (),
        importance: str = "medium",
        task_metadata: Mapping[str, Any] | None = None,
    ) -> Record:
        """Add a memory and return it. Raises AgentMemoryError: INVALID_INPUT, LIMIT_EXCEEDED and others."""
        record = schema.made(
            kind,
            content,
            now=self.now(),
            category=category,
            tags=tags,
            importance=importance,
            task_metadata=task_metadata,
        )
        return self.add([record])[0]

    def add(self, records: Sequence[Record]) -> list[Record]:
        """Append whole records, such as those of an export, as one write; each id must be a new one."""
        lines = [schema.require_sound(record) for record in records]
        with self.writer():
            index = self.index()
            for record in records:
                if index.has(record["id"]):
                    raise invalid(f"there is a memory {record['id']} already", "Change it by its id.")
            for kind in KINDS:
                self._add_of(
                    kind, [pair for pair in zip(records, lines, strict=True) if pair[0]["type"] == kind]
                )
        return [*records]

    def _add_of(self, kind: str, pairs: Sequence[tuple[Record, bytes]]) -> None:
        if not pairs:
            return
        lines = [line for _, line in pairs]
        self._make_room(kind, len(lines), sum(map(len, lines)) + len(lines))
        file, index = self.root / FILES[kind], self.index()
        written = writing.append(file, lines)
        if index.add([record for record, _ in pairs], file, written, self.now()):
            self.save_index(index)
        else:
            self.rebuild()

    def _make_room(self, kind: str, more: int, size: int) -> None:
        """Archive what is due where the limit of a type is reached. Raises LIMIT_EXCEEDED for a hard one."""
        if self._fits(kind, more, size):
            return
        if kind not in HARD and self.options.auto_archive:
            due = self._leaving(kind)
            if due:
                gone = self._archive([record["id"] for record in due])
                self.warn(f"{len(gone)} memories of type {kind} were archived: the limit was reached")
            if self._fits(kind, more, size):
                return
        ids = tuple(record["id"] for record in querying.least_used(self.records(kind), _SUGGESTED))
        limits = f"{self.options.most(kind):,} memories or {MOST_BYTES[kind]:,} bytes"
        what = f"{FILES[kind]} has reached its limit of {limits}"
        fix = f"`reverie agent-memory archive ID` makes room; least used: {', '.join(ids)}."
        if kind in HARD:
            raise AgentMemoryError("LIMIT_EXCEEDED", what, fix=fix, suggestions=ids)
        self.warn(f"{what}. {fix}")

    def _fits(self, kind: str, more: int, size: int) -> bool:
        number = self.index().by_type[kind] + more
        held = fingerprint(self.root / FILES[kind])[0] + size
        return number <= self.options.most(kind) and held <= MOST_BYTES[kind]

    def fitting(self, kind: str, records: Iterable[Record]) -> int:
        """Return for how many of the first of `records` there is room, with nothing archived for them."""
        free = self.options.most(kind) - self.index().by_type[kind]
        room = MOST_BYTES[kind] - fingerprint(self.root / FILES[kind])[0]
        number = 0
        for record in records:
            room -= len(schema.line_of(record)) + 1
            if number >= free or room < 0:
                break
            number += 1
        return number

    def _leaving(self, kind: str) -> list[Record]:
        """Return what leaves for the archive at the limit: learnings that are old, tasks that are done."""
        records = self.records(kind)
        if kind == TASK:
            return [record for record in records if querying.is_done(record)]
        return [record for record in records if self._is_due(record)]

    def _is_due(self, record: Record) -> bool:
        options = self.options
        return querying.is_due(
            record, self.now(), learning_days=options.learning_days, task_days=options.task_days
        )

    # -- query ----------------------------------------------------------------------------------------

    def query(self, query: Query, *, touch: bool = True) -> Page:
        """Return the memories that `query` wants; `touch` counts that as a use of those on the page."""
        query.require_sound()
        if query.archived:
            records = self.archived(query.type)
        else:
            ids = self.index().candidates(query.tags, query.category, query.importance)
            kinds = [query.type] if query.type else KINDS
            records = [record for kind in kinds for record in self.records(kind, ids)]
        found = querying.chosen(records, query)
        page = found[query.offset : query.offset + query.limit]
        if touch and page:
            page = self.use(page)
        return Page(page, len(found), query.limit, query.offset)

    def get(self, ident: str, *, touch: bool = True) -> Record:
        """Return the memory `ident`, live or archived. Raises NOT_FOUND."""
        found = self.find(ident)
        if found is None:
            raise _missing(ident)
        return self.use([found[1]])[0] if touch else found[1]

    def use(self, records: Sequence[Record]) -> list[Record]:
        """Count a use of `records` and return them so, also where it can't be noted."""
        at = stamp(self.now())
        used = [
            {**record, "accessed_at": at, "access_count": record["access_count"] + 1} for record in records
        ]
        if self.is_newer:
            return used
        try:
            with self.writer():
                entries = self.access()
                for record in used:
                    known = entries.get(record["id"], {}).get("access_count", 0)
                    number = max(record["access_count"], known + 1 if isinstance(known, int) else 1)
                    entries[record["id"]] = {"accessed_at": at, "access_count": number}
                self.save_access(entries)
        except AgentMemoryError as error:
            self.warn(f"the use of memories was not counted: {error}")
        return used

    # -- update ---------------------------------------------------------------------------------------

    def update(self, ident: str, change: Change, *, kind: str = "") -> tuple[Record, list[str]]:
        """Change a memory, and return it with the names of the fields that changed.

        `archived` moves it to the archive or back. Raises NOT_FOUND, and INVALID_INPUT where `kind` is not
        its own: a memory keeps its type.
        """
        with self.writer():
            found = self.find(ident)
            if found is None:
                raise _missing(ident)
            file, old = found
            if kind and old["type"] != kind:
                raise invalid(f"{ident} is a memory of type {old['type']}, and keeps it", "Add a new one.")
            new = self._changed(old, change)
            names = [name for name in _NAMES if new.get(name) != old.get(name)]
            if not names:
                return old, []
            new["updated_at"] = stamp(self.now())
            schema.require_sound(new)
            if "archived" in names:
                self._move(file, new)
            else:
                self.rewrite(file, {ident: new})
                self.rebuild()
        return new, names

    def _changed(self, old: Record, change: Change) -> Record:
        new = dict(old)
        for name in ("content", "importance", "archived"):
            value = getattr(change, name)
            if value is not None:
                new[name] = value
        if change.tags is not None:
            new["tags"] = list(dict.fromkeys(change.tags))
        if change.category is not None:
            new.pop("category", None)
            new |= {"category": change.category} if change.category else {}
        meta = change.task_metadata
        if meta is None and old["type"] == TASK and change.category in schema.STATUSES:
            meta = {"status": change.category}
        if meta is not None:
            joined = {**(old.get("task_metadata") or {}), **meta}
            new["task_metadata"] = schema.settled_task(joined, self.now())
        return new

    # -- archive and delete ---------------------------------------------------------------------------

    def archive(self, idents: Sequence[str]) -> list[Record]:
        """Move live memories to the archive, and return them. Raises NOT_FOUND before anything moves."""
        with self.writer():
            live = self.index().ids
            missing = [ident for ident in idents if ident not in live]
            if missing:
                raise _missing(missing[0])
            return self._archive(idents)

    def archive_due(self, *, days: int | None = None, apply: bool = True) -> list[Record]:
        """Archive the learnings that nobody used and the tasks that were done so many `days` ago.

        Core memories never leave by themselves. Without `apply` it only says which would.
        """
        options = self.options
        learning = options.learning_days if days is None else days
        task = options.task_days if days is None else days
        due = [
            record
            for kind in (LEARNING, TASK)
            for record in self.records(kind)
            if querying.is_due(record, self.now(), learning_days=learning, task_days=task)
        ]
        return self.archive([record["id"] for record in due]) if due and apply else due

    def _archive(self, idents: Collection[str]) -> list[Record]:
        """Append to the archive first, then take out of the live files: a death in between loses nothing."""
        moved, now, wanted = [], self.now(), {*idents}
        for kind in KINDS:
            records = [
                {**record, "archived": True, "updated_at": stamp(now)}
                for record in self.records(kind)
                if record["id"] in wanted
            ]
            if not records:
                continue
            self._drop_archived({record["id"] for record in records})
            writing.append(archive_file(self.root, kind, now), map(schema.require_sound, records))
            faults.reach("agent_memory.in_archive")
            self.rewrite(self.root / FILES[kind], {record["id"]: None for record in records})
            moved += records
        self.rebuild()
        return moved

    def _drop_archived(self, idents: Collection[str]) -> None:
        """Take former copies out of the archive, such as one left by a move that a death cut off."""
        for file in archive_files(self.root):
            held = {*idents} & {*self.content_of(file).by_id}
            if held:
                self.rewrite(file, dict.fromkeys(held))

    def _move(self, file: Path, record: Record) -> None:
        """Write a memory that goes into the archive or out: first where it goes, then where it was."""
        ident = record["id"]
        if record["archived"]:
            self._drop_archived({ident})
            target = archive_file(self.root, record["type"], self.now())
        else:
            target = self.root / FILES[record["type"]]
            self._make_room(record["type"], 1, len(schema.line_of(record)) + 1)
        writing.append(target, [schema.require_sound(record)])
        faults.reach("agent_memory.in_archive")
        self.rewrite(file, {ident: None})
        self.rebuild()

    def delete(self, ident: str, *, permanent: bool = False) -> str:
        """Archive a memory, or with `permanent` take it out for good, after a backup; return which it was."""
        with self.writer():
            found = self.find(ident)
            if found is None:
                raise _missing(ident)
            file, _ = found
            is_live = file.parent == self.root
            if not permanent:
                if not is_live:
                    raise invalid(f"{ident} is in the archive already", "Delete it for good with permanent.")
                self._archive([ident])
                return "archived"
            if is_live:
                self._drop_archived({ident})
            self.rewrite(file, {ident: None})
            self.rebuild()
        return "deleted"

    # -- looking --------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Return what is told of the memories in figures."""
        index = self.index()
        live = [record for kind in KINDS for record in self.records(kind)]
        size = index.data["statistics"]["total_storage_bytes"]
        return querying.statistics(live, index.archived, size)

    def every(self) -> list[Record]:
        """Return all live memories, then all archived ones, with their access data."""
        live = [record for kind in KINDS for record in self.records(kind)]
        return [*live, *self.archived()]


_NAMES = tuple(field.name for field in fields(Change))


def _missing(ident: str) -> AgentMemoryError:
    return AgentMemoryError(
        "NOT_FOUND", f"there is no memory {ident}", fix="`reverie agent-memory query` lists them."
    )
