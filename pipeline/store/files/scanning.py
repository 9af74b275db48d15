"""Looking at a whole store: which memories it holds, and which files can't be read.

Only files whose size or times changed are read; the rest comes from ``_index.json`` or this process's last
look, unless stamped within a tenth of a second of it: a file may change twice in one tick of the clock.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from pipeline.store.files import document, faults
from pipeline.store.files.faults import folded, stem_of
from pipeline.store.files.frontmatter_schema import aliases_in, to_memory
from pipeline.store.files.identity import Identity
from pipeline.store.files.layout import (
    MAX_DERIVED,
    FileStamp,
    Problem,
    inside,
    memory_files,
    read_regular,
)
from pipeline.store.files.memory_index import Entry, entry_of
from pipeline.text.slugs import slugify

INDEX_JSON = "_index.json"
CACHE_KEY = "_file7"
"""Where an entry keeps what saves reading its file. Another shape of a line in it needs another name."""
_TICK_NS = 100_000_000
_LEAST_ID_PREFIX = 6
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Document:
    """One memory file as it was when the store was looked at.

    `path` is relative to the store; `digest` is the SHA-256 of its bytes; `head` is the memory without
    its body; `front` mirrors the front matter; `foreign` says that Reverie never wrote this file, `hand`
    whose it is (`hooklib.ownership`), and `identity`, where it is not ours as it is, its id and its author;
    `own_id` is the id that the file gives, and `twin` the path of another file to which that id belongs, ""
    for none; `is_text` says that its bytes are UTF-8, without which it cannot be written again without loss;
    `cached` that ``_index.json`` knows it.
    Bytes and body are read when first asked for; ConflictError if the file changed since.
    """

    __slots__ = (
        "_entry",
        "_head",
        "_memory",
        "_raw",
        "_root",
        "_title",
        "cached",
        "digest",
        "fenced",
        "foreign",
        "front",
        "hand",
        "identity",
        "is_text",
        "own_id",
        "path",
        "preview",
        "stamp",
        "twin",
    )

    def __init__(self, root: Path, path: str, front: dict[str, Any], stamp: FileStamp, digest: str) -> None:
        self._root = root
        self._raw: bytes | None = None
        self._memory: Memory | None = None
        self._head: Memory | None = None
        self._entry: Entry | None = None
        self._title = ""
        self.path = path
        self.front = front
        self.stamp = stamp
        self.digest = digest
        self.fenced = True
        self.cached = False
        self.preview = ""
        self.foreign = True
        self.hand = OTHER
        self.own_id = str(front.get("id") or "")
        self.identity: Identity | None = None
        self.is_text = True
        self.twin = ""

    @classmethod
    def read(cls, root: Path, path: str) -> Document:
        """Read and parse one file. Raises DocumentError, StoreError, UnsettledError or FileNotFoundError."""
        raw, stamp = read_regular(inside(root, path))
        memory, front = document.load(raw, path)
        found = cls(root, path, front, stamp, digest(raw))
        found._raw, found._memory, found._head = raw, memory, replace(memory, body="")
        found._title, found.fenced, found.own_id = memory.title, bool(front), memory.id
        found.preview, found.is_text = memory.body.strip()[:PREVIEW], document.is_utf8(raw)
        return found

    @classmethod
    def from_entry(cls, root: Path, entry: dict[str, Any]) -> Document:
        """Return the document an ``_index.json`` entry stands for, taking the entry over."""
        path, preview = str(entry.pop("path")), str(entry.pop("content_preview"))
        size, mtime, ctime, digest, fenced, is_text, title, line, rank, own_id = entry.pop(CACHE_KEY)
        found = cls(root, path, entry, FileStamp(size, mtime, ctime), digest)
        found.fenced, found.is_text, found.preview, found._title = fenced, is_text, preview, title
        found.cached, found.own_id = True, own_id
        found._entry = Entry(path, visible(line), (bool(rank[0]), bool(rank[1]), float(rank[2]), path))
        return found

    def to_entry(self) -> dict[str, Any]:
        """Return the ``_index.json`` entry: the front matter, path, preview, and what saves reading again."""
        stamp, shown = self.stamp, self.entry
        return {
            **(self.front if self._head is None else _mirror(self.front, self._head)),
            **({"id": self.id} if self.id else {}),
            "path": self.path,
            "content_preview": self.preview,
            CACHE_KEY: [
                stamp.size,
                stamp.mtime_ns,
                stamp.ctime_ns,
                self.digest,
                self.fenced,
                self.is_text,
                self._title,
                shown.line,
                shown.rank[:3],
                self.own_id,
            ],
        }

    @property
    def name(self) -> str:
        """Return the memory's name."""
        return self._head.name if self._head else str(self.front.get("name", ""))

    @property
    def id(self) -> str:
        """Return the memory's id: its file's own, else that of its identity; empty before it has one.

        An id that belongs to another file is not its file's own.
        """
        own = "" if self.twin else self.own_id
        return own or (self.identity.id if self.identity else "")

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
        if self._head is None:
            read = to_memory(self.front, "", self.path)
            self._head = replace(read, title=self._title, id=self.own_id)
        return self._head

    @property
    def entry(self) -> Entry:
        """Return its line in MEMORY.md and its place in the order."""
        if self._entry is None:
            self._entry = entry_of(self._as_written, self.stamp.mtime_ns / 1e9)
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
    _names: dict[str, Document] = field(default_factory=dict)
    unsettled: list[str] = field(default_factory=list)
    broken_stamps: dict[str, FileStamp] = field(default_factory=dict)

    def by_name(self, name: str) -> Document | None:
        """Return the memory that `name` means: its name, file stem, path, alias, title, or an id prefix.

        ``-`` and ``_`` count as equal; an id prefix needs six characters and must fit one memory only.
        """
        if not self._names and self.documents:
            self._fill_names()
        wanted = name.strip().removeprefix("[[").removesuffix("]]")
        found = self._names.get(wanted) or self._names.get(folded(wanted))
        if found:
            return found
        if len(wanted) >= _LEAST_ID_PREFIX:
            for ids in (lambda item: (item.id,), _former_ids):
                fits = [
                    item
                    for item in self.documents
                    if any(ident.startswith(wanted.lower()) for ident in ids(item))
                ]
                if len(fits) == 1:
                    return fits[0]
        return self._names.get(slugify(wanted)) if wanted else None

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

    def _fill_names(self) -> None:
        for keys in (
            lambda item: (item.name, item.path),
            lambda item: (stem_of(item.path), folded(item.name), folded(stem_of(item.path))),
            lambda item: [key for alias in aliases_in(item.front) for key in (alias, folded(alias))],
            lambda item: (slugify(item.title),) if item.title else (),
        ):
            for item in self.documents:
                for key in keys(item):
                    self._names.setdefault(key, item)


