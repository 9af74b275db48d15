"""What a turn costs behind the session's back: the detached worker as a whole process, its imports included.

    python -m bench.worker [--rounds N] [--only turn|dream|idle] [--json]

A *turn* is a prompt that says "ok", which writes nothing: the spool has its event, and the worker is started
as a hook starts it, without a model. A *dream* is over ten changed memories, with a model that keeps all as
it is; its own part is what is left of the process when one that only opens and scans the same store is taken
off. *Idle* is the memory that a worker holds while it waits for a job that is nearly due.
Everything is processor time of the whole process (user and system, from ``wait4``) and wall time, in turn
with a bare interpreter; medians of the rounds.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bench.store import memory_of
from pipeline.core.ids import digest
from pipeline.hooklib.places import sanitise
from pipeline.ledger import open_ledger
from pipeline.store.files import document
from pipeline.store.ownership.written_log import WrittenLog
from tests.support.transcripts import Transcript

ROOT = Path(__file__).resolve().parent.parent
COUNTS = (100, 1_000, 10_000)
BARE = (sys.executable, "-I", "-S", "-c", "pass")
GROWTH, START, IDLE_MB = 1.3, 25.0, 60.0
"""An "ok" turn at 10,000 over one at 100; one at 100 over the bare interpreter; what may linger."""
DREAM_GROWTH = 1.5
WORKER = (sys.executable, "-m", "pipeline.worker")
K = TypeVar("K")
TURN, TURN_GROWTH, OWN_PART = "a turn of few", "a turn of most over one of few", "the dream's own part"
IDLE = {COUNTS[0]: "idle after few", COUNTS[-1]: "idle after most"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took: seconds of processor and wall time, and the most memory in MB."""

    cpu: float
    wall: float
    peak: float


@dataclass(frozen=True, slots=True)
class Line:
    """One ratio of the table, with the figures behind it and what it should be at most."""

    what: str
    against: str
    cpu: float
    wall: float | None
    cpu_ms: float
    peak: float
    target: float
    name: str = ""
    """By which `bench.behind` asks for it, "" for a line that is only shown."""

    @property
    def verdict(self) -> str:
        """Return whether the target is met."""
        return "ok" if self.cpu <= self.target else "MISSED"


