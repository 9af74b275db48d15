"""Formats that are a folder of markdown files, one for each memory: how such a folder is read and written."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pipeline.core.errors import DocumentError, StoreError, cause
from pipeline.domain.memory import Memory
from pipeline.formats.carried import Carried, Plain, Reading, Written, as_fault, require
from pipeline.hooklib.memory_format import INDEX, INDEX_BYTES, INDEX_LINES, NOT_MEMORIES
from pipeline.hooklib.plain import lines_of
from pipeline.store.files.layout import read_regular
from pipeline.store.files.names import common_form
from pipeline.text.slugs import MAX_SLUG, slugify

_ENTRY = re.compile(r"- \[(?P<name>.*)\]\((?P<file>[^()]+)\) — .*")
_MORE = "- … and {} more: list this folder"
_MORE_LINE = re.compile(r"- … and \d+ more: list this folder")


class Notes(Plain):
    """A folder of markdown files; what one says is `decoded` and `encoded` by each format."""

    name: str = ""
    about: str = ""
    indexed: ClassVar[bool] = False
    """Whether the folder has a MEMORY.md with a line for each memory."""

    def decoded(self, data: bytes, path: str) -> Carried:
        """Return the memory in `data`, the file at `path`. Raises DocumentError with its line."""
        raise NotImplementedError

    def encoded(self, memory: Memory, base: bytes | None) -> bytes:
        """Return the file of `memory`: a new one, or `base` with what differs replaced."""
        raise NotImplementedError

    def file_name(self, memory: Memory) -> str:
        """Return where the file of a new memory lies, without its ending, relative to the folder."""
        return slugify(memory.name or memory.title or memory.description)

    def listed(self, root: Path) -> Iterator[str]:
        """Yield the path of each file that may be a memory, relative to `root`."""
        for file in sorted(root.glob("*.md")):
            if file.name.lower() not in NOT_MEMORIES and not file.name.startswith("."):
                yield file.name

    def read(self, path: Path) -> Reading:
        """Return what stands in the folder at `path`."""
        require(path, folder=True)
        seen = Reading()
        for relative in self.listed(path):
            file = path / relative
            try:
                data = read_regular(file)[0]
            except (OSError, StoreError) as error:
                seen.fault(relative, None, cause(error))
                continue
            seen.files[file] = data
            try:
                record = self.decoded(data, relative)
            except DocumentError as error:
                seen.fault(relative, error.line, as_fault(error))
                continue
            seen.records.append(record)
        return seen

    def there_and_back(self, memory: Memory) -> Memory:
        """Return what of `memory` is read again once it was written."""
        try:
            return self.decoded(self.encoded(memory, None), f"{self.file_name(memory)}.md").memory
        except DocumentError:
            return Memory(name="", description="", type="", body="")  # One without a text, say.

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan a file for each of `records`; see `Format.write`."""
        taken = {common_form(file.relative_to(path).as_posix()) for file in seen.files}
        files: dict[Path, bytes | None] = {path / key: None for key in gone}
        keys = []
        for record in records:
            key = record.key or _free(self.file_name(record.memory), taken)
            taken.add(common_form(key))
            files[path / key] = self.encoded(record.memory, seen.files.get(path / key))
            keys.append(key)
        if self.indexed and files:
            self._index(path, files, seen)
        return Written(files, keys)

    def _index(self, path: Path, files: dict[Path, bytes | None], seen: Reading) -> None:
        """Plan MEMORY.md: a line for each memory; lines that somebody wrote stay."""
        held = {key: record.memory for record in seen.records if (key := record.key)}
        for file, data in files.items():
            key = file.relative_to(path).as_posix()
            held.pop(key, None)
            if data is not None:
                held[key] = self.decoded(data, key).memory
        index = path / INDEX
        try:
            before = read_regular(index)[0] if index.exists() else b""
        except (OSError, StoreError) as error:
            seen.fault(INDEX, None, f"{cause(error)}; it stays as it is", unread=False)
            return
        if index.exists():
            seen.files[index] = before
        files[index] = indexed(before, held)


def indexed(before: bytes, held: dict[str, Memory]) -> bytes:
    """Return the index `before` with one line for each memory `held`, by its file, and no line too many.

    In the order of the files, as the seed has them; only where they would not all be loaded, the most
    important first, with a line that says so.
    """
    lines = lines_of(before.decode("utf-8", "replace"))
    others = [line for line in lines if not _ENTRY.fullmatch(line) and not _MORE_LINE.fullmatch(line)]
    entries = {file: index_line(memory, file) for file, memory in sorted(held.items())}
    room = INDEX_LINES - len(others)
    size = INDEX_BYTES - sum(len(line.encode()) + 1 for line in others)
    if len(entries) > room or sum(len(line.encode()) + 1 for line in entries.values()) > size:
        entries = _useful(entries, held, room - 1, size - len(_MORE) - 8)
        others = [*others, *entries.values(), _MORE.format(len(held) - len(entries))]
    else:
        others = [*others, *entries.values()]
    return ("\n".join(others) + "\n").encode() if others else b""


def _useful(entries: dict[str, str], held: dict[str, Memory], room: int, size: int) -> dict[str, str]:
    chosen: dict[str, str] = {}
    ranked = sorted(entries, key=lambda file: (-held[file].importance, -held[file].changed_at, file))
    for file in ranked:
        size -= len(entries[file].encode()) + 1
        if len(chosen) >= room or size < 0:
            break
        chosen[file] = entries[file]
    return chosen


def index_line(memory: Memory, file: str) -> str:
    """Return the line of `memory` in an index; without a description its first line stands there."""
    first = memory.body.strip().partition("\n")[0][:80]
    return f"- [{memory.name}]({file}) — {memory.description or first}"


def _free(stem: str, taken: Collection[str]) -> str:
    folder, _, base = stem.rpartition("/")
    start = f"{folder}/" if folder else ""
    found, number = f"{stem}.md", 1
    while common_form(found) in taken or (not folder and found.lower() in NOT_MEMORIES):
        number += 1
        suffix = f"-{number}"
        found = f"{start}{base[: MAX_SLUG + 7 - len(suffix)]}{suffix}.md"
    return found
