"""A suite of sessions: which there are, which half each is in, and where its recorded replies lie.

A session is a folder with ``transcript.jsonl``, ``gold.json`` (written before anyone saw an answer) and
recordings: ``cassettes``, ``cassettes-pieces`` where it was read while it grew, ``cassettes-careless`` and
``cassettes-obeying`` for replies that are wrong on purpose. It may have a ``start`` folder, the memories
that are there before it. ``halves.json`` of the suite names the sessions of each half, ``zones.json`` the
zone in which the person of a session lives, where it is not UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import zone
from pipeline.core.errors import InputError, UsageError

HALVES = ("looked_at", "held_back")
"""The sessions that prompts and code were developed on, and those that were seen only at the end."""
MANNERS = ("careless", "obeying")
"""How a reply may be wrong on purpose: prompts/eval.MANNER.md asks for it."""
_TRANSCRIPT = "transcript.jsonl"
_GOLD = "gold.json"
_ZONE = "UTC"
_NEEDED = {
    "must": ("id", "fact", "all", "evidence"),
    "fine": ("id", "fact", "all", "evidence"),
    "never": ("id", "any"),
    "superseded": ("old_any", "new_any"),
}
"""The keys that scoring needs, by list; only the last list may be left out."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a suite. `half` is empty in a suite without halves; `zone` is where the person lives."""

    folder: Path
    half: str = ""
    zone: str = _ZONE

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return self.folder.name

    @property
    def transcript(self) -> Path:
        """Return the file that is read."""
        return self.folder / _TRANSCRIPT

    @property
    def gold(self) -> dict[str, Any] | None:
        """Return its gold list, None where nobody has written one yet."""
        return gold_of(self.folder) if (self.folder / _GOLD).exists() else None

    def recordings(self, *, pieces: int = 1, manner: str = "") -> Path:
        """Return the folder of its recorded replies, whether or not there are any."""
        kind = manner or ("pieces" if pieces > 1 else "")
        return self.folder / (f"cassettes-{kind}" if kind else "cassettes")


def sessions(suite: Path, *, only: str = "", half: str = "") -> list[Session]:
    """Return the sessions of `suite` by name, also those that its halves name and nobody has written yet.

    Raises InputError when there is none, or none such, and UsageError for a half that there is not.
    """
    if half and half not in HALVES:
        raise UsageError(f"there is no half {half!r}", fix=f"Halves: {', '.join(HALVES)}.")
    halves = halves_of(suite)
    names = {transcript.parent.name for transcript in suite.glob(f"*/{_TRANSCRIPT}")} | set(halves)
    zones = _zones_of(suite)
    found = [Session(suite / name, halves.get(name, ""), zones.get(name, _ZONE)) for name in sorted(names)]
    found = [item for item in found if only in ("", item.name) and half in ("", item.half)]
    if not found:
        raise InputError(
            f"no session {only or 'with a ' + _TRANSCRIPT}" + (f" in {half}" if half else ""),
            file=str(suite),
            fix="Name a suite: `reverie eval --suite DIR`. Reverie's own comes with a checkout only.",
        )
    return found


def halves_of(suite: Path) -> dict[str, str]:
    """Return the half of each session that the suite's halves.json names; nothing without one."""
    file = suite / "halves.json"
    if not file.exists():
        return {}
    try:
        listed = json.loads(file.read_text("utf-8"))
        named = [(name, half) for half in HALVES for name in listed[half]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"can't be read: {error!r}",
            file=str(file),
            fix=f"Give a list of sessions to {' and '.join(HALVES)}.",
        ) from error
    twice = sorted({name for name, half in named if (name, half) != (name, dict(named)[name])})
    if twice:
        raise InputError(f"in both halves: {', '.join(twice)}", file=str(file), fix="Take one out.")
    return dict(named)


def _zones_of(suite: Path) -> dict[str, str]:
    """Return the zones that the suite's zones.json names; raises InputError for one that there is not."""
    file = suite / "zones.json"
    if not file.exists():
        return {}
    try:
        zones = {str(name): str(given) for name, given in json.loads(file.read_text("utf-8")).items()}
    except (ValueError, AttributeError) as error:
        fix = "Give each session a zone, such as Europe/Berlin."
        raise InputError(f"can't be read: {error}", file=str(file), fix=fix) from error
    for name, given in zones.items():
        if not zone.exists(given):
            fix = "Name it as in Europe/Berlin, or install this machine's time zones (tzdata)."
            raise InputError(f"{name}: this machine knows no zone {given!r}", file=str(file), fix=fix)
    return zones


def gold_of(folder: Path) -> dict[str, Any]:
    """Return the gold list of one session; raises InputError naming the item that can't be used."""
    file = folder / _GOLD
    try:
        loaded: dict[str, Any] = json.loads(file.read_text("utf-8"))
        for key, needed in _NEEDED.items():
            listed = loaded.get(key, []) if key == "superseded" else loaded[key]
            if not isinstance(listed, list):
                raise TypeError(f"{key} is no list")
            for item in listed:
                _check(item, needed)
    except KeyError as error:
        raise _bad_gold(file, f"there is no {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _bad_gold(file, str(error)) from error
    return loaded


def _check(item: dict[str, Any], needed: Sequence[str]) -> None:
    """Raise ValueError for an item that lacks a key, or has a pattern that is none."""
    name = item.get("id") or item.get("old") or item
    if lacks := [key for key in needed if key not in item]:
        raise ValueError(f"{name} lacks {', '.join(lacks)}")
    groups = [*item.get("all", ()), *item.get("reason", ()), item.get("any", ())]
    groups += [item.get("old_any", ()), item.get("new_any", ())]
    for alternative in (text for group in groups for text in group if text.startswith("re:")):
        try:
            re.compile(alternative[3:])
        except re.error as error:
            raise ValueError(f"{name}: {alternative!r} is no pattern: {error}") from error


def _bad_gold(file: Path, what: str) -> InputError:
    return InputError(what, file=str(file), fix="See “A gold list” in docs/evaluation.md.")
