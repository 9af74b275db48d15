"""The journal of tasks: how long something took, started and stopped by hand or wrapped around a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import tools
from pipeline.core.errors import ReverieError, UsageError
from pipeline.formats.keisei import journals
from pipeline.formats.keisei.agents import Agent
from pipeline.formats.keisei.journals import Fault, Line, stamp, whole
from pipeline.hooklib import places
from pipeline.record import record

LONGEST_NAME = 200
NOT_FOUND, NOT_RUN = 127, 126
"""What a shell answers for a command that is not there, and for one that can't be run."""


OF_AGENT = "sub-agent"
"""The source of a task that a sub-agent did."""


@record
class Task:
    """One task as the journal has it: `state` is ``open``, ``done`` or ``failed``.

    Times are epoch seconds; of an open task `end_epoch` and `duration_s` are None. `exit` is None where none
    was noted.
    """

    name: str
    state: str
    start_epoch: int | None
    end_epoch: int | None
    duration_s: int | None
    exit: int | None
    metric: Mapping[str, Any]
    source: str


@record
class Wrapped:
    """What became of a wrapped command: its exit status, and ``signal`` where one ended it.

    `trouble` says why it could not be started, `unwritten` what kept the journal from being written.
    """

    exit: int
    signal: int = 0
    trouble: str = ""
    unwritten: ReverieError | OSError | None = None


def journal(folder: Path | None) -> Path:
    """Return the journal of tasks in `folder`, else ``$KEI_TLOG_JOURNAL``, else the usual one."""
    named = places.variable("KEI_TLOG_JOURNAL")
    if folder is None and named:
        return Path(named).expanduser()
    return (folder or journals.default_folder()) / journals.TASKS


def start_line(name: str, start: int) -> Line:
    """Return the record of a task that begins."""
    return {"kind": "start", "name": name, "start_epoch": start, "ts": stamp(start)}


def stop_line(
    name: str, start: int, end: int, *, exit: int, metric: Mapping[str, Any] | None = None, source: str = ""
) -> Line:
    """Return the record of a task that was started and is over."""
    timed = _timed("stop", name, start, end) | {"exit": exit}
    return timed | _further(metric, source) | {"ts": stamp(end)}


def task_line(
    name: str, start: int, end: int, *, metric: Mapping[str, Any] | None = None, source: str = ""
) -> Line:
    """Return the record of a task that is told as a whole."""
    return _timed("task", name, start, end) | _further(metric, source) | {"ts": stamp(end)}


def of_agents(agents: Iterable[Agent], journal: Iterable[Line]) -> list[Line]:
    """Return a line for each sub-agent that is over and that the journal has no time of.

    Its name is what it was for, else its kind.
    """
    known = {str(line.get("id")) for line in journal if line.get("id") and whole(line.get("duration_s"))}
    found = []
    for agent in agents:
        if agent.id in known or agent.started is None or agent.duration_ms is None:
            continue
        took = round(agent.duration_ms / 1000)
        start = int(agent.started)
        name = agent.description or agent.agent_type or agent.id
        about = {"id": agent.id, "agent_type": agent.agent_type, "session_id": agent.session_id}
        tokens = agent.tokens.tokens_in + agent.tokens.tokens_out
        found.append(task_line(name, start, start + took, source=OF_AGENT) | about | {"total_tokens": tokens})
    return found


def _timed(kind: str, name: str, start: int, end: int) -> Line:
    # A clock that was set back must not give a negative time.
    took = max(0, end - start)
    return {"kind": kind, "name": name, "start_epoch": start, "end_epoch": end, "duration_s": took}


def _further(metric: Mapping[str, Any] | None, source: str) -> Line:
    return ({"metric": dict(metric)} if metric else {}) | ({"source": source} if source else {})


def start(file: Path, name: str, now: int) -> Line:
    """Note that a task begins."""
    line = start_line(checked(name), now)
    journals.append(file, [line])
    return line


