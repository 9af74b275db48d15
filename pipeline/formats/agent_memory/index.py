"""``index.json``: counts, and the ids under each tag, category and importance; made of the files.

It notes size and time of each file it was made of. Where one has others, or the index is torn or of another
version, it is made anew; a write under the lock adds to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.formats.agent_memory.errors import AgentMemoryError
from pipeline.formats.agent_memory.layout import FILES, INDEX, archive_files
from pipeline.formats.agent_memory.reading import (
    Content,
    Fingerprint,
    bytes_of,
    fingerprint,
    is_plain,
    read,
)
from pipeline.formats.agent_memory.schema import IMPORTANCES, KINDS, Record, stamp
from pipeline.formats.agent_memory.writing import write_quickly

VERSION = "1.0.0"
Ids = dict[str, list[str]]


class Index:
    """The index as values; `data` is what the file holds."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self._ids: set[str] | None = None

    @property
    def version(self) -> str:
        """Return the version of the files that it was made of."""
        return str(self.data["version"])

    @property
    def by_type(self) -> dict[str, int]:
        """Return how many live memories there are of each type."""
        found: dict[str, int] = self.data["statistics"]["by_type"]
        return found

    @property
    def archived(self) -> int:
        """Return how many memories are in the archive."""
        return int(self.data["statistics"]["archived_count"])

    @property
    def ids(self) -> set[str]:
        """Return the ids of all live memories: each is under its importance."""
        if self._ids is None:
            self._ids = {ident for found in self.data["importance_index"].values() for ident in found}
        return self._ids

    def has(self, ident: str) -> bool:
        """Whether a live memory has this id."""
        return ident in self.ids

    def plain(self, kind: str) -> bool:
        """Whether every line of that file is as we write it."""
        return bool(self.data["files"].get(FILES[kind], {}).get("plain"))

    def candidates(self, tags: Iterable[str], category: str, importance: str) -> set[str] | None:
        """Return the ids that have all of `tags`, and the others where given; None where none is given."""
        groups = [self.data["tags_index"].get(tag, []) for tag in tags]
        if category:
            groups.append(self.data["category_index"].get(category, []))
        if importance:
            groups.append(self.data["importance_index"].get(importance, []))
        if not groups:
            return None
        found = {*groups[0]}
        for group in groups[1:]:
            found &= {*group}
        return found

    def add(self, records: Iterable[Record], file: Path, written: int, now: datetime) -> bool:
        """Take in memories that were just appended to `file`, which made it so many bytes longer.

        False where it grew by more: somebody else wrote there without the lock, and it has to be made anew.
        """
        known, statistics = self.data["files"][file.name], self.data["statistics"]
        size, at = fingerprint(file)
        if size != known["size"] + written:
            return False
        for record in records:
            self.by_type[record["type"]] += 1
            statistics["total_memories"] += 1
            _enter(self.data, record)
            self.ids.add(record["id"])
        statistics["total_storage_bytes"] += written
        known["size"], known["mtime_ns"] = size, at
        self.data["last_updated"] = stamp(now)
        return True

    def is_of(self, root: Path) -> bool:
        """Whether the files are those that it was made of."""
        files = self.data["files"]
        now = {str(path.relative_to(root)): fingerprint(path) for path in _files(root)}
        return now == {name: (part["size"], part["mtime_ns"]) for name, part in files.items()}

    def save(self, root: Path) -> None:
        """Write it. Raises OSError; it is made anew then by whoever needs it."""
        write_quickly(root / INDEX, orjson.dumps(self.data))


def _files(root: Path) -> list[Path]:
    return [*(root / name for name in FILES.values()), *archive_files(root)]


def read_index(root: Path) -> Index | None:
    """Return the index as its file has it, None where there is none or it is no such index."""
    try:
        data = orjson.loads(bytes_of(root / INDEX))
    except (AgentMemoryError, ValueError):
        return None
    return Index(data) if _is_index(data) else None


def version_of(root: Path) -> str:
    """Return the version that ``index.json`` names, "" where it names none."""
    try:
        data = orjson.loads(bytes_of(root / INDEX))
    except (AgentMemoryError, ValueError):
        return ""
    found = data.get("version") if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""


def _is_index(data: object) -> bool:
    if not isinstance(data, dict) or data.get("version") != VERSION:
        return False
    statistics, files = data.get("statistics"), data.get("files")
    if not isinstance(statistics, dict) or not isinstance(files, dict):
        return False
    groups = [data.get(name) for name in ("tags_index", "category_index", "importance_index")]
    if not all(
        isinstance(group, dict) and all(isinstance(v, list) for v in group.values()) for group in groups
    ):
        return False
    if not {*IMPORTANCES} <= {*data["importance_index"]}:
        return False
    numbers = statistics.get("by_type")
    whole = isinstance(numbers, dict) and all(type(numbers.get(kind)) is int for kind in KINDS)
    named = ("total_memories", "archived_count", "total_storage_bytes")
    return (
        whole
        and all(type(statistics.get(name)) is int for name in named)
        and all(isinstance(part, dict) and {"size", "mtime_ns"} <= {*part} for part in files.values())
    )


def build(root: Path, live: Mapping[str, Content], now: datetime) -> Index:
    """Return the index of the files of `root`; `live` are the three live ones as they were just read."""
    data: dict[str, Any] = {
        "version": VERSION,
        "last_updated": stamp(now),
        "statistics": {
            "total_memories": 0,
            "by_type": dict.fromkeys(KINDS, 0),
            "archived_count": 0,
            "total_storage_bytes": 0,
        },
        "tags_index": {},
        "category_index": {},
        "importance_index": {word: [] for word in IMPORTANCES},
        "files": {},
    }
    statistics, size = data["statistics"], 0
    for kind in KINDS:
        content = live[kind]
        for record in content.records:
            statistics["by_type"][kind] += 1
            _enter(data, record)
        data["files"][FILES[kind]] = {**_sizes(content.fingerprint), "plain": is_plain(content)}
        size += content.fingerprint[0]
    for file in archive_files(root):
        held = read(file, now=now)
        statistics["archived_count"] += len(held.by_id)
        data["files"][str(file.relative_to(root))] = _sizes(held.fingerprint)
        size += held.fingerprint[0]
    statistics["total_memories"] = sum(statistics["by_type"].values())
    statistics["total_storage_bytes"] = size
    return Index(data)


def _sizes(known: Fingerprint) -> dict[str, int]:
    return {"size": known[0], "mtime_ns": known[1]}


def _enter(data: dict[str, Any], record: Record) -> None:
    ident = record["id"]
    for tag in dict.fromkeys(record["tags"]):
        data["tags_index"].setdefault(tag, []).append(ident)
    if record.get("category"):
        data["category_index"].setdefault(record["category"], []).append(ident)
    data["importance_index"][record["importance"]].append(ident)
