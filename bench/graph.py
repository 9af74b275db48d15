"""The cognitive store at 10,000 memories and 30,000 edges: every command, and every tool of a running server.

A command is a whole process; a tool is one call in a server that has answered it before. The floor of each is
reading what the work needs, as `bench.reading` does it: of a command in a process of its own.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bench import reading
from bench.graph_store import GUESSED_FOLDER, lay_out
from bench.growth import QUESTION, Desk
from bench.process import PYTHON, Command, alternate, spend
from bench.row import OWN, Found, Group, Row, Target, found

COUNT = 10_000
COMMANDS_TITLE = "The graph: commands"
TOOLS_TITLE = "The graph: tools of a running server"
_FLOORS = {
    "stamps": "the stamps of all memory files",
    "memories": "all memories' front matter by CSafeLoader",
    "edges": "all edge files' front matter by CSafeLoader",
    "all": "both front matters by CSafeLoader",
}
_SECONDS = 300.0
"""So long one answer of the server may take."""


@dataclass(frozen=True, slots=True)
class Names:
    """Memories and edges of the store to name in what is asked, of which `next` gives none twice."""

    desk: Desk
    left: list[str]
    guesses: list[str]

    @classmethod
    def of(cls, desk: Desk) -> Self:
        """Return those of the store, in an order that is always the same."""
        folders = ("solutions", "problems", "errors")
        return cls(
            desk, [name for folder in folders for name in _in(desk, folder)], _in(desk, GUESSED_FOLDER)
        )

    def next(self) -> str:
        return self.left.pop()

    def guess(self) -> str:
        """Return a memory that no person's word stands behind."""
        return self.guesses.pop()

    def edge(self) -> str:
        """Return the id of an edge that is there."""
        first = min((self.desk.store / reading.EDGES).glob("*.md"))
        return first.read_text("utf-8").split("\nid: ")[1].split("\n")[0]


def _in(desk: Desk, folder: str) -> list[str]:
    return [path.stem for path in sorted((desk.store / "graph" / folder).glob("*.md"))]


