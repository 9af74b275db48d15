"""Commands over the diary that conversations leave: timeline, day."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app import diary
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, StoreOption
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
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one day of the diary whole."""
    found = diary.day(App(store=store, graph=graph), when)

    def tell() -> None:
        output.line(found.day)
        for entry in found.entries:
            _tell(entry)

    output.data(found, tell, as_json=as_json)


def _tell(entry: Episode) -> None:
    output.line()
    output.hanging(f"{entry.time}  ", entry.title, level="ok")
    for text in entry.summary:
        output.hanging("       - ", text)
    if entry.tags:
        output.hanging("       ", f"tags: {', '.join(entry.tags)}")
    if entry.memory:
        output.hanging("       ", f"memory: {entry.memory}")
