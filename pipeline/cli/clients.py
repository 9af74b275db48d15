"""Registering the MCP server: with Claude Code at `init`, and with other programs by ``init --client``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import first_run
from pipeline.cli import output
from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.install import claude_settings, clients, hooks
from pipeline.install.clients import CLAUDE_CODE, CLIENTS, Client
from pipeline.install.hooks import Edit

ClientOption = Annotated[
    list[str] | None,
    typer.Option("--client", metavar="NAME", help=f"Only register the MCP server: {', '.join(CLIENTS)}."),
]
McpOption = Annotated[
    bool | None, typer.Option("--mcp/--no-mcp", help="Also register the MCP server with Claude Code.")
]
_LINE_BY_LINE = "`--dry-run` shows the change line by line."


def register(names: Sequence[str], *, dry_run: bool, yes: bool, tell: Callable[[str], None]) -> None:
    """Put our server into the files of the clients called `names`, each after a yes.

    All are looked at before one is changed. Raises InputError where nobody can be asked and no yes was given.
    """
    edits = [_edit(clients.named(name)) for name in dict.fromkeys(names)]
    for client, edit in edits:
        if not edit.changes:
            tell(f"already there: {edit.file} names the server for {client.title}")
            continue
        tell(edit.diff.rstrip("\n") if dry_run else edit.about)
        if dry_run:
            continue
        if not yes and not output.can_ask():
            raise InputError("nothing was changed: here nobody can be asked", fix="Add --yes.")
        if not yes:
            output.talk(_LINE_BY_LINE)
        if yes or output.ask(f"Write this to {edit.file}?"):
            _write(edit, client, tell)
        else:
            output.talk("nothing was changed")


def require_fit(wanted: bool | None) -> None:
    """Raise InputError where the server is `wanted` and can't be registered: before anything is changed."""
    if wanted and not claude_settings.wiring(paths.project_root(Path.cwd())).plugin:
        _edit(clients.named(CLAUDE_CODE))


def offer(wanted: bool | None, *, dry_run: bool, yes: bool, tell: Callable[[str], None]) -> None:
    """Register the server with Claude Code if it is `wanted`; where nobody said (None), ask in a terminal.

    That is asked once the hooks are in. Where the plugin brings it, nothing is to be done.
    """
    root = paths.project_root(Path.cwd())
    if claude_settings.wiring(root).plugin or wanted is False:
        return
    if wanted:
        register([CLAUDE_CODE], dry_run=dry_run, yes=True, tell=tell)
        return
    if yes or dry_run or not (output.can_ask() and first_run.wired(root)):
        return
    try:
        client, edit = _edit(clients.named(CLAUDE_CODE))
    except InputError as error:
        # Nobody asked for it, and what was installed is no worse for it.
        output.talk(f"no MCP server is offered: {error}")
        return
    if edit.changes and output.ask(
        f"Also let Claude ask for memories and keep them itself, by an MCP server in {edit.file}?"
    ):
        _write(edit, client, tell)


def _edit(client: Client) -> tuple[Client, Edit]:
    file, before, after = clients.plan(client)
    about = f"into {file} ({'a new file' if before is None else 'nothing else in it changes'}):"
    return client, Edit(file, before, after, f"{about}\n  the server {clients.NAME} for {client.title}")


def _write(edit: Edit, client: Client, tell: Callable[[str], None]) -> None:
    hooks.install(paths.home_dir(), edit)
    tell(f"registered with {client.title}; `reverie uninstall` takes it out again")
    output.talk(f"{client.title} starts it anew when it is opened the next time.")
