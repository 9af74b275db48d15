"""The pages of `reverie open` over 10,000 memories, 30,000 edges and 5,000 entries of dreams.

    python -m bench.web [rounds] [folder]

The real server in a process of its own, asked over loopback. *At once* is asked in the moment it tells its
address: what it opens ahead waits until that is answered, so that all is in it that the page needs, and no
more; *whole* is that with all that came before it, from the start of the process to the end of the page.
Of both it is the least of a few servers. *first* is the first request of a server that has opened ahead,
which is what a browser meets that takes a second to come up, *then* those after it. *cpu* is what the server
spent, all its threads together, and *wall* the least that a browser waited. The floor is reading what the
page shows, here, with bare SQLite and YAML. With a `folder` the store is kept there and found again the next
time. The graph's picture at once is that of a map whose relations an earlier server has left.
"""

from __future__ import annotations

import http.client
import select
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlsplit

import orjson
import yaml

from bench import reading
from bench.growth import Desk
from bench.web_store import lay_out
from pipeline.core.home import Home
from pipeline.search import index_reader

COUNT = 10_000
_ROWS = 100
_TYPED = ("pars", "parser", "parser w", "parser wor", "parser worker", "the build", "session's tra", "docker")
"""What is in the field while somebody types."""
_SECONDS = 120.0
_SERVERS = 3
"""So many are started for what is asked at once: of one alone the machine has too much of a say."""
_LOOK = 0.5
_OF_A_PROCESS = 2
"""CPUCLOCK_SCHED: which of a process's clocks is meant."""


class Server:
    """A server of the page that runs; what it spends is asked of the kernel."""

    def __init__(self, desk: Desk) -> None:
        self._began = time.perf_counter()
        command = desk.command("open", "--no-browser")
        self._process = subprocess.Popen(
            command.argv, env=command.env, cwd=command.cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], _SECONDS)[0]:
            raise RuntimeError("the server did not start")
        address = urlsplit(self._process.stdout.readline().decode().strip())
        self._root = address.path
        self._line = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, path: str) -> tuple[float, float]:
        """Ask for `path`; return milliseconds of the server's processor time and of waiting."""
        cpu, wall = self._cpu(), time.perf_counter()
        self._line.request("GET", self._root + path)
        answer = self._line.getresponse()
        answer.read()
        wall = time.perf_counter() - wall
        if answer.status != 200:
            raise RuntimeError(f"{path} was answered with {answer.status}")
        return (self._cpu() - cpu) * 1e3, wall * 1e3

    def _cpu(self) -> float:
        """Return seconds on a processor, those of threads that have ended too.

        It is the clock of that process, as Linux numbers it; the ticks of `stat` would be too coarse.
        """
        return time.clock_gettime((~self._process.pid << 3) | _OF_A_PROCESS)

    def since_start(self) -> tuple[float, float]:
        """Return milliseconds of processor time and on the clock since the process was started."""
        return self._cpu() * 1e3, (time.perf_counter() - self._began) * 1e3

    def settle(self) -> None:
        """Wait until it has opened what it opens ahead: until it spends nothing any more."""
        before = self._cpu()
        for _ in range(int(_SECONDS / _LOOK)):
            time.sleep(_LOOK)
            now = self._cpu()
            if now - before < _LOOK / 20:
                return
            before = now


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is measured: its name, its addresses in turn, and how what it shows is read at least."""

    name: str
    paths: tuple[str, ...]
    floor: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds of one page."""

    at_once: float
    whole_cpu: float
    whole_wall: float
    first_cpu: float
    first_wall: float
    cpu: float
    wall: float
    floor: float


