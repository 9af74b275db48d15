"""The records of one generation, and how they are read back: believed only where their shape is right."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from pipeline.core.clock import parse_time
from pipeline.core.errors import StoreError
from pipeline.store.files.layout import MAX_DERIVED, check_path, read_regular
from pipeline.store.journal_entry import file_id

MANIFEST = "manifest.json"
SEAL = "sealed.json"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path of a generation: the digests it had before and after, None where there was no file.

    `record` is the digest we had last written there before, empty when the file was not ours; `mode` and
    `mtime_ns` are those of the file before; `index` says that it is one of the two index files.
    """

    path: str
    before: str | None
    after: str | None
    record: str = ""
    mode: int = 0o600
    mtime_ns: int = 0
    index: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """What one change set did. `run` is its id; `undone` says that its undo happened and still stands.

    `damaged` says why its records can't be read, empty when they can; it then holds no files.
    """

    run: str
    number: int
    at: datetime | None
    reason: str
    files: tuple[FileChange, ...]
    undone: bool = False
    damaged: str = ""


def read(folder: Path) -> Generation:
    """Return what `folder` holds; of what can't be read, a generation that says why."""
    try:
        values = orjson.loads(read_regular(folder / MANIFEST, MAX_DERIVED)[0])
        lost = list(orjson.loads(read_regular(folder / SEAL)[0])["conflicts"])
        files = tuple(_sound(FileChange(**item)) for item in values["files"])
        run, number, reason = values["run"], values["number"], values["reason"]
        if not isinstance(run, str) or not isinstance(reason, str) or folder.name != file_id(run):
            raise TypeError("not the records of this run")
        at = parse_time(values["at"])
        return Generation(run, int(number), at, reason, tuple(f for f in files if f.path not in lost))
    except (OSError, StoreError, ValueError, KeyError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        return Generation(folder.name, 0, None, "can't be read", (), damaged=what)


def _sound(item: FileChange) -> FileChange:
    """Return `item` if its values are of the types they should be; TypeError or StoreError otherwise."""
    marks = (item.before, item.after)
    numbers = (item.mode, item.mtime_ns)
    if (
        not isinstance(item.path, str)
        or not isinstance(item.record, str)
        or not all(mark is None or isinstance(mark, str) for mark in marks)
        or not all(isinstance(number, int) for number in numbers)
    ):
        raise TypeError("a value of the wrong type")
    for mark in filter(None, marks):
        check_path(mark)
    check_path(item.path)
    return item
