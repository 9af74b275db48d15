"""Which files of others are in a store: those that can't be taken, and those that wait for one yes.

`reverie status` is asked often and a store seldom changes. So where nothing is wrong the answer is kept in
the home by the store's *look*: the stamps of all of which it is made. Of what is wrong nothing is kept.
"""

from __future__ import annotations

import marshal
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.context import open_store
from pipeline.core import kept_values
from pipeline.core.clock import SystemClock
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.hooklib import memory_format, ownership, places
from pipeline.hooklib.digests import sha256
from pipeline.search.ticks import is_hot
from pipeline.store.files.layout import Problem, folder_times, memory_files
from pipeline.store.ownership.access import shared

if TYPE_CHECKING:
    from pipeline.config import Settings

_MOST_STORES = 16
_BESIDE = (memory_format.INDEX, ownership.WRITTEN, f"{places.PRIVATE}/identities.jsonl")
"""What the answer depends on besides the memories and the folders they are in."""
_BEGUN = f"{places.PRIVATE}/intent.json"
"""A change that was interrupted; whoever opens the store finishes it."""


def files_of_others(home: Path, store: Path, settings: Settings) -> dict[str, Any]:
    """Return ``left_out``, a line for each kind of files that can't be taken, and ``to_adopt``.

    That is how many files wait for one yes, by who wrote them as far as it was noted.
    """
    if not store.is_dir():
        return {"left_out": [], "to_adopt": {}}
    file, look = Home(home).looked_over, _look(store)
    known = kept_values.read(file).get(str(store)) if look else None
    if isinstance(known, list) and len(known) == 2 and known[0] == look and isinstance(known[1], dict):
        return {"left_out": [], "to_adopt": known[1]}
    try:
        lines, found = open_store(store, settings).look_over()
    except StoreError:
        return {"left_out": [], "to_adopt": {}}  # `doctor` tells what is wrong with the folder itself.
    waiting = {str(by): number for by, number in found.items()}
    # A home without a ledger is not in use yet.
    if look and not lines and Home(home).ledger.exists():
        kept_values.add(file, str(store), [look, waiting], most=_MOST_STORES)
    return {"left_out": lines, "to_adopt": waiting}


def _look(store: Path) -> str:
    """Return what is another text as soon as the answer may be another, "" where nothing can tell that."""
    root = Path(os.path.realpath(store))
    now = int(SystemClock().now().timestamp() * 1e9)
    problems: list[Problem] = []
    try:
        if any(shared(store, root)) or os.path.lexists(root / _BEGUN):
            return ""
        folders = folder_times(root)
        files = [(path, tuple(stamp)) for path, stamp in memory_files(root, problems)]
        beside = [*map(_stamp, (root / name for name in _BESIDE))]
        private = os.lstat(root / places.PRIVATE).st_mode
    except (OSError, StoreError):
        return ""
    times = [*(stamp[-1] for _, stamp in files), *(times[-1] for times in folders.values())]
    times += [stamp[-1] for stamp in beside if stamp]
    if problems or any(is_hot(time, now) for time in times):
        return ""
    return sha256(marshal.dumps((__version__, str(root), private, folders, files, beside), 2))


def _stamp(file: Path) -> tuple[int, int, int, int] | None:
    """Return the stamp of a file, None for none. Raises OSError for a link: what counts is elsewhere."""
    try:
        info = os.lstat(file)
    except FileNotFoundError:
        return None
    if file.is_symlink():
        raise OSError
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns
