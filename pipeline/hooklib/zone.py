"""The zone in which days are told: the machine's, or the one that the settings name.

It belongs to the process, as the machine's own does: who loads the settings names it once, with `use`. Times
are kept in UTC; only what a person or a model reads is told in this zone. ``pipeline.core.zone`` has the same
for moments that are a ``datetime``.
"""

import time

from pipeline.hooklib import times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

name = ""
"""The name that was given, "" for the machine's zone."""
named: "tzinfo | None" = None
"""The zone of that name; None for the machine's."""


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


def use(wanted: str) -> bool:
    """Tell days in the zone called `wanted` from now on, in the machine's when it is "".

    Return whether there is such a zone. With a name that nobody knows days are the machine's.
    """
    global name, named
    named = find(wanted) if wanted else None
    name = wanted if named else ""
    return name == wanted


def day(moment: float) -> str:
    """Return the local day of `moment` (seconds since 1970) as ``2026-11-27``; "" for one no calendar has.

    Midnight in UTC to the second is a day that somebody wrote without a time, and is that day everywhere.
    """
    try:
        if moment % times.DAY == 0:
            return time.strftime("%Y-%m-%d", time.gmtime(moment))
        if named is None:
            return time.strftime("%Y-%m-%d", time.localtime(moment))
        from datetime import datetime

        return datetime.fromtimestamp(moment, named).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""
