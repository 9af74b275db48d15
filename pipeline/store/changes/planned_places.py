"""The paths and names that planned changes will take: nobody else is to get them before they are applied."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.memory import Memory
from pipeline.store.files.layout import inside
from pipeline.store.files.names import common_form

_Owners = Mapping[str, set[str]]


@dataclass(frozen=True)
class _Taken:
    """The common forms that belong to anything but the memory with the id `but`; where that is None, all."""

    owners: _Owners
    but: str | None

    def __contains__(self, form: object) -> bool:
        return any(owner != self.but for owner in self.owners.get(str(form), ()))


class PlannedPlaces:
    """What is planned in the store at `root`, by common form, with the archive's files as first seen.

    Each question costs the same, however much is planned: an import plans thousands.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        self._looked: set[str] = set()

    def clear(self) -> None:
        """Forget all; the places are free again."""
        self._paths.clear()
        self._names.clear()
        self._looked.clear()

    def add(self, path: str, memory: Memory | None = None) -> None:
        """Note that `path` is taken, by `memory` with its name or by a file that is put away."""
        owner = memory.id if memory else ""
        self._paths.setdefault(common_form(path), set()).add(owner)
        if memory and memory.name:
            self._names.setdefault(common_form(memory.name), set()).add(owner)

    def paths(self, *, but: str | None = None) -> Container[str]:
        """Return the paths that are planned, but for those of the memory with the id `but`."""
        return _Taken(self._paths, but)

    def names(self, *, but: str | None = None) -> Container[str]:
        """Return the names that are planned, but for that of the memory with the id `but`."""
        return _Taken(self._names, but)

    def in_archive(self, folder: str) -> Container[str]:
        """Return the paths that files below `folder` have or are planned to have."""
        if folder not in self._looked:
            self._looked.add(folder)
            there = inside(self._root, folder)
            for file in there.iterdir() if there.is_dir() else ():
                self.add(f"{folder}/{file.name}")
        return self.paths()