def cost_of(command: Sequence[str], env: Mapping[str, str], cwd: Path, keep: int = 0) -> Cost:
    """Run `command` to its end and return what it took. Raises RuntimeError when it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(keep,) if keep else (),
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    # Linux counts kilobytes, macOS bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / unit)


def bare(cwd: Path) -> Cost:
    """Return what an interpreter takes that does nothing."""
    return cost_of(BARE, {"PATH": os.environ["PATH"]}, cwd)


class Desk:
    """A home, a project and its store of `count` memories, all below the folder `place`."""

    def __init__(self, place: Path, count: int) -> None:
        self.home = place / "claude" / "reverie"
        self.project = place / "shop"
        self.project.mkdir(parents=True)
        self.folder = place / "claude" / "projects" / sanitise(os.path.realpath(self.project))
        self.store = self.folder / "memory"
        fill(self.store, count)
        self.home.mkdir(parents=True)
        (self.home / "config.toml").write_text(
            '[model]\nprovider = "offline"\n[extraction]\nturn_interval_seconds = 1\n'
            "[worker]\nflush_wait_seconds = 0\nlinger_seconds = 0\n",
            "utf-8",
        )
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(place),
            "CLAUDE_CONFIG_DIR": str(place / "claude"),
            "REVERIE_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            "PYTHONUTF8": "1",
            "PYDANTIC_DISABLE_PLUGINS": "__all__",
        }
        start = datetime.now(UTC).replace(microsecond=0).isoformat()
        self.session = Transcript("5c1e0000-0000-4000-8000-000000000001", str(self.project), start)
        self._events, self._ended = 0, 0.0
        # Until nothing that is made once is left to make.
        for text in ("Remember: the queue is kept in SQLite, never in memory.", "ok", "ok"):
            self.say(text)
            self.work()

    def say(self, text: str) -> None:
        """Let a person say `text`, and leave the event that the hook leaves when the turn ends."""
        self.session.user(text)
        self.session.assistant("Done.")
        path = self.session.write(self.folder)
        self._events += 1
        spool = self.home / "spool"
        spool.mkdir(mode=0o700, exist_ok=True)
        name = f"{int(time.time() * 1000):013d}-1-{self._events:06x}-Stop.json"
        fields = {"session_id": self.session.session_id, "transcript_path": str(path)}
        fields |= {"cwd": str(self.project), "hook_event_name": "Stop"}
        (spool / name).write_text(json.dumps(fields), "utf-8")

    def work(self) -> Cost:
        """Let a worker do what there is to do."""
        # A turn that follows too soon would be put off.
        time.sleep(max(0.0, self._ended + 1.1 - time.time()))
        with (self.home / "worker.lock").open("w+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            command = (*WORKER, "--lock-fd", str(lock.fileno()))
            cost = cost_of(command, self.env, self.home, keep=lock.fileno())
        self._ended = time.time()
        return cost

    def turn(self) -> Cost:
        """Return what a turn takes that says nothing."""
        self.say("ok")
        return self.work()

    def idle(self) -> float:
        """Return how many MB a worker holds that waits after a turn."""
        self.say("ok")
        env = {**self.env, "REVERIE_WORKER__LINGER_SECONDS": "600"}
        with open_ledger(self.home / "ledger.sqlite") as ledger:
            ledger.execute(
                "INSERT OR REPLACE INTO jobs (kind, key, state, run_after, created_at, changed_at)"
                " VALUES ('extract_turn', 'later', 'waiting', ?, 0, 0)",
                (time.time() + 500,),
            )
        log = self.home / "logs" / "worker.log"
        passes = log.read_text("utf-8").count(" pass: ")
        process = subprocess.Popen(WORKER, env=env, cwd=self.home)
        try:
            while log.read_text("utf-8").count(" pass: ") == passes:
                time.sleep(0.1)
            time.sleep(1.5)
            status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
        finally:
            process.kill()
            process.wait()
            with open_ledger(self.home / "ledger.sqlite") as ledger:
                ledger.execute("DELETE FROM jobs WHERE key = 'later'")
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


def fill(store: Path, count: int) -> None:
    """Write `count` memories of Reverie's own as files, not by the store, which would take minutes."""
    chance = random.Random(count)
    (store / ".reverie").mkdir(parents=True)
    written: list[tuple[str, str]] = []
    for number in range(count):
        memory = memory_of(number, chance)
        data = document.compose(memory)
        (store / f"{memory.name}.md").write_bytes(data)
        written.append((f"{memory.name}.md", digest(data)))
    WrittenLog(store).append(written)


def turns(place: Path, rounds: int) -> list[Line]:
    """Compare a turn that says "ok" among `COUNTS` memories with a bare interpreter, and with one another."""
    desks = {count: Desk(place / str(count), count) for count in COUNTS}
    found = _in_turn({**{count: desk.turn for count, desk in desks.items()}, 0: lambda: bare(place)}, rounds)
    few = COUNTS[0]
    lines = [
        _line(
            f'"ok" among {count:,}',
            "bare interpreter",
            found[count],
            found[0],
            START if count == few else 0,
            TURN if count == few else "",
        )
        for count in COUNTS
    ]
    most = COUNTS[-1]
    return [
        *lines,
        _line(f'"ok" among {most:,}', f"among {few:,}", found[most], found[few], GROWTH, TURN_GROWTH),
    ]


def idling(place: Path, _: int) -> list[Line]:
    """Return what a worker holds that waits after a turn among `COUNTS` memories, in MB."""
    lines = []
    for count, name in IDLE.items():
        held = Desk(place / str(count), count).idle()
        lines.append(Line(f"idle after {count:,}", "1 MB", held, None, 0.0, held, IDLE_MB, name))
    return lines


