"""The hooks as they stand in Claude Code's settings, run by a shell as it runs them.

The commands are those that ``reverie install`` writes into ``settings.json`` and those of the plugin's
``hooks.json``. The floor is a bare start of the same Python. *Alive* means that somebody holds the
worker's lock, as a worker does that waits; for *none alive* the hook starts the real worker, each time anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.process import BARE, Command, Spent, ratio, spend
from bench.row import GIVEN, OWN, Found, Group, Row, Target, found
from pipeline.hooklib.places import sanitise
from pipeline.search.refresh import refresh_index
from pipeline.store import Store
from tests.support.claude_folders import ROOT, UNREADABLE, every_folder

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
PROMPT = "how do we deploy to staging, is the vpn needed before?"
OTHER = "rename the variable in that function to something readable"
FOREIGN = 50
FOREIGN_PROMPT = "which voice do product texts have, do they say du to the customer?"
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
BARE_START = "bare start of Python"
INSTALLED, PLUGIN, STATUS_LINE = "as installed", "as a plugin", "status line"


@dataclass(frozen=True, slots=True)
class Case:
    """How a row is run: the command of `form` for `event`, given these fields, and whether it must answer."""

    form: str
    event: str
    fields: Mapping[str, object]
    answers: bool | None = None


@dataclass(frozen=True, slots=True)
class Installation:
    """A project of a person who has Reverie both ways; `commands` are those registered, by form and event."""

    project: str
    home: Path
    env: Mapping[str, str]
    commands: Mapping[tuple[str, str], str]

    def command(self, case: Case, number: int) -> Command:
        """Return what Claude Code runs for `case` in session `number`."""
        given = {"session_id": f"bench-{number}", "cwd": self.project, "transcript_path": "/x", **case.fields}
        line = self.commands[case.form, case.event]
        return Command(["/bin/sh", "-c", line], self.env, json.dumps(given).encode(), cwd=Path(self.project))


@contextmanager
def installation(place: Path, count: int) -> Iterator[Installation]:
    """Yield an installation with `count` memories in the project's store."""
    config, project = place / "claude", place / "shop"
    home = config / "reverie"
    project.mkdir(parents=True)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(place), "CLAUDE_CONFIG_DIR": str(config)}
    store = config / "projects" / sanitise(os.path.realpath(project)) / "memory"
    fill(store, home, count)
    reverie = str(Path(sys.executable).with_name("reverie"))
    install = [reverie, "install", "--yes", "--status-line"]
    subprocess.run(install, env=env, cwd=project, check=True, capture_output=True)
    env["CLAUDE_PLUGIN_ROOT"] = str(HOOKS.parent)
    settings = json.loads((config / "settings.json").read_text("utf-8"))
    commands = {(INSTALLED, event): line for event, line in _commands(settings["hooks"])}
    plugin = json.loads((HOOKS / "hooks.json").read_text("utf-8"))["hooks"]
    commands |= {(PLUGIN, event): line for event, line in _commands(plugin)}
    commands[STATUS_LINE, ""] = settings["statusLine"]["command"]
    yield Installation(str(project), home, env, commands)


def _commands(hooks: Mapping[str, list[dict[str, list[dict[str, str]]]]]) -> Iterator[tuple[str, str]]:
    for event, (group,) in hooks.items():
        (handler,) = group["hooks"]
        yield event, handler["command"]


def fill(store: Path, home: Path, count: int) -> None:
    """Write `count` memories, one of which is about PROMPT, their index, and the person's own store.

    One in ten is a rule about some command; one of Reverie's own is about npm, and tools are listened to.
    """
    from bench.search import prose
    from pipeline.recall.prepared.hook_state import note_config
    from tests.support.stores import memory, save

    chance = random.Random(count)
    head = "---\nname: {0}\ndescription: {1}\ntype: project\nid: {2}\n---\n{3}\n"
    for folder, number in ((store, count), (home / "memory", 20)):
        folder.mkdir(parents=True)
        for at in range(number):
            name, said = f"m-{at}", prose(chance, 14)
            if folder == store and at == 0:
                name, said = "vpn-before-staging", "Connect the harbour VPN before deploying to staging."
            text = head.format(name, said, f"{at:08x}-0000-4000-8000-000000000000", prose(chance, 80))
            if at % 10 == 5:
                text = text.replace("type: project", "type: feedback") + f"Never run `make m-{at}`.\n"
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
        opened = Store.open(folder)
        if folder == store:
            save(opened, memory("never-npm", description="Use pnpm, never npm.", body="Use pnpm.\n"))
        opened.reindex(now=NOW)
        refresh_index(home, opened, NOW)
    (home / "config.toml").write_text(
        '[model]\nprovider = "offline"\n[recall]\nbefore_tools = true\n', encoding="utf-8"
    )
    note_config(home)


