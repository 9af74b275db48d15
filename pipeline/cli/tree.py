"""The command tree: what typer makes of the table of commands."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from pipeline import __version__
from pipeline.cli import groups, streams, table

cli = typer.Typer(
    name="reverie",
    cls=groups.Program,
    help=table.ABOUT,
    no_args_is_help=True,
    context_settings=groups.HELP_OPTIONS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        streams.write(f"reverie {__version__}\n")
        raise typer.Exit


def _note_settings(_result: object, command: str, **_: object) -> None:
    """Say behind what a command showed that the settings it went by are not those of the file."""
    if not command or command in _TELL_THEMSELVES:
        return
    from pipeline.cli import output
    from pipeline.config import load_or_defaults
    from pipeline.core import paths

    output.settings_trouble(load_or_defaults(paths.home_dir())[1])


_TELL_THEMSELVES = ("status", "statusline", "hooks", "demo", "eval")
"""Commands that say themselves what is wrong with the settings, or go by none."""


@cli.callback(result_callback=_note_settings)
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Background memory for Claude Code."""
    context.params["command"] = context.invoked_subcommand or ""


@cache
def program() -> Any:
    """Return the command tree, made once in a process: making it takes longer than most commands."""
    return typer.main.get_command(cli)
