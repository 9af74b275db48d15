"""What a person wants to know of a trace before reading it: how much happened, and call by call what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.formats.keisei.events import Event, Problem, Trace
from pipeline.hooklib.plain import one_line
from pipeline.record import changing, field
from pipeline.safety.late import late
from pipeline.safety.structured import Cleaner, json_text
from pipeline.safety.unbroken import COLOUR

_LINE_CHARS = 200
_COLOURS = late(COLOUR)
_MOST_READ = 4_000
"""Characters of a text of which a line is shown; what is further on can't be in it."""
_TELLING = ("command", "pattern", "query", "url", "skill", "subagent_type", "description", "prompt")
"""What a tool was given that says most of a call, in this order, where it was given no path."""


@changing
class Overview:
    """A trace in a row: times are milliseconds since 1970, None where no line has one."""

    session: str
    file: str
    size: int
    project: str = ""
    branch: str = ""
    first_ms: int | None = None
    last_ms: int | None = None
    events: int = 0
    calls: int = 0
    errors: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    """How often each tool was called, the most used first."""
    problems: list[Problem] = field(default_factory=list)


@changing
class Call:
    """One call of a tool and what came of it."""

    line: int
    tool: str
    tool_use_id: str
    at_ms: int | None
    about: str
    """The path or the command, on one line, without secrets; a path below the session's folder without it."""
    path: str = ""
    """The file or folder that the tool worked on, whole, without secrets."""
    outcome: str = "open"
    """``ok``, ``error``, or ``open`` where no result is in the trace."""
    error: str = ""
    """What an error says, on one line, without secrets."""
    ms: int | None = None
    """How long it took, as far as the lines' times tell."""


def overview(path: Path, cleaner: Cleaner) -> Overview:
    """Read the trace `path` and return it in a row, without secrets. Raises what `Trace` raises."""
    trace = Trace(path, quiet=True)
    found = Overview(path.stem, str(path), path.stat().st_size)
    tools: dict[str, int] = {}
    for event in trace.events:
        found.events += 1
        found.errors += event.is_error
        found.project = found.project or cleaner.text(event.cwd or "")
        found.branch = cleaner.text(event.branch) or found.branch
        if event.at_ms is not None:
            first, last = found.first_ms, found.last_ms
            found.first_ms = event.at_ms if first is None else min(first, event.at_ms)
            found.last_ms = event.at_ms if last is None else max(last, event.at_ms)
        if event.role == "tool_use":
            found.calls += 1
            name = cleaner.text(event.tool) or "?"
            tools[name] = tools.get(name, 0) + 1
    found.tools = dict(sorted(tools.items(), key=lambda item: (-item[1], item[0])))
    found.problems = trace.problems
    return found


def calls(events: Iterable[Event], cleaner: Cleaner) -> Iterator[Call]:
    """Yield each call of a tool with its result, as results come; those without one at the end."""
    waiting: dict[str, Call] = {}
    for event in events:
        if event.typed:
            cleaner.learn(event.typed)
        if event.role == "tool_use":
            tool = cleaner.text(event.tool)
            call = Call(event.line, tool, event.tool_use_id, event.at_ms, _about(event, cleaner))
            call.path = cleaner.text(event.path)
            if call.tool_use_id:
                waiting[call.tool_use_id] = call
            else:
                yield _of_flat(call, event, cleaner)
        elif event.role == "tool_result":
            answered = waiting.pop(event.tool_use_id, None)
            if answered is not None:
                yield _answered(answered, event, cleaner)
    yield from waiting.values()


def _of_flat(call: Call, event: Event, cleaner: Cleaner) -> Call:
    """Return a call without an id, to which no result can be found; a flat line says itself if it failed."""
    if event.flat:
        call.outcome = "error" if event.is_error else "ok"
        call.error = _shown(event.text, cleaner) if event.is_error else ""
    return call


def _answered(call: Call, event: Event, cleaner: Cleaner) -> Call:
    call.outcome = "error" if event.is_error else "ok"
    call.error = _shown(event.text, cleaner) if event.is_error else ""
    if call.at_ms is not None and event.at_ms is not None:
        call.ms = max(0, event.at_ms - call.at_ms)
    return call


def _about(event: Event, cleaner: Cleaner) -> str:
    given: dict[str, Any] = event.given
    if event.path:
        return _shown(event.path.removeprefix(f"{event.cwd}/"), cleaner)
    for name in _TELLING:
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return _shown(value, cleaner)
    return _shown(json_text(cleaner.value(given)), cleaner) if given else ""


def _shown(text: str, cleaner: Cleaner) -> str:
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    return one_line(cleaner.text(text[:_MOST_READ]), _LINE_CHARS)
