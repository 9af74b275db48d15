"""Finding session files: the one a hook names, and all there are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def _is_file(path: Path) -> bool:
    """Say whether `path` is an existing plain file; a name the system can't take is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _advertised(text: str | None) -> Path | None:
    """Return the file a hook named, if it is there. Only ``~`` is expanded; relative paths are refused."""
    if not text:
        return None
    path = Path(text)
    if text.startswith("~"):
        try:
            path = path.expanduser()
        except RuntimeError:
            return None
    return path if path.is_absolute() and _is_file(path) else None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def find(session_id: str, advertised: str | None, projects: Path) -> Path | None:
    """Return the transcript of `session_id`, or None. Creates nothing.

    `advertised` is the path a hook gave; it may be absent, stale, or never have existed (bug cases 34
    and 35). Then every folder of `projects` is searched for ``<session_id>.jsonl``; of several, the one
    written last. An advertised file of another name is taken only when that search finds nothing.
    """
    named = _advertised(advertised)
    if named and named.stem == session_id:
        return named
    found: list[Path] = []
    if _SESSION.fullmatch(session_id) and projects.is_dir():
        found = [path for path in projects.glob(f"*/{session_id}.jsonl") if _is_file(path)]
    return max(found, key=_written, default=named)


def _folders(projects: Path) -> list[os.DirEntry[str]]:
    """Return the project folders, real ones before links to them, each group by name."""
    try:
        with os.scandir(projects) as listing:
            folders = [entry for entry in listing if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(folders, key=lambda entry: (entry.is_symlink(), entry.name))


def _sessions(folder: str) -> list[os.DirEntry[str]]:
    """Return the session files right in `folder`; its sub-folders hold memory and sidecars, no sessions."""
    try:
        with os.scandir(folder) as listing:
            found = [
                entry
                for entry in listing
                if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-") and entry.is_file()
            ]
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda entry: (entry.is_symlink(), entry.name))


def scan(projects: Path) -> Iterator[Path]:
    """Yield every session file under `projects` once, whichever links lead to it, in a stable order.

    Paths are as seen below `projects`. Subagents' files (``agent-*``) are left out.
    """
    seen_folders: set[str] = set()
    seen_files: set[str] = set()
    for folder in _folders(projects):
        real = os.path.realpath(folder.path) if folder.is_symlink() else folder.path
        identity = os.path.realpath(real)
        if identity in seen_folders:
            continue
        seen_folders.add(identity)
        for entry in _sessions(folder.path):
            place = f"{identity}/{entry.name}"
            real_file = os.path.realpath(place) if entry.is_symlink() else place
            if real_file not in seen_files:
                seen_files.add(real_file)
                yield Path(entry.path)
