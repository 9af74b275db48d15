"""``reverie schedule``: have the machine's own scheduler look for a dream every few hours."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.options import JsonOption
from pipeline.core.errors import UsageError
from pipeline.install.schedule import setup
from pipeline.install.schedule.setup import KINDS, Kind, Scheduled

schedule = typer.Typer(
    help="Run dreams from the system scheduler.", no_args_is_help=True, context_settings=HELP_OPTIONS
)
KindOption = Annotated[
    str,
    typer.Option("--kind", metavar="K", help="systemd, launchd, cron or windows; default: this machine's."),
]


@schedule.command()
def install(kind: KindOption = "", as_json: JsonOption = False) -> None:
    """Put the job in place; doing it again brings it up to date."""
    _show(setup.install(App().home, _kind(kind)), as_json)


@schedule.command()
def status(kind: KindOption = "", as_json: JsonOption = False) -> None:
    """Say whether the job is in place and up to date."""
    _show(setup.status(App().home, _kind(kind)), as_json)


@schedule.command()
def remove(kind: KindOption = "", as_json: JsonOption = False) -> None:
    """Take the job away."""
    _show(setup.remove(App().home, _kind(kind)), as_json)


def _kind(name: str) -> Kind | None:
    if not name:
        return None
    found = next((kind for kind in KINDS if kind == name), None)
    if found is None:
        raise UsageError(f"there is no scheduler {name!r}", fix=f"One of {', '.join(KINDS)}.")
    return found


def _show(found: Scheduled, as_json: bool) -> None:
    def tell() -> None:
        state = "installed" if found.installed else "not installed"
        stale = ", from an earlier install: run `reverie schedule install`"
        name = "scheduler" if found.kind == "none" else found.kind
        output.line(f"{name}: {state}{stale if found.installed and not found.current else ''}")
        for file in found.files:
            output.line(f"  {file}")
        if found.answer:
            output.talk(found.answer)

    output.data(found, tell, as_json=as_json)
