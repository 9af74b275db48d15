"""Commands that turn transcripts into rows and memories: extract, process, work, conversations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import conversations as conversations_of
from pipeline.app.application import App
from pipeline.app.state_words import to_come as in_words
from pipeline.cli import listings, output
from pipeline.cli.listings import AllOption, LimitOption
from pipeline.cli.options import GraphOption, JsonOption, LlmOption, OrderedOption, StoreOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table
from pipeline.core.errors import UsageError
from pipeline.core.zone import minute
from pipeline.extraction.offline import BLIND_SPOTS
from pipeline.extraction.outcome import Outcome
from pipeline.text.humanize import count


def extract(
    transcript: Annotated[
        str, typer.Option("--transcript", metavar="F", help="A transcript, or a session id.")
    ],
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Extract memories from one transcript."""
    app = App(store=store, graph=graph, llm=llm)
    with progress("reading"):
        done, outcomes, store_path = app.extract(conversations_of.transcript(transcript))
    value = {"transcript": done, "store": store_path, "runs": outcomes}
    output.data(value, lambda: _tell(outcomes, store_path), as_json=as_json)
    if app.offline:
        output.talk(BLIND_SPOTS)


def process(
    everything: Annotated[bool, typer.Option("--all", help="Every project, not only the one here.")] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it would cost.")] = False,
    limit: LimitOption = None,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="At half the price, in the background; again: how far that is."),
    ] = False,
    team: Annotated[
        bool, typer.Option("--team", help="Give them to the workers of this project's team.")
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="With --batch or --team: ask no more of it.")
    ] = False,
    yes: OrderedOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Extract from finished conversations left for later.

    With --batch they are asked in batches at half the price, which takes up to a day; with --team whoever
    runs `reverie worker --team` reads them, with both in batches. Say --yes, or be asked.
    """
    _require_fitting(batch=batch, team=team, cancel=cancel, limited=limit is not None, estimate=estimate)
    app = App(store=store, graph=graph, llm=llm)
    if team or batch:
        asked = {"everything": everything, "only_estimate": estimate, "cancel": cancel, "yes": yes}
        if team:
            from pipeline.cli import team_work

            team_work.give(app, in_batches=batch, as_json=as_json, **asked)
        else:
            from pipeline.cli import batch as batches

            batches.process(app, as_json=as_json, **asked)
        return
    with progress("estimating") as now:
        backlog = app.backlog(everything=everything, each=lambda done: now(f"estimating: {done:,}"))
    if estimate:
        shown = listings.most(limit, as_json=as_json)
        value = backlog if limit is None else listings.first(backlog, shown)
        to_come = conversations_of.to_come(app)
        output.data(
            value, lambda: _tell_estimate(backlog, shown, to_come, by_rules=app.offline), as_json=as_json
        )
        _tell_elsewhere(app, backlog, everything=everything)
        return
    _process(app, backlog, everything=everything, as_json=as_json)


def _require_fitting(*, batch: bool, team: bool, cancel: bool, limited: bool, estimate: bool) -> None:
    """Raise UsageError for options of `process` that don't go together."""
    if cancel and estimate:
        raise UsageError("--cancel and --estimate exclude each other", fix="Name one of them.")
    if cancel and not (batch or team):
        raise UsageError("--cancel is for --batch and --team", fix="Add one of them.")
    if limited and (batch or team or not estimate):
        raise UsageError("--limit is for --estimate alone", fix="Without it every conversation is read.")


def _process(app: App, backlog: list[dict[str, Any]], *, everything: bool, as_json: bool) -> None:
    dollars = sum(row["dollars"] for row in backlog)
    calls = count(sum(row["calls"] for row in backlog), "call")
    output.talk(f"{count(len(backlog), 'conversation')}, about {calls} and ${dollars:.2f}")
    result: dict[str, list[Outcome]] = {}
    with progress("extracting") as tell:
        for number, (key, outcomes) in enumerate(app.process(everything=everything), start=1):
            result[key] = outcomes
            tell(f"extracting: {count(number, 'file')} done")

    def tell_all() -> None:
        for found in result.values() or [[]]:
            _tell(found, None)

    output.data(result, tell_all, as_json=as_json)