def dreams(place: Path, rounds: int) -> list[Line]:
    """Compare a dream over ten changes among 10,000 memories with one among 100, and its own part."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(place)}
    few, many = COUNTS[0], COUNTS[-1]

    def run(part: str, count: int) -> Callable[[], Cost]:
        night = place / f"night-{count}"
        command = (sys.executable, "-m", "bench.worker", "--night", str(night), "--part", part)
        return lambda: cost_of(command, env, ROOT)

    for count in (few, many):
        _prepare(place / f"night-{count}", count)
    found = _in_turn(
        {(part, count): run(part, count) for part in ("dream", "scan") for count in (few, many)}, rounds
    )
    own = {
        count: Cost(
            *(
                a - b
                for a, b in zip(_values(found["dream", count]), _values(found["scan", count]), strict=True)
            )
        )
        for count in (few, many)
    }
    return [
        _line(f"dream, 10 of {many:,}", f"10 of {few:,}", found["dream", many], found["dream", few], 0),
        _line("  its own part", f"10 of {few:,}", own[many], own[few], DREAM_GROWTH, OWN_PART),
    ]


def _values(cost: Cost) -> tuple[float, float, float]:
    return cost.cpu, cost.wall, cost.peak


def _prepare(night: Path, count: int) -> None:
    """Make a store that has dreamt, then say ten of its memories again; the index knows all of them."""
    from bench.dream import NOW, filled
    from pipeline.search.refresh import refresh_index

    with filled(night, count) as made:
        made.store.reindex(now=NOW)
        made.restate()
        made.store.reindex(now=NOW)
        refresh_index(made.home, made.store, NOW)


def _night(place: Path, part: str) -> None:
    """Do one `part` of a dream in this process; what a dream notes is taken back, so the next is the same."""
    from bench.dream import Night
    from pipeline.ledger import dreams as noted
    from pipeline.store import Store

    with open_ledger(place / "home" / "ledger.sqlite") as ledger:
        night = Night(ledger, Store.open(place / "memory"), place / "home")
        if part == "scan":
            night.store.scan()
            return
        before = noted.seen(ledger, str(night.store.path))
        night.dream()
        after = noted.seen(ledger, str(night.store.path))
        noted.forget_seen(ledger, str(night.store.path), after.keys() - before.keys())


def _in_turn(works: Mapping[K, Callable[[], Cost]], rounds: int) -> dict[K, Cost]:
    """Do all `works` in turn, `rounds` times, and return the medians of what each took."""
    taken: dict[K, list[Cost]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(work())
    return {
        name: Cost(*(statistics.median(values) for values in zip(*map(_values, costs), strict=True)))
        for name, costs in taken.items()
    }


def _line(what: str, against: str, subject: Cost, floor: Cost, target: float, name: str = "") -> Line:
    wall = subject.wall / floor.wall
    return Line(
        what,
        against,
        subject.cpu / floor.cpu,
        wall,
        subject.cpu * 1e3,
        subject.peak,
        target or float("inf"),
        name,
    )


ROWS = {"turn": turns, "dream": dreams, "idle": idling}


def main() -> int:
    """Measure what the command line chose and print it; exit 1 when a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.worker", description="Measure the worker.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=ROWS, default="")
    parser.add_argument("--json", action="store_true", help="print the lines as JSON")
    parser.add_argument("--night", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", default="dream", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.night:
        _night(options.night, options.part)
        return 0
    found: list[Line] = []
    for name, measured in ROWS.items():
        if options.only in ("", name):
            with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder:
                lines = measured(Path(folder), options.rounds)
            found += lines
            if not options.json:
                _show(lines)
    if options.json:
        print(json.dumps([asdict(line) for line in found], indent=1))
    return int(any(line.verdict != "ok" for line in found))


def _show(lines: Sequence[Line]) -> None:
    for line in lines:
        wall = "" if line.wall is None else f"{line.wall:.2f}"
        target = "" if line.target == float("inf") else f"{line.target:g}"
        print(
            f"{line.what:24}{line.against:20}{line.cpu_ms:9.0f} ms{line.peak:7.0f} MB"
            f"{line.cpu:8.2f} cpu{wall:>7} wall{target:>6}  {line.verdict if target else ''}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
