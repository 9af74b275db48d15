"""The zone in which days are told: the machine's at that time, or the one that the settings name.

It belongs to the process, as the machine's own does: who loads the settings names it once, with `use`. Times
are kept in UTC; only what a person or a model reads is told in this zone. ``pipeline.core.zone`` has the same
for moments that are a ``datetime``.

A machine that goes elsewhere changes no day of before: what was said late on the second of March stays that
day's. So each worker notes in ``<home>/zones`` where it is (`pipeline.core.zone.note`), a line for each zone
in their order: its name and the second in which it was last seen.
"""

import time

from pipeline.hooklib import home_files, places, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

name = ""
"""The name that was given, "" for the machine's zone."""
named: "tzinfo | None" = None
"""The zone of that name; None for the machine's."""
former: "tuple[tuple[float, str], ...]" = ()
"""Until when (seconds since 1970) the machine was in which zone, before it came to the one it is in."""
_MOST = 1 << 16


def find(wanted: str) -> "tzinfo | None":
    """Return the zone that `wanted` means, as ``Asia/Kolkata``, or None when this machine knows none."""
    # Only who names a zone pays for what knows them.
    from datetime import UTC
    from zoneinfo import ZoneInfo

    if wanted in ("UTC", "Etc/UTC"):
        return UTC  # Known also where no table of zones is installed.
    try:
        return ZoneInfo(wanted)
    except (KeyError, ValueError, OSError):
        return None


def use(wanted: str, home: str = "") -> bool:
    """Tell days in the zone called `wanted` from now on, in the machine's when it is "".

    The machine's is the one it was in at the time, as far as Reverie's `home` knows. Return whether there is
    such a zone. With a name that nobody knows days are the machine's.
    """
    global name, named, former
    if places.without_a_projects_zone():
        getattr(time, "tzset", int)()
    named = find(wanted) if wanted else None
    name = wanted if named else ""
    former = () if named or not home else seen(home)[:-1]
    return name == wanted


def seen(home: str) -> "tuple[tuple[float, str], ...]":
    """Return when the machine was last seen in which zone, in their order; the last is where it is."""
    try:
        lines = places.read_file(f"{home}/{home_files.ZONES}", _MOST).decode("utf-8").split("\n")
    except (OSError, ValueError):
        return ()
    found = []
    for line in lines:
        zone, _, moment = line.partition(" ")
        if zone and moment.isdecimal():
            found.append((float(moment), zone))
    return tuple(found)


def at(moment: float) -> "tzinfo | None":
    """Return the zone in which `moment` (seconds since 1970) is told; None for the machine's own of now."""
    for until, zone in former:
        if moment <= until:
            return find(zone) or _by_offset(zone)
    return named


def _by_offset(zone: str) -> "tzinfo | None":
    """Return the zone that ``UTC+05:30`` is, or None for no such text."""
    from datetime import timedelta, timezone

    sign, hours, minutes = zone[3:4], zone[4:6], zone[7:9]
    if not (zone.startswith("UTC") and sign in ("+", "-") and (hours + minutes).isdecimal()):
        return None
    ahead = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(ahead if sign == "+" else -ahead) if ahead < timedelta(days=1) else None


def day(moment: float) -> str:
    """Return the local day of `moment` (seconds since 1970) as ``2026-11-27``; "" for one no calendar has.

    Midnight in UTC to the second is a day that somebody wrote without a time, and is that day everywhere.
    """
    try:
        if moment % times.DAY == 0:
            return time.strftime("%Y-%m-%d", time.gmtime(moment))
        there = at(moment)
        if there is None:
            return time.strftime("%Y-%m-%d", time.localtime(moment))
        from datetime import datetime

        return datetime.fromtimestamp(moment, there).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""
