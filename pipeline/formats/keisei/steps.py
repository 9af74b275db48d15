"""Steps: calls of tools in short, each with what came of it, so that like calls are the same word.

A command line gives a step for each command in it, told by program and subcommand (``git commit``); what only
moves about or filters is left out. Work on files is told by tool and kind of file (``Edit *.py``). Whatever a
person or a program wrote into a call stays out of its step; so do secrets and private parts, which are taken
out before a command is cut into words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pipeline.formats.keisei.events import Event
from pipeline.record import changing
from pipeline.safety.late import late
from pipeline.safety.structured import Cleaner
from pipeline.text import shell

MOST_OPEN = 1_000
"""Calls of a session that wait for their result at a time; the oldest then counts as unanswered."""
ASIDE = frozenset(
    {"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode"}
    | {"BashOutput", "TaskOutput", "KillShell", "TaskStop", "ToolSearch", "SlashCommand"}
)
"""Tools that keep the talk going and do nothing to the work."""
FOLDER_TOOLS = frozenset({"Grep", "Glob", "LS"})
"""Tools whose path is most often a folder to look through."""
_SHELLS = frozenset({"Bash", "PowerShell"})
_MOVING = shell.word_set(
    """cd pushd popd echo printf export source set unset true false sleep wait pwd ls cat head tail grep egrep
    rg sed awk wc sort uniq cut tr tee less more which type test [ [[ read alias exit return
    for while until do done if then else elif fi case esac in function npx bunx uvx"""
)
"""Programs that only move about, look, filter, or run another; and the shell's own words."""
_WITHOUT_WORD = shell.word_set(
    """rm cp mv mkdir rmdir touch ln chmod chown find python node ruby perl open code vim diff du df ps kill
    pkill curl wget ssh scp rsync tar unzip zip jq xargs bash sh zsh date gofmt prettier eslint ruff"""
)
"""Programs whose first word is a file, an address or a text, and no subcommand."""
_TWO_WORDS = frozenset(
    {
        "npm run",
        "pnpm run",
        "yarn run",
        "bun run",
        "mise run",
        "deno task",
        "docker compose",
        "gh pr",
        "gh issue",
    }
)
_RUNNING = frozenset(
    {"uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "bundle exec", "pnpm exec", "pnpm dlx"}
    | {"yarn dlx", "npm exec", "pipx run"}
)
"""What only runs the program named behind it, which is a command of its own."""
_NAME = late(r"[A-Za-z_][\w.+-]{0,39}")
_WORD = late(r"[a-z][a-z0-9:_-]{0,29}")
_ENDING = late(r"[A-Za-z0-9]{1,8}")


class Step(NamedTuple):
    """One step of a session; `id` is the event's uuid and block, `well` whether it is known to have worked.

    `command` says that it is one of a shell, `breaks` that a person had the word before it.
    """

    session: str
    id: str
    what: str
    command: bool
    at_ms: int | None
    well: bool
    breaks: bool


@changing
class _Open:
    """A call that waits for its result, with the steps that it consists of."""

    session: str
    id: str
    whats: tuple[str, ...]
    command: bool
    at_ms: int | None
    breaks: bool
    well: bool | None = None


def event_id(event: Event) -> str:
    """Return an event's id in its session: the line's uuid and the block's number."""
    return f"{event.uuid}:{event.block}"


def steps(events: Iterable[Event], clean: Callable[[str], str] | None = None) -> Iterator[Step]:
    """Yield the steps of events, in the order of the calls; sub-agents' own are left out.

    Of a call that a fork copied only the first counts. A call without a result has not worked. `clean` takes
    secrets out of a text; None: those that show themselves.
    """
    clean = clean or Cleaner().text
    seen: set[int] = set()
    queue: list[_Open] = []
    by_id: dict[str, _Open] = {}
    breaks, session = False, ""
    for event in events:
        if event.sidechain or not (event.role or event.typed):
            continue
        if event.session != session:
            yield from _ended(queue, by_id)
            breaks, session = False, event.session
        breaks = breaks or bool(event.typed)
        if event.role == "tool_use" and event.tool not in ASIDE:
            key = hash((event.uuid, event.block))
            if key not in seen:
                seen.add(key)
                call = _begun(event, clean, breaks=breaks)
                queue.append(call)
                if event.tool_use_id:
                    by_id[event.tool_use_id] = call
                # What only looks about has no step that could end a sequence: the next one does.
                breaks = breaks and not call.whats
        elif event.role == "tool_result" and (answered := by_id.pop(event.tool_use_id, None)) is not None:
            answered.well = not event.is_error
        yield from _settled(queue, by_id)
    yield from _ended(queue, by_id)


def _begun(event: Event, clean: Callable[[str], str], *, breaks: bool) -> _Open:
    # A flat line has no result, and says itself whether it failed.
    well = not event.is_error if event.flat else None
    command = event.tool in _SHELLS
    return _Open(event.session, event_id(event), shapes(event, clean), command, event.at_ms, breaks, well)


def _settled(queue: list[_Open], by_id: dict[str, _Open]) -> Iterator[Step]:
    """Yield what is known of the oldest calls, up to the first that still waits."""
    done = 0
    while done < len(queue) and (queue[done].well is not None or len(queue) - done > MOST_OPEN):
        yield from _steps_of(queue[done])
        done += 1
    if done:
        del queue[:done]
        if not queue:
            by_id.clear()


def _ended(queue: list[_Open], by_id: dict[str, _Open]) -> Iterator[Step]:
    for call in queue:
        yield from _steps_of(call)
    queue.clear()
    by_id.clear()


def _steps_of(call: _Open) -> Iterator[Step]:
    breaks = call.breaks
    for what in call.whats:
        yield Step(call.session, call.id, what, call.command, call.at_ms, call.well is True, breaks)
        breaks = False


def shapes(event: Event, clean: Callable[[str], str]) -> tuple[str, ...]:
    """Return what a call is in short: a word for each step that it consists of; none for looking about.

    `clean` takes secrets out of a text.
    """
    command = event.given.get("command")
    if event.tool in _SHELLS and isinstance(command, str):
        return tuple(filter(None, map(_of_command, shell.calls(clean(command[: shell.LINE_CHARS])))))
    tool = clean(event.tool)
    name = tool if _NAME.fullmatch(tool) else "?"
    if event.tool in ("Skill", "Task", "Agent"):
        kind = event.given.get("skill") or event.given.get("subagent_type")
        kind = clean(kind) if isinstance(kind, str) else ""
        return (f"{name} {kind}" if _NAME.fullmatch(kind) else name,)
    if event.tool in FOLDER_TOOLS:
        return (name,)
    return (name + _kind_of_file(clean(event.path)),)


def _of_command(call: shell.Call) -> str:
    program = call.program
    if program in _MOVING or not _NAME.fullmatch(program):
        return ""
    if program in _WITHOUT_WORD or "." in program or not call.words or not _WORD.fullmatch(call.words[0]):
        return program
    shape = f"{program} {call.words[0]}"
    if shape in _RUNNING:
        return ""
    if shape in _TWO_WORDS and len(call.words) > 1 and _WORD.fullmatch(call.words[1]):
        shape += f" {call.words[1]}"
    return shape


def _kind_of_file(path: str) -> str:
    """Return ``" *.py"`` for a path with an ending, "" for others."""
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return f" *.{ending.lower()}" if stem and _ENDING.fullmatch(ending) else ""