def stop(
    file: Path,
    name: str,
    now: int,
    *,
    exit: int = 0,
    metric: Mapping[str, Any] | None = None,
    source: str = "",
) -> Line:
    """Note that the latest open task of that name is over. Raises UsageError where none is open."""
    checked(name)
    with journals.writing(file) as held:
        begun = _open_starts(held.records("start", "stop"), name)
        if not begun:
            raise UsageError(
                f"no task {name!r} is open",
                file=str(file),
                fix=f"`reverie task start {name}` begins one; `reverie task list` shows all.",
            )
        line = stop_line(name, max(begun), now, exit=exit, metric=metric, source=source)
        held.append([line])
    return line


def add(
    file: Path,
    name: str,
    start: int,
    end: int,
    *,
    metric: Mapping[str, Any] | None = None,
    source: str = "",
) -> Line:
    """Note a task that is over as a whole."""
    if end < start:
        raise UsageError("the end is before the start", fix="Give --seconds, or --from and --to in order.")
    line = task_line(checked(name), start, end, metric=metric, source=source)
    journals.append(file, [line])
    return line


def wrap(
    file: Path,
    name: str,
    command: Sequence[str],
    now: Callable[[], int],
    *,
    metric: Mapping[str, Any] | None = None,
    source: str = "",
) -> Wrapped:
    """Run `command` with the streams of this process, between the notes that it began and that it is over.

    A journal that can't be written keeps no command from running.
    """
    checked(name)
    begun = now()
    unwritten = _noted(file, start_line(name, begun))
    trouble = ""
    try:
        status = tools.run_through(command)
    except FileNotFoundError:
        status, trouble = NOT_FOUND, f"{command[0]}: there is no such command"
    except (OSError, ValueError) as error:
        status, trouble = NOT_RUN, f"{command[0]}: can't be run: {getattr(error, 'strerror', None) or error}"
    number = -status if status < 0 else 0
    code = 128 + number if number else status
    line = stop_line(name, begun, now(), exit=code, metric=metric, source=source)
    return Wrapped(code, number, trouble, unwritten or _noted(file, line))


def _noted(file: Path, line: Line) -> ReverieError | OSError | None:
    try:
        journals.append(file, [line])
    except (ReverieError, OSError) as error:
        return error
    return None


def tasks(file: Path, faults: list[Fault]) -> list[Task]:
    """Return the tasks of a journal in the order in which they began, the open ones last.

    Lines of other programs may lack a name; then what they describe, else their id, stands for it.
    """
    found: list[Task] = []
    open_starts: dict[tuple[str, int | None], int] = {}
    for line in journals.read(file, faults, kinds=("start", "stop", "task")):
        name, begun = name_of(line), whole(line.get("start_epoch"))
        if line["kind"] == "start":
            open_starts[name, begun] = open_starts.get((name, begun), 0) + 1
            continue
        if line["kind"] == "stop" and open_starts.get((name, begun), 0):
            open_starts[name, begun] -= 1
        found.append(_task(line, name, begun))
    return sorted(found, key=lambda task: task.start_epoch or 0) + [
        Task(name, "open", begun, None, None, None, {}, "")
        for (name, begun), number in open_starts.items()
        for _ in range(number)
    ]


def name_of(line: Mapping[str, Any]) -> str:
    """Return what a line of the journal calls its task."""
    return next((str(line[key]) for key in ("name", "desc", "id") if line.get(key)), "")


def _task(line: Line, name: str, begun: int | None) -> Task:
    code, metric = whole(line.get("exit")), line.get("metric")
    return Task(
        name=name,
        state="failed" if code else "done",
        start_epoch=begun,
        end_epoch=whole(line.get("end_epoch")),
        duration_s=whole(line.get("duration_s")),
        exit=code,
        metric=metric if isinstance(metric, dict) else {},
        source=str(line.get("source") or ""),
    )


def _open_starts(records: Iterable[Line], name: str) -> list[int]:
    """Return when the tasks of that name that are still open began."""
    left: Counter[int] = Counter()
    for line in records:
        begun = whole(line.get("start_epoch"))
        if name_of(line) != name or begun is None:
            continue
        if line["kind"] == "start":
            left[begun] += 1
        elif left[begun]:
            left[begun] -= 1
    return [begun for begun, number in left.items() if number]


def checked(name: str) -> str:
    """Return the name of a task. Raises UsageError for one that no line of a table could show."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"{name[:40]!r} is no name of a task", fix=f"Give one line of at most {LONGEST_NAME} characters."
        )
    return name
