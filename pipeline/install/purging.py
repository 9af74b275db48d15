"""Leaving: Reverie's home and its place with the scheduler, removed as if they had never been.

Memories are a person's own. Those in a project's folder stay where they are; those meant for all projects
(``<home>/memory``) stay too, and the home around them, unless they are named to go.
"""

from __future__ import annotations

import fnmatch
import shutil
from dataclasses import dataclass
from pathlib import Path

from pipeline import locks, schedule_setup
from pipeline.atomic import TEMP_MARK
from pipeline.errors import InputError, ReverieError, SpoolError
from pipeline.install.installing import RECORD, read_record, take_away
from pipeline.schedule import lock_path

MEMORIES = "memory"
_OWN = (
    *("ledger.sqlite*", "spool", "logs", "reports", "recall", "search", "session-memory", "python"),
    *("config.toml", "backups", "claude.lock", "claude-flags.json", "claude-cwd", "reverie-dream.xml"),
    *(schedule_setup.MADE, f".*{TEMP_MARK}*"),
)
"""What Reverie puts into its home, but for the memories, the record of installing and the worker's lock."""
_WAIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge left behind: `memories` if any, and what stands in the home and is not Reverie's."""

    memories: Path | None
    strange: tuple[Path, ...]


def purge(home: Path, *, with_memories: bool = False) -> Purged:
    """Remove the scheduled look for a dream, then all of Reverie's own in `home`, then `home` if it is empty.

    Waits for a worker that is at work. Raises SpoolError when it does not end, InputError when something
    can't be removed; what was removed until then stays so, and doing it again goes on.
    """
    _unschedule(home)
    record = read_record(home)
    if home.is_dir():
        with locks.lock(lock_path(home), timeout=_WAIT_SECONDS) as held:
            if not held:
                raise SpoolError(
                    "the background worker is still at work",
                    file=str(home),
                    fix="Run it again in a few minutes; the hooks are gone, so nothing new is begun.",
                )
            _empty(home, with_memories=with_memories)
        _delete(lock_path(home))
        _delete(home / RECORD)
        if not any(home.iterdir()) and not home.is_symlink() and not record.home_was_there:
            home.rmdir()
    take_away(record.made)
    memories = home / MEMORIES
    left = sorted(home.iterdir()) if home.is_dir() else []
    return Purged(memories if memories in left else None, tuple(place for place in left if place != memories))


def _empty(home: Path, *, with_memories: bool) -> None:
    names = (*_OWN, MEMORIES) if with_memories else _OWN
    for place in sorted(home.iterdir()):
        if any(fnmatch.fnmatchcase(place.name, name) for name in names):
            _delete(place)


def _delete(place: Path) -> None:
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"can't be removed: {error.strerror or error}",
            file=str(error.filename or place),
            fix="Make it writable for yourself, then run it again.",
        ) from error


def _unschedule(home: Path) -> None:
    """Take the job away from this machine's scheduler, and the files of any other that hold one of ours."""
    schedule_setup.remove(home)
    for kind in schedule_setup.KINDS:
        if kind != "cron" and any(file.exists() for file in schedule_setup.files(home, kind)):
            try:
                schedule_setup.remove(home, kind)
            except ReverieError:
                # That scheduler is gone; what is left of it are the files.
                for file in schedule_setup.files(home, kind):
                    file.unlink(missing_ok=True)