def conversations(
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="S", help="active, ready, queued, processing, archived, skipped or review."
        ),
    ] = None,
    limit: LimitOption = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """List conversations: dialogue between two silences.

    The newest stand at the end; where not all are shown, the first are left out.
    """
    latest = listings.most(limit, everything=everything, as_json=as_json)
    rows, number = conversations_of.listed(App(), status, latest=latest)

    def tell() -> None:
        shown = [
            [
                row["id"],
                row["status"],
                minute(row["first_message_at"]),
                minute(row["last_message_at"]),
                row["entry_count"],
                row["source_file"],
                row["reason"],
            ]
            for row in rows
        ]
        table(
            ["id", "status", "first", "last", "messages", "file", "reason"], shown, empty="no conversations"
        )

    output.data(rows, tell, as_json=as_json)
    listings.tell_rest(number, latest, which="earlier")


def work(
    retry: Annotated[
        bool, typer.Option("--retry", help="Also do what was given up, and read what was passed over.")
    ] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the background worker's jobs now.

    That is: drain the spool, then do every waiting job, also those that wait their turn.
    """
    with progress("working"):
        done = App(store=store, graph=graph, llm=llm).work(retry=retry)

    def tell() -> None:
        if done.renewed:
            output.talk(f"note: {done.renewed}")
        runs, failures = count(len(done.outcomes), "run"), count(len(done.failures), "failure")
        output.line(f"{count(done.events, 'event')}, {runs}, {failures}")
        _tell(done.outcomes, None)
        for failure in done.failures:
            output.talk(f"failed: {failure}")
        if done.waiting:
            output.talk(f"waiting: {done.waiting}")

    output.data(done, tell, as_json=as_json)


def _tell(outcomes: list[Outcome], store_path: Path | None) -> None:
    if not outcomes:
        output.line("nothing new")
    for outcome in outcomes:
        for action in outcome.actions:
            output.line(f"{action.action:<10} {action.name}")
        if not outcome.actions:
            output.line(f"{outcome.word:<10} {outcome.reason}".rstrip())
        for rejected in outcome.rejected:
            output.talk(f"dropped: {rejected['name']}: {rejected['reason']}")
        if outcome.proposals:
            output.talk(f"{outcome.proposals} for the inbox")
    if store_path is not None:
        output.talk(f"store: {store_path}")


def _tell_elsewhere(app: App, backlog: list[dict[str, Any]], *, everything: bool) -> None:
    """Say how many conversations of other projects could be read, where none of this one can."""
    number = 0 if backlog or everything else conversations_of.ready_elsewhere(app)
    if number:
        wait = "waits" if number == 1 else "wait"
        output.talk(f"{count(number, 'conversation')} of other projects {wait}: --all takes them in.")


def _estimate_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `rows` in words, with their numbers one below the other."""
    numbers = {"messages": ",d", "calls": ",d", "tokens": ",d", "dollars": ".3f"}
    texts = {name: [format(row[name], how) for row in rows] for name, how in numbers.items()}
    for name, column in texts.items():
        longest = max([len(name), *map(len, column)])
        texts[name] = [text.rjust(longest) for text in column]
    return [
        {**row, "from": minute(row["from"]), **{name: column[at] for name, column in texts.items()}}
        for at, row in enumerate(rows)
    ]


def _tell_estimate(
    backlog: list[dict[str, Any]], most: int | None, waiting: dict[str, int], *, by_rules: bool
) -> None:
    columns = ["conversation", "from", "messages", "calls", "tokens", "dollars", "note", "file"]
    shown = _estimate_rows(listings.first(backlog, most))
    more = waiting["turns"] or waiting["events"]
    empty = "no finished conversation is left" if more else "nothing is left to read"
    table(columns, [[row[name] for name in columns] for row in shown], empty=empty)
    listings.tell_rest(len(backlog), most, how="--limit 0 shows all")
    numbers = [row["conversation"] for row in shown]
    if numbers and max(numbers) - min(numbers) >= len(numbers):
        output.talk("`reverie conversations` tells of the other numbers: they are read, or not over yet.")
    if waiting["turns"]:
        output.line(in_words(waiting))
    if waiting["events"]:
        output.line(f"{count(waiting['events'], 'new event')} not looked at yet: `reverie work` does it now")
    calls = count(sum(row["calls"] for row in backlog), "call")
    dollars = sum(row["dollars"] for row in backlog)
    if by_rules:
        output.line(f"about {calls}, ${dollars:.2f}: no model is set, so it goes by rules")
        output.talk(
            "What a model would cost is told with `--llm anthropic` or `--llm claude-cli`. Batches go by the"
            " settings alone: `--batch --estimate` tells their price."
        )
    else:
        output.line(f"about {calls}, ${dollars:.2f} (estimated from characters)")
