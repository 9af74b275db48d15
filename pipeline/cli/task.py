"""``reverie task``: how long something takes, noted in the journal of tasks."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pipeline.cli import output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.journal_options import JournalsOption, latest, tell_faults, time_of
from pipeline.cli.listings import LimitOption
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.core import clock, system
from pipeline.core.errors import UsageError, cause
from pipeline.formats.keisei import tasks
from pipeline.formats.keisei.journals import Fault, stamp

task = typer.Typer(
    help="Note how long something takes, or time a command.",
    no_args_is_help=True,
    context_settings=HELP_OPTIONS,
)
TaskName = Annotated[str, typer.Argument(metavar="NAME", help="What the task is called.")]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="KEY=NUMBER", help="A counter to keep with it; may be repeated."),
]
SourceOption = Annotated[
    str, typer.Option("--source", metavar="TEXT", help="Where the figures come from, a path say.")
]
_METRIC = re.compile(r"([A-Za-z_][\w.-]{0,79})=(-?\d{1,15})(\.\d{1,9})?")


def _now() -> int:
    return int(clock.from_environment().now().timestamp())


@task.command("start")
def start_task(name: TaskName, folder: JournalsOption = None) -> None:
    """Note that a task begins; prints the moment in epoch seconds."""
    line = tasks.start(tasks.journal(folder), name, _now())
    output.line(str(line["start_epoch"]))


@task.command("stop")
def stop_task(
    name: TaskName,
    code: Annotated[int, typer.Option("--exit", metavar="N", help="How it ended; 0 is well.")] = 0,
    metric: MetricOption = None,
    source: SourceOption = "",
    folder: JournalsOption = None,
) -> None:
    """End the latest open task of that name.

    It prints its seconds. Exit code 2 when none is open.
    """
    found = _metrics(metric)
    line = tasks.stop(tasks.journal(folder), name, _now(), exit=code, metric=found, source=source)
    output.line(str(line["duration_s"]))


class Wrapping(TyperCommand):
    """`wrap`, where NAME may be left out before ``--``: the task is called as the program then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the program's name where none is given, and parse as ever."""
        at = args.index("--") if "--" in args else len(args)
        step = 0
        while step < at and args[step].startswith("-"):
            # Each option of `wrap` has a value.
            step += 1 if "=" in args[step] else 2
        if step == at < len(args) - 1:
            args = [*args[:at], PurePath(args[at + 1]).name, *args[at:]]
        return super().parse_args(ctx, args)


@task.command(
    "wrap",
    cls=Wrapping,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)
def wrap_task(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the task is called; default: as the program.")
    ] = "",
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND...", help="Behind `--`, the command and its arguments."),
    ] = None,
    metric: MetricOption = None,
    source: SourceOption = "",
    folder: JournalsOption = None,
) -> None:
    """Run a command as a task. Options of `wrap` stand before NAME.

    Its input, output, exit code and signals are passed through, and nothing else is printed. If the journal
    can't be written, the command runs all the same.
    """
    command = [*(command or ())]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        raise UsageError("no command to run", fix="`reverie task wrap build -- make`, say.")
    done = tasks.wrap(tasks.journal(folder), name, command, _now, metric=_metrics(metric), source=source)
    if done.trouble:
        output.talk(f"error: {done.trouble}")
    if done.unwritten is not None:
        output.talk(f"the time of {name!r} could not be noted: {cause(done.unwritten)}")
    if done.signal:
        system.end_by(done.signal)
    raise typer.Exit(done.exit)


@task.command("add")
def add_task(
    name: TaskName,
    seconds: Annotated[
        int | None, typer.Option("--seconds", metavar="N", min=0, help="How long it took, up to now or --to.")
    ] = None,
    begun: Annotated[str, typer.Option("--from", metavar="TIME", help="2026-04-29T04:48:00Z, say.")] = "",
    ended: Annotated[str, typer.Option("--to", metavar="TIME", help="When it ended; default: now.")] = "",
    metric: MetricOption = None,
    source: SourceOption = "",
    folder: JournalsOption = None,
) -> None:
    """Note a task that is over; prints its seconds."""
    if (seconds is None) == (not begun):
        raise UsageError("when did it begin", fix="Give --seconds or --from, one of them.")
    end = time_of(ended) if ended else _now()
    start = time_of(begun) if seconds is None else end - seconds
    file = tasks.journal(folder)
    line = tasks.add(file, name, start, end, metric=_metrics(metric), source=source)
    output.line(str(line["duration_s"]))


@task.command("list")
def list_tasks(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="Only names that hold this.")] = "",
    limit: LimitOption = None,
    folder: JournalsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tasks of the journal, the latest last.

    Those that are open as well.
    """
    faults: list[Fault] = []
    file = tasks.journal(folder)
    named = [item for item in tasks.tasks(file, faults) if words.lower() in item.name.lower()]
    found = latest(named, limit, as_json=as_json)
    rows = [
        (item.name, item.state, item.start_epoch and stamp(item.start_epoch), _took(item), _more(item))
        for item in found
    ]
    output.data(
        found,
        lambda: table(("task", "state", "began", "seconds", "more"), rows, empty="no tasks"),
        as_json=as_json,
    )
    tell_faults(faults)


def _took(item: tasks.Task) -> str:
    return "" if item.duration_s is None else str(item.duration_s)


def _more(item: tasks.Task) -> str:
    parts = [f"exit {item.exit}"] if item.exit else []
    parts += [f"{key} {value}" for key, value in item.metric.items()]
    return ", ".join(parts)


def _metrics(given: list[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given or ():
        match = _METRIC.fullmatch(text)
        if match is None:
            raise UsageError(f"--metric {text!r} is no counter", fix="Write KEY=NUMBER: rules=3.")
        key, integer, part = match.groups()
        found[key] = float(integer + part) if part else int(integer)
    return found
