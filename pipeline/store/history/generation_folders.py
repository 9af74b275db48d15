"""Where the generations of a store lie: told without loading what reads them."""

from __future__ import annotations

from pathlib import Path

from pipeline.store.files.layout import private_folder

FOLDER = "generations"


def folders(root: Path) -> list[Path]:
    """Return the folders of generations; what else may lie there (``.DS_Store``) is none of ours."""
    folder = private_folder(root, FOLDER)
    if not folder.is_dir():
        return []
    return sorted(item for item in folder.iterdir() if item.is_dir())
