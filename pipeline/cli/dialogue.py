"""``reverie dialogue``: what was said, as the ledger holds it, and deleting it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import dialogue as use_case
from pipeline.app import transcripts
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import JsonOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table, titled
from pipeline.core.errors import InputError
from pipeline.core.zone import minute
from pipeline.text.humanize import count, day_and_time, room, short_path

_WITH_IT = (
    "With the words go models' replies about them, what hooks told of them, the session's own memory, their"
    " claims in the journal, and their entries in the search index. Memories with their quotes stay, empty"
    " rows that they point at, Claude Code's transcripts, and what you wrote out yourself: exported traces,"
    " journals in other folders."
)
dialogue = typer.Typer(help="Search, show or delete the dialogue in the ledger.", no_args_is_help=True)


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
                short_path(row["project"]) or "unknown",
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
def search(
    query: Annotated[
        list[str],
        typer.Argument(metavar="WORDS", help='What was said; "in quotes" stands together, wor* begins.'),
    ],
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="Only of this project.")
    ] = None,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only of this session.")] = "",
    speaker: Annotated[
        str, typer.Option("--speaker", metavar="S", help=f"Only of one: {', '.join(transcripts.SPEAKERS)}.")
    ] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="2026-11-20, yesterday, 7d or 2w.")
    ] = "",
    until: Annotated[str, typer.Option("--until", metavar="WHEN", help="The same; a day counts whole.")] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 20,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make the index anew first; it holds nothing of its own.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find what was said, in all that the ledger holds.

    It holds what you typed and what Claude wrote to you, also where Claude Code has deleted the transcript.
    Words that were asked for stand between « and ».
    """
    app = App()
    if rebuild:
        with progress("making the index"):
            transcripts.rebuild(app)
    scope = transcripts.Scope(project=project, session=session, speaker=speaker, since=since, until=until)
    with progress("searching"):
        found = transcripts.search(app, " ".join(query), scope, limit=limit)

    def tell() -> None:
        for hit in found.hits:
            who = "you" if hit.speaker == "person" else "Claude"
            more = [hit.project or "unknown project", hit.session[:8]]
            more += [f"conversation {hit.conversation}"] if hit.conversation is not None else []
            titled(f"{minute(hit.at, 'unknown')}  ", who, more)
            output.hanging("    ", hit.excerpt)
        if not found.hits:
            output.line("nobody has said that")

    output.data(found, tell, as_json=as_json)
    if found.partly:
        output.talk("Nothing holds all of these words; this holds some of them.")
    if found.more:
        output.talk(f"There is more: --limit {2 * limit}.")


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
    file: Annotated[
        str, typer.Option("--file", metavar="F", help="Only of this transcript, there or not.")
    ] = "",
    unread: Annotated[
        bool, typer.Option("--unread", help="Also what was not read yet, of which memories may still come.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go; delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Don't ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete dialogue from the ledger; memories and their quotes stay.

    With it goes what was derived of it: models' replies about it, what hooks told of it, the session's own
    memory, its words in the index of `dialogue search`. What no run has read yet stays, unless --unread is
    given. Claude Code's own transcripts are not touched.
    """
    app = App()
    what = use_case.Selection(project, older_than, session, unread, file)
    found = use_case.chosen(app, what)
    rows = [row for row in found if row["size"]]
    if rows and not dry_run:
        rows = _deleted(app, what, len(rows), yes=yes)

    def tell() -> None:
        for row in rows if dry_run else ():
            when = day_and_time(row["last"], app.clock.now()) if row["last"] else "unknown"
            output.line(f"{when:>12}  {short_path(row['project']) or 'unknown'}  {row['session_id']}")
        size = sum(row["size"] for row in rows)
        output.line(f"{count(len(rows), 'session')}, {room(size)} {'would go' if dry_run else 'deleted'}")
        kept = 0 if unread else sum(row["unread"] for row in found)
        if kept:
            output.talk(f"{count(kept, 'utterance')} not read yet stay; --unread deletes them, too.")
        if rows:
            output.talk(_WITH_IT)

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
