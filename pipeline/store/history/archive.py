"""What left the live store: the files below ``archive/``, by year, and the log of when and why they left.

An archived file keeps its bytes, so the memory that took its place is noted in ``.reverie/retired.jsonl``,
which is append-only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import jsonl
from pipeline.core.clock import parse_time
from pipeline.core.errors import PathEscapeError
from pipeline.store.files.layout import (
    ARCHIVE,
    MAX_DERIVED,
    PRIVATE,
    Problem,
    check_path,
    files_in,
    read_regular,
)
from pipeline.store.files.scanning import Snapshot, read_into

LOG = "retired.jsonl"


@dataclass(frozen=True, slots=True)
class Retired:
    """One memory in the archive.

    `path` is where it was, `target` where it lies now, `id` its own and `superseded_by` its successor's
    id (either may be empty), `run` the change set that moved it, `at` when, None if unknown.
    """

    path: str
    target: str
    id: str
    superseded_by: str
    reason: str
    run: str
    at: datetime | None


def scan_archive(root: Path) -> Snapshot:
    """Read every memory in the archive of the store at `root` (a real path), and note what can't be read."""
    snapshot = Snapshot()
    for path in _listed(root, snapshot.problems):
        read_into(snapshot, root, path)
    return snapshot


def archived_paths(root: Path) -> list[str]:
    """Return the paths of the files that `scan_archive` reads."""
    return list(_listed(root, []))


def _listed(root: Path, problems: list[Problem]) -> Iterator[str]:
    archive = root / ARCHIVE
    if archive.is_symlink() or not archive.is_dir():
        return
    for year in sorted(item.name for item in archive.iterdir() if not item.name.startswith(".")):
        for path, _ in files_in(root, f"{ARCHIVE}/{year}", problems, stamps=False):
            yield path


def note(root: Path, intent: dict[str, Any], conflicts: Collection[str]) -> None:
    """Add what the change set of `intent` retired; noted twice after a crash it counts once."""
    jsonl.append(
        root / PRIVATE / LOG,
        [
            {
                **{key: item.get(key, "") for key in ("path", "target", "id", "superseded_by")},
                "reason": item["why"],
                "run": intent["id"],
                "at": intent.get("at", ""),
            }
            for item in intent["operations"]
            if item["kind"] == "retire" and item["path"] not in conflicts
        ],
    )


def read_log(root: Path) -> list[Retired]:
    """Return every memory that lies in the archive with a note, by its path there.

    A note that can't be read is left out: its memory is in the archive all the same.
    """
    try:
        data = read_regular(root / PRIVATE / LOG, MAX_DERIVED)[0]
    except FileNotFoundError:
        return []
    notes = [retired for value in jsonl.parse(data).values if (retired := _retired(value)) is not None]
    by_target = {retired.target: retired for retired in notes}
    # What an undo brought back is no longer there.
    present = [retired for retired in by_target.values() if (root / retired.target).exists()]
    return sorted(present, key=lambda retired: retired.target)


def _retired(value: Any) -> Retired | None:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return None
    try:
        for key in ("path", "target"):
            check_path(value[key])
        return Retired(**{**value, "at": parse_time(value["at"])})
    except (KeyError, TypeError, PathEscapeError):
        # A key is missing, one is unknown, or a path leads out of the store.
        return None
