"""Keeps MEMORY.md and its overflow page in step with the store, and remembers which lines are ours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import DocumentError, StoreError, UnsettledError
from pipeline.core.ids import digest
from pipeline.hooklib.memory_format import NOT_MEMORIES, conflicts
from pipeline.hooklib.plain import lines_of
from pipeline.store.derived.own_lines import OwnLines
from pipeline.store.file_operations import IndexWrite, Move, Operation, Put, Restore, Retire, WriteFile
from pipeline.store.files import document, memory_index
from pipeline.store.files.layout import (
    EDGES,
    GRAPH,
    INDEX,
    MAX_DERIVED,
    OVERFLOW,
    PRIVATE,
    VAULT,
    Problem,
    bytes_at,
    read_regular,
)
from pipeline.store.files.memory_index import Built
from pipeline.store.files.shelf import Changed, Entry, Listed, Shelf

MERGED_LINES = f"{PRIVATE}/merged-lines"
"""Lines that a merge left within our block, that are not ours, and that stand below it since."""
LONG = 500
"""Memories on the overflow page from which on it is not written with each change."""

_OVERFLOW_MADE = "overflow"
"""Under this the shelf keeps what the overflow page was made from, and its digest."""


class MemoryIndexWriter:
    """The two index files of the store at `root`, rendered from what `show` was last given.

    With `none` the store has no index of ours. A MEMORY.md that is not UTF-8 is left alone, and its overflow
    page with it.
    """

    def __init__(self, root: Path, *, max_lines: int, max_bytes: int, none: bool = False) -> None:
        self._root = root
        self._none = none
        self._lines_file = root / PRIVATE / "index-lines"
        self._merged_file = root / MERGED_LINES
        self._limits = (max_lines, max_bytes)
        self._begin = True
        self._shelf: Shelf = Listed()
        self._came: dict[str, Entry] = {}
        self._built: tuple[bytes | None, Built] | None = None
        self._broken: dict[str, str] = {}
        self._left: set[str] = set()
        self._gone: set[str] = set()
        self._rescan: Callable[[], Shelf] | None = None
        self._now = 0.0

    def show(
        self,
        shelf: Shelf | None,
        now: datetime,
        operations: Sequence[Operation] = (),
        *,
        begin: bool = True,
        rescan: Callable[[], Shelf] | None = None,
    ) -> None:
        """Take the memories to list: those of `shelf` after `operations`.

        Unless it may `begin` one, an index without a block of ours gets none.
        With `rescan` instead of a shelf the store is looked at when an index is first rendered, as
        recovery needs: it renders only after the files are in place.
        """
        self._now = now.timestamp()
        self._rescan = rescan
        self._begin = begin
        self._built = None
        for held in (self._gone, self._left, self._came):
            held.clear()
        if shelf is not None:
            self._take(shelf)
        for operation in operations:
            self._change(operation)

    @contextmanager
    def at_most(self, max_lines: int | None) -> Iterator[None]:
        """Render MEMORY.md with `max_lines` lines at most, if that is fewer than else, while this lasts."""
        usual = self._limits
        if max_lines is not None:
            self._limits = (min(max_lines, usual[0]), usual[1])
        try:
            yield
        finally:
            self._limits, self._built = usual, None

    def paths(self) -> list[str]:
        """Return the real paths of the index files that can be written, MEMORY.md first."""
        path = self._index_path()
        return [] if path is None or self._none else [path, OVERFLOW]

    def own_lines(self) -> list[str]:
        """Return the lines inside our block that we wrote, as far as that is known."""
        return sorted(self._recorded() or ())

    def remember(self, lines: Sequence[str]) -> None:
        """Take `lines` for ours too; for those of an index that is about to be brought back."""
        known = self._recorded()
        if known is not None and not known.issuperset(lines):
            self._write_lines([*sorted(known), *lines])

    def links_outside(self) -> set[str]:
        """Return every path that a line of MEMORY.md which is not ours links to."""
        path = self._index_path()
        return memory_index.linked_outside(self._read(path) or b"", self._ours()) if path else set()

    def problems(self) -> list[Problem]:
        """Return what keeps MEMORY.md from being written, and each conflict that a merge left in it."""
        path = self._index_path()
        if path is None:
            return [Problem(INDEX, 0, "a link that leads out of the store")]
        raw = b"" if self._none else self._read(path) or b""
        why = memory_index.unreadable(raw)
        if why:
            return [Problem(INDEX, *why, memory_index.SAVE_AS_UTF_8)]
        found = conflicts(lines_of(raw.decode())) if b"<<<<<<< " in raw else []
        fix = document.settling(INDEX)
        return [Problem(INDEX, marks[0] + 1, document.conflict_in_words(marks), fix) for marks in found]

    def without_block(self, current: bytes, former: bytes | None) -> bytes | None:
        """Return the index `current` without our block: see `memory_index.without_block`."""
        return memory_index.without_block(current, self._ours(), former)

    def render(self, path: str, current: bytes | None) -> bytes | None:
        """Return the new bytes of an index file from its present ones, None to leave it as it is.

        Our new lines are noted before the file is replaced, so that after a crash no line of ours is
        taken for a person's.
        """
        if self._rescan is not None:
            self._take(self._rescan())
            self._rescan = self._built = None
        if path == OVERFLOW:
            return self._overflow(current)
        if self._is_left_alone(current):
            return None
        built = self._build(current)
        self._note(built, current)
        return built.index

    def _is_left_alone(self, current: bytes | None) -> bool:
        if current is not None and memory_index.unreadable(current):
            return True
        return not self._begin and not memory_index.has_block(current)

    def writes(self, *, but: Collection[str]) -> list[IndexWrite]:
        """Return what brings the index files in step; those at the paths `but` are restored as they were.

        A long overflow page is no part of a change: `reindex` brings it in step at the end of the pass.
        """
        writes = []
        for path in self.paths():
            if path in but:
                continue
            current = bytes_at(self._root, path)
            if path == OVERFLOW and self._may_wait(current):
                continue
            data = self.render(path, current)
            if data is not None and data != current:
                writes.append(IndexWrite(path, data, None if current is None else digest(current)))
        return writes

    def _may_wait(self, current: bytes | None) -> bool:
        if current is None or memory_index.OVERFLOW_MARK.encode() not in current:
            return False
        return self._built is not None and self._built[1].unlisted > LONG

    def _overflow(self, current: bytes | None) -> bytes | None:
        if current is not None and memory_index.OVERFLOW_MARK.encode() not in current:
            # Someone else's file of that name: theirs.
            return None
        index = self._index_path()
        listed = self._read(index) if index else None
        if self._is_left_alone(listed):
            return None
        built = self._build(listed)
        if built.unlisted > LONG:
            return self._long_overflow(built, current)
        if built.overflow is None and current is None:
            return None
        return built.overflow or memory_index.empty_overflow()

    def _long_overflow(self, built: Built, current: bytes | None) -> bytes | None:
        """Return the overflow page, made again only where what it is made from is another."""
        state = "" if self._came or self._left else self._shelf.state()
        broken = digest("\x1f".join(f"{path}\x1f{why}" for path, why in self._broken.items()))
        made_from = f"{state} {broken} {digest(built.index)}"
        noted = self._shelf.noted(_OVERFLOW_MADE) if state else ""
        if current is not None and noted == f"{made_from} {digest(current)}":
            return current
        made = built.overflow
        if made is not None and state:
            self._shelf.note(_OVERFLOW_MADE, f"{made_from} {digest(made)}")
        return made

    def _build(self, current: bytes | None) -> Built:
        if self._built is not None and self._built[0] == current:
            return self._built[1]
        max_lines, max_bytes = self._limits
        built = memory_index.build(
            current,
            Changed(self._shelf, self._came, self._left),
            broken=self._broken,
            ours=self._ours(),
            recorded=self._recorded() or (),
            gone=self._gone - self._came.keys(),
            max_lines=max_lines,
            max_bytes=max_bytes,
        )
        self._built = (current, built)
        return built

    def _take(self, shelf: Shelf) -> None:
        self._shelf, self._broken = shelf, shelf.broken()

    def _ours(self) -> OwnLines:
        unsettled = [path for path, why in self._broken.items() if why == memory_index.UNSETTLED]
        return OwnLines(self._root, self._recorded() or set(), unsettled)

    def _change(self, operation: Operation) -> None:
        if isinstance(operation, Retire):
            self._leave(operation.path)
            self._gone.add(operation.path)
        elif isinstance(operation, Put):
            self._came[operation.path] = memory_index.entry_of(operation.memory, self._now)
        elif isinstance(operation, Move):
            self._leave(operation.path)
            self._came[operation.target] = memory_index.entry_of(operation.memory, self._now)
        elif _is_memory_path(operation.path):
            self._change_bytes(operation)

    def _change_bytes(self, operation: WriteFile | Restore) -> None:
        self._leave(operation.path)
        if operation.data is None:
            self._gone.add(operation.path)
            return
        restored = operation if isinstance(operation, Restore) else None
        known = restored.mtime_ns if restored else None
        mtime = self._now if known is None else known / 1e9
        try:
            read = restored.memory if restored else None
            memory = read or document.parse(operation.data, operation.path)
        except DocumentError as error:
            unsettled = isinstance(error, UnsettledError)
            self._broken[operation.path] = memory_index.UNSETTLED if unsettled else memory_index.BROKEN
        else:
            self._came[operation.path] = memory_index.entry_of(memory, mtime)

    def _leave(self, path: str) -> None:
        self._came.pop(path, None)
        self._left.add(path)

    def _index_path(self) -> str | None:
        file = self._root / INDEX
        if not file.is_symlink():
            return INDEX
        real = file.resolve()
        return real.relative_to(self._root).as_posix() if real.is_relative_to(self._root) else None

    def _recorded(self) -> set[str] | None:
        try:
            text = self._lines_file.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None
        return set(text.split("\n"))

    def _note(self, built: Built, current: bytes | None) -> None:
        if built.merged:
            self._write_lines([*merged_lines(self._root), *built.merged], self._merged_file)
        known = self._recorded()
        if known is not None and known.issuperset(built.lines):
            return
        present = memory_index.block_lines(current) if current is not None else []
        own_present = [line for line in present if known is not None and line in known]
        self._write_lines([*own_present, *built.lines])

    def _write_lines(self, lines: Sequence[str], file: Path | None = None) -> None:
        text = "\n".join(dict.fromkeys(lines))
        write_atomic(file or self._lines_file, text.encode("utf-8", "surrogateescape"))

    def _read(self, path: str) -> bytes | None:
        try:
            return bytes_at(self._root, path)
        except StoreError:
            # No regular file: it is not read, and writing it says what is wrong.
            return None


def merged_lines(root: Path) -> list[str]:
    """Return the lines that were moved out of our block of MEMORY.md, where a merge had left them.

    `root` is the store. Empty where nothing is noted, or what is there can't be read.
    """
    try:
        text = read_regular(root / MERGED_LINES, MAX_DERIVED)[0].decode("utf-8", "surrogateescape")
    except (OSError, StoreError):
        # It only tells a person where to look: without it, those lines stand where they stand.
        return []
    return [line for line in text.split("\n") if line]


def _is_memory_path(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    if not name.endswith(".md") or folder == EDGES:
        return False
    if not folder:
        return name.lower() not in NOT_MEMORIES
    return folder == VAULT or folder.startswith(f"{GRAPH}/")
