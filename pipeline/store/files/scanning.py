"""Looking at a whole store: which memories it holds, and which files can't be read.

Only files whose size or times changed are read; the rest comes from the catalogue or this process's last
look, unless stamped within a tenth of a second of it: a file may change twice in one tick of the clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.errors import (
    ConflictError,
    DocumentError,
    StoreError,
    UnknownMemoryError,
    UnsettledError,
    cause,
)
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.hooklib.memory_format import PREVIEW, is_hidden_file
from pipeline.hooklib.ownership import OTHER
from pipeline.safety.invisible import visible
from pipeline.store.files import called, document, faults
from pipeline.store.files.faults import folded
from pipeline.store.files.frontmatter_schema import aliases_in, is_retired, to_memory
from pipeline.store.files.identity import Identity
from pipeline.store.files.kept import (
    Keeper,
    Kept,
    Row,
    Worth,
    micros,
    mirror,
    sleeps_of,
    wording_sum,
    worth_of,
)
from pipeline.store.files.layout import FileStamp, Problem, inside, listed_file, read_regular
from pipeline.store.files.memory_index import entry_of
from pipeline.store.files.shelf import Entry
from pipeline.text.slugs import slugify

_LEAST_ID_PREFIX = 6
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Document:
    """One memory file as it was when the store was looked at.

    `path` is relative to the store; `digest` is the SHA-256 of its bytes; `head` is the memory without
    its body; `front` mirrors the front matter; `foreign` says that Reverie never wrote this file, `hand`
    whose it is (`hooklib.ownership`), and `identity`, where it is not ours as it is, its id and its author;
    `own_id` is the id that the file gives, and `twin` the path of another file to which that id belongs, ""
    for none; `is_text` says that its bytes are UTF-8, without which it cannot be written again without loss;
    `cached` that the catalogue knows it.
    Bytes and body are read when first asked for, what the catalogue keeps likewise; ConflictError if the file
    changed since.
    """

    __slots__ = (
        "_aliases",
        "_changed_us",
        "_entry",
        "_front",
        "_head",
        "_identity",
        "_keeper",
        "_kind",
        "_memory",
        "_origin",
        "_preview",
        "_raw",
        "_retired",
        "_root",
        "_sleeps",
        "_title",
        "_wording",
        "cached",
        "digest",
        "fenced",
        "foreign",
        "hand",
        "is_text",
        "name",
        "own_id",
        "path",
        "stamp",
        "twin",
    )

    def __init__(
        self, root: Path, path: str, front: dict[str, Any] | None, stamp: FileStamp, digest: str
    ) -> None:
        self._root = root
        self._front = front
        self._keeper: Keeper | None = None
        self._raw: bytes | None = None
        self._memory: Memory | None = None
        self._head: Memory | None = None
        self._entry: Entry | None = None
        self._aliases: str | None = None
        self._retired: bool | None = None
        self._kind: str | None = None
        self._origin: str | None = None
        self._changed_us: int | None = None
        self._wording: int | None = None
        self._sleeps: int | None = None
        self._title = ""
        self._preview = ""
        self.path = path
        self.name = str((front or {}).get("name", ""))
        self.stamp = stamp
        self.digest = digest
        self.fenced = True
        self.cached = False
        self.foreign = True
        self.hand = OTHER
        self.own_id = str((front or {}).get("id") or "")
        self._identity: Identity | Callable[[str], Identity] | None = None
        self.is_text = True
        self.twin = ""

    @classmethod
    def read(cls, root: Path, path: str, *, listed: bool = False) -> Document:
        """Read and parse one file, which `memory_files` may just have `listed`.

        Raises DocumentError, StoreError, UnsettledError or FileNotFoundError.
        """
        raw, stamp = read_regular(listed_file(root, path) if listed else inside(root, path))
        found = cls(root, path, None, stamp, digest(raw))
        found._raw = raw
        found._parse(raw)
        return found

    @classmethod
    def from_row(cls, root: Path, row: Row, keeper: Keeper) -> Document:
        """Return the document that a row of the catalogue stands for; `keeper` gives the rest of it."""
        found = cls(root, row.path, None, row.stamp, row.digest)
        found._keeper = keeper
        found.name, found._title, found.own_id = row.name, row.title, row.own_id
        found._aliases, found._retired = row.aliases, bool(row.retired)
        found._kind, found._origin = row.kind, row.origin
        found._changed_us, found._wording, found._sleeps = row.changed_us, row.wording, row.sleeps
        found.fenced, found.is_text, found.cached = bool(row.fenced), bool(row.is_text), True
        return found

    def row(self, seen_ns: int) -> Row:
        """Return its row in the catalogue, if it was read at `seen_ns`."""
        stamp = self.stamp
        return Row(
            self.path,
            stamp.size,
            stamp.mtime_ns,
            stamp.ctime_ns,
            seen_ns,
            self.digest,
            self.own_id,
            self.name,
            self._title,
            orjson.dumps(self.aliases).decode() if self.aliases else "",
            self.retired,
            self.fenced,
            self.is_text,
            self.kind,
            self.origin,
            self.changed_us,
            self.wording,
            sleeps_of(self._at_hand),
        )

    def kept(self) -> Kept:
        """Return what the catalogue keeps of it beside its row."""
        shown, front = self.entry, mirror(self.front, self._at_hand)
        as_json = orjson.dumps(front, default=str, option=orjson.OPT_NON_STR_KEYS)
        return Kept(self.digest, as_json, self.preview, shown.line, shown.rank[:3])

    def worth(self) -> Worth:
        """Return what decides its place in CORE.md."""
        return worth_of(self._at_hand)

    def leave_to(self, keeper: Keeper, *, but_bytes: bool = False) -> None:
        """Let go of all that `keeper` gives, which keeps it now, `but_bytes` stay at hand."""
        self._aliases = orjson.dumps(self.aliases).decode() if self.aliases else ""
        self._retired, self._kind, self._origin = self.retired, self.kind, self.origin
        self._changed_us, self._wording, self._sleeps = (
            self.changed_us,
            self.wording,
            sleeps_of(self._at_hand),
        )
        self._front = self._memory = self._head = self._entry = None
        self._raw = self._raw if but_bytes else None
        self._keeper, self.cached = keeper, True

    @property
    def front(self) -> dict[str, Any]:
        """Return the front matter as JSON can hold it."""
        if self._front is None:
            self._fetch()
        return self._front or {}

    @property
    def keeper(self) -> Keeper | None:
        """Return what gives the rest of it, None where that is at hand."""
        return self._keeper if self._front is None else None

    @property
    def preview(self) -> str:
        """Return the beginning of the body."""
        if self._front is None:
            self._fetch()
        return self._preview

    @property
    def aliases(self) -> list[str]:
        """Return the former names and ids that its file keeps."""
        if self._aliases is None:
            return list(aliases_in(self.front))
        return [str(alias) for alias in orjson.loads(self._aliases)] if self._aliases else []

    @property
    def retired(self) -> bool:
        """Whether its file says that it is no longer in use."""
        return is_retired(self.front) if self._retired is None else self._retired

    @property
    def kind(self) -> str:
        """Return the name of its row in the registry of types; what is of no type is a project."""
        return self.worth().kind if self._kind is None else self._kind

    @property
    def origin(self) -> str:
        """Return what its front matter says its origin is, whatever that is."""
        return str(self.front.get("origin") or "") if self._origin is None else self._origin

    @property
    def changed_us(self) -> int | None:
        """Return when it was last written, else created, in microseconds since 1970; None for neither."""
        if self._wording is None:
            at = self._at_hand.updated or self._at_hand.created
            self._changed_us, self._wording = (
                micros(at) if at else None,
                wording_sum(self._at_hand.description),
            )
        return self._changed_us

    @property
    def wording(self) -> int:
        """Return the sum of its description (`wording_sum`)."""
        return wording_sum(self._at_hand.description) if self._wording is None else self._wording

    @property
    def sleeps(self) -> int:
        """Return whether it lets itself sleep (`sleeps_of`), as its author lets it be taken."""
        return sleeps_of(self.head) if self._sleeps is None or self.tended else self._sleeps

    @property
    def id(self) -> str:
        """Return the memory's id: its file's own, else that of its identity; empty before it has one.

        An id that belongs to another file is not its file's own.
        """
        own = "" if self.twin else self.own_id
        return own or (self.identity.id if self.identity else "")

    @property
    def identity(self) -> Identity | None:
        """Return its id and author where it is not ours as it is."""
        if callable(self._identity):
            self._identity = self._identity(self.path)
        return self._identity

    @identity.setter
    def identity(self, given: Identity | Callable[[str], Identity] | None) -> None:
        self._identity = given

    @property
    def tended(self) -> bool:
        """Whether it is known to be Claude's, so that code may change it without a person's word."""
        return self.identity is not None and self.identity.tended

    @property
    def title(self) -> str:
        """Return the title its file gives, empty when it gives none."""
        return self._title

    @property
    def head(self) -> Memory:
        """Return the memory without its body, as its author lets it be taken."""
        return self._named(self._as_written)

    @property
    def _as_written(self) -> Memory:
        """Return the memory without its body as the file has it."""
        if self._head is None and self._memory is not None:
            self._head = replace(self._memory, body="")
        elif self._head is None:
            read = to_memory(self.front, "", self.path)
            self._head = replace(read, title=self._title, id=self.own_id)
        return self._head

    @property
    def _at_hand(self) -> Memory:
        """Return the memory as the file has it, with or without its body."""
        return self._memory or self._as_written

    @property
    def entry(self) -> Entry:
        """Return its line in MEMORY.md and its place in the order."""
        if self._entry is None:
            self._entry = entry_of(self._at_hand, self.stamp.mtime_ns / 1e9)
        return self._entry

    @property
    def raw(self) -> bytes:
        """Return the file's bytes."""
        if self._raw is None:
            try:
                raw, _ = read_regular(inside(self._root, self.path))
            except FileNotFoundError:
                raw = b""
            if digest(raw) != self.digest:
                raise ConflictError("changed since it was read", file=self.path, fix="Look again and retry.")
            self._raw = raw
        return self._raw

    @property
    def memory(self) -> Memory:
        """Return the memory with its body."""
        if self._memory is None:
            body = document.body_of(self.raw, fenced=self.fenced)
            self._memory = replace(self._as_written, body=body)
        return self._named(self._memory)

    def _named(self, memory: Memory) -> Memory:
        """Return `memory`, as the file has it, under the id that is its own, and as its author lets it be."""
        own = replace(memory, id="") if self.twin else memory
        return self.identity.seen_in(own) if self.identity else own

    def _parse(self, raw: bytes) -> None:
        """Take what the file says from its bytes."""
        memory, front = document.load(raw, self.path)
        self._front, self._memory = front, memory
        self._title, self.fenced, self.own_id, self.name = memory.title, bool(front), memory.id, memory.name
        self._preview, self.is_text = memory.body.strip()[:PREVIEW], document.is_utf8(raw)

    def _fetch(self) -> None:
        """Take front matter and preview from the catalogue; from the file where it has them no more."""
        kept = self._keeper(self.path) if self._keeper else None
        if kept is None or kept.digest != self.digest:
            self._parse(self.raw)
            return
        self._front, self._preview = orjson.loads(kept.front), kept.preview
        self._entry = Entry(self.path, visible(kept.line), (*kept.rank, self.path))


