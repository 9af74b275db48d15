"""Where agent-memory's files lie, what they are called, and for whom they are readable."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.formats.agent_memory.schema import CORE, LEARNING, TASK
from pipeline.hooklib.memory_format import ARCHIVE

FILES: Mapping[str, str] = {
    CORE: "core_memories.jsonl",
    LEARNING: "learnings.jsonl",
    TASK: "tasks.jsonl",
}
"""The live file of each type of memory."""
INDEX = "index.json"
LOCK = ".lock"
BACKUP = ".backup"
ACCESS = ".access.json"
"""When and how often memories were used, until their file is written anew."""
CONFIG = ".memory-config.json"
REJECTED = ".rejected"
"""Ends the name of the file beside a live one that holds lines nobody can read, as they were."""
TEMPORARY = ".tmp"
DIR_MODE, FILE_MODE = 0o700, 0o600


def archive_file(root: Path, kind: str, now: datetime) -> Path:
    """Return the file into which a memory of `kind` is archived now: by the year and quarter of archiving."""
    moment = now.astimezone(UTC)
    stem = FILES[kind].removesuffix(".jsonl")
    name = f"{stem}_{moment.year}_Q{(moment.month + 2) // 3}.jsonl"
    return root / ARCHIVE / str(moment.year) / name


def archive_files(root: Path, kind: str = "") -> list[Path]:
    """Return the files of the archive, of one type or all, the oldest first."""
    stems = [FILES[kind]] if kind else [*FILES.values()]
    found = [
        path
        for name in stems
        for path in (root / ARCHIVE).glob(f"*/{name.removesuffix('.jsonl')}_*_Q?.jsonl")
        if path.is_file() and not path.is_symlink()
    ]
    return sorted(found, key=lambda path: (path.parent.name, path.name))


def kind_of(file: Path) -> str:
    """Return the type of memory that a live file or one of the archive holds."""
    return next(kind for kind, name in FILES.items() if file.name.startswith(name.removesuffix(".jsonl")))


def prepare(root: Path) -> None:
    """Make the folder with its empty files, each with its mode; what is there stays."""
    for folder in (root, root / BACKUP, root / ARCHIVE):
        ensure_dir(folder)
    for name in FILES.values():
        handle = os.open(root / name, os.O_WRONLY | os.O_CREAT | system.NO_LINK | system.OPEN, FILE_MODE)
        os.close(handle)


def parts(root: Path) -> Iterator[tuple[Path, int]]:
    """Yield each file and folder that is there with the mode it should have."""
    yield root, DIR_MODE
    for path in sorted(root.rglob("*")):
        if not path.is_symlink():
            yield path, DIR_MODE if path.is_dir() else FILE_MODE


def wrong_modes(root: Path) -> list[tuple[Path, int, int]]:
    """Return what others may read or the person may not: path, the mode it has, the one it should have."""
    if os.name == "nt":
        return []  # There the folder's list of who may says it: see `acl_command`.
    found = [(path, stat.S_IMODE(path.lstat().st_mode), mode) for path, mode in parts(root)]
    return [item for item in found if item[1] != item[2]]


def acl_command(root: Path, user: str) -> list[str]:
    """Return the command that leaves a folder on Windows to `user` alone, without what it inherits."""
    return ["icacls", str(root), "/inheritance:r", "/grant:r", f"{user}:(OI)(CI)F"]
