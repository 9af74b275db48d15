"""The command that scores extraction: eval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import output
from pipeline.cli.options import JsonOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table
from pipeline.core.paths import bundled
from pipeline.evaluation import report
from pipeline.evaluation.scoring import Score
from pipeline.evaluation.suite_run import Choice, Unscored
from pipeline.evaluation.suite_run import evaluate as evaluate_suite

_LEGEND = "calls, tokens: the first reader's, and again: the second's; USD: at list prices; ~ marks estimates"


def evaluate(
    suite: Annotated[
        Path | None,
        typer.Option("--suite", metavar="DIR", help="Sessions with gold lists; default: fixtures/eval."),
    ] = None,
    llm: Annotated[
        str, typer.Option("--llm", metavar="PROVIDER", help="Default: replay; `record` records.")
    ] = "",
    pieces: Annotated[
        int,
        typer.Option(
            "--pieces", metavar="N", min=1, help="Read each session this many times while it grows."
        ),
    ] = 1,
    session: Annotated[str, typer.Option("--session", metavar="NAME", help="Only this session.")] = "",
    half: Annotated[str, typer.Option("--half", metavar="H", help="Only looked_at, or held_back.")] = "",
    manner: Annotated[
        str,
        typer.Option("--manner", metavar="M", help="Only replies wrong on purpose: careless, or obeying."),
    ] = "",
    details: Annotated[
        bool, typer.Option("--details", help="Also name what was wrong or turned down.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Score extraction against gold lists.

    Exit code 1 when a session that should have a score has none.
    """
    scores: list[Score] = []
    unscored: list[Unscored] = []
    choice = Choice(only=session, half=half, manner=manner, llm=llm, pieces=pieces)
    with progress("extracting") as tell:
        for found in evaluate_suite(suite or bundled("fixtures/eval"), choice):
            if isinstance(found, Score):
                scores.append(found)
            else:
                unscored.append(found)
            tell(f"extracting: {len(scores)} sessions")
    value = {"scores": scores, "not_scored": unscored}
    output.data(value, lambda: _tell(scores, unscored, details), as_json=as_json)
    if any(item.failed for item in unscored):
        raise typer.Exit(1)


def _tell(scores: list[Score], unscored: list[Unscored], details: bool) -> None:
    for each in report.tables(scores):
        output.line(each.title)
        table(each.columns, each.rows)
        output.line()
    if scores:
        output.talk(_LEGEND)
    for score in scores:
        lines = [] if score.manner else list(report.misses(score))
        lines += report.doubtful(score) if details else ()
        for text in lines:
            output.line(text)
    for item in unscored:
        output.line(f"{item.session}{f' ({item.manner})' if item.manner else ''}: not scored: {item.reason}")
