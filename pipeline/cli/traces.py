"""``reverie traces``: what tools did in each session, for a person and for jq, awk and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePath
from typing import Annotated

import typer

from pipeline.app import traces as use_case
from pipeline.app.application import App
from pipeline.app.traces import Exported, Redaction
from pipeline.cli import listings, output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.journal_options import TranscriptsOption
from pipeline.cli.listings import SHOWN_OF_ID, AllOption
from pipeline.cli.options import JsonOption
from pipeline.cli.progress import progress
from pipeline.cli.streams import write
from pipeline.cli.tables import table
from pipeline.core import zone
from pipeline.core.errors import InputError, UsageError
from pipeline.core.zone import local
from pipeline.formats.keisei.events import Problem
from pipeline.formats.keisei.overview import Call, Overview
from pipeline.hooklib.plain import clipped
from pipeline.text.humanize import count, day_and_time, span

traces = typer.Typer(context_settings=HELP_OPTIONS)

_USUAL = 20
"""Traces that are listed where nobody says how many: each is read whole for it."""
_MOST_TOOLS = 3
_TOOL_CHARS = 24
_MOST_PROBLEMS = 20
_BATCH = 1 << 16
SessionArgument = Annotated[
    str, typer.Argument(metavar="SESSION", help="A session's id, the beginning of one, or a file.")
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=0, help=f"At most so many; 0: all. Else {_USUAL}.")
]


@traces.callback(invoke_without_command=True)
def traces_alone(context: typer.Context) -> None:
    """Show what tools did in each session; write it out.

    Without a command it lists the sessions.
    """
    if context.invoked_subcommand is None:
        list_traces()


@traces.command("list")
def list_traces(
    folder: TranscriptsOption = None,
    limit: LimitOption = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the last written first.

    How long, how many calls of which tools, how many failed, and in which folder.
    """
    shown = listings.most(_USUAL if limit is None and not everything else limit, everything=everything)
    files, hidden = use_case.below(folder)
    rows: list[Overview] = []
    with progress("reading") as tell:
        for found in use_case.listed(islice(files, shown), use_case.secrets_known(App())):
            if isinstance(found, InputError):
                output.talk(f"skipped: {found}")
                continue
            rows.append(found)
            tell(f"reading: {count(len(rows), 'trace')}")
    now = App().clock.now()
    columns = ["session", "last", "lasted", "calls", "errors", "most used", "project"]
    output.data(
        rows,
        lambda: table(columns, [_row(row, now) for row in rows], empty="no session has been written yet"),
        as_json=as_json,
    )
    for error in hidden:
        output.talk(f"skipped: {error}")
    for row in rows:
        _tell_problems(row.file, row.problems)
    listings.tell_rest(len(files), shown)


def _row(row: Overview, now: datetime) -> Sequence[object]:
    lasted = (row.last_ms - row.first_ms) / 1000 if row.first_ms is not None and row.last_ms else None
    tools = [f"{_brief(name)} {number}" for name, number in islice(row.tools.items(), _MOST_TOOLS)]
    return [
        row.session[:SHOWN_OF_ID],
        day_and_time(row.last_ms / 1000, now) if row.last_ms else "unknown",
        "" if lasted is None else span(lasted),
        row.calls,
        row.errors,
        ", ".join(tools),
        PurePath(row.project).name,
    ]


def _brief(tool: str) -> str:
    """Return a tool's name without the server that has it: ``mcp__server__tool``."""
    return clipped(tool.rpartition("__")[2] or tool, _TOOL_CHARS)