def _foreign(place: Installation) -> None:
    """Put files as Claude Code writes them into the store, unreadable ones and other encodings among them."""
    store = place.home.parent / "projects" / sanitise(os.path.realpath(place.project)) / "memory"
    taken = [file for half, name in every_folder() for file in sorted((ROOT / half / name).glob("*.md"))]
    odd = [
        ROOT / half / name / file for half, name in every_folder() for of, file in UNREADABLE if of == name
    ]
    chosen = [file for file in taken if file.name != "MEMORY.md" and file not in odd]
    for file in [*odd, *chosen[:: len(chosen) // FOREIGN + 1], *chosen][:FOREIGN]:
        (store / file.name).write_bytes(file.read_bytes())
    refresh_index(place.home, Store.open(store), NOW)


@contextmanager
def alive(home: Path) -> Iterator[Callable[[], None]]:
    """Hold the worker's lock; what is yielded does nothing, as nothing is started that would be ended."""
    with open(home / "worker.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lambda: None


@contextmanager
def none_alive(home: Path) -> Iterator[Callable[[], None]]:
    """Yield what ends the worker that a hook has just started, so that the next one finds none."""
    place = home / "worker.lock"

    def end() -> None:
        os.kill(int(place.read_text("ascii")), signal.SIGKILL)
        with open(place, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    yield end


Workers = Callable[[Path], AbstractContextManager[Callable[[], None]]]


def _measure(
    count: int, workers: Workers, cases: Mapping[Row, Case], *, foreign: bool = False
) -> Callable[[Path, int, Collection[str]], Mapping[str, Found]]:
    """Return what measures `cases` over `count` memories, all in turn with one floor."""

    def measure(folder: Path, rounds: int, wanted: Collection[str]) -> Mapping[str, Found]:
        chosen = {row: case for row, case in cases.items() if row.name in wanted}
        times = rounds * max(row.rounds for row in chosen)
        taken: dict[Row, list[Spent]] = {row: [] for row in chosen}
        bare: list[Spent] = []
        with ExitStack() as stack:
            place = stack.enter_context(installation(folder, count))
            if foreign:
                _foreign(place)
            end_worker = stack.enter_context(workers(place.home))
            for number in range(times + 1):
                bare.append(spend(Command(BARE)))
                for row, case in chosen.items():
                    taken[row].append(spend(place.command(case, number)))
                    end_worker()
                    said = bool(taken[row][-1].out.strip())
                    if case.answers not in (None, said):
                        raise RuntimeError(f"{row.name}: answered {said}, with {taken[row][-1].out!r}")
        # The first round warms the disk's cache.
        return {row.name: found(row, ratio(spent[1:], bare[1:])) for row, spent in taken.items()}

    return measure


def _tool(command: str) -> dict[str, object]:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


STOP = {"hook_event_name": "Stop", "last_assistant_message": "done " * 200}
ASKED, UNASKED, STARTED = {"prompt": PROMPT}, {"prompt": OTHER}, {"source": "startup"}


def _stops() -> Iterator[Group]:
    for title, workers, limit in (("worker alive", alive, 1.5), ("no worker alive", none_alive, 2.0)):
        cases = {
            Row(
                f"Stop, {form}, {title}",
                f"a finished turn's hook {form}, {title}",
                BARE_START,
                Target(GIVEN, cpu=limit),
                rounds=10 if workers is alive else 4,
            ): Case(form, "Stop", STOP, answers=False)
            for form in (INSTALLED, PLUGIN)
        }
        yield Group("What a turn waits for", tuple(cases), _measure(100, workers, cases))


def _answers(count: int) -> Iterator[Group]:
    cases: dict[Row, Case] = {}

    def add(name: str, work: str, case: Case, target: Target) -> None:
        row = Row(f"{name}, {count:,}", f"{work}, {count:,} memories", BARE_START, target, rounds=4)
        cases[row] = case

    given, own = Target(GIVEN, cpu=5), Target(OWN, cpu=5)
    prompt = "UserPromptSubmit"
    add("prompt answered", "a prompt that a memory answers", Case(INSTALLED, prompt, ASKED, True), given)
    add("prompt silent", "a prompt that none answers", Case(INSTALLED, prompt, UNASKED, False), given)
    add("session start", "a session's start", Case(INSTALLED, "SessionStart", STARTED), given)
    if count == 10_000:
        plugin = Case(PLUGIN, prompt, ASKED, True)
        add("prompt answered, plugin", "the same as a plugin", plugin, given)
        npm = Case(INSTALLED, "PreToolUse", _tool("npm install left-pad"), True)
        add("tool with a rule", "a tool's use that a rule is about", npm, own)
        git = Case(INSTALLED, "PreToolUse", _tool("git status --short"), False)
        add("tool without a rule", "a tool's use that none is about", git, own)
        line = Case(STATUS_LINE, "", {"workspace": {}}, True)
        add("status line", "the line below the prompt", line, Target(OWN, cpu=4))
    yield Group("What a prompt and a session wait for", tuple(cases), _measure(count, alive, cases))


def _odd_files() -> Group:
    row = Row(
        f"prompt, {FOREIGN} foreign files",
        f"a prompt over {FOREIGN} files that Claude Code wrote, odd ones among them",
        BARE_START,
        Target(GIVEN, cpu=5),
        rounds=4,
    )
    cases = {row: Case(INSTALLED, "UserPromptSubmit", {"prompt": FOREIGN_PROMPT}, answers=True)}
    return Group("What a prompt and a session wait for", (row,), _measure(0, alive, cases, foreign=True))


def groups() -> list[Group]:
    """Return the rows about hooks."""
    answers = [group for count in (100, 1_000, 10_000) for group in _answers(count)]
    return [*_stops(), *answers, _odd_files()]
