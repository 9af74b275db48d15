"""``reverie status``, the state of everything on one screen, and ``reverie statusline``, a line of it."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.cli import front, output
from pipeline.cli.options import GraphOption, JsonOption, LlmOption, StoreOption
from pipeline.cli.screen import screen, show
from pipeline.install import status_line

_REDRAW_SECONDS = 2.0


def status(
    watch: Annotated[bool, typer.Option("--watch", help="Redraw every two seconds until Ctrl-C.")] = False,
    frames: Annotated[int, typer.Option("--frames", min=0, hidden=True)] = 0,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show queue, last runs, spend against caps, inbox."""
    app = App(store=store, graph=graph, llm=llm)
    if watch and not as_json:
        draw = lambda columns, lines: screen(app.status(), columns, lines)  # noqa: E731
        output.screens(draw, seconds=_REDRAW_SECONDS, frames=frames)
        return
    show(app, as_json=as_json)


def statusline(
    setting: Annotated[
        bool, typer.Option("--setting", help="Print what to put into Claude Code's settings.json.")
    ] = False,
) -> None:
    """Print one line for Claude Code's status line.

    It reads the session's JSON from stdin. Claude Code should run the quicker script that --setting names.
    """
    if setting:
        output.data(status_line.setting(), output.line, as_json=True)
        return
    front.statusline()
