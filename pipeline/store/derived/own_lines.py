"""Which lines of MEMORY.md are ours: those in the record of the last writing, and those written once.

A line is ours only if it is, byte for byte, one that we wrote. Beside the record, what is kept tells it: the
records of earlier changes, and every memory that existed, from which the same line would be made. That is
read only when a line is met that the record does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.core.errors import DocumentError, StoreError
from pipeline.hooklib.memory_format import conflicts
from pipeline.hooklib.plain import whole_lines
from pipeline.store.files import document, memory_index
from pipeline.store.files.layout import bytes_at
from pipeline.store.history import archive, generations


class OwnLines:
    """The lines of ours in the store at `root`.

    `recorded` are those of the last writing, `unsettled` the paths of memories with both sides of a merge.
    """

    def __init__(self, root: Path, recorded: set[str], unsettled: list[str]) -> None:
        self._root = root
        self._recorded = recorded
        self._unsettled = unsettled
        self._once: set[str] | None = None

    def __contains__(self, line: object) -> bool:
        if line in self._recorded:
            return True
        if self._once is None:
            self._once = {*self._records(), *self._made()}
        return line in self._once

    def _records(self) -> Iterator[str]:
        for item in generations.history(self._root):
            try:
                yield from generations.own_lines(self._root, item.run)
            except StoreError:
                # The doctor names what is damaged; a line that only it had stays, as a person's.
                continue

    def _made(self) -> Iterator[str]:
        """Yield the line of each memory that existed, as far as its text is kept."""
        for path, data in self._texts():
            try:
                yield memory_index.index_line(document.parse(data, path))
            except DocumentError:
                # No memory, such as a page of the diary.
                continue

    def _texts(self) -> Iterator[tuple[str, bytes]]:
        for item in generations.history(self._root):
            for file in item.files:
                for sha in () if file.index else filter(None, (file.before, file.after)):
                    try:
                        kept = generations.content(self._root, item.run, sha)
                    except StoreError:
                        continue  # As above.
                    if kept is not None:
                        yield file.path, kept
        for left in archive.read_log(self._root):
            data = bytes_at(self._root, left.target)
            if data is not None:
                yield left.path, data
        for path in self._unsettled:
            for side in sides(bytes_at(self._root, path) or b""):
                yield path, side


def sides(data: bytes) -> Iterator[bytes]:
    """Yield a file in which a merge left conflicts as it was on each side of it, and before both."""
    lines = whole_lines(data.decode("utf-8", "surrogateescape"))
    found = conflicts(lines)
    for side in range(max((len(marks) - 1 for marks in found), default=0)):
        kept, at = [], 0
        for marks in found:
            chosen = min(side, len(marks) - 2)
            kept += [*lines[at : marks[0]], *lines[marks[chosen] + 1 : marks[chosen + 1]]]
            at = marks[-1] + 1
        yield "".join([*kept, *lines[at:]]).encode("utf-8", "surrogateescape")
