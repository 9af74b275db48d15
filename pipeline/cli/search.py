"""Commands about finding memories: search, and embed, which makes the vectors that search may use."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from pipeline.app import expanding
from pipeline.app import search as app_search
from pipeline.app.application import App
from pipeline.app.embed import Embedded
from pipeline.app.embed import embed as make_vectors
from pipeline.app.scopes import SHOWN
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, LlmOption, StoreOption, UserOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table, titled
from pipeline.core.zone import day
from pipeline.search import semantic

_LEAST_WIDE = 100
"""Columns beside the longest name from which on a table leaves a snippet on one line or two."""


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words of the memory.")],
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 10,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every known memory folder, not only the one here.")
    ] = False,
    further: Annotated[
        int | None,
        typer.Option(
            "--further",
            metavar="N",
            min=0,
            help="So many more that the first ones lead to.",
            show_default=str(app_search.FURTHER),
        ),
    ] = None,
    retired: Annotated[
        bool, typer.Option("--retired", "--archived", help="Retired memories as well.")
    ] = False,
    dormant: Annotated[
        bool, typer.Option("--dormant", help="Dormant memories as well (`reverie decay`).")
    ] = False,
    asleep: Annotated[bool, typer.Option("--asleep", help="All that sleep as well.")] = False,
    expand: Annotated[
        bool, typer.Option("--expand", help="Ask a model once for further phrases to look for.")
    ] = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories by their words, here and in the user scope."""
    problems: list[str] = []
    app = App(store=store, graph=graph, user=user, llm=llm)
    wanted = " ".join(query)
    look = partial(app_search.search, app, wanted, limit=limit, everywhere=everywhere, retired=retired)
    look = partial(look, dormant=dormant, archived=asleep)
    usual = app_search.EXPANDED if expand else app_search.FURTHER
    most = usual if further is None else further
    hits = look(further=0 if expand else most, problems=problems)
    if expand:
        phrases = expanding.phrases(app, wanted, hits, problems)
        hits = look(further=most, phrases=phrases, problems=[])
    near = semantic.is_on(app.settings.embeddings)
    output.data(hits, lambda: _tell(hits, everywhere=everywhere, near=near), as_json=as_json)
    for problem in problems:
        output.talk(problem)
    count = 0 if retired else app_search.archived_hits(app, wanted, everywhere=everywhere)
    if count:
        output.talk(f"{count} more {'is' if count == 1 else 'are'} retired: --retired shows them.")


def embed(
    everywhere: Annotated[bool, typer.Option("--all", help="Every store Reverie knows.")] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Also those that are there already.")] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the vectors that [embeddings] asks for.

    The model on this machine comes with the extra `semantic`.
    Exit code 1 when some could not be made.
    """
    with progress("embedding"):
        found = list(make_vectors(App(store=store, graph=graph), everywhere=everywhere, anew=anew))
    output.data(found, lambda: _tell_embedded(found), as_json=as_json)
    if any(store_vectors.vectors.pending for store_vectors in found):
        raise typer.Exit(1)


def _tell(hits: list[app_search.Hit], *, everywhere: bool, near: bool) -> None:
    if not hits:
        output.line(f"no memory has these words{', and none is near in meaning' if near else ''}")
        return
    wide = any(hit.scope != "project" for hit in hits)
    room = output.width()
    if room is not None and room < max(len(hit.name) for hit in hits) + _LEAST_WIDE:
        for hit in hits:
            more = [hit.type, day(hit.said, "unknown"), *(["retired"] if hit.retired else [])]
            more += [hit.store] if everywhere else [SHOWN[hit.scope]] if hit.scope != "project" else []
            lead = "–     " if hit.via else f"{hit.score:.2f}  "
            titled(lead, hit.name, more)
            output.hanging("      ", _snippet_of(hit))
        return
    columns = ["score", "name", "type", "said", "snippet"]
    columns += ["store"] if everywhere else ["for"] if wide else []
    rows = [
        [
            "–" if hit.via else f"{hit.score:.2f}",
            f"{hit.name} (retired)" if hit.retired else hit.name,
            hit.type,
            day(hit.said, "unknown"),
            _snippet_of(hit),
            hit.store if everywhere else SHOWN[hit.scope],
        ]
        for hit in hits
    ]
    table(columns, [row[: len(columns)] for row in rows])


def _snippet_of(hit: app_search.Hit) -> str:
    return f"by way of {hit.via}: {hit.snippet}" if hit.via else hit.snippet


def _tell_embedded(found: list[Embedded]) -> None:
    for embedded in found:
        done = embedded.vectors
        output.line(
            f"{embedded.store}: {done.made} made, {done.total} in all, by {done.provider} ({done.model})"
        )
        if done.pending:
            output.talk(f"{done.pending} without a vector, found by their words alone: {done.reason}")
