"""Words around values: counts with the right plural, times as a person says them, bars."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from pipeline.core.zone import local

_BAR = 20


def count(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 file``, ``2 files``; `plural` is given where it is not `singular` with an s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def money(dollars: float) -> str:
    """Return `dollars` with enough digits to tell half of a small sum from the whole."""
    if dollars >= 1 or not dollars:
        return f"${dollars:.2f}"
    cents, more = f"{dollars:.4f}"[:4], f"{dollars:.4f}"[4:].rstrip("0")
    return f"${cents}{more}"


def ago(seconds: float, now: datetime) -> str:
    """Return how far from `now` the moment `seconds` (epoch) is: ``3 min ago``, ``in 3 min``."""
    apart = now.timestamp() - seconds
    if -1 < apart < 60:
        return "just now"
    words = span(abs(apart))
    return f"{words} ago" if apart > 0 else f"in {words}"


def span(seconds: float) -> str:
    """Return a length of time in its largest unit: minutes, hours below two days, else days."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "under a minute"
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"


def day_and_time(seconds: float, now: datetime) -> str:
    """Return local ``14:02`` for the last 20 hours, ``27 Nov 14:02`` before, at most twelve characters.

    In another year it is ``27 Nov 2025``.
    """
    moment = local(datetime.fromtimestamp(seconds, UTC))
    if 0 <= now.timestamp() - seconds < 72_000:
        return moment.strftime("%H:%M")
    return moment.strftime("%d %b %H:%M" if moment.year == local(now).year else "%d %b %Y")


def short_path(path: str) -> str:
    """Return `path` as a shell takes it, with ``~`` for the person's own folder."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def room(size: int) -> str:
    """Return `size`, in bytes, as a person reads it: ``0 KB``, ``12 KB``, ``3.4 MB``."""
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{-(-size // 1000)} KB"


def bar(part: float, whole: float) -> str:
    """Return a bar of twenty characters for `part` of `whole`; anything above nothing shows."""
    share = min(1.0, part / whole) if whole > 0 else 1.0
    filled = max(int(share * _BAR + 0.5), 1 if part > 0 else 0)
    return "█" * filled + "░" * (_BAR - filled)
