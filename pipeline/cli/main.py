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
    demo,
    diagnostics,
    dialogue,
    dream,
    evaluation,
    extract,
    install,
    memories,
    output,
    recall,
    schedule,
    search,
    status,
)
from pipeline.core import paths
from pipeline.core.errors import ReverieError
from pipeline.install.hook_registration import note_if_none

cli = typer.Typer(
    name="reverie",
    help="Background memory for Claude Code: finished turns become typed, sourced markdown memories.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

cli.command()(install.init)
cli.command()(install.install)
cli.command()(install.uninstall)
cli.command()(install.mode)
cli.command()(install.adopt)
cli.command()(extract.extract)
cli.command()(extract.ingest)
cli.command()(extract.process)
cli.command()(extract.work)
cli.command()(status.status)
cli.command()(status.statusline)
cli.command()(extract.conversations)
cli.command("list")(memories.list_memories)
cli.command()(memories.show)
cli.command()(memories.why)
cli.command()(recall.recall)
cli.command()(recall.injected)
cli.command()(search.search)
cli.command()(memories.add)
cli.command()(memories.forget)
cli.command()(memories.reindex)
cli.command()(search.embed)
cli.command("doctor")(diagnostics.examine)
cli.command()(diagnostics.audit)
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
cli.add_typer(dialogue.dialogue, name="dialogue")
cli.add_typer(schedule.schedule, name="schedule")
cli.command()(demo.demo)
cli.command("eval")(evaluation.evaluate)
cli.command()(install.config)
cli.command("hooks")(install.hooks_snippet)


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
    if "doctor" not in sys.argv[1:2]:  # it looks only
        note_if_none(paths.home_dir())
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
