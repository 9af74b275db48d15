"""``reverie``: the command tree and its one catch-all boundary.

Exit codes: 0 done, 1 something is wrong (told on stderr), 2 wrong usage.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from pipeline import __version__
from pipeline.cli import (
    change,
    checks,
    dream,
    find,
    installing,
    look,
    output,
    read,
    recollect,
    scheduled,
    show_off,
    status,
    status_line,
    vectors,
)
from pipeline.errors import ReverieError

cli = typer.Typer(
    name="reverie",
    help="Background memory for Claude Code: finished turns become typed, sourced markdown memories.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

cli.command()(installing.init)
cli.command()(installing.install)
cli.command()(installing.uninstall)
cli.command()(installing.mode)
cli.command()(read.extract)
cli.command()(read.ingest)
cli.command()(read.process)
cli.command()(read.work)
cli.command()(status.status)
cli.command()(status_line.statusline)
cli.command()(look.conversations)
cli.command("list")(look.list_memories)
cli.command()(look.show)
cli.command()(look.why)
cli.command()(recollect.recall)
cli.command()(recollect.injected)
cli.command()(find.search)
cli.command()(change.add)
cli.command()(change.forget)
cli.command()(change.reindex)
cli.command()(vectors.embed)
cli.command("doctor")(checks.examine)
cli.command()(checks.audit)
cli.command()(dream.consolidate)
cli.command()(dream.dream)
cli.command()(dream.report)
cli.command()(dream.history)
cli.command()(dream.diff)
cli.command()(dream.undo)
cli.command()(dream.restore)
cli.command()(dream.pin)
cli.command()(dream.unpin)
cli.add_typer(dream.inbox, name="inbox")
cli.add_typer(scheduled.schedule, name="schedule")
cli.command()(show_off.demo)
cli.command("eval")(show_off.evaluate)
cli.command()(look.config)
cli.command()(look.hooks)


def _version(wanted: bool) -> None:
    if wanted:
        output.line(f"reverie {__version__}")
        raise typer.Exit


@cli.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Background memory for Claude Code."""


def run() -> None:
    """Run the command line; the boundary at which any error becomes one readable message."""
    output.utf8()
    try:
        cli()
    except ReverieError as error:
        output.failure(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if os.environ.get("REVERIE_DEBUG"):
            raise
        output.talk(
            f"error: {type(error).__name__}: {error}\n\n"
            "This is a fault in Reverie; REVERIE_DEBUG=1 shows where."
        )
        sys.exit(1)


if __name__ == "__main__":
    run()
