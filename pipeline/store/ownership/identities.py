"""What a memory file that Reverie did not write is called, and who wrote it: ``.reverie/identities.jsonl``.

Such a file stays as it is, byte for byte, until the first change. Its identity stands here: one JSON object a
line, append-only, the last one of a path counts. A file without a line has an id that follows from its path;
one that was renamed keeps its own, known by its bytes. Who wrote it holds for the very bytes it was said of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from pipeline.core import jsonl
from pipeline.core.atomic import write_atomic
from pipeline.core.ids import derived_id, digest
from pipeline.store.file_operations import Move, Operation, Put
from pipeline.store.files.identity import Identity, of_guess
from pipeline.store.files.layout import MAX_DERIVED, PRIVATE, read_regular
from pipeline.store.files.scanning import Document
from pipeline.store.ownership.access import private_dir
from pipeline.store.ownership.written_log import WrittenLog

FILE = f"{PRIVATE}/identities.jsonl"


class Identities:
    """The identities of the store at `root`: read once, and again whenever their file has another size.

    Beside the files of a `team` nothing is noted: what is kept holds in this process only.
    """

    def __init__(self, root: Path, written: WrittenLog, *, team: bool = False) -> None:
        self._team = team
        self._root = root
        self._written = written
        self._size = -1
        self._lines = 0
        self._by_path: dict[str, Identity] = {}
        self._by_digest: dict[str, Identity] = {}
        self._unkept: dict[str, Identity] = {}
        self._supposed = 0

    def stamp(self) -> object:
        """Return what is another value as soon as anything else is known here."""
        try:
            info = (self._root / FILE).lstat()
        except FileNotFoundError:
            return self._supposed
        return self._supposed, info.st_ino, info.st_size, info.st_mtime_ns

    def known(self, path: str) -> Identity | None:
        """Return what is known of the file at `path`, whatever bytes it has now; None when nothing is."""
        self._load()
        return self._unkept.get(path) or self._by_path.get(path)

    def of(self, path: str, found_digest: str, present: Collection[str]) -> Identity:
        """Return the identity of the file at `path` with that digest; `present` are the paths of all files.

        Who wrote other bytes than these says nothing of these: then `UNKNOWN`.
        """
        self._load()
        return self._noted(path, found_digest, present) or self.unnoted(path)

    def tell(self, documents: Iterable[Document], present: Collection[str]) -> None:
        """Give each of `documents` its identity, which is made only when it is asked for if none is noted."""
        self._load()
        for document in documents:
            document.identity = self._noted(document.path, document.digest, present) or self.unnoted

    def unnoted(self, path: str) -> Identity:
        """Return the identity of a file of which nothing is noted."""
        return Identity(path, derived_id("memory file", str(self._root), path))

    def _noted(self, path: str, found_digest: str, present: Collection[str]) -> Identity | None:
        found = self._unkept.get(path) or self._by_path.get(path)
        if found is None:
            moved = self._by_digest.get(found_digest)
            return replace(moved, path=path) if moved is not None and moved.path not in present else None
        return found if found.digest == found_digest else Identity(path, found.id)

    def keep(self, identities: Iterable[Identity]) -> None:
        """Add a line for each of `identities`."""
        if self._team:
            return self.suppose(identities)
        values = [_values(identity) for identity in identities]
        if values:
            if not (self._root / FILE).is_file():
                self._load()  # It says what is wrong with what stands there.
            private_dir(self._root)
            jsonl.append(self._root / FILE, values)

    def keep_guesses(self, operations: Iterable[Operation], paths: Collection[str]) -> None:
        """Note what `operations` wrote at `paths` that is the assistant's word alone: see `of_guess`."""
        written = [
            (operation.target if isinstance(operation, Move) else operation.path, operation)
            for operation in operations
            if isinstance(operation, Put | Move) and operation.path in paths
        ]
        self.keep(
            of_guess(path, operation.memory.id, operation.data)
            for path, operation in written
            if operation.memory.holds_no_persons_words
            and self._written.digest(path) == digest(operation.data)
        )

    def keep_moved(self, operations: Iterable[Operation], paths: Collection[str]) -> None:
        """Let files without an id of ours, which `operations` moved from `paths`, keep the one they had.

        Others know them by it, and what follows from the path is another one at the new place.
        """
        self._load()
        moved = [
            replace(self.known(move.path) or Identity(move.path, move.memory.id), path=move.target)
            for move in operations
            if isinstance(move, Move) and move.path in paths and move.record != digest(move.data)
            if move.memory.id == (self.known(move.path) or self.unnoted(move.path)).id
        ]
        self.keep(identity for identity in moved if self.known(identity.path) != identity)

    def suppose(self, identities: Iterable[Identity]) -> None:
        """Take `identities` as known in this process, and write nothing."""
        found = {identity.path: identity for identity in identities}
        self._unkept |= found
        self._supposed += bool(found)

    def compact(self) -> None:
        """Rewrite the file with one line per path, once most of its lines are outdated."""
        self._load()
        if self._lines > 2 * len(self._by_path) + 50:
            lines = [_values(self._by_path[path]) for path in sorted(self._by_path)]
            write_atomic(self._root / FILE, jsonl.dump(lines))

    def _load(self) -> None:
        file = self._root / FILE
        try:
            size = file.lstat().st_size
        except FileNotFoundError:
            size = 0
        if size == self._size:
            return
        self._size, self._by_path, self._by_digest, self._lines = size, {}, {}, 0
        values = jsonl.parse(read_regular(file, MAX_DERIVED)[0]).values if size else []
        for value in values:
            self._lines += 1
            identity = _identity(value)
            if identity is not None:
                self._by_path[identity.path] = identity
        for identity in self._by_path.values():
            if identity.digest:
                self._by_digest.setdefault(identity.digest, identity)


def _values(identity: Identity) -> dict[str, Any]:
    """Return what differs from a line that says nothing but path and id."""
    bare = Identity(identity.path, identity.id)
    values = asdict(identity)
    return {
        key: value for key, value in values.items() if key in ("path", "id") or value != getattr(bare, key)
    }


def _identity(value: Any) -> Identity | None:
    """Return the identity that a line holds; None for an odd one: its file is then nobody's known."""
    if not isinstance(value, dict):
        return None
    given = {item.name: value[item.name] for item in fields(Identity) if item.name in value}
    if not all(isinstance(given.get(key), str) and given[key] for key in ("path", "id")):
        return None
    bare = Identity(given["path"], given["id"])
    if not all(type(held) is type(getattr(bare, key)) for key, held in given.items()):
        return None
    return Identity(**given)
