"""``reverie``: the command tree and its one catch-all boundary.

Exit codes: 0 done, 1 something is wrong (told on stderr), 2 wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline import __version__
from pipeline.cli import (
    adopt,
    changes,
    demo,
    diagnostics,
    dialogue,
    diary,
    dream,
    evaluation,
    extract,
    groups,
    inbox,
    install,
    memories,
    output,
    recall,
    schedule,
    search,
    settings,
    status,
)
from pipeline.config import load_or_defaults
from pipeline.core import paths
from pipeline.core.errors import InputError, ReverieError, UsageError, cause
from pipeline.hooklib import places
from pipeline.hooklib.settings import WRITING, step_for
from pipeline.install.hook_registration import note_if_none

cli = typer.Typer(
    name="reverie",
    cls=groups.Program,
    help="Background memory for Claude Code: finished turns become typed, sourced markdown memories.",
    no_args_is_help=True,
    context_settings=groups.HELP_OPTIONS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    groups.SETTING_UP: {
        "init": install.init,
        "install": install.install,
        "uninstall": install.uninstall,
        "mode": install.mode,
        "adopt": adopt.adopt,
        "allow": install.allow,
        "config": settings.config,
        "hooks": install.hooks_snippet,
        "statusline": status.statusline,
        "schedule": schedule.schedule,
    },
    groups.HEALTH: {"status": status.status, "doctor": diagnostics.examine, "audit": diagnostics.audit},
    groups.MEMORIES: {
        "list": memories.list_memories,
        "show": memories.show,
        "why": memories.why,
        "search": search.search,
        "add": memories.add,
        "forget": memories.forget,
        "restore": changes.restore,
        "pin": memories.pin,
        "unpin": memories.unpin,
        "reindex": memories.reindex,
        "embed": search.embed,
    },
    groups.DECIDING: {
        "inbox": inbox.inbox,
        "history": changes.history,
        "diff": changes.diff,
        "undo": changes.undo,
    },
    groups.RECALL: {"recall": recall.recall, "injected": recall.injected},
    groups.DIARY: {"timeline": diary.timeline, "day": diary.day},
    groups.READING: {
        "work": extract.work,
        "process": extract.process,
        "extract": extract.extract,
        "ingest": extract.ingest,
        "conversations": extract.conversations,
        "dialogue": dialogue.dialogue,
    },
    groups.DREAMS: {"dream": dream.dream, "consolidate": dream.consolidate, "report": dream.report},
    groups.TRYING: {"demo": demo.demo, "eval": evaluation.evaluate},
}
"""All commands by their heading in ``--help``, each heading and each command in the order shown."""
groups.Program.order = tuple(name for commands in COMMANDS.values() for name in commands)
for _heading, _commands in COMMANDS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            cli.add_typer(_command, name=_name, rich_help_panel=_heading)
        else:
            cli.command(_name, rich_help_panel=_heading)(_command)


def _version(wanted: bool) -> None:
    if wanted:
        output.line(f"reverie {__version__}")
        raise typer.Exit


def _note_settings(_result: object, command: str, **_: object) -> None:
    """Say behind what a command showed that the settings it went by are not those of the file."""
    if not command or command in _TELL_THEMSELVES:
        return
    error = load_or_defaults(paths.home_dir())[1]
    if error is not None:
        output.talk(f"\n{error}. Until it is mended nothing is written and no model is asked.")


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


def _is_somewhere() -> bool:
    """Whether this process stands in a directory; one that was removed is no project's and has no path."""
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def run() -> None:
    """Run the command line; the boundary at which any error becomes one readable message."""
    output.utf8()
    if not _is_somewhere():
        output.failure(
            InputError(
                "the directory you are in was removed", fix="Change to one that exists, then try again."
            )
        )
        sys.exit(1)
    if "doctor" not in sys.argv[1:2]:  # it looks only
        note_if_none(paths.home_dir())
    try:
        program()()
    except ReverieError as error:
        output.failure(error)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        # A full disk, a folder that may only be read, a limit of the system's: wherever it shows.
        step = step_for(error.errno) if error.errno in WRITING else "`reverie doctor` looks at the rest."
        output.talk(f"error: {cause(error)}\n\n{step}")
        sys.exit(1)
    except Exception as error:
        if places.variable("REVERIE_DEBUG"):
            raise
        what = str(error) or "something that nobody foresaw"
        output.talk(f"error: {what}\n\nThis is a fault in Reverie; REVERIE_DEBUG=1 shows where.")
        sys.exit(1)


if __name__ == "__main__":
    run()
