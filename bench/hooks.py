"""Hooks against a bare interpreter start, in alternation on the same machine.

Prints medians and their ratio: ``python -m bench.hooks [rounds]``. A stand-in holds the worker lock, as a
live worker does, so that the figure is what a turn costs while one works. The recall hooks are asked with
100, 1,000 and 10,000 memories: a prompt that is answered, one that is not, a session's start with
something to say, and a tool's use that a rule is about, or none. CPU is user and system time of the process
and what it started; on a machine that does other work it says more than the clock.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import Ratio
from pipeline.hooklib.places import sanitise
from pipeline.install.hook_registration import hook_command
from pipeline.search.refresh import refresh_index
from pipeline.store import Store
from tests.support.claude_folders import ROOT, UNREADABLE, every_folder

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
FLOOR = "python -I -S -c pass"
CAPTURE = "python -I -S capture.py Stop"
LAUNCHER = "sh run Stop"
COUNTS = (100, 1_000, 10_000)
PROMPT = "how do we deploy to staging, is the vpn needed before?"
OTHER = "rename the variable in that function to something readable"
FOREIGN = 50
FOREIGN_PROMPT = "which voice do product texts have, do they say du to the customer?"
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
PAYLOAD = (
    b'{"session_id":"bench","transcript_path":"/x","hook_event_name":"Stop","last_assistant_message":"%s"}'
    % (b"done " * 200)
)


def once(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, input=PAYLOAD, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the seconds each command took, round by round; the first is the floor."""
    python = os.path.realpath(sys.executable)
    with tempfile.TemporaryDirectory() as person:
        home = os.path.join(person, ".claude", "reverie")
        os.makedirs(home)
        Path(home, "python").write_text(f"{python}\n", encoding="utf-8")
        env = {"PATH": "/usr/bin:/bin", "HOME": person}
        rows = {
            FLOOR: [python, "-I", "-S", "-c", "pass"],
            CAPTURE: [python, "-I", "-S", str(HOOKS / "capture.py"), "Stop"],
            LAUNCHER: ["sh", str(HOOKS / "run"), "Stop"],
        }
        times: dict[str, list[float]] = {name: [] for name in rows}
        with open(os.path.join(home, "worker.lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(rounds):
                for name, command in rows.items():
                    times[name].append(once(command, env))
    return times


def recalling(rounds: int, count: int) -> dict[str, list[float]]:
    """Return the seconds the recall hooks took over `count` memories; the first is the floor."""
    return {name: [wall for wall, _ in times] for name, times in timed_recall(rounds, count).items()}


def timed_recall(rounds: int, count: int) -> dict[str, list[tuple[float, float]]]:
    """Return seconds by the clock and of CPU for each run, as `recalling` does those by the clock."""
    python = os.path.realpath(sys.executable)
    with _installation(count) as (project, env):
        script = [python, "-I", "-S", str(HOOKS / "recall.py")]
        rows = {
            FLOOR: ([python, "-I", "-S", "-c", "pass"], b""),
            f"prompt, answered, {count:,}": ([*script, "UserPromptSubmit"], _asked(project, PROMPT)),
            f"prompt, silent, {count:,}": ([*script, "UserPromptSubmit"], _asked(project, OTHER)),
            f"session start, {count:,}": ([*script, "SessionStart"], _asked(project, source="startup")),
            f"tool, answered, {count:,}": ([*script, "PreToolUse"], _tool(project, "npm install left-pad")),
            f"tool, silent, {count:,}": ([*script, "PreToolUse"], _tool(project, "git status --short")),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
        for number in range(rounds):
            for name, (command, given) in rows.items():
                data = given.replace(b"bench-session", b"bench-%d" % number)
                start, before = time.perf_counter(), _children()
                done = subprocess.run(command, input=data, env=env, check=True, capture_output=True)
                times[name].append((time.perf_counter() - start, _children() - before))
                assert ("answered" in name or "start" in name) == bool(done.stdout), (name, done.stdout)
    return times


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def foreign_ratio(rounds: int) -> Ratio:
    """Compare a prompt's hook over `FOREIGN` files as Claude Code writes them with a bare interpreter.

    They are of `fixtures/audit`, with those that nobody can read and those in other encodings; the prompt is
    one that a memory answers.
    """
    python = os.path.realpath(sys.executable)
    with _installation(0) as (project, env):
        config = Path(env["CLAUDE_CONFIG_DIR"])
        store = config / "projects" / sanitise(os.path.realpath(project)) / "memory"
        taken = [file for half, name in every_folder() for file in sorted((ROOT / half / name).glob("*.md"))]
        odd = [
            ROOT / half / name / file
            for half, name in every_folder()
            for of, file in UNREADABLE
            if of == name
        ]
        chosen = [file for file in taken if file.name != "MEMORY.md" and file not in odd]
        for file in [*odd, *chosen[:: len(chosen) // FOREIGN + 1], *chosen][:FOREIGN]:
            (store / file.name).write_bytes(file.read_bytes())
        refresh_index(config / "reverie", Store.open(store), NOW)
        command = [python, "-I", "-S", str(HOOKS / "recall.py"), "UserPromptSubmit"]
        times: list[float] = []
        floor: list[float] = []
        for number in range(rounds):
            given = _asked(project, FOREIGN_PROMPT).replace(b"bench-session", b"bench-%d" % number)
            for taking, argv in ((floor, [python, "-I", "-S", "-c", "pass"]), (times, command)):
                start = time.perf_counter()
                done = subprocess.run(argv, input=given, env=env, check=True, capture_output=True)
                taking.append(time.perf_counter() - start)
            assert done.stdout, "the prompt is answered"
    middle, base = statistics.median(times), statistics.median(floor)
    return Ratio(middle / base, None, middle * 1e3, base * 1e3, rounds)


@contextmanager
def _installation(count: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield project and environment of an installation with `count` memories, whose worker is at work."""
    with tempfile.TemporaryDirectory() as place:
        config, project = os.path.join(place, "claude"), os.path.join(place, "shop")
        home = os.path.join(config, "reverie")
        os.makedirs(project)
        env = {"PATH": "/usr/bin:/bin", "HOME": place, "CLAUDE_CONFIG_DIR": config}
        _fill(Path(config, "projects", sanitise(os.path.realpath(project)), "memory"), Path(home), count)
        with open(os.path.join(home, "worker.lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield project, env


def _asked(cwd: str, prompt: str = "", **more: str) -> bytes:
    fields = {"session_id": "bench-session", "cwd": cwd, "prompt": prompt, **more}
    return json.dumps(fields).encode()


def _tool(cwd: str, command: str) -> bytes:
    fields = {
        "session_id": "bench-session",
        "cwd": cwd,
        "tool_name": "Bash",
        "tool_input": {"command": command},
    }
    return json.dumps(fields).encode()


def _fill(store: Path, home: Path, count: int) -> None:
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
    (home / "config.toml").write_text("[recall]\nbefore_tools = true\n", encoding="utf-8")
    note_config(home)


def ratio(rounds: int, name: str) -> Ratio:
    """Compare one of the commands with a bare interpreter."""
    times = measure(rounds)
    middle, floor = statistics.median(times[name]), statistics.median(times[FLOOR])
    return Ratio(middle / floor, None, middle * 1e3, floor * 1e3, rounds)


def installed_ratio(rounds: int, event: str, count: int = 100) -> Ratio:
    """Compare the command that stands in settings.json for `event`, run by a shell, with ``python -c pass``.

    That is what a session waits for: shell, interpreter and hook, over `count` memories.
    """
    python = os.path.realpath(sys.executable)
    with _installation(count) as (project, env):
        command = ["/bin/sh", "-c", hook_command(event, python=python, hooks=HOOKS)]
        taken: list[float] = []
        floor: list[float] = []
        for number in range(rounds):
            given = _asked(project, source="startup").replace(b"bench-session", b"bench-%d" % number)
            for times, argv in ((floor, [python, "-c", "pass"]), (taken, command)):
                start = time.perf_counter()
                subprocess.run(argv, input=given, env=env, check=True, capture_output=True)
                times.append(time.perf_counter() - start)
    middle, base = statistics.median(taken), statistics.median(floor)
    return Ratio(middle / base, None, middle * 1e3, base * 1e3, rounds)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    times = measure(rounds)
    floor = statistics.median(times[FLOOR])
    print(f"{'hook':32}{'median ms':>10}{'ratio':>8}   ({rounds} rounds, target 1.5 for capture.py)")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"{name:32}{middle * 1000:10.2f}{middle / floor:8.2f}")
    print(f"\n{'hook':32}{'wall ms':>10}{'ratio':>8}{'CPU ms':>10}{'ratio':>8}   (target 5)")
    for count in COUNTS:
        runs = timed_recall(max(10, rounds // 4), count)
        wall, cpu = _middles(runs.pop(FLOOR))
        for name, both in runs.items():
            waited, used = _middles(both)
            print(
                f"{name:32}{waited * 1e3:10.2f}{waited / wall:8.2f}{used * 1e3:10.2f}{used / cpu:8.2f}",
                flush=True,
            )


def _middles(taken: list[tuple[float, float]]) -> tuple[float, float]:
    wall, cpu = zip(*taken, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def recall_ratio(rounds: int, count: int, name: str) -> Ratio:
    """Compare the recall hook that `name` begins with, over `count` memories, with a bare interpreter."""
    times = recalling(rounds, count)
    found = next(taken for label, taken in times.items() if label.startswith(name))
    middle, floor = statistics.median(found), statistics.median(times[FLOOR])
    return Ratio(middle / floor, None, middle * 1e3, floor * 1e3, rounds)


if __name__ == "__main__":
    main()
