"""What left the live store, when and why: ``.reverie/retired.jsonl``, append-only.

An archived file keeps its bytes, so the memory that took its place is noted here.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.core.clock import parse_time
from pipeline.core.errors import PathEscapeError
from pipeline.store.files.layout import MAX_DERIVED, PRIVATE, check_path, read_regular

FILE = "retired.jsonl"


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


def note(root: Path, intent: dict[str, Any], conflicts: Collection[str]) -> None:
    """Add what the change set of `intent` retired; noted twice after a crash it counts once."""
    lines = [
        orjson.dumps(
            {
                **{key: item.get(key, "") for key in ("path", "target", "id", "superseded_by")},
                "reason": item["why"],
                "run": intent["id"],
                "at": intent.get("at", ""),
            }
        )
        for item in intent["operations"]
        if item["kind"] == "retire" and item["path"] not in conflicts
    ]
    if not lines:
        return
    handle = os.open(
        ensure_dir(root / PRIVATE) / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | system.OPEN, 0o600
    )
    with os.fdopen(handle, "ab") as out:
        # The line break in front: a line torn by a power loss must not swallow the next one.
        out.write(b"".join(b"\n" + line + b"\n" for line in lines))
        out.flush()
        os.fsync(out.fileno())


def read(root: Path) -> list[Retired]:
    """Return every memory that lies in the archive with a note, by its place there."""
    try:
        lines = read_regular(root / PRIVATE / FILE, MAX_DERIVED)[0].splitlines()
    except FileNotFoundError:
        return []
    found: dict[str, Retired] = {}
    for line in filter(None, lines):
        try:
            values = orjson.loads(line)
            if not all(isinstance(value, str) for value in values.values()):
                continue
            for key in ("path", "target"):
                check_path(values[key])
            found[values["target"]] = Retired(**{**values, "at": parse_time(values["at"])})
        except (ValueError, TypeError, KeyError, AttributeError, PathEscapeError):
            # A torn line: that memory is in the archive all the same, without its note.
            continue
    # What an undo brought back is no longer there.
    return sorted(
        (item for item in found.values() if (root / item.target).exists()), key=lambda item: item.target
    )
