"""Leaving: Reverie's home and its place with the scheduler, removed as if they had never been.

Memories are a person's own. Those in a project's folder stay where they are; those meant for all projects
(``<home>/memory``) stay too, and the home around them, unless they are named to go.
"""

from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.context import known_stores
from pipeline.core import locks, paths
from pipeline.core.atomic import TEMP_MARK, remove_empty_dirs
from pipeline.core.errors import InputError, LedgerError, ReverieError, SpoolError
from pipeline.core.home import OWN, Home
from pipeline.hooklib import home_files
from pipeline.hooklib.plain import lines_of
from pipeline.install.hook_registration import forget_home
from pipeline.install.hooks import read_record
from pipeline.install.schedule import setup
from pipeline.install.schedule.setup import KINDS, Kind
from pipeline.ledger import look_at_ledger

_REMOVED_LAST = (home_files.WORKER_LOCK, home_files.INSTALLED)
"""Held, or needed should the purge be interrupted, until all the rest is gone."""
_NOTES = (home_files.INSTALLED, home_files.BACKUPS)
"""What is needed as long as there is a file from which Reverie could not be taken out."""
_OWN = (
    *(name for name in OWN if name not in (home_files.USER_STORE, *_REMOVED_LAST)),
    *(f"{home_files.LEDGER}*", f".*{TEMP_MARK}*"),
)
"""Patterns of what Reverie puts into its home, but for the memories and what is removed last."""
WAIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge left behind.

    `memories` are those for all projects, if any; `stores` the memory folders of projects; `strange` is what
    stands in the home and is not Reverie's.
    """

    memories: Path | None
    stores: tuple[Path, ...]
    strange: tuple[Path, ...]


def would_go(home: Path, *, with_memories: bool = False, keep_notes: bool = False) -> list[Path]:
    """Return what a purge would delete in `home`; raises InputError where it would refuse to.

    With `keep_notes` it keeps what is noted of files that were changed.
    """
    _require_own(home)
    if not home.is_dir():
        return []
    last = [home / name for name in _REMOVED_LAST if (home / name).exists()]
    gone = [*_ours(home, read_record(home).had or (), with_memories=with_memories), *last]
    return [path for path in gone if not (keep_notes and path.name in _NOTES)]


def left_by(home: Path, gone: Sequence[Path], *, keep_notes: bool = False) -> Purged:
    """Return what stays when `gone` has been deleted in `home`, but for what Reverie made outside of it.

    What `keep_notes` keeps is Reverie's own.
    """
    memories = Home(home).user_store
    left = [path for path in sorted(home.iterdir()) if path not in gone] if home.is_dir() else []
    notes = [home / name for name in _NOTES] if keep_notes else []
    strange = tuple(path for path in left if path != memories and path not in notes)
    return Purged(memories if memories in left else None, _stores(home), strange)


def made_for(homes: Sequence[Path]) -> list[str]:
    """Return the folders that installing made, as `homes` note them."""
    return [folder for home in homes for folder in read_record(home).made]


def purge(
    home: Path,
    *,
    with_memories: bool = False,
    keep_notes: bool = False,
    wait: float = WAIT_SECONDS,
    made: Sequence[str] = (),
) -> Purged:
    """Remove the scheduled look for a dream, then all of Reverie's own in `home`, then `home` if it is empty.

    So do the folders that were made for it go, and those of `made`, where they are empty. With `keep_notes`
    what is noted of files that were changed stays, and so the home. Waits `wait` seconds for a worker that is
    at work. Raises SpoolError when it does not end, InputError when something can't be removed; what was
    removed until then stays so, and doing it again goes on.
    """
    _require_own(home)
    unschedule(home)
    record = read_record(home)
    stores = _stores(home)
    if home.is_dir():
        with locks.lock(Home(home).worker_lock, timeout=wait) as held:
            if not held:
                raise SpoolError(
                    "the background worker is still at work",
                    file=str(home),
                    fix="Run it again in a few minutes; the hooks are gone, so nothing new is begun.",
                )
            for path in _ours(home, record.had or (), with_memories=with_memories):
                if not (keep_notes and path.name in _NOTES):
                    _delete(path)
        for name in _REMOVED_LAST:
            if not (keep_notes and name in _NOTES):
                _delete(home / name)
        if not any(home.iterdir()) and not home.is_symlink() and record.had is None:
            home.rmdir()
    if not keep_notes:
        forget_home(home)
    remove_empty_dirs(map(Path, [*record.made, *made]))
    return replace(left_by(home, (), keep_notes=keep_notes), stores=stores)


def _require_own(home: Path) -> None:
    """Raise InputError when `home` is a folder of which all the rest is somebody else's."""
    here = home.resolve()
    others = (Path.home().resolve(), paths.config_dir().resolve())
    if any(here in (other, *other.parents) for other in others):
        raise InputError(
            "is a folder for other things too, so nothing is deleted in it",
            file=str(home),
            fix="Delete by hand what is Reverie's: ledger.sqlite, spool, recall, search, config.toml.",
        )


def _ours(home: Path, had: Sequence[str], *, with_memories: bool) -> list[Path]:
    """Return what in `home` is Reverie's, but for what is removed last; `had` was there before it."""
    names = (*_OWN, home_files.USER_STORE) if with_memories else _OWN
    return [
        path
        for path in sorted(home.iterdir())
        # Of a folder that was there before, nobody can tell what in it is whose.
        if path.name not in had and any(fnmatch.fnmatchcase(path.name, name) for name in names)
    ]


def _delete(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"can't be removed: {error.strerror or error}",
            file=str(error.filename or path),
            fix="Make it writable for yourself, then run it again.",
        ) from error


def scheduled(home: Path) -> list[Kind]:
    """Return the schedulers in which, or in whose folders, there is a look for a dream of ours."""
    found: list[Kind] = [kind for kind in KINDS if any(file.exists() for file in setup.files(home, kind))]
    try:
        here = setup.status(home)
    except ReverieError:
        # One that answers nothing can't be asked to forget anything either.
        return found
    if here.installed and here.kind != "none" and here.kind not in found:
        found.append(here.kind)
    return found


def unschedule(home: Path) -> None:
    """Take the look for a dream out of every scheduler that holds one, and the folders made for it."""
    for kind in scheduled(home):
        try:
            setup.remove(home, kind)
        except ReverieError:
            # That scheduler is gone; what is left of it are the files.
            for file in setup.files(home, kind):
                file.unlink(missing_ok=True)
    noted = Home(home).schedule_made
    if noted.exists():
        remove_empty_dirs(map(Path, lines_of(noted.read_text("utf-8"))))
        noted.unlink()


def _stores(home: Path) -> tuple[Path, ...]:
    """Return the memory folders of projects that are known and there."""
    ledger = Home(home).ledger
    if not ledger.exists():
        return ()
    try:
        with look_at_ledger(ledger) as opened:
            found = known_stores(opened)
    except LedgerError:
        # A ledger that can't be read can go all the same.
        return ()
    return tuple(path for path in found if home not in path.parents)
