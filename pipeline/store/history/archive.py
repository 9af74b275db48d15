"""Looking at what was retired: the files below ``archive/``, by year."""

from __future__ import annotations

from pathlib import Path

from pipeline.store.files.layout import ARCHIVE, files_in
from pipeline.store.files.scanning import Snapshot, read_into


def scan_archive(root: Path) -> Snapshot:
    """Read every memory in the archive of the store at `root` (a real path), and note what can't be read."""
    snapshot = Snapshot()
    archive = root / ARCHIVE
    if archive.is_symlink() or not archive.is_dir():
        return snapshot
    for year in sorted(item.name for item in archive.iterdir() if not item.name.startswith(".")):
        for path, _ in files_in(root, f"{ARCHIVE}/{year}", snapshot.problems, stamps=False):
            read_into(snapshot, root, path)
    return snapshot