def scan(root: Path, known: Mapping[str, Document], *, glance: bool = False) -> Snapshot:
    """Look at the store at `root` (a real path), taking unchanged files from `known`.

    At a `glance` a known file counts as unchanged while it is there.
    """
    snapshot = Snapshot()
    with collector_paused():
        for path, stamp in memory_files(root, snapshot.problems, stamps=not glance):
            old = known.get(path)
            if old is not None and (glance or old.stamp == stamp):
                snapshot.documents.append(old)
            else:
                read_into(snapshot, root, path, stamp)
    return snapshot


def read_into(snapshot: Snapshot, root: Path, path: str, stamp: FileStamp | None = None) -> None:
    """Put the memory in the file at `path` into `snapshot`, or what is wrong; `stamp` is of before."""
    try:
        snapshot.documents.append(Document.read(root, path))
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


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking a growing store over and over: a look makes no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def trusted(documents: list[Document], seen_ns: int) -> dict[str, Document]:
    """Return by path the documents whose stamp was settled when they were looked at, at `seen_ns`."""
    return {item.path: item for item in documents if _is_settled(item.stamp, seen_ns)}


def _is_settled(stamp: FileStamp, seen_ns: int) -> bool:
    return stamp.ctime_ns + _TICK_NS < seen_ns


def from_index(root: Path) -> dict[str, Document]:
    """Return what ``_index.json`` knows, by path; empty when it is missing, outdated or not ours."""
    try:
        with collector_paused():
            entries, seen_ns = _index_entries(root)
            found = [Document.from_entry(root, entry) for entry in entries]
    except NO_INDEX:
        return {}
    return trusted(found, seen_ns)


def look_for_faults(root: Path) -> tuple[Snapshot, list[dict[str, Any]]]:
    """Look only for files at `root` (a real path) that can't be taken: the documents are the changed ones.

    What ``_index.json`` knows, and is unchanged since, was taken then; nothing is made of it. Its entries
    are the second value.
    """
    snapshot = Snapshot()
    entries: list[dict[str, Any]] = []
    seen_ns = 0
    try:
        with collector_paused():
            entries, seen_ns = _index_entries(root)
            taken = {str(entry["path"]): FileStamp(*entry[CACHE_KEY][:3]) for entry in entries}
    except NO_INDEX:
        entries, taken = [], {}
    here = set()
    for path, stamp in memory_files(root, snapshot.problems):
        if taken.get(path) != stamp or not _is_settled(stamp, seen_ns):
            read_into(snapshot, root, path, stamp)
        else:
            here.add(path)
    return snapshot, [entry for entry in entries if entry["path"] in here]


NO_INDEX = (OSError, StoreError, ValueError, KeyError, TypeError, AttributeError)
"""Whatever is wrong with a derived file, the markdown has it all."""


def _index_entries(root: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the entries of ``_index.json`` that save reading a file, and when it was written."""
    raw, stamp = read_regular(root / INDEX_JSON, MAX_DERIVED)
    entries = orjson.loads(raw)["entries"].values()
    return [entry for entry in entries if CACHE_KEY in entry], stamp.mtime_ns


def _mirror(front: dict[str, Any], head: Memory) -> dict[str, Any]:
    """Return the front matter with every key of schema v3 in its plain form."""
    return {
        **front,
        **({"id": head.id} if head.id else {}),
        "name": head.name,
        "description": head.description,
        "title": head.shown_title,
        "type": head.type,
        "tags": list(head.tags),
        "importance": head.importance,
        "confidence": head.confidence,
        "created": head.created.isoformat() if head.created else None,
        "updated": head.updated.isoformat() if head.updated else None,
        "relations": list(head.relations),
    }


def _former_ids(item: Document) -> list[str]:
    return [alias for alias in aliases_in(item.front) if _UUID.fullmatch(alias)]
