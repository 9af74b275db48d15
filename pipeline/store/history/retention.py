"""What a store drops by itself: generations nobody will undo any more, and files a killed writer left."""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.core.atomic import TEMP_MARK
from pipeline.store.files.layout import ARCHIVE, EPISODES, GRAPH, PRIVATE, VAULT
from pipeline.store.history import generations
from pipeline.store.history.generations import Generation

KEEP_DREAMS = timedelta(days=90)
DREAM = "dream"
"""The reason of a dream's change set."""
_MOST = 4
"""Times the count that a kind may have in all, those included that were undone and so count for nothing."""
_LEFT_SECONDS = 3_600
_TEMP = re.compile(rf"\..*{re.escape(TEMP_MARK)}\d+-[0-9a-f]{{12}}", re.DOTALL)


def prune(root: Path, count: int, now: datetime) -> None:
    """Keep the last `count` generations of each kind that stand, and every dream's for 90 days before `now`.

    Kinds are counted apart, so that pins push no dream out. One that was undone, and its undo, count for
    nothing, or undoing many would push out the oldest of them.
    """
    found = generations.history(root)
    reasons = {item.run: item.reason for item in found}
    standing: dict[str, int] = defaultdict(int)
    folders: dict[str, int] = defaultdict(int)
    for item in found:
        kind = _kind(item, reasons)
        stands = not item.undone and not item.run.startswith(generations.undo_id(""))
        young = kind == DREAM and item.at is not None and item.at > now - KEEP_DREAMS
        if not young and (standing[kind] >= count or folders[kind] >= _MOST * max(1, count)):
            generations.remove(generations.folder_of(root, item.run))
        standing[kind] += stands
        folders[kind] += 1


def sweep_temps(root: Path, now: float) -> None:
    """Remove temp files of ours over an hour old at `now` (epoch seconds), whose writer was killed."""
    for file in _temps(root):
        try:
            info = file.lstat()
            if stat.S_ISREG(info.st_mode) and info.st_mtime < now - _LEFT_SECONDS:
                file.unlink()
        except FileNotFoundError:
            # Somebody else swept it.
            continue


def _temps(root: Path) -> Iterator[Path]:
    private = root / PRIVATE
    folders = [root, root / VAULT, root / EPISODES, private, private / "done", private / "staged"]
    for parent in (root / GRAPH, root / ARCHIVE, private / generations.FOLDER):
        if parent.is_dir() and not parent.is_symlink():
            folders += [
                parent,
                *(Path(item) for item in os.scandir(parent) if item.is_dir(follow_symlinks=False)),
            ]
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            with os.scandir(folder) as found:
                yield from [Path(item) for item in found if _TEMP.fullmatch(item.name)]


def _kind(item: Generation, reasons: Mapping[str, str]) -> str:
    """Return the word for what kind of change this was; an undo is of the kind of what it undid."""
    run = item.run
    while run.startswith(generations.undo_id("")):
        run = run.removeprefix(generations.undo_id(""))
    return reasons.get(run, item.reason).partition(" ")[0]