@dataclass(slots=True)
class Snapshot:
    """All memories of a store in path order, and the files that could not be taken.

    `unread` are those that can't be read, `unsettled` those with both sides of a merge. Of `broken`, those of
    both whose text is to blame, `broken_stamps` has the stamps they had before they were read.
    """

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    _names: called.Names[Document] | None = None
    unsettled: list[str] = field(default_factory=list)
    broken_stamps: dict[str, FileStamp] = field(default_factory=dict)

    def like(self, last: Snapshot | None) -> None:
        """Take over the names of the `last` look, where that found the very same documents."""
        mine = self.documents
        if last is not None and len(last.documents) == len(mine) and all(map(is_, last.documents, mine)):
            self._names = last._names

    def by_name(self, name: str) -> Document | None:
        """Return the memory that `name` means: its name, file stem, path, alias, title, or an id prefix.

        ``-`` and ``_`` count as equal; an id prefix needs six characters and must fit one memory only.
        """
        names = self._names = self._names or called.Names(self.documents)
        wanted = name.strip().removeprefix("[[").removesuffix("]]")
        found = names.get(wanted) or names.get(folded(wanted))
        if found:
            return found
        if len(wanted) >= _LEAST_ID_PREFIX:
            former = partial(filter, _UUID.fullmatch)
            for ids in (lambda item: (item.id,), lambda item: former(item.aliases)):
                start = wanted.lower()
                fits = [item for item in self.documents if any(each.startswith(start) for each in ids(item))]
                if len(fits) == 1:
                    return fits[0]
        return names.get(slugify(wanted)) if wanted else None

    def named(self, name: str) -> Document:
        """Return the memory that `name` means, as `by_name` does.

        Raises DocumentError, with line and fix, for one whose file is there and can't be taken, and
        UnknownMemoryError where there is none.
        """
        found = self.by_name(name)
        if found is None:
            raise self.fault_of(name) or UnknownMemoryError(
                f"no memory is called {name!r}", fix="`reverie list` shows every name."
            )
        return found

    def fault_of(self, name: str) -> DocumentError | None:
        """Return what is wrong with the file that `name` means, if it is there and can't be taken."""
        return faults.fault_of(self.problems, name)

    @property
    def misnamed(self) -> list[str]:
        """Return the files whose names no memory can have, as a person can read them, but for hidden ones."""
        named = [problem.path for problem in self.problems if problem.by_name]
        return [path for path in named if not is_hidden_file(path)]

    def left_out(self) -> list[str]:
        """Return a line for each kind of files that can't be taken, and what is wrong with MEMORY.md."""
        return faults.in_lines(self.unread, self.unsettled, self.misnamed, self.problems)


def read_into(snapshot: Snapshot, root: Path, path: str, stamp: FileStamp | None = None) -> None:
    """Put the memory in the file at `path` into `snapshot`, or what is wrong; `stamp` is of before."""
    try:
        snapshot.documents.append(Document.read(root, path, listed=stamp is not None))
    except FileNotFoundError:
        pass  # Removed since it was listed: as if it had never been.
    except DocumentError as error:
        snapshot.broken.append(path)
        (snapshot.unsettled if isinstance(error, UnsettledError) else snapshot.unread).append(path)
        if stamp is not None:
            snapshot.broken_stamps[path] = stamp
        snapshot.problems.append(Problem(path, error.line or 0, error.args[0], error.fix or ""))
    except (StoreError, OSError) as error:
        snapshot.unread.append(path)
        why, fix = (error.args[0], error.fix) if isinstance(error, StoreError) else (cause(error), "")
        snapshot.problems.append(Problem(path, 0, why, fix))
