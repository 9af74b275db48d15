"""The entries of MEMORY.md in their order, of which only the first are asked for as a rule."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as the index sees it: its path, its whole line, and its place in the order."""

    path: str
    line: str
    rank: tuple[bool, bool, float, str]


class Shelf(ABC):
    """The entries of a store; those of many are never made all at once unless somebody asks for all."""

    @abstractmethod
    def best(self, count: int) -> list[Entry]:
        """Return the first `count` in their order, all for -1."""

    @abstractmethod
    def count(self) -> int:
        """Return how many there are."""

    @abstractmethod
    def among(self, paths: Collection[str]) -> set[str]:
        """Return those of `paths` that there are."""

    @abstractmethod
    def lines(self) -> set[str]:
        """Return the lines of all."""

    @abstractmethod
    def broken(self) -> dict[str, str]:
        """Return the files that can't be read as a memory, and why."""

    def state(self) -> str:
        """Return what is another text as soon as any entry is, "" where nobody can say."""
        return ""

    def noted(self, key: str) -> str:
        """Return what `note` was last given for `key`, "" for nothing."""
        return ""

    def note(self, key: str, value: str) -> None:
        """Keep `value` under `key`, where something can be kept: not of entries that are at hand."""
        return None


class Listed(Shelf):
    """Entries that are at hand."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = sorted(entries, key=lambda item: item.rank)

    def best(self, count: int) -> list[Entry]:
        """Return the first `count` in their order, all for -1."""
        return self._entries[: None if count < 0 else count]

    def count(self) -> int:
        """Return how many there are."""
        return len(self._entries)

    def among(self, paths: Collection[str]) -> set[str]:
        """Return those of `paths` that there are."""
        return {item.path for item in self._entries} & set(paths)

    def lines(self) -> set[str]:
        """Return the lines of all."""
        return {item.line for item in self._entries}

    def broken(self) -> dict[str, str]:
        """Return nothing: what can't be read is no entry."""
        return {}


class Changed(Shelf):
    """The entries of `base` after a change: `came` by path are there now, and what was at `left` is not."""

    def __init__(self, base: Shelf, came: Mapping[str, Entry], left: Collection[str]) -> None:
        self._base = base
        self._came = came
        self._left = {*came, *left}

    def best(self, count: int) -> list[Entry]:
        """Return the first `count` in their order, all for -1."""
        asked = count if count < 0 else count + len(self._left)
        stay = (item for item in self._base.best(asked) if item.path not in self._left)
        new = sorted(self._came.values(), key=lambda item: item.rank)
        found = list(heapq.merge(stay, new, key=lambda item: item.rank))
        return found[: None if count < 0 else count]

    def count(self) -> int:
        """Return how many there are."""
        return self._base.count() - len(self._base.among(self._left)) + len(self._came)

    def among(self, paths: Collection[str]) -> set[str]:
        """Return those of `paths` that there are."""
        stay = [path for path in paths if path not in self._left]
        return self._base.among(stay) | (self._came.keys() & set(paths))

    def lines(self) -> set[str]:
        """Return the lines of all, and of those that left: they were ours."""
        return self._base.lines() | {item.line for item in self._came.values()}

    def broken(self) -> dict[str, str]:
        """Return the files that can't be read as a memory, and why."""
        return {path: why for path, why in self._base.broken().items() if path not in self._left}
