"""The one place where a moment becomes a day or a time that a person or a model reads.

Moments are kept in UTC. What is read is local: in the zone of the machine, or the one that ``time_zone`` of
``[extraction]`` names (``pipeline.hooklib.zone`` holds which). A day has 23 to 25 hours where clocks change,
and a zone need not be whole hours off: the zone's own table tells, never an offset kept from earlier.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from pipeline.core.clock import parse_time
from pipeline.hooklib import zone as hook_zone

_FOLDER = "zoneinfo/"
"""What stands before the name of a zone in the path of its file, on every system that has such files."""
_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")


def use(name: str) -> None:
    """Tell days in the zone called `name` from now on, in the machine's when it is ""."""
    hook_zone.use(name)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Tell days in the zone called `name` for a while."""
    before = hook_zone.name
    hook_zone.use(name)
    try:
        yield
    finally:
        hook_zone.use(before)


def exists(name: str) -> bool:
    """Whether this machine knows a zone called `name`."""
    return hook_zone.find(name) is not None


def local(moment: datetime) -> datetime:
    """Return `moment` as the clocks of the zone show it."""
    return moment.astimezone(hook_zone.named)


def day(moment: datetime | str | None, unknown: str = "") -> str:
    """Return the local day of `moment`, ``2026-03-02``; `unknown` when it is no time (see `parse_time`).

    A day that was written without a time stays that day.
    """
    known = parse_time(moment)
    return (known and hook_zone.day(known.timestamp())) or unknown


def minute(moment: datetime | str | None, unknown: str = "") -> str:
    """Return the local day and time of `moment`, ``2026-03-02 09:14``; `unknown` when it is no time."""
    known = parse_time(moment)
    return f"{local(known):%Y-%m-%d %H:%M}" if known else unknown


def zone_name(at: datetime) -> str:
    """Return what the zone is called: ``Europe/Berlin``, else what the system calls it, else ``UTC+02:00``.

    `at` is the moment whose offset is named where nothing has a name.
    """
    if hook_zone.name:
        return hook_zone.name
    for name in _names():
        if _fits(name, at):
            return name.removeprefix("Etc/")
    offset = f"{local(at):%z}"
    spelled = f"UTC{offset[:3]}:{offset[3:5]}"
    # Windows has words of its own, which its users know: “W. Europe Standard Time”.
    return f"{local(at):%Z} ({spelled})" if os.name == "nt" else spelled


def _names() -> Iterator[str]:
    """Yield what the system may call its zone, the surest first."""
    variable = os.environ.get("TZ")
    if variable is not None:
        yield _name_in(variable.lstrip(":"))
        return
    # The file may be a copy, and some systems have it elsewhere.
    with suppress(OSError):
        yield _name_in(str(_LOCALTIME.readlink()))
        yield _name_in(str(_LOCALTIME.resolve()))
    with suppress(OSError, UnicodeDecodeError):
        yield _TIMEZONE.read_text("utf-8").strip()


def _name_in(path: str) -> str:
    """Return the name of the zone whose file is at `path`; a name alone is such a path already."""
    return path.rpartition(_FOLDER)[2].removeprefix("posix/").removeprefix("right/")


def _fits(name: str, at: datetime) -> bool:
    """Whether the zone called `name` shows the same time as the machine, in summer and in winter."""
    found = hook_zone.find(name)
    halves = [at.replace(month=month, day=15) for month in (1, 7)]
    return found is not None and all(
        found.utcoffset(half.astimezone(found)) == half.astimezone().utcoffset() for half in halves
    )
