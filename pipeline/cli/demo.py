"""The command that shows Reverie on known input: demo."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pipeline import config
from pipeline.cli import output
from pipeline.cli.progress import progress
from pipeline.context import open_store
from pipeline.core.errors import ReverieError, UsageError
from pipeline.evaluation import demo as stage
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
        raise UsageError("recorded replies fit the sample only", fix="Add --llm offline, or a provider.")
    with tempfile.TemporaryDirectory(prefix="reverie-demo-") as root:
        with progress("a finished turn: hook, worker, memories"):
            staged = stage.stage(Path(root), transcript=transcript, llm=llm)
        _present(staged, "" if transcript else stage.QUESTION)
    output.talk("\nAll of this was in a temporary folder, which is gone now.")
    if llm == "offline":
        output.page(f"\n{BLIND_SPOTS}")


def _present(staged: stage.Staged, question: str) -> None:
    status = json.loads(stage.reverie(["status", "--json", "--store", str(staged.store)], staged))
    for job in status["jobs"]:
        raise ReverieError(f"the worker could not extract: {job['last_error']}", fix="Mend the cause named.")
    recorded = any(run["replies"] for run in status["runs"])
    output.page(
        f"One finished turn of {staged.transcript.name} went through the Stop hook and the worker"
        f"{' (no model was asked: its replies come from a recording)' if recorded else ''}:"
    )
    for run in status["runs"]:
        for action in run["actions"]:
            output.page(f"  {action['action']:<9} {action['name']}")
    index = staged.store / "MEMORY.md"
    found = (
        [document.memory for document in open_store(staged.store, config.load(staged.home)).scan().documents]
        if index.exists()
        else []
    )
    if not found:
        output.page("Nothing in this session was worth keeping, so there is no MEMORY.md.")
        return
    output.page("\n$ cat MEMORY.md            # what the next session is shown")
    output.page(index.read_text("utf-8").rstrip())
    chosen = max(found, key=lambda m: (m.type == "feedback", "**Why:**" in m.body, m.importance, m.name))
    for command in ("show", "why"):
        output.page(f"\n$ reverie {command} {chosen.name}")
        output.page(stage.reverie([command, chosen.name, "--store", str(staged.store)], staged).rstrip())
    if question:
        output.page(f"\n$ reverie recall '{question}'   # what Claude gets with this prompt")
        output.page(stage.reverie(["recall", question, "--store", str(staged.store)], staged).rstrip())
