"""The command that looks for memories by their words: search."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app import search as finding
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import JsonOption, StoreOption


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words of the memory.")],
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 10,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every known memory folder, not only the one here.")
    ] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Archived memories as well.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories by their words, here and in the user scope."""
    problems: list[str] = []
    hits = finding.search(
        App(store=store),
        " ".join(query),
        limit=limit,
        everywhere=everywhere,
        archived=archived,
        problems=problems,
    )
    output.data(hits, lambda: _tell(hits, everywhere=everywhere), as_json=as_json)
    for problem in problems:
        output.talk(problem)


def _tell(hits: list[finding.Hit], *, everywhere: bool) -> None:
    if not hits:
        output.line("no memory has these words")
        return
    columns = ["score", "name", "type", "said", "snippet", *(["store"] if everywhere else [])]
    rows = [
        [
            f"{hit.score:.2f}",
            f"{hit.name} (archived)" if hit.archived else hit.name,
            hit.type,
            hit.said[:10] or "unknown",
            hit.snippet,
            hit.store,
        ]
        for hit in hits
    ]
    output.table(columns, [row[: len(columns)] for row in rows])
