"""Commands over what is made to be read from a store: core, reflection, episode, episodes, tags."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app import diary, views
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, StoreOption, UserOption
from pipeline.text.humanize import count

LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")]


def core(
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make CORE.md anew, and print it.

    It has the memories that are alive, by section, best first.
    """
    app = App(store=store, graph=graph, user=user)
    page = views.core(app, app.open_store())
    output.data(page, lambda: output.line(page.text.rstrip("\n")), as_json=as_json)


def reflection(
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make REFLECTION.md anew, and print it.

    It has themes, patterns across projects, what is used most, insights, and what dreams did.
    """
    app = App(store=store, graph=graph, user=user)
    page = views.reflection(app, app.open_store())
    output.data(page, lambda: output.line(page.text.rstrip("\n")), as_json=as_json)


def episode(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What happened, in a few words.")],
    kind: Annotated[
        str, typer.Option("--type", metavar="T", help="What it was: fix, decision, note and the like.")
    ] = "note",
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag.")] = None,
    summary: Annotated[
        list[str] | None, typer.Option("--summary", metavar="TEXT", help="A line about it.")
    ] = None,
    memory: Annotated[str, typer.Option("--memory", metavar="NAME", help="The memory it is about.")] = "",
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an entry to today's page of the diary."""
    app = App(store=store, graph=graph, user=user)
    entry = views.add_episode(
        app,
        app.open_store(create=True),
        title=title,
        type_name=kind,
        tags=tag or (),
        summary=summary or (),
        memory=memory,
    )
    output.data(entry, lambda: output.line(f"noted      {entry.day} {entry.time}"), as_json=as_json)


def episodes(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="Only entries with them.")
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="2026-11-20, yesterday, 7d or 2w.")
    ] = "",
    kind: Annotated[str, typer.Option("--type", metavar="T", help="Only entries of this type.")] = "",
    limit: LimitOption = 20,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the entries of the diary, the newest first."""
    app = App(store=store, graph=graph, user=user)
    found = []
    if not app.is_fresh:
        found = views.episodes(
            app, app.open_store(), since=since, words=" ".join(words or ()), kind=kind, limit=limit
        )

    def tell() -> None:
        for entry in found:
            output.hanging(f"{entry.day} {entry.time}  ", f"{entry.title} ({entry.type})")
        if not found:
            output.line("nothing in the diary")

    output.data(found, tell, as_json=as_json)
    if not found and not as_json:
        output.talk(f"{diary.HOW_IT_COMES}{diary.no_model(app)}")


def tags(
    tag: Annotated[
        str, typer.Argument(metavar="TAG", help="List those that stand beside this one instead.")
    ] = "",
    limit: LimitOption = 50,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tags in use, the most frequent first."""
    app = App(store=store, graph=graph, user=user)
    here = app.open_store()
    found = views.related_tags(app, here, tag, limit) if tag else views.tags(app, here, limit)

    def tell() -> None:
        for item in found:
            output.line(f"{item.tag}  {count(item.memories, 'memory', 'memories')}")
        if not found:
            output.line("no tag stands beside it" if tag else "no memory has a tag")

    output.data(found, tell, as_json=as_json)
