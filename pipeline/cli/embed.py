"""The command about vectors: embed."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.app.embed import Embedded
from pipeline.app.embed import embed as make
from pipeline.cli import output
from pipeline.cli.options import JsonOption, StoreOption


def embed(
    everywhere: Annotated[bool, typer.Option("--all", help="Every store Reverie knows.")] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Also those that are there already.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the vectors that [embeddings] asks for.

    Exit code 1 when some could not be made.
    """
    with output.progress("embedding"):
        found = list(make(App(store=store), everywhere=everywhere, anew=anew))
    output.data(found, lambda: _tell(found), as_json=as_json)
    if any(one.vectors.pending for one in found):
        raise typer.Exit(1)


def _tell(found: list[Embedded]) -> None:
    for one in found:
        done = one.vectors
        output.line(f"{one.store}: {done.made} made, {done.total} in all, by {done.provider} ({done.model})")
        if done.pending:
            output.talk(f"{done.pending} without a vector, found by their words alone: {done.reason}")
