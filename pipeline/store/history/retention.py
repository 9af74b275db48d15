"""What a store drops by itself: generations nobody will undo any more, and files a killed writer left.

No text of a memory goes with a generation: what stands nowhere else is kept in ``archive/<year>/earlier/``.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.core import system
from pipeline.core.atomic import TEMP_MARK, ensure_dir, write_atomic
from pipeline.core.errors import DocumentError, StoreError
from pipeline.core.ids import digest
from pipeline.domain.sentences import folded, sentences
from pipeline.store.files import document
from pipeline.store.files.layout import (
    ARCHIVE,
    EARLIER,
    EPISODES,
    GRAPH,
    VAULT,
    bytes_at,
    inside,
    is_live,
    private_folder,
)
from pipeline.store.files.names import earlier_path
from pipeline.store.history import archive, generations
from pipeline.store.history.generation_folders import FOLDER
from pipeline.store.history.generations import FileChange, Generation

KEEP_DREAMS = timedelta(days=90)
DREAM = "dream"
"""The reason of a dream's change set."""
_MOST = 4
"""Times the count that a kind may have in all, those included that were undone and so count for nothing."""
_LEFT_SECONDS, _DEAD_SECONDS = 3_600, 60
"""How old a temp file is that was left; the second counts where nobody has its writer's number any more, who
may run where we don't see it: in another container, or on another machine."""
_TEMP = re.compile(rf"\..*{re.escape(TEMP_MARK)}(?P<writer>\d+)-[0-9a-f]{{12}}", re.DOTALL)


def prune(root: Path, count: int, now: datetime) -> None:
    """Keep the last `count` generations of each kind that stand, and every dream's for 90 days before `now`.

    Kinds are counted apart, so that pins push no dream out. One that was undone, and its undo, count for
    nothing, or undoing many would push out the oldest of them. A generation whose texts can't be kept, on a
    full disk, stays for the next time.
    """
    found = generations.history(root)
    outdated = _outdated(found, count, now)
    held = {sha for item in found if item.run not in outdated for file in item.files for sha in _shas(file)}
    for item in reversed(found):
        if item.run in outdated:
            try:
                _keep_texts(root, item, held, now.year)
            except (OSError, StoreError):
                # The change itself is made; this may wait.
                held |= {sha for file in item.files for sha in _shas(file)}
                continue
            generations.remove(root, generations.folder_of(root, item.run).name)


def sweep_temps(root: Path, now: float) -> None:
    """Remove temp files of ours whose writer was killed, at `now` (epoch seconds).

    They are over an hour old, or over a minute where no process has the writer's number.
    """
    for file in _temps(root):
        try:
            info, found = file.lstat(), is_temp(file.name)
            left = _LEFT_SECONDS if found and system.running(int(found["writer"])) else _DEAD_SECONDS
            if stat.S_ISREG(info.st_mode) and info.st_mtime < now - left:
                file.unlink()
        except FileNotFoundError:
            # Somebody else swept it.
            continue


def is_temp(name: str) -> re.Match[str] | None:
    """Match the name of a temp file as we make it, which `sweep_temps` removes in the store's folders."""
    return _TEMP.fullmatch(name)


def _outdated(found: Sequence[Generation], count: int, now: datetime) -> set[str]:
    """Return the runs of `found` (newest first) that are kept no longer; see `prune`."""
    reasons = {item.run: item.reason for item in found}
    standing: dict[str, int] = defaultdict(int)
    folders: dict[str, int] = defaultdict(int)
    outdated = set()
    for item in found:
        kind = _kind(item, reasons)
        stands = not item.undone and not generations.turns_of(item.run)[1]
        young = kind == DREAM and item.at is not None and item.at > now - KEEP_DREAMS
        if not young and (standing[kind] >= count or folders[kind] >= _MOST * max(1, count)):
            outdated.add(item.run)
        standing[kind] += stands
        folders[kind] += 1
    return outdated


def _keep_texts(root: Path, item: Generation, held: set[str], year: int) -> None:
    """Write to the archive what memories said in `item` and what stands neither there nor anywhere else.

    `held` are the digests that other generations hold.
    """
    for change in item.files:
        if change.index or not is_live(change.path):
            continue
        for sha in _shas(change) - held:
            try:
                data = generations.content(root, item.run, sha)
            except StoreError:
                # Damaged: there is no text to keep.
                continue
            if data is not None and not _stands(root, item, data):
                target = inside(root, earlier_path(change.path, sha, year))
                ensure_dir(target.parent)
                write_atomic(target, data)


def _stands(root: Path, item: Generation, data: bytes) -> bool:
    """Whether each text of the memory file `data`, of generation `item`, is in a file that is there."""
    sha = digest(data)
    earlier = (root / ARCHIVE).glob(f"*/{EARLIER}/*-{sha[:8]}.md")
    # What lies behind a link is not ours, and may be gone tomorrow.
    if any(file.resolve() == file for file in earlier):
        return True
    live = [change.path for change in item.files if is_live(change.path)]
    retired = [note.target for note in archive.read_log(root) if note.path in live]
    others = [raw for path in (*live, *retired) if (raw := bytes_at(root, path)) is not None]
    return data in others or _texts([data]) <= _texts(others)


def _texts(files: Iterable[bytes]) -> set[str]:
    """Return all that the memory `files` say, sentence by sentence; of what is no memory, all as one."""
    found = set()
    for raw in files:
        try:
            memory = document.parse(raw, "")
        except DocumentError:
            found.add(digest(raw))
            continue
        lines = (memory.title, memory.description, *(part.text for part in sentences(memory.body)))
        found |= {folded(text) for text in lines}
    return found - {""}


def _shas(change: FileChange) -> set[str]:
    return {sha for sha in (change.before, change.after) if sha is not None}


def _temps(root: Path) -> Iterator[Path]:
    private = private_folder(root)
    folders = [root, root / VAULT, root / EPISODES, private, private / "done", private / "staged"]
    for parent in (root / GRAPH, root / ARCHIVE, private / FOLDER):
        if parent.is_dir() and not parent.is_symlink():
            folders += [
                parent,
                *(Path(item) for item in os.scandir(parent) if item.is_dir(follow_symlinks=False)),
            ]
    folders += [folder / EARLIER for folder in folders if folder.parent == root / ARCHIVE]
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            with os.scandir(folder) as found:
                yield from [Path(item) for item in found if item.name[0] == "." and is_temp(item.name)]


def _kind(item: Generation, reasons: Mapping[str, str]) -> str:
    """Return the word for what kind of change this was; an undo is of the kind of what it undid."""
    base, _ = generations.turns_of(item.run)
    return reasons.get(base, item.reason).partition(" ")[0]
