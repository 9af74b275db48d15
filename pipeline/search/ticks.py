"""When the stamp of a file may not tell of its next change: clocks that stamp files go in ticks."""

from __future__ import annotations

TICK_NS = 20_000_000
"""Two changes of a file within one tick of the kernel's clock leave the same stamp; ticks are shorter."""
_SOON_NS = 60_000_000_000


def is_hot(ctime_ns: int, moment: int) -> bool:
    """Whether a file that changed at `ctime_ns` may do so at `moment` once more and keep its stamp."""
    # A time far ahead is that of a clock set back since, and no sign of a change just now.
    return -TICK_NS < ctime_ns - moment < _SOON_NS
