"""Files used together: touched in one session within five minutes, each with the few touched before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.formats.keisei.events import Event
from pipeline.formats.keisei.steps import FOLDER_TOOLS
from pipeline.record import record

WINDOW_MS = 300_000
LOOKING_BACK = 10
"""Different files before one that may belong to it."""
MOST_PAIRS = 200_000
"""Pairs that are counted at a time; beyond, those seen least often are given up."""


@record
class Pair:
    """Two files, in the order of the alphabet: how often they were used together, in how many sessions."""

    file_a: str
    file_b: str
    count: int
    sessions: int


class _Touch(NamedTuple):
    path: str
    at_ms: int


def coaccess(
    events: Iterable[Event], *, file: str = "", times: int = 1, most: int | None = None
) -> list[Pair]:
    """Return the files used together at least so many `times`, the most frequent pair first.

    With `file` only what was used with a file whose path ends so. Events without a time are passed over.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    recent: deque[_Touch] = deque(maxlen=LOOKING_BACK)
    session, number = "", 0
    for event in events:
        if event.role != "tool_use" or not event.path or event.at_ms is None or event.tool in FOLDER_TOOLS:
            continue
        if event.session != session:
            recent.clear()
            session, number = event.session, number + 1
        touch = _Touch(event.path, event.at_ms)
        for earlier in recent:
            if earlier.path != touch.path and 0 <= touch.at_ms - earlier.at_ms <= WINDOW_MS:
                pair = min(earlier.path, touch.path), max(earlier.path, touch.path)
                _count(counts, pair, number)
        _remember(recent, touch)
        if len(counts) > MOST_PAIRS:
            _give_up_rare(counts)
    found = [
        Pair(a, b, count, sessions)
        for (a, b), (count, sessions, _) in counts.items()
        if count >= times and (not file or _ends(a, file) or _ends(b, file))
    ]
    return sorted(found, key=lambda pair: (-pair.count, -pair.sessions, pair.file_a, pair.file_b))[:most]


def _count(counts: dict[tuple[str, str], list[int]], pair: tuple[str, str], session: int) -> None:
    """Count a pair once more: times, sessions, and the session it was last seen in."""
    held = counts.setdefault(pair, [0, 0, 0])
    held[0] += 1
    if held[2] != session:
        held[1], held[2] = held[1] + 1, session


def _remember(recent: deque[_Touch], touch: _Touch) -> None:
    """Keep the latest touch of each of the last few files."""
    for earlier in recent:
        if earlier.path == touch.path:
            recent.remove(earlier)
            break
    recent.append(touch)


def _give_up_rare(counts: dict[tuple[str, str], list[int]]) -> None:
    least = 1
    while len(counts) > MOST_PAIRS // 2:
        for pair in [pair for pair, held in counts.items() if held[0] <= least]:
            del counts[pair]
        least += 1


def _ends(path: str, wanted: str) -> bool:
    """Whether `path` is, or ends in, the file that a person named."""
    return path == wanted or path.endswith("/" + wanted.lstrip("./"))


def shared_folder(paths: Iterable[str]) -> str:
    """Return the folder that all of `paths` are in, with a slash behind it, or ""."""
    known = list(paths)
    first, last = min(known, default=""), max(known, default="")
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[: first[:same].rfind("/") + 1]
