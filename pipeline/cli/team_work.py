"""``reverie process --team`` and ``reverie worker --team``: a backlog that many machines read."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from pipeline.app import team_backlog
from pipeline.app.application import App
from pipeline.app.team_backlog import Offer
from pipeline.cli import output
from pipeline.cli.options import JsonOption
from pipeline.cli.progress import progress
from pipeline.core.errors import UsageError
from pipeline.text.humanize import count

_NOT_GIVEN = "nothing was given"


def give(
    app: App,
    *,
    everything: bool,
    in_batches: bool,
    only_estimate: bool,
    cancel: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Give the backlog to the team's workers, or take back what none of them has begun."""
    if cancel:
        _take_back(app, as_json=as_json)
        return
    with progress("estimating") as now:
        offered = team_backlog.offer(
            app,
            everything=everything,
            in_batches=in_batches,
            each=lambda done: now(f"estimating: {done:,}"),
        )
    if only_estimate:
        values: dict[str, object] = {
            "conversations": len(offered.rows),
            "dollars": offered.dollars,
            "most": offered.most,
        }
        output.data(values, lambda: _tell_offer(offered, output.line), as_json=as_json)
        return
    _tell_offer(offered, output.talk)
    question, is_yes = "Give them to the team's workers?", yes or not offered.rows
    if not output.agreed(question, yes=is_yes, unasked=_NOT_GIVEN, fix="Add --yes or --estimate."):
        output.data({"given": 0}, lambda: output.line(_NOT_GIVEN), as_json=as_json)
        return
    given = team_backlog.give(app, offered)
    waiting = given.waiting - given.canceling
    text = f"{count(given.transcripts, 'transcript')} given to {given.team}, {waiting:,} wait there"
    numbers = {"given": given.transcripts, "waiting": waiting, "canceling": given.canceling}
    output.data({"team": given.team, **numbers}, lambda: output.line(text), as_json=as_json)
    if given.canceling:
        are = "is" if given.canceling == 1 else "are"
        output.talk(
            f"{count(given.canceling, 'transcript')} that you canceled {are} still in batches under way, and"
            " not given again. Once the worker has ended these (`reverie worker --team --once`), this command"
            " gives what they left."
        )
    if waiting:
        output.talk("`reverie worker --team` reads them, on each machine of yours that has the transcripts.")


def _take_back(app: App, *, as_json: bool) -> None:
    found = team_backlog.take_back(app)
    text = f"{count(found.transcripts, 'transcript')} taken back; what is being read goes on"
    values = {"taken_back": found.transcripts, "requests_in_batches": found.requests}
    output.data(values, lambda: output.line(text), as_json=as_json)
    if found.requests:
        output.talk(
            f"{count(found.requests, 'request')} in batches: what is answered by now is paid for and kept."
            " Cancel once more later, and the rest is taken back as well."
        )


def _tell_offer(offered: Offer, tell: Callable[[str], None]) -> None:
    how = " in batches" if offered.in_batches else ""
    number = count(len(offered.rows), "conversation")
    tell(f"{number}, about ${offered.dollars:.2f}{how}, ${offered.most:.2f} at most")
    if offered.others:
        output.talk(
            f"{count(offered.others, 'conversation')} more no batch takes, being short or read in part:"
            " without --batch they are given as well, at the full price."
        )
    if not offered.rows and not offered.others:
        output.talk("Old sessions count once `reverie ingest --dir ~/.claude/projects` has looked at them.")


def worker(
    team: Annotated[bool, typer.Option("--team", help="Read what was given to a team's workers.")] = False,
    name: Annotated[
        str, typer.Option("--name", metavar="TEAM", envvar="REVERIE_TEAM", help="Only this team.")
    ] = "",
    database: Annotated[
        str,
        typer.Option(
            "--database", metavar="URL", envvar="REVERIE_TEAM_DATABASE", help="Where the team of --name is."
        ),
    ] = "",
    transcripts: Annotated[
        Path | None,
        typer.Option("--transcripts", metavar="DIR", help="Look for transcripts there as well."),
    ] = None,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="End when nothing is left that can be read here.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Do what can be done now and end: for a timer, with batches.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read a team's backlog until it is stopped.

    It serves the teams that projects of this home are in, or the one that is named. What it reads is kept
    on this machine. End it with Ctrl-C: it finishes the transcript it is at.
    """
    if not team:
        raise UsageError(
            "say what it works for", fix="`reverie worker --team`; on one machine the hooks start the worker."
        )
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    done = team_backlog.serve(
        App(),
        database=database,
        name=name,
        transcripts=transcripts,
        until_empty=until_empty,
        once=once,
        stop=stop,
        tell=output.talk,
    )
    values = {
        "read": done.read,
        "failed": done.failed,
        "absent": sorted(done.absent),
        "waiting": done.waiting,
    }
    output.data(values, lambda: _tell(values), as_json=as_json)


def _tell(values: dict[str, object]) -> None:
    output.line(f"{count(int(str(values['read'])), 'transcript')} read, {values['failed']} failed for good")
    absent = values["absent"]
    if isinstance(absent, list) and absent:
        output.talk(f"{count(len(absent), 'transcript')} not on this machine, such as {absent[0]}")
