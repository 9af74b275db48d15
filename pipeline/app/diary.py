"""What happened when: the entries that conversations, dreams and a person left in the diary."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.app.application import App
from pipeline.core import zone
from pipeline.core.clock import iso
from pipeline.core.errors import InputError, StoreError, UsageError, cause
from pipeline.store import Episode, diary_day, diary_days
from pipeline.text.dates import parse_day
from pipeline.text.since import since as moment_of

HOW_IT_COMES = "A conversation leaves an entry when it is over; so do dreams and `reverie add`."
NO_MODEL = (
    " There is no model now, so it tells only what was kept of a conversation; `reverie doctor` says what"
    " would bring one."
)


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the diary, ``2026-11-20``, with its entries in their order."""

    day: str
    entries: tuple[Episode, ...]


def timeline(app: App, *, since: str = "", words: str = "", limit: int = 0) -> list[Day]:
    """Return the days that have entries, the newest first; at most `limit` of them where it is not 0.

    Of each the entries that hold all of `words`, whole or in part. Raises UsageError for a day that there is
    not, StoreError for a page that can't be read.
    """
    if app.is_fresh:
        return []
    return pages(app.open_store().root, app.clock.now(), since=since, words=words, limit=limit)


def pages(
    root: Path, now: datetime, *, since: str = "", until: str = "", words: str = "", limit: int = 0
) -> list[Day]:
    """Return what `timeline` does of the store at `root`, days before `until` alone; errors are the same."""
    first = zone.day(iso(moment_of(since, now))) if since else ""
    asked = words.casefold().split()
    found: list[Day] = []
    for name in diary_days(root):
        if name < first or (limit and len(found) == limit):
            break
        if until and name >= until:
            continue
        entries = [entry for entry in _entries(root, name) if _holds(entry, asked)]
        if entries:
            found.append(Day(name, tuple(entries)))
    return found


def no_model(app: App) -> str:
    """Return the sentence that entries tell little, as there is no model to write them; "" where there is."""
    return NO_MODEL if app.offline else ""


def day(app: App, text: str = "") -> Day:
    """Return one day of the diary, the newest where none is named: ``2026-11-20``, ``today``, ``yesterday``.

    Raises InputError when nothing was written on it.
    """
    root = Path() if app.is_fresh else app.open_store().root
    days = [] if app.is_fresh else diary_days(root)
    if not text:
        text = next((name for name in days if _entries(root, name)), "")
        if not text:
            raise InputError(
                "the diary has no entry yet",
                fix=f"{HOW_IT_COMES}{no_model(app)}",
            )
    elif parse_day(text) is None:
        if text.lower() not in ("today", "yesterday"):
            raise UsageError(f"{text!r} is no day", fix="Write 2026-11-20, today or yesterday.")
        text = zone.day(iso(moment_of(text, app.clock.now())))
    entries = _entries(root, text) if days else []
    if not entries:
        newest = next((name for name in days if _entries(root, name)), "")
        last = f" The last that has one: {newest}." if newest else ""
        raise InputError(
            f"nothing was written on {text}", fix=f"`reverie timeline` lists the days.{last}{no_model(app)}"
        )
    return Day(text, tuple(entries))


def entries(app: App, day: str) -> list[Episode]:
    """Return what was written on `day` (``2026-11-20``), nothing where nothing was.

    Raises StoreError for a page that can't be read.
    """
    return [] if app.is_fresh else _entries(app.open_store().root, day)


def _entries(root: Path, name: str) -> list[Episode]:
    try:
        return diary_day(root, name)
    except OSError as error:
        raise StoreError(
            f"the diary can't be read: {cause(error)}", file=str(root), fix="Make the page a readable file."
        ) from error


def _holds(entry: Episode, asked: list[str]) -> bool:
    text = " ".join((entry.title, *entry.tags, *entry.summary)).casefold()
    return all(word in text for word in asked)
