"""``reverie journal``: the journals of sessions and claims, and bringing all of them up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import journals as use_case
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.journal_options import JournalsOption, PlotOption, latest, tell_faults
from pipeline.cli.listings import LimitOption
from pipeline.cli.options import DryRunOption, JsonOption
from pipeline.cli.tables import table
from pipeline.core import clock
from pipeline.core.atomic import ensure_dir
from pipeline.formats.keisei import claims, journals, sessions
from pipeline.formats.keisei.journals import TIERS, Fault
from pipeline.text.humanize import count

journal = typer.Typer(
    help="Show the journals of sessions and claims, or update them.",
    no_args_is_help=True,
    context_settings=HELP_OPTIONS,
)
_LEADS = {True: "found", False: "nothing there", None: ""}


def _folder(given: Path | None) -> Path:
    return given or journals.default_folder()


@journal.command()
def update(folder: JournalsOption = None, dry_run: DryRunOption = False, as_json: JsonOption = False) -> None:
    """Add what the ledger and the transcripts know.

    Sessions that are over, tasks of sub-agents, and claims that the assistant marked.
    Nothing that is in a journal is changed.
    """
    done = use_case.update(App(), _folder(folder), dry_run=dry_run)
    numbers = (
        count(done.sessions, "session"),
        count(done.tasks, "task"),
        count(done.claims, "claim"),
    )
    would = "would be added" if dry_run else "added"
    output.data(done, lambda: output.line(f"{', '.join(numbers)} {would}: {done.folder}"), as_json=as_json)
    if done.running and not as_json:
        output.talk(f"{count(done.running, 'session')} not over yet")


@journal.command("sessions")
def list_sessions(
    folder: JournalsOption = None,
    limit: LimitOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the sessions of the journal, the latest last.

    Each with its seconds.
    """
    faults: list[Fault] = []
    known = sessions.sessions(_folder(folder) / journals.SESSIONS, faults)
    found = latest(known, limit, as_json=as_json)
    rows = [(item.id, journals.stamp(item.start_epoch), str(item.duration_s)) for item in found]
    _show(
        found,
        ("session", "began", "seconds"),
        rows,
        "no sessions; `reverie journal update` adds them",
        as_json,
    )
    if plot is not None:
        from pipeline.formats.keisei import plots

        plots.durations([item.duration_s for item in known], plot)
        output.talk(f"drawn: {plot}")
    tell_faults(faults)


@journal.command("claims")
def list_claims(
    folder: JournalsOption = None, limit: LimitOption = None, as_json: JsonOption = False
) -> None:
    """List the claims of the journal, the latest last.

    It says whether what each points to is there.
    """
    faults: list[Fault] = []
    known = claims.claims(_folder(folder), faults)
    found = latest(known, limit, as_json=as_json)
    rows = [(item.value, item.evidence_tier, item.pointer, _LEADS[item.leads]) for item in found]
    _show(found, ("claim", "tier", "points to", ""), rows, "no claims", as_json)
    tell_faults(faults)


@journal.command()
def claim(
    value: Annotated[str, typer.Argument(metavar="CLAIM", help="The sentence with the figure.")],
    tier: Annotated[str, typer.Option("--tier", metavar="TIER", help=f"{', '.join(TIERS)}.")],
    pointer: Annotated[
        str, typer.Option("--pointer", metavar="TEXT", help="What it rests on: tasks.jsonl#wave5, say.")
    ] = "",
    session: Annotated[str, typer.Option("--session", metavar="ID", help="The session it is of.")] = "",
    folder: JournalsOption = None,
) -> None:
    """Note a claim yourself."""
    line = claims.claim_line(value, tier, pointer, clock.from_environment().now().timestamp(), session)
    file = ensure_dir(_folder(folder)) / journals.CLAIMS
    journals.append(file, [line])
    output.line(str(file))


def _show(
    found: object, columns: tuple[str, ...], rows: Sequence[Sequence[str]], empty: str, as_json: bool
) -> None:
    output.data(found, lambda: table(columns, rows, empty=empty), as_json=as_json)