def pages(desk: Desk) -> list[Page]:
    """Return the pages to ask for, over the store of `desk`."""
    files = sorted(Path(entry.path) for entry in reading.files(str(desk.store), edges=False))
    files = [file for file in files if file.read_bytes().startswith(b"---\n")]
    some = files[5 :: max(1, len(files) // 20)][:20]
    rows = files[:_ROWS]
    dreams = sorted(Home(desk.home).reports.glob("*.json"))[:_ROWS]

    def read(found: Sequence[Path]) -> Callable[[], object]:
        return lambda: [_front(file) for file in found]

    shown = read([some[0], *rows])
    return [
        Page("list", ("", "?from=5000", "?type=project", "?sort=name"), read(rows)),
        Page("memory", tuple(f"memory/{quote(file.stem)}" for file in some), shown),
        Page("search, whole", tuple(f"?q={quote(word)}" for word in _TYPED), _asked(desk)),
        Page(
            "search as you type",
            tuple(f"?q={quote(word)}&part=rows" for word in _TYPED),
            _asked(desk),
        ),
        Page("left", ("?show=left",), int),
        Page("today", ("today",), int),
        Page("timeline", ("timeline",), int),
        Page(
            "dreams",
            ("dreams", "dreams?from=100"),
            lambda: [orjson.loads(file.read_bytes()) for file in dreams],
        ),
        Page("inbox", ("inbox", "inbox?from=100"), lambda: _rows(Home(desk.home).ledger, "inbox")),
        Page("graph", ("graph",), _graph(desk)),
        Page("graph's picture", ("graph/picture",), _graph(desk)),
        Page("cost", ("cost", "cost?days=90"), lambda: _rows(Home(desk.home).ledger, "model_calls")),
        Page("health", ("health",), int),
    ]


def _front(file: Path) -> object:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_bytes().split(b"---\n", 2)[1], Loader=loader)


def _asked(desk: Desk) -> Callable[[], object]:
    file = index_reader.index_path(str(desk.home), str(desk.store.resolve()))
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    turn = iter(range(1_000_000))

    def ask() -> object:
        words = _TYPED[next(turn) % len(_TYPED)].replace("'", " ").split()
        match = " OR ".join(f'"{word}"' for word in words)
        return connection.execute(
            "SELECT d.path, d.shown FROM words JOIN documents d ON d.id = words.rowid"
            " WHERE words MATCH ? ORDER BY bm25(words) LIMIT 100",
            (match,),
        ).fetchall()

    return ask


def _graph(desk: Desk) -> Callable[[], object]:
    file = desk.store / ".reverie" / "catalogue.sqlite"
    return lambda: (_rows(file, "files"), _rows(file, "texts"))


def _rows(file: Path, table: str) -> object:
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return connection.execute(f"SELECT * FROM {table}").fetchall()
    finally:
        connection.close()


def measured(desk: Desk, page: Page, rounds: int) -> Figures:
    """Ask new servers for `page` at once; another one that has settled, and then again and again."""
    new = []
    for _ in range(_SERVERS):
        with Server(desk) as server:
            at_once, _ = server.ask(page.paths[0])
            new.append((at_once, *server.since_start()))
    with Server(desk) as server:
        server.settle()
        first = server.ask(page.paths[0])
        numbers = range(max(rounds, len(page.paths)))
        found = [server.ask(page.paths[number % len(page.paths)]) for number in numbers]
    floor = statistics.median(_timed(page.floor) for _ in range(rounds))
    cpu = statistics.median(cpu for cpu, _ in found)
    once, whole_cpu, whole_wall = (min(values) for values in zip(*new, strict=True))
    return Figures(once, whole_cpu, whole_wall, *first, cpu, min(wall for _, wall in found), floor)


def _timed(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return (time.thread_time() - start) * 1e3


def main() -> None:
    """Print a line for each page, or for those whose name is given."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    only = sys.argv[3:]
    with tempfile.TemporaryDirectory() as made:
        place = Path(sys.argv[2] if len(sys.argv) > 2 else made) / "desk"
        desk = Desk(place) if place.exists() else lay_out(place, COUNT)
        columns = (
            "at once",
            "whole cpu",
            "whole wall",
            "first cpu",
            "first wall",
            "then cpu",
            "then wall",
            "floor",
        )
        print(f"{'ms':24}" + "".join(f"{name:>12}" for name in columns))
        for page in pages(desk):
            if not only or page.name in only:
                found = measured(desk, page, rounds)
                values = (
                    found.at_once,
                    found.whole_cpu,
                    found.whole_wall,
                    found.first_cpu,
                    found.first_wall,
                    found.cpu,
                    found.wall,
                    found.floor,
                )
                print(f"{page.name:24}" + "".join(f"{value:12.1f}" for value in values), flush=True)


if __name__ == "__main__":
    main()
