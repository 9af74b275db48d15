"""Commands over what happened when: timeline, day, calendar."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated

import typer

from pipeline.app import days, diary
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, StoreOption
from pipeline.cli.tables import table
from pipeline.core.zone import minute
from pipeline.domain.memory import TYPES
from pipeline.store import Episode
from pipeline.text.humanize import count


def timeline(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="Only entries with them.")
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="2026-11-20, yesterday, 7d or 2w.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many days.")] = 14,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what conversations were about, day by day.

    The newest day comes first. The entries are those of the diary, which a model writes when a conversation
    is over.
    """
    limit = 0 if since else limit
    app = App(store=store, graph=graph)
    found = diary.timeline(app, since=since, words=" ".join(words or ()), limit=limit)

    def tell() -> None:
        for page in found:
            output.line(page.day)
            for entry in page.entries:
                output.hanging(f"  {entry.time}  ", entry.title, level="ok")
        if not found:
            output.line("nothing in the diary" if since or words else "the diary has no entry yet")

    output.data(found, tell, as_json=as_json)
    if not found and not as_json:
        output.talk(f"{diary.HOW_IT_COMES}{diary.no_model(app)}")
    if found and not as_json:
        entries = sum(len(page.entries) for page in found)
        output.talk(
            f"{count(entries, 'entry', 'entries')}; `reverie day {found[0].day}` shows that day whole."
        )


def day(
    when: Annotated[
        str, typer.Argument(metavar="DAY", help="2026-11-20, today or yesterday. Default: the newest.")
    ] = "",
    everywhere: Annotated[bool, typer.Option("--all", help="In every project, not only here.")] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one day whole: the diary, conversations, memories.

    What was said, and what was learned, changed and forgotten that day, by the clocks of your zone.
    """
    found = days.whole(App(store=store, graph=graph), when, everywhere=everywhere)

    def tell() -> None:
        output.line(found.day)
        for entry in found.entries:
            if not _is_learned(entry, found.learned):
                _tell(entry)
        for talk in found.conversations:
            _tell_talk(talk, with_project=everywhere)
        for word in days.BECAME:
            _tell_deeds(word, getattr(found, word))
        _tell_recalled(found.recalled)

    output.data(found, tell, as_json=as_json)


def calendar(
    when: Annotated[str, typer.Argument(metavar="MONTH", help="2026-11. Default: this month.")] = "",
    everywhere: Annotated[bool, typer.Option("--all", help="In every project, not only here.")] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the days of a month on which anything happened.

    With how many conversations there were, what you typed, and how many memories came, changed and went.
    """
    found = days.month(App(store=store, graph=graph), when, everywhere=everywhere)

    def tell() -> None:
        columns = ["day", "conversations", "turns", "episodes", "learned", "changed", "forgotten", "recalled"]
        rows = [[f"{counts.day} {_weekday(counts.day)}", *_numbers(counts)] for counts in found.days]
        if len(rows) > 1:
            rows.append(["all", *_numbers(found.total)])
        table(columns, rows, empty=f"nothing happened in {found.month}")

    output.data(found, tell, as_json=as_json)
    if found.days and not as_json:
        output.talk(f"Days of {found.zone}; `reverie day {found.days[-1].day}` shows that day whole.")


def _numbers(counts: days.Counts) -> list[str]:
    numbers = (counts.conversations, counts.turns, counts.episodes)
    became = (counts.learned, counts.changed, counts.forgotten, counts.recalled)
    return [str(number or "") for number in (*numbers, *became)]


def _weekday(day: str) -> str:
    return f"{date.fromisoformat(day):%a}"


def _is_learned(entry: Episode, learned: Sequence[days.Deed]) -> bool:
    """Whether `entry` only says that a memory was written, which stands among what was `learned`."""
    stem = PurePosixPath(entry.memory).stem
    return entry.type in TYPES and any(stem.startswith(deed.memory) for deed in learned)


def _tell_talk(talk: days.Talk, *, with_project: bool) -> None:
    output.line()
    first, last = (minute(moment)[-5:] for moment in (talk.first, talk.last))
    output.hanging(f"{first}–{last}  ", talk.begins or "(its words were deleted)", level="ok")
    more = [f"conversation {talk.id}", count(talk.turns, "turn"), talk.status]
    output.hanging("       ", ", ".join([*more, *([talk.project] if with_project else [])]))


def _tell_deeds(word: str, deeds: Sequence[days.Deed]) -> None:
    if deeds:
        output.line()
        output.line(f"{word}:")
    for deed in deeds:
        how = "" if deed.word in ("created", "changed") else f" ({deed.word})"
        output.hanging(f"{minute(deed.at)[-5:]}  ", f"{deed.memory}{how}: {deed.description}")


def _tell_recalled(memories: Sequence[days.Recalled]) -> None:
    if memories:
        output.line()
        output.line("recalled:")
    for recalled in memories:
        output.hanging(
            f"{minute(recalled.at)[-5:]}  ", f"{recalled.memory} ({count(recalled.times, 'time')})"
        )


def _tell(entry: Episode) -> None:
    output.line()
    output.hanging(f"{entry.time}  ", entry.title, level="ok")
    for text in entry.summary:
        output.hanging("       - ", text)
    if entry.tags:
        output.hanging("       ", f"tags: {', '.join(entry.tags)}")
    if entry.memory:
        output.hanging("       ", f"memory: {entry.memory}")
