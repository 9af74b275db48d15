"""``reverie dialogue``: what was said, as the ledger holds it, and deleting it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import dialogue as use_case
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.core.errors import InputError
from pipeline.text.humanize import count, day_and_time, room

dialogue = typer.Typer(help="Show or delete the dialogue in the ledger.", no_args_is_help=True)


@dialogue.command("list")
def list_dialogue(as_json: JsonOption = False) -> None:
    """Show how much is held of each project.

    Also how much of it was not read yet.
    """
    app = App()
    rows = use_case.by_project(app)
    now = app.clock.now()

    def tell() -> None:
        shown = [
            [
                row["project"] or "unknown",
                str(row["sessions"]),
                room(row["bytes"]),
                str(row["unread"]),
                day_and_time(row["last"], now) if row["last"] else "unknown",
            ]
            for row in rows
        ]
        table(["project", "sessions", "size", "unread", "last"], shown, empty="no dialogue is held")

    output.data(rows, tell, as_json=as_json)


@dialogue.command()
def delete(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="Only of this project.")
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option("--older-than", metavar="DAYS", min=0, help="Only of sessions silent for so long."),
    ] = None,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only of this session.")] = "",
    unread: Annotated[
        bool, typer.Option("--unread", help="Also what was not read yet, of which memories may still come.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go; delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Don't ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete dialogue from the ledger; memories and their quotes stay.

    What no run has read yet stays too, unless --unread is given. Claude Code's own transcripts are not
    touched.
    """
    app = App()
    what = use_case.Selection(project, older_than, session, unread)
    found = use_case.chosen(app, what)
    rows = [row for row in found if row["size"]]
    if rows and not dry_run:
        rows = _deleted(app, what, len(rows), yes=yes)

    def tell() -> None:
        for row in rows if dry_run else ():
            when = day_and_time(row["last"], app.clock.now()) if row["last"] else "unknown"
            output.line(f"{when:>12}  {row['project'] or 'unknown'}  {row['session_id']}")
        size = sum(row["size"] for row in rows)
        output.line(f"{count(len(rows), 'session')}, {room(size)} {'would go' if dry_run else 'deleted'}")
        kept = 0 if unread else sum(row["unread"] for row in found)
        if kept:
            output.talk(f"{count(kept, 'utterance')} not read yet stay; --unread deletes them, too.")

    output.data(rows, tell, as_json=as_json)


def _deleted(app: App, what: use_case.Selection, sessions: int, *, yes: bool) -> list[dict[str, Any]]:
    question = f"Delete the dialogue of {count(sessions, 'session')} from the ledger?"
    if not yes and not output.can_ask():
        raise InputError(
            f"{question} There is no terminal to ask.", fix="Give -y, or --dry-run to look first."
        )
    if not yes and not output.ask(question):
        raise typer.Exit(1)
    return use_case.delete(app, what)
