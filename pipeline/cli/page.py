"""``reverie open``: the page in a browser."""

from __future__ import annotations

import secrets
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import StoreOption
from pipeline.core.atomic import write_atomic
from pipeline.core.home import Home

_REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>Reverie</title>
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">Open Reverie</a></p>
"""


def open_page(
    store: StoreOption = None,
    port: Annotated[int, typer.Option("--port", metavar="N", help="0 takes a free one.")] = 0,
    idle: Annotated[
        float, typer.Option("--idle", metavar="MINUTES", min=0.05, help="End when nobody asks so long.")
    ] = 30,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser, or only print the address.")
    ] = True,
) -> None:
    """Show memories, dreams, inbox and cost in a browser.

    It needs the extra `web`, and shows the graph as well.
    The server is for you alone: on this machine, with a token in its address, until Ctrl-C or MINUTES without
    a request.
    """
    app = App(store=store)
    from pipeline.web.rendering import keep_compiled
    from pipeline.web.serving import serve
    from pipeline.web.site import site, warm
    from pipeline.web.visit import Setting

    keep_compiled(Home(app.home).templates)
    setting = Setting(folder=Path(app.here), secret=secrets.token_bytes(32), store=store)

    def ready(address: str) -> None:
        output.line(address)
        output.talk("Ctrl-C ends it. Who has the address can read and change your memories.")
        if browser:
            webbrowser.open(_by_way_of_a_file(app.home, address))

    serve(site(setting), port=port, idle_seconds=idle * 60, ready=ready, ahead=partial(warm, setting))


def _by_way_of_a_file(home: Path, address: str) -> str:
    """Return the address of a private file that leads to `address`: others can see a browser's arguments."""
    file = Home(home).page
    write_atomic(file, _REDIRECT.format(address=address).encode())
    return file.as_uri()