Arguments = Callable[[Names, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Work:
    """A command: how it is called in each round, and what of the store it has to read."""

    name: str
    arguments: Arguments
    floor: str
    most: float
    long: bool = False
    """Whether one run takes so long that few must do."""


def _plain(*arguments: str) -> Arguments:
    return lambda _names, _number: arguments


def _fresh(names: Names, name: str) -> str:
    return str(names.desk.place / f"{name}-{len(names.left)}-{names.next()[:8]}")


def _import(names: Names) -> Sequence[str]:
    """Return how a store of that size is taken in by one that is empty."""
    kept = names.desk.place / "kept"
    if not kept.exists():
        spend(names.desk.command("export", "cognitive", str(kept)))
    empty = Path(_fresh(names, "in"))
    empty.mkdir()
    return ("import", "cognitive", str(kept), "--store", str(empty))


COMMANDS = (
    Work("related", lambda names, _: ("related", names.left[0]), "stamps", 40),
    Work("related --depth 3", lambda names, _: ("related", names.left[0], "--depth", "3"), "memories", 1),
    Work("edges, all", _plain("edges", "--limit", "0", "--json"), "edges", 1),
    Work("edges --show", lambda names, _: ("edges", "--show", names.edge()), "stamps", 40),
    Work("edges --remove", lambda names, _: ("edges", "--remove", names.edge()), "all", 1),
    Work("edges --propose", _plain("edges", "--propose"), "memories", 1),
    Work("relate", lambda names, _: ("relate", names.next(), "REQUIRES", names.next()), "all", 1),
    Work("decay", _plain("decay", "--json"), "memories", 1),
    Work("core", _plain("core"), "memories", 1),
    Work("reflection", _plain("reflection"), "memories", 1),
    Work("reflect --dry-run", _plain("reflect", "--dry-run"), "memories", 12, long=True),
    Work("episode", lambda _, number: ("episode", f"Shed {number} painted"), "stamps", 40),
    Work("episodes", _plain("episodes"), "stamps", 40),
    Work("tags", _plain("tags"), "memories", 1),
    Work("tags TAG", _plain("tags", "parser"), "memories", 1),
    Work(
        "procedure",
        lambda _, number: ("procedure", f"Oil the hinge of gate {number}", "--step", "Open the gate"),
        "all",
        1,
    ),
    Work("graphs", _plain("graphs"), "stamps", 40),
    Work("export cognitive", lambda names, _: ("export", "cognitive", _fresh(names, "out")), "all", 3),
    Work("import cognitive", lambda names, _: _import(names), "all", 15, long=True),
    Work("reindex", _plain("reindex"), "all", 4, long=True),
)
Given = Callable[[Names, int], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the server: its arguments in each round, and what of the store it has to read."""

    name: str
    given: Given
    floor: str = "stamps"
    most: float = 20
    refuses: str = ""
    """Why it can't do its work in such a store: what is measured is the answer that says so."""


def _of(**given: Any) -> Given:
    return lambda _names, _number: given


def _one(key: str) -> Given:
    return lambda names, _: {key: names.left[0]}


_TIDES = "The harbour office keeps tide table {} in cabinet {}."
TOOLS = (
    Tool("recall", _of(query=QUESTION)),
    Tool("get", _one("name"), most=1),
    Tool("remember", lambda _, number: {"text": _TIDES.format(number, number * 7)}, "all", 1),
    Tool("forget", lambda names, _: {"name": names.guess()}, "all", 1),
    Tool("why", _one("name")),
    Tool("status", _of(), most=60),
    Tool(
        "memory_store",
        lambda _, number: {
            "type": "insight",
            "title": f"Mast {number}",
            "content": f"Mast {number} is of pine.",
        },
        "all",
        1,
    ),
    Tool("memory_recall", _of(query=QUESTION)),
    Tool("memory_get", _one("id"), most=1),
    Tool("memory_search", _of(query=QUESTION, tags=["parser"])),
    Tool(
        "memory_relate",
        lambda names, _: {"from_id": names.next(), "to_id": names.next(), "type": "REQUIRES"},
        "all",
        1,
    ),
    Tool("memory_related", _one("id")),
    Tool("memory_edge_get", lambda names, _: {"edge_id": names.edge()}),
    Tool("memory_edge_search", _of(query="parser", types=["SOLVES"]), "edges", 1),
    Tool("memory_reflect", _of(dry_run=True), "memories", 12),
    Tool("memory_reflection", _of(), "memories", 1),
    Tool("memory_stats", _of(), "all", 1),
    Tool("memory_episode", lambda _, number: {"type": "note", "title": f"Shed {number} painted"}),
    Tool("memory_tags_list", _of(), "memories", 1),
    Tool("memory_tags_related", _of(tag="parser"), "memories", 1),
    Tool("memory_embed", _of(), refuses="vectors are off"),
    Tool("memory_core", _of(), "memories", 1),
    Tool("memory_decay", _of(), "memories", 1),
    Tool("memory_config", _of(), most=5),
)
_LONG_TOOLS = ("memory_reflect",)


class Server:
    """A server that runs for the project of a desk, and what its calls cost it."""

    def __init__(self, desk: Desk) -> None:
        command = desk.command("mcp", "--profile", "all")
        self._process = subprocess.Popen(
            command.argv, env=command.env, cwd=command.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self._ask("initialize", hello)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(_SECONDS)
        self._process.stdout.close()

    def call(self, name: str, given: Mapping[str, Any], *, refuses: bool) -> tuple[float, float]:
        """Return the seconds of wall and processor time of one call. Raises RuntimeError where it fails."""
        before, start = self._cpu(), time.perf_counter()
        result = self._ask("tools/call", {"name": name, "arguments": dict(given)})
        wall = time.perf_counter() - start
        # What is done behind the answer belongs to the call: a ping goes past it, the next tool does not.
        self._ask("prompts/list", {})
        if bool(result.get("isError")) is not refuses:
            raise RuntimeError(f"{name}: {result['content'][0]['text']}")
        spent = self._cpu() - before
        return wall, spent if spent > 0 else wall

    def _cpu(self) -> float:
        """Return the seconds that its threads ran; 0 where the system does not say."""
        tasks = Path(f"/proc/{self._process.pid}/task")
        if not tasks.is_dir():
            return 0.0
        spent = 0
        for task in tasks.iterdir():
            schedule = task / "schedstat"
            spent += int(schedule.read_text("ascii").split()[0]) if schedule.exists() else 0
        return spent / 1e9

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        while select.select([self._process.stdout], [], [], _SECONDS)[0]:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended at {method}")
            answer = json.loads(line)
            if answer.get("id") == self._number and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise RuntimeError(f"no answer to {method}")


def _command_row(work: Work) -> Row:
    floor = f"{_FLOORS[work.floor]}, a process"
    return Row(f"graph: {work.name}", f"`reverie {work.name}`", floor, Target(OWN, cpu=work.most))


def _tool_row(tool: Tool) -> Row:
    how = f"one call: {tool.refuses}" if tool.refuses else "one call"
    return Row(
        f"tool: {tool.name}", f"`{tool.name}`", _FLOORS[tool.floor], Target(OWN, cpu=tool.most), how=how
    )


def _floor(desk: Desk, what: str) -> Command:
    return Command([PYTHON, str(Path(reading.__file__)), what, str(desk.store)], {**os.environ, **_PATHS})


_PATHS = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))}


def commands(folder: Path, rounds: int, wanted: Collection[str], count: int = COUNT) -> dict[str, Found]:
    """Measure the commands over a store of `count` memories, each in turn with its floor."""
    desk = lay_out(folder / "commands", count)
    names, made = Names.of(desk), dict[str, Found]()
    for work in COMMANDS:
        row = _command_row(work)
        if row.name in wanted:
            try:
                made[row.name] = _of_runs(row, work, names, max(1, rounds // 3) if work.long else rounds)
            except RuntimeError as error:
                made[row.name] = Found(row.name, why=str(error))
    return made


def _of_runs(row: Row, work: Work, names: Names, rounds: int) -> Found:
    def subject(number: int) -> Command:
        return names.desk.command(*work.arguments(names, number))

    floor = _floor(names.desk, work.floor)
    return found(row, alternate(subject, lambda _: floor, rounds=rounds))


def tools(folder: Path, rounds: int, wanted: Collection[str], count: int = COUNT) -> dict[str, Found]:
    """Measure the tools in one server for a store of `count` memories; the first call of each warms up."""
    desk = lay_out(folder / "tools", count)
    names, made = Names.of(desk), dict[str, Found]()
    with Server(desk) as server:
        for tool in TOOLS:
            row = _tool_row(tool)
            if row.name in wanted:
                few = 1 if tool.name in _LONG_TOOLS else rounds
                try:
                    made[row.name] = _of_calls(row, tool, server, names, few)
                except RuntimeError as error:
                    made[row.name] = Found(row.name, why=str(error))
    return made


def _of_calls(row: Row, tool: Tool, server: Server, names: Names, rounds: int) -> Found:
    calls: list[tuple[float, float]] = []
    floors: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        calls.append(server.call(tool.name, tool.given(names, number), refuses=bool(tool.refuses)))
        wall, cpu = time.perf_counter(), time.process_time()
        reading.read(tool.floor, str(names.desk.store))
        floors.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall, cpu = (statistics.median(times) for times in zip(*calls[1:], strict=True))
    wall0, cpu0 = (statistics.median(times) for times in zip(*floors[1:], strict=True))
    parts = {
        "cpu_ms": cpu * 1e3,
        "floor_cpu_ms": cpu0 * 1e3,
        "wall_ms": wall * 1e3,
        "floor_wall_ms": wall0 * 1e3,
    }
    return Found(row.name, cpu=cpu / cpu0, wall=wall / wall0, rounds=rounds, parts=parts)


def groups() -> list[Group]:
    """Return the rows of the cognitive store."""
    return [
        Group(COMMANDS_TITLE, tuple(map(_command_row, COMMANDS)), commands),
        Group(TOOLS_TITLE, tuple(map(_tool_row, TOOLS)), tools),
    ]
