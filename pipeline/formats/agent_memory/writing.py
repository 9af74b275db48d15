"""Writing the files so that a death at any moment loses no line: append and sync, or temp file and rename.

A line that was cut off by a death is ended by a break before the next is added, so that it swallows nothing.
What a rewrite would not carry over goes to a file beside it first, as it stands.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pipeline.core import faults, system
from pipeline.core.atomic import ensure_dir, fsync_dir, write_atomic
from pipeline.formats.agent_memory.errors import of_system
from pipeline.formats.agent_memory.layout import BACKUP, FILE_MODE, REJECTED, TEMPORARY
from pipeline.formats.agent_memory.reading import bytes_of

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | system.NO_LINK | system.NO_WAIT | system.OPEN


def append(file: Path, lines: Iterable[bytes]) -> int:
    """Add lines, each with its break, to the end of `file`, wait until the disk has them, return the bytes.

    A last line without its break gets one first. On a full disk the file is as it was.
    Raises AgentMemoryError.
    """
    data = b"".join(line + b"\n" for line in lines)
    if not data:
        return 0
    try:
        ensure_dir(file.parent)
        is_new = not file.exists()
        handle = os.open(file, _APPEND, FILE_MODE)
    except OSError as error:
        raise of_system(error, str(file)) from error
    try:
        size = os.fstat(handle).st_size
        system.keep_private(handle, FILE_MODE)
        if size and _last_byte(handle, size) != b"\n":
            data = b"\n" + data
        _write_all(handle, data, size)
        os.fsync(handle)
    except OSError as error:
        raise of_system(error, str(file)) from error
    finally:
        os.close(handle)
    if is_new:
        fsync_dir(file.parent)
    faults.reach("agent_memory.line_written")
    return len(data)


def _last_byte(handle: int, size: int) -> bytes:
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1)


def _write_all(handle: int, data: bytes, size: int) -> None:
    """Write all of `data`, or nothing: what a full disk took of it is cut off again."""
    rest = memoryview(data)
    try:
        if faults.is_wanted():
            # In two, so that a test can end the process between them.
            rest = rest[os.write(handle, rest[: len(rest) // 2]) :]
            faults.reach("agent_memory.line_half_written")
        while rest:
            rest = rest[os.write(handle, rest) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise


def rewrite(
    file: Path, lines: Sequence[bytes], *, rejected: Sequence[bytes] = (), backups: int = 0, now: datetime
) -> None:
    """Put `lines` in the place of those in `file`, in one step; `backups` of the former stay.

    `rejected` are lines that are carried over to the file for such beside it, before. Raises
    AgentMemoryError, with the file as it was.
    """
    temporary = file.with_name(file.name + TEMPORARY)
    try:
        keep_rejected(file, rejected)
        if backups:
            back_up(file, most=backups, now=now)
        faults.reach("agent_memory.backed_up")
        _write_whole(temporary, b"".join(line + b"\n" for line in lines))
        faults.reach("agent_memory.before_rename")
        temporary.replace(file)
        fsync_dir(file.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise of_system(error, str(file)) from error
    faults.reach("agent_memory.renamed")


def _write_whole(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | system.NO_LINK | system.NO_WAIT | system.OPEN
    handle = os.open(file, flags, FILE_MODE)
    with os.fdopen(handle, "wb") as out:
        system.keep_private(out.fileno(), FILE_MODE)
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def keep_rejected(file: Path, lines: Sequence[bytes]) -> None:
    """Keep lines that `file` will not have any more, byte for byte; those that are kept already once."""
    if not lines:
        return
    side = file.with_name(file.name + REJECTED)
    known = {*bytes_of(side).split(b"\n")}
    append(side, dict.fromkeys(line for line in lines if line not in known))


def back_up(file: Path, *, most: int, now: datetime) -> Path | None:
    """Copy `file` as it is into the folder of backups, of which the `most` newest stay; None for no file.

    The bare name, without a time, is the newest.
    """
    if not file.exists():
        return None
    folder = ensure_dir(file.parent / BACKUP)
    stem = f"{file.name}.backup"
    copy = _unused(folder, f"{stem}.{now.astimezone(UTC):%Y%m%d_%H%M%S}")
    _write_whole(copy, bytes_of(file))
    bare = folder / stem
    link = folder / (stem + TEMPORARY)
    link.unlink(missing_ok=True)
    try:
        os.link(copy, link)
    except OSError:  # Some file systems have no second names.
        shutil.copyfile(copy, link)
    link.replace(bare)
    for old in backups_of(file)[most:]:
        old.unlink(missing_ok=True)
    return copy


def backups_of(file: Path) -> list[Path]:
    """Return the dated backups of `file`, the newest first."""
    stem = f"{file.name}.backup."
    found = [path for path in (file.parent / BACKUP).glob(f"{stem}*") if path.name[len(stem) :][:1].isdigit()]

    def order(path: Path) -> tuple[str, int]:
        at, _, number = path.name.removeprefix(stem).partition("-")
        return at, int(number) if number.isdigit() else 0

    return sorted(found, key=order, reverse=True)


def _unused(folder: Path, name: str) -> Path:
    """Return the path for one more file of that second: a higher number than any of it has."""
    taken = [path.name.removeprefix(name).removeprefix("-") for path in folder.glob(f"{name}*")]
    numbers = [int(text or 0) for text in taken if not text or text.isdigit()]
    return folder / (f"{name}-{max(numbers) + 1}" if numbers else name)


def write_quickly(file: Path, data: bytes) -> None:
    """Replace a file that can be made anew: in one step, and without waiting for the disk."""
    temporary = file.with_name(file.name + TEMPORARY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | system.NO_LINK | system.NO_WAIT | system.OPEN
    try:
        handle = os.open(temporary, flags, FILE_MODE)
        try:
            system.keep_private(handle, FILE_MODE)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
        finally:
            os.close(handle)
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_new(file: Path, data: bytes) -> None:
    """Write an export, which waits until the disk has it. Raises AgentMemoryError."""
    try:
        write_atomic(file, data)
    except OSError as error:
        raise of_system(error, str(file)) from error