@traces.command("show")
def show_trace(
    session: SessionArgument,
    errors: Annotated[bool, typer.Option("--errors", help="Only calls that failed.")] = False,
    folder: TranscriptsOption = None,
    limit: listings.LimitOption = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """List what tools did in one session, call by call.

    Secrets are taken out of all that is shown.
    """
    path = use_case.find(session, folder)
    with progress("reading"):
        found, problems = use_case.shown(path, use_case.secrets_known(App()))
    rows = [call for call in found if call.outcome == "error"] if errors else found
    shown = listings.most(limit, everything=everything, as_json=as_json)
    some = listings.first(rows, shown)
    columns = ["time", "tool", "took", "outcome", "what"]
    output.data(
        some,
        lambda: table(columns, _calls(some), empty="no tool was called"),
        as_json=as_json,
    )
    _tell_problems(str(path), problems)
    listings.tell_rest(len(rows), shown)


def _calls(found: Iterable[Call]) -> list[Sequence[object]]:
    """Return a row for each call, and one with the day alone where another day begins."""
    rows: list[Sequence[object]] = []
    former = ""
    for call in found:
        day = "" if call.at_ms is None else zone.day(_moment(call.at_ms))
        if day and day != former:
            rows.append([day, "", "", "", ""])
            former = day
        rows.append(_call(call))
    return rows


def _moment(milliseconds: int) -> datetime:
    return local(datetime.fromtimestamp(milliseconds / 1000, UTC))


def _call(call: Call) -> Sequence[object]:
    moment = "" if call.at_ms is None else f"{_moment(call.at_ms):%H:%M:%S}"
    took = "" if call.ms is None else f"{call.ms / 1000:,.1f} s"
    what = f"{call.about}: {call.error}" if call.error else call.about
    return [moment, _brief(call.tool or "?"), took, call.outcome, what]


@traces.command("export")
def export_traces(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION...", help="Ids of sessions, beginnings of ids, or files."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every session there is.")] = False,
    folder: TranscriptsOption = None,
    annotated: Annotated[
        bool, typer.Option("--annotated", help="A line for each event, beginning with its event_class.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict-compat", help="Classes exactly as kei-memory gives them.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Write a file for each session into it.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files in DIR that hold something else.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write traces as compact JSONL.

    To stdout, or a file for each session. Secrets are taken out; transcripts themselves are only read. Lines
    that hold no record are named.
    """
    _check(sessions, everything=everything, annotated=annotated, strict=strict, to=to, as_json=as_json)
    files = (
        use_case.below(folder)[0] if everything else [use_case.find(text, folder) for text in sessions or ()]
    )
    if not files:
        output.talk("no session has been written yet: nothing was exported")
    redaction, out = Redaction(), _Batches()
    made = use_case.export(
        files,
        known=use_case.secrets_known(App()),
        annotated=annotated,
        strict=strict,
        to=to and to.expanduser(),
        force=force,
        write=out.add,
        redaction=redaction,
    )
    done = _consumed(made)
    out.end()
    if to is not None:
        output.data(done, lambda: _tell_export(done), as_json=as_json)
    for each in done:
        _tell_problems(each.source, each.problems)
    if redaction.found:
        kinds = ", ".join(redaction.kinds)
        output.talk(f"{count(redaction.found, 'secret')} taken out ([redacted:…] in their place): {kinds}")
    if len(done) < len(files) or any(each.outcome == "left" for each in done):
        raise typer.Exit(1)


def _consumed(made: Iterable[Exported | InputError]) -> list[Exported]:
    """Return what was exported, saying what could not be."""
    done: list[Exported] = []
    with progress("exporting") as tell:
        for each in made:
            if isinstance(each, InputError):
                output.talk(f"skipped: {each}")
                continue
            done.append(each)
            tell(f"exporting: {count(len(done), 'trace')}")
    return done


def _check(
    sessions: list[str] | None,
    *,
    everything: bool,
    annotated: bool,
    strict: bool,
    to: Path | None,
    as_json: bool,
) -> None:
    if bool(sessions) == everything:
        raise UsageError("name sessions, or give --all", fix="reverie traces list")
    if strict and not annotated:
        raise UsageError("--strict-compat is about classes", fix="Give --annotated as well.")
    if as_json and to is None:
        raise UsageError("--json is for --to DIR", fix="Without --to the lines themselves are JSON.")


class _Batches:
    """Lines on their way to stdout, in pieces of a size that does not cost a write for each."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def add(self, row: bytes) -> None:
        """Write `row`, now or with those that come."""
        self._held.append(row)
        self._size += len(row)
        if self._size >= _BATCH:
            self.end()

    def end(self) -> None:
        """Write what is held."""
        if self._held:
            write(b"".join(self._held).decode())
        self._held, self._size = [], 0


def _tell_export(done: Iterable[Exported]) -> None:
    rows = [[made.session, made.outcome, made.lines, made.calls, made.errors, made.target] for made in done]
    table(["session", "outcome", "lines", "calls", "errors", "file"], rows, empty="nothing was exported")
    for made in done:
        if made.why:
            output.hanging("- ", f"{made.target or made.source}: {made.why}")


def _tell_problems(file: str, problems: Sequence[Problem]) -> None:
    for problem in problems[:_MOST_PROBLEMS]:
        output.talk(f"{file}:{problem.line}: {problem.reason}; passed over, it stays in the transcript")
    if len(problems) > _MOST_PROBLEMS:
        output.talk(f"{file}: {len(problems) - _MOST_PROBLEMS:,} more such lines")
