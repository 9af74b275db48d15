"""Machines of one login that read a team's backlog: who gives it, and homes that mount the folder."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.hooklib.places import sanitise
from tests.support.loopback import fact, new_dialogue, person_lines
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

REVERIE = (str(Path(sys.executable).with_name("reverie")),)
ROOMY = {
    "REVERIE_SPEND__CALLS_PER_HOUR": "100000",
    "REVERIE_SPEND__TOKENS_PER_HOUR": "900000000",
    "REVERIE_SPEND__DOLLARS_PER_DAY": "10000",
}


def keep_facts(prompt: str) -> dict[str, Any]:
    """Play the model: it keeps each line that tells a port, which only one conversation does."""
    kept = [
        fact("-".join(text.split()[:4]), text, number)
        for number, text in person_lines(prompt)
        if text.startswith("The port of")
    ]
    return {"memories": kept}


def telling(number: int) -> str:
    """Return what only conversation `number` says."""
    return f"The port of service-{number} is {20_000 + number}."


def talk(folder: Path, project: str, number: int) -> Path:
    """Write a session in which a person tells a fact; return its transcript."""
    name = f"{number:08x}-0000-4000-9000-{number:012x}"
    cwd = f"/home/dev/{project}"
    minute = f"{number % 60:02d}"
    session = Transcript(
        name, cwd, f"2026-01-{number // 1440 % 27 + 1:02d}T{number // 60 % 24:02d}:{minute}:00Z"
    )
    session.user(telling(number))
    session.assistant("Understood.")
    session.user("Thanks, go on then please.")
    session.assistant("Done.")
    session.user("Good.")
    session.assistant("Anything else?")
    below = folder / sanitise(cwd)
    below.mkdir(parents=True, exist_ok=True)
    return session.write(below)


class Machine(Workshop):
    """A home of the team's login `url`; `mount` is where transcripts are, its own folder if it is None."""

    def __init__(self, place: Path, env: Mapping[str, str], mount: Path | None = None) -> None:
        super().__init__(place, {**ROOMY, **env})
        self.mount = mount

    def serving(self, team: str, url: str, *words: str) -> list[str]:
        """Return the command by which this machine reads the backlog."""
        there = ["--transcripts", str(self.mount)] if self.mount else []
        return [*REVERIE, "worker", "--team", "--name", team, "--database", url, *there, *words]

    def begin(self, team: str, url: str, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start a worker for `team`."""
        return subprocess.Popen(
            self.serving(team, url, *words),
            env={**self.env, **env},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def told(self, *arguments: str, **env: str) -> Any:
        """Return what a command prints as JSON."""
        done = self.reverie(*arguments, "--json", **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def facts(self) -> Counter[str]:
        """Return how often each fact stands in the memories of this machine."""
        found: Counter[str] = Counter()
        for file in self.projects.glob("*/memory/*.md"):
            if file.name != "MEMORY.md" and not file.name.startswith(("CORE", "REFLECTION")):
                body = file.read_text("utf-8").split("\n---\n", 1)[-1]
                found.update(line for line in body.splitlines() if line.startswith("The port of"))
        return found


def said_in(prompts: Iterable[str]) -> Counter[str]:
    """Return how often a model was asked about each fact."""
    lines = (line for prompt in prompts for line in new_dialogue(prompt).splitlines())
    return Counter("The port of" + line.split("The port of")[1] for line in lines if "The port of" in line)


@dataclass
class Seen:
    """What was seen of workers at work: how many were killed, and the most connections and kilobytes.

    `early` and `late` are the most that a worker held in the first and the last third of its life.
    """

    kills: int = 0
    connections: int = 0
    early: int = 0
    late: int = 0
    outputs: list[str] = field(default_factory=list)


def storm(
    machines: Sequence[Machine],
    command: Callable[[Machine], subprocess.Popen[str]],
    *,
    kill_every: int,
    calls: Callable[[], int],
    connections: Callable[[], int],
    seed: int = 1,
) -> Seen:
    """Run a worker on each machine until all have ended, and kill one now and then, which is begun again.

    One is killed each time the model was called `kill_every` times more, by `calls`; none with 0. It is none
    of the half that were killed last: what nobody comes further with is given up after some deaths.
    """
    seen, chance = Seen(), random.Random(seed)
    spared = deque[int](maxlen=len(machines) // 2)
    running = {number: command(machine) for number, machine in enumerate(machines)}
    due = kill_every
    held: dict[int, list[int]] = {}
    while running:
        for number, process in list(running.items()):
            try:
                process.wait(timeout=0.2 / len(running))
            except subprocess.TimeoutExpired:
                held.setdefault(process.pid, []).append(kilobytes(process.pid))
                continue
            out, err = process.communicate()
            assert process.returncode in (0, -signal.SIGKILL), err
            if process.returncode:
                running[number] = command(machines[number])
            else:
                seen.outputs.append(out)
                del running[number]
        seen.connections = max(seen.connections, connections())
        if kill_every and running and calls() >= due:
            due = calls() + kill_every
            number = chance.choice([each for each in running if each not in spared] or list(running))
            spared.append(number)
            if running[number].poll() is None:
                running[number].kill()
                seen.kills += 1
    for values in held.values():
        third = max(1, len(values) // 3)
        seen.early = max(seen.early, *values[:third])
        seen.late = max(seen.late, *values[-third:])
    return seen


def kilobytes(pid: int) -> int:
    """Return how much memory a process holds, 0 for one that is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS:")), 0)
