"""Whole-file writes that survive a crash: unique temp file, fsync, rename, fsync of the directory.

Directories are made 0700 and files 0600 unless the file already has a mode, which is kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from pipeline.core import system

TEMP_MARK = ".reverie-tmp-"


def ensure_dir(path: Path) -> Path:
    """Make `path` and its missing parents, each 0700, and return it."""
    missing = []
    here = path
    while not here.exists():
        missing.append(here)
        here = here.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def remove_empty_dirs(folders: Iterable[Path]) -> None:
    """Remove those of `folders` that hold nothing, the innermost first; links and other files stay."""
    for folder in sorted(folders, reverse=True):
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()


def fsync_dir(path: Path) -> None:
    """Make renames inside `path` durable; a system or file system that can't is left alone."""
    if not system.syncs_folders():
        return
    handle = os.open(path, os.O_RDONLY | system.OPEN)
    try:
        os.fsync(handle)
    except OSError:
        # Some network and FUSE file systems answer EINVAL; the rename itself is still atomic.
        return
    finally:
        os.close(handle)


def temp_path(target: Path) -> Path:
    """Return an unused hidden name beside `target`, at most 255 bytes long."""
    stem = target.name.encode("utf-8")[:180].decode("utf-8", "ignore")
    return target.parent / f".{stem}{TEMP_MARK}{os.getpid()}-{os.urandom(6).hex()}"


def write_temp(target: Path, data: bytes | Iterable[bytes], *, mode: int = 0o600) -> Path:
    """Write `data`, whole or in parts, to a new temp file beside `target`, fsynced, and return its path."""
    temp = temp_path(target)
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.NO_LINK | system.OPEN, mode)
    try:
        with os.fdopen(handle, "wb") as out:
            system.keep_private(out.fileno(), mode)
            out.writelines([data] if isinstance(data, bytes) else data)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    return temp


def write_atomic(target: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace `target` with `data`: readers see the old bytes or the new ones, never a part.

    An existing file keeps its own mode; a new one gets `mode`. Raises OSError (disk full, read-only)
    with the old file untouched and no temp file left.
    """
    mode = mode_for(target, mode)
    install(write_temp(target, data, mode=mode), target)


def mode_for(target: Path, mode: int = 0o600) -> int:
    """Return the mode of `target`, and `mode` where it is not there yet; its folder is made then."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        ensure_dir(target.parent)
        return mode


def install(temp: Path, target: Path) -> None:
    """Put the temp file in the place of `target`; it is gone if that fails."""
    try:
        temp.replace(target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    fsync_dir(target.parent)
