"""``reverie mcp``: the MCP server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.app.application import App
from pipeline.cli import front, output
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.core.errors import UsageError
from pipeline.server import tools
from pipeline.server.tools import LEAN, PROFILES


def mcp(
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            metavar="P",
            help=f"The tools to offer: {', '.join(PROFILES)}.",
            autocompletion=lambda: PROFILES,
        ),
    ] = LEAN,
    http: Annotated[
        bool,
        typer.Option("--http", help="Serve many clients over HTTP on loopback, with a token (extra `mcp`)."),
    ] = False,
    port: Annotated[int, typer.Option("--port", metavar="N", help="With --http; 0 takes a free one.")] = 0,
    list_tools: Annotated[
        bool, typer.Option("--list-tools", help="Only print the tools with their sizes.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve the memories to an MCP client over stdio.

    A client starts it; `reverie init --client NAME` registers it. Stdout carries the protocol alone.
    """
    require_profile(profile)
    if list_tools:
        _list(profile, as_json=as_json)
    elif http:
        _serve_http(profile, port)
    else:
        front.serve(profile)


def require_profile(profile: str) -> None:
    """Raise UsageError for a profile that there is not."""
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", fix=f"Profiles: {', '.join(PROFILES)}.")


def _serve_http(profile: str, port: int) -> None:
    app = App()
    app.require_settings()
    from pipeline.server import http
    from pipeline.server.requests import Requests

    file = http.token_file(app.home)

    def ready(url: str) -> None:
        output.line(url)
        output.talk(f"Clients show the token in {file} as `Authorization: Bearer TOKEN`. Ctrl-C ends it.")

    http.serve(Requests(profile), app.here, file.read_text("utf-8").strip(), port=port, ready=ready)


def _list(profile: str, *, as_json: bool) -> None:
    found = tools.of_profile(profile).values()
    listed: list[dict[str, Any]] = [{**tool.listed, "available": bool(tool.run)} for tool in found]

    def tell() -> None:
        rows = [[tool.name, tool.title, "yes" if tool.run else "later"] for tool in found]
        table(["tool", "what", "there"], rows)

    output.data(listed, tell, as_json=as_json)
