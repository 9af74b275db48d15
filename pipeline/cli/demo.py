"""Commands that show Reverie on known input: demo and eval."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pipeline import config
from pipeline.cli import output
from pipeline.cli.options import JsonOption
from pipeline.context import open_store
from pipeline.core.errors import InputError, ReverieError
from pipeline.core.paths import bundled
from pipeline.evaluation import demo as stage
from pipeline.evaluation.scoring import Score, cost
from pipeline.evaluation.scoring import evaluate as evaluate_suite
from pipeline.extraction.offline import BLIND_SPOTS


def demo(
    llm: Annotated[str, typer.Option("--llm", metavar="PROVIDER", help="Default: recorded replies.")] = "",
    transcript: Annotated[
        Path | None,
        typer.Option(
            "--transcript", metavar="F", help="Your own transcript, with --llm offline or a provider."
        ),
    ] = None,
) -> None:
    """Show the main job on a sample session.

    Everything happens in a temporary home, which is removed afterwards.
    """
    if transcript is not None and not llm:
        raise InputError("recorded replies fit the sample only", fix="Add --llm offline, or a provider.")
    with tempfile.TemporaryDirectory(prefix="reverie-demo-") as root:
        with output.progress("a finished turn: hook, worker, memories"):
            staged = stage.stage(Path(root), transcript=transcript, llm=llm)
        _present(staged, "" if transcript else stage.QUESTION)
    if llm == "offline":
        output.line(f"\n{BLIND_SPOTS}")


def _present(staged: stage.Staged, question: str) -> None:
    status = json.loads(stage.reverie(["status", "--json", "--store", str(staged.store)], staged))
    for job in status["jobs"]:
        raise ReverieError(f"the worker could not extract: {job['last_error']}", fix="Mend the cause named.")
    output.line(f"One finished turn of {staged.transcript.name} went through the Stop hook and the worker:")
    for run in status["runs"]:
        for action in run["actions"]:
            output.line(f"  {action['action']:<9} {action['name']}")
    index = staged.store / "MEMORY.md"
    found = (
        [document.memory for document in open_store(staged.store, config.load(staged.home)).scan().documents]
        if index.exists()
        else []
    )
    if not found:
        output.line("Nothing in this session was worth keeping, so there is no MEMORY.md.")
        return
    output.line("\n$ cat MEMORY.md            # what the next session is shown")
    output.line(index.read_text("utf-8").rstrip())
    chosen = max(found, key=lambda m: (m.type == "feedback", "**Why:**" in m.body, m.importance, m.name))
    for command in ("show", "why"):
        output.line(f"\n$ reverie {command} {chosen.name}")
        output.line(stage.reverie([command, chosen.name, "--store", str(staged.store)], staged).rstrip())
    if question:
        output.line(f"\n$ reverie recall '{question}'   # what Claude gets with this prompt")
        output.line(stage.reverie(["recall", question, "--store", str(staged.store)], staged).rstrip())


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
    details: Annotated[bool, typer.Option("--details", help="Also name what was missed or wrong.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Score extraction against gold lists."""
    scores = []
    with output.progress("extracting") as tell:
        for found in evaluate_suite(suite or bundled("fixtures/eval"), only=session, llm=llm, pieces=pieces):
            scores.append(found)
            tell(f"extracting: {len(scores)} sessions")
    output.data(scores, lambda: _table(scores, details), as_json=as_json)
    output.talk(cost(scores))


def _table(scores: list[Score], details: bool) -> None:
    rows = [score.row() for score in scores]
    total = Score(
        "all",
        [memory for score in scores for memory in score.memories],
        sum(score.must for score in scores),
        sourced=sum(score.sourced for score in scores),
    )
    for name in ("strict", "lenient", "right", "clean", "never", "outdated", "doubled"):
        setattr(total, name, [item for score in scores for item in getattr(score, name)])
    rows.append(total.row())
    output.table(list(rows[0]), [list(row.values()) for row in rows])
    if details:
        for score in scores:
            for name in ("missed", "unmatched", "never", "outdated", "doubled", "dropped"):
                for item in getattr(score, name):
                    output.line(f"{score.session}: {name}: {item}")
