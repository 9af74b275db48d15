"""The one place where a moment becomes a day or a time that a person or a model reads.

Moments are kept in UTC. What is read is local: in the zone in which the machine was then, or the one that
``time_zone`` of ``[extraction]`` names (``pipeline.hooklib.zone`` holds which). A day has 23 to 25 hours
where clocks change, and a zone need not be whole hours off: the zone's own table tells, never an offset kept
from earlier, unless nobody knows what the zone is called.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from pipeline.core.atomic import write_atomic
from pipeline.core.clock import at_most_now, parse_time
from pipeline.core.home import Home
from pipeline.hooklib import zone as hook_zone

_FOLDER = "zoneinfo/"
"""What stands before the name of a zone in the path of its file, on every system that has such files."""
_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")


def use(name: str, home: Path | None = None) -> None:
    """Tell days in the zone called `name` from now on, in the machine's when it is "".

    `home` is Reverie's, which knows where the machine was before.
    """
    hook_zone.use(name, str(home) if home else "")


@contextmanager
def using(name: str) -> Iterator[None]:
    """Tell days in the zone called `name` for a while."""
    before, former = hook_zone.name, hook_zone.former
    hook_zone.use(name)
    try:
        yield
    finally:
        hook_zone.use(before)
        hook_zone.former = former


def note(home: Path, now: datetime) -> None:
    """Note in `home` that the machine is in its zone now, so that its days stay when it goes elsewhere.

    Raises OSError.
    """
    here = _lasting_name(now)
    moment = now.timestamp()
    # A zone that a clock ahead saw last must not reach over what comes.
    found = [(at_most_now(until, moment), zone) for until, zone in hook_zone.seen(str(home))]
    if found and found[-1][1] == here:
        found.pop()
    lines = (f"{zone} {until:.0f}\n" for until, zone in [*found, (moment, here)])
    write_atomic(Home(home).zones, "".join(lines).encode())


def _lasting_name(now: datetime) -> str:
    """Return a name of the machine's own zone by which it is found again: its offset where it has none."""
    name = next((name for name in _names() if _fits(name, now)), "")
    return name.removeprefix("Etc/") or _spelled(now.astimezone())


def exists(name: str) -> bool:
    """Whether this machine knows a zone called `name`."""
    return hook_zone.find(name) is not None


def local(moment: datetime) -> datetime:
    """Return `moment` as the clocks of the zone show it."""
    return moment.astimezone(hook_zone.at(moment.timestamp()))


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
    spelled = _spelled(local(at))
    # Windows has words of its own, which its users know: “W. Europe Standard Time”.
    return f"{local(at):%Z} ({spelled})" if os.name == "nt" else spelled


def elsewhere(since: datetime | str | None) -> str:
    """Return the clause that names where the machine was since the moment `since`, if not all the time here.

    ``until 2026-03-03 17:00 those of Asia/Tokyo``: the time is one of there.
    """
    first = parse_time(since)
    if first is None:
        return ""
    found = [(until, name) for until, name in hook_zone.former if until >= first.timestamp()]
    return ", ".join(
        f"until {datetime.fromtimestamp(until, hook_zone.at(until)):%Y-%m-%d %H:%M} those of {name}"
        for until, name in found
    )


def _spelled(at: datetime) -> str:
    offset = f"{at:%z}"
    return f"UTC{offset[:3]}:{offset[3:5]}"


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
