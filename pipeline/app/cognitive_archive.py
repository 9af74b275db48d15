"""Taking an exported store out of its ``.zip`` file, for an import, into a folder that is gone afterwards."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import InputError, cause

MOST_FILES = 50_000
MOST_BYTES = 500_000_000
_PIECE = 1 << 20


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """Yield a folder with the files of `archive`.

    Raises InputError for what is no such archive, has a link, a path that leads out of it or two files at one
    place in it, and for more than `MOST_FILES` files or `MOST_BYTES` bytes. Its own word on sizes is not
    taken: what comes out is counted. An error about the folder names the archive instead.
    """
    with TemporaryDirectory(prefix="reverie-import-") as temp:
        root = Path(temp).resolve()
        try:
            with zipfile.ZipFile(archive) as held:
                _take_out(held, root, archive)
        except (
            OSError,
            zipfile.BadZipFile,
            zlib.error,
            RuntimeError,
            NotImplementedError,
            EOFError,
        ) as error:
            why = cause(error) if isinstance(error, OSError) else str(error)
            raise _refusal(archive, f"it can't be unpacked: {why}") from error
        try:
            yield root
        except InputError as error:
            if error.file is None or not Path(error.file).is_relative_to(root):
                raise
            inside = Path(error.file).relative_to(root).as_posix()
            where = str(archive) if inside == "." else f"{archive}: {inside}"
            raise InputError(str(error.args[0]), file=where, fix=error.fix) from error


def _take_out(held: zipfile.ZipFile, root: Path, archive: Path) -> None:
    entries = [entry for entry in held.infolist() if not entry.is_dir()]
    if len(entries) > MOST_FILES:
        raise _refusal(archive, f"it has more than {MOST_FILES:,} files")
    left = MOST_BYTES
    for entry in entries:
        target = root / _path_of(entry, archive)
        ensure_dir(target.parent)
        with held.open(entry) as source, target.open("xb") as out:
            while piece := source.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise _refusal(archive, f"it has more than {MOST_BYTES:,} bytes in it")
                out.write(piece)


def _path_of(entry: zipfile.ZipInfo, archive: Path) -> PurePosixPath:
    """Return where `entry` goes below the folder; InputError where that would not be below it."""
    name = entry.filename
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts or not path.parts
    if leads_out or any(character in name for character in "\\:\0"):
        raise _refusal(archive, f"a path in it leads elsewhere: {name!r}")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise _refusal(archive, f"there is a link in it: {name!r}")
    return path


def _refusal(archive: Path, why: str) -> InputError:
    return InputError(
        why, file=str(archive), fix="Take one that `reverie export cognitive` wrote, or a folder."
    )
