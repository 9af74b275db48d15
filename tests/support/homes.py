"""A person's home as bytes, to compare before and after."""

import os
import stat
from pathlib import Path


def everything(root: Path) -> dict[str, tuple[str, int, bytes]]:
    """Return each file, folder and link under `root`, itself included: kind, mode, bytes or target."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (".", *folders, *files):
            path = Path(folder, name)
            info = path.lstat()
            if stat.S_ISLNK(info.st_mode):
                kind, data = "link", os.fsencode(path.readlink())
            elif stat.S_ISDIR(info.st_mode):
                kind, data = "folder", b""
            else:
                kind, data = "file", path.read_bytes()
            found[os.path.normpath(path.relative_to(root))] = (kind, stat.S_IMODE(info.st_mode), data)
    return found
