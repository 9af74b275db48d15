"""How the commands and the dream grow with the store: the same work over stores of rising size.

Whole processes as a person starts them. Over the smallest store, of ten memories, a command costs what it
costs anyhow (imports above all). That is taken off, and of what is left the exponent is told: 1 is ten times
the work for ten times the memories, 0 is work that does not grow. What is below five milliseconds, or below
two in a hundred of what the command costs anyhow, counts as that much: so far two measurements differ by
chance.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import statistics
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import dream
from bench.process import Command, Spent, spend
from bench.row import GIVEN, OWN, Found, Group, Row, Target
from bench.store import memory_of
from pipeline.core.ids import digest
from pipeline.hooklib.places import sanitise
from pipeline.store.files import document
from pipeline.store.ownership.written_log import WrittenLog

REVERIE = str(Path(sys.executable).with_name("reverie"))
BASE = 10
SMALL, LARGE, HUGE = 1_000, 10_000, 100_000
CHANCE_SECONDS, CHANCE_SHARE = 0.005, 0.02
QUESTION = "which worker reads the session's transcript when the build of the parser fails?"
DERIVED = ("_index.json", "MEMORY.md", "MEMORY-more.md", "CORE.md", ".reverie/index-lines")


@dataclass(frozen=True, slots=True)
class Desk:
    """A project with its store and Reverie's home."""

    place: Path

    @property
    def home(self) -> Path:
        return self.place / "claude" / "reverie"

    @property
    def project(self) -> Path:
        return self.place / "shop"

    @property
    def store(self) -> Path:
        name = sanitise(os.path.realpath(self.project))
        return self.place / "claude" / "projects" / name / "memory"

    def command(self, *arguments: str) -> Command:
        """Return ``reverie ARGUMENTS`` as typed in the project."""
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.place),
            "CLAUDE_CONFIG_DIR": str(self.place / "claude"),
        }
        return Command([REVERIE, *arguments], env, cwd=self.project)

    def dream(self) -> Command:
        """Return a dream over ten changed memories, with a model that keeps everything as it is."""
        return dream.process("dream", self.place / "night")


def lay_out(place: Path, count: int) -> Desk:
    """Write a store of `count` memories of Reverie's own, and make what is derived of it."""
    desk = Desk(place)
    desk.project.mkdir(parents=True)
    desk.home.mkdir(parents=True)
    (desk.home / "config.toml").write_text('[model]\nprovider = "offline"\n', "utf-8")
    (desk.store / ".reverie").mkdir(parents=True)
    chance = random.Random(count)
    written: list[tuple[str, str]] = []
    for number in range(count):
        memory = memory_of(number, chance)
        data = document.compose(memory)
        (desk.store / f"{memory.name}.md").write_bytes(data)
        written.append((f"{memory.name}.md", digest(data)))
    WrittenLog(desk.store).append(written)
    spend(desk.command("reindex"))
    return desk


@dataclass(frozen=True, slots=True)
class Work:
    """What is measured over each size of store, and what comes ahead of it, untimed."""

    name: str
    what: str
    run: Callable[[Desk, int], Command]
    before: Callable[[Desk, int], object] = lambda _desk, _number: None
    limit: Target = Target(OWN, other=1.1)  # noqa: RUF009 - a frozen value


def _forget(desk: Desk, _: int) -> None:
    for name in DERIVED:
        (desk.store / name).unlink(missing_ok=True)
    shutil.rmtree(desk.home / "search", ignore_errors=True)


def _add(desk: Desk, number: int) -> Command:
    return desk.command("add", f"The harbour office keeps tide table {number} in cabinet {number * 7}.")


def _restate(desk: Desk, number: int) -> None:
    count = int(desk.place.name.rpartition("-")[2])
    spend(dream.process("restate", desk.place / "night", count, number))


_FLAT, _FLAT_OWN = Target(GIVEN, cpu=1.5), Target(OWN, cpu=1.5)
WORKS = (
    Work(
        "reindex anew",
        "`reverie reindex` with nothing derived yet",
        lambda d, _: d.command("reindex"),
        _forget,
    ),
    Work("reindex again", "`reverie reindex` with nothing changed", lambda d, _: d.command("reindex")),
    Work("list", "`reverie list`, piped", lambda d, _: d.command("list")),
    Work("list --json", "`reverie list --json`", lambda d, _: d.command("list", "--json")),
    Work("search", "`reverie search`", lambda d, _: d.command("search", QUESTION), limit=_FLAT),
    Work("recall", "`reverie recall`", lambda d, _: d.command("recall", QUESTION), limit=_FLAT),
    Work("status", "`reverie status`", lambda d, _: d.command("status"), limit=_FLAT_OWN),
    Work("one memory", "`reverie add`", _add, limit=_FLAT_OWN),
    Work("dream", "a dream over ten changed memories", lambda d, _: d.dream(), _restate, _FLAT_OWN),
)


def _sizes(work: Work, large: int) -> tuple[int, int]:
    """Return the sizes that `work` is compared at: what may not grow always with the small one."""
    linear = work.limit.other is not None
    return (LARGE if linear and large == HUGE else SMALL), large


def _row(work: Work, large: int) -> Row:
    small, _ = _sizes(work, large)
    return Row(
        f"{work.name}, {small:,} to {large:,}",
        f"{work.what}, {large:,} memories",
        f"the same, {small:,} memories",
        work.limit,
        unit="exponent",
        full=large == HUGE,
    )


def _measure(large: int) -> Callable[[Path, int, Collection[str]], Mapping[str, Found]]:
    def measure(folder: Path, rounds: int, wanted: Collection[str]) -> Mapping[str, Found]:
        chosen = [work for work in WORKS if _row(work, large).name in wanted]
        if _MEMORY.name in wanted and WORKS[0] not in chosen:
            chosen = [WORKS[0], *chosen]
        sizes = sorted({BASE, *(size for work in chosen for size in _sizes(work, large))})
        desks = {count: lay_out(folder / f"of-{count}", count) for count in sizes}
        # A round over the largest store takes minutes.
        rounds = max(1, rounds // 5) if large == HUGE else rounds
        made: dict[str, Found] = {}
        for work in chosen:
            row, (small, _) = _row(work, large), _sizes(work, large)
            spent = _spent(work, {count: desks[count] for count in (BASE, small, large)}, rounds)
            made[row.name] = figures(row, spent, small, large)
            if work is WORKS[0] and large == HUGE:
                peak = max(one.peak_mb for one in spent[large])
                made[_MEMORY.name] = Found(_MEMORY.name, other=peak, rounds=rounds)
        return {name: one for name, one in made.items() if name in wanted}

    return measure


def _spent(work: Work, desks: Mapping[int, Desk], rounds: int) -> dict[int, list[Spent]]:
    spent: dict[int, list[Spent]] = {count: [] for count in desks}
    # The first round warms up: what is made once is made in it.
    for number in range(rounds + 1):
        for count, desk in desks.items():
            work.before(desk, number)
            spent[count].append(spend(work.run(desk, number)))
    return {count: runs[1:] for count, runs in spent.items()}


def figures(row: Row, spent: Mapping[int, list[Spent]], small: int, large: int) -> Found:
    """Return how the work grew from the store of `small` to that of `large` memories, medians of the runs."""
    cpu = {count: statistics.median(one.cpu for one in runs) for count, runs in spent.items()}
    wall = {count: statistics.median(one.wall for one in runs) for count, runs in spent.items()}
    peak = max(one.peak_mb for one in spent[large])
    parts = {
        "cpu_ms": cpu[large] * 1e3,
        "floor_cpu_ms": cpu[small] * 1e3,
        "base_cpu_ms": cpu[BASE] * 1e3,
        "wall_ms": wall[large] * 1e3,
        "floor_wall_ms": wall[small] * 1e3,
        "peak_mb": peak,
    }
    return Found(
        row.name,
        cpu=cpu[large] / cpu[small],
        wall=wall[large] / wall[small],
        other=exponent(cpu[BASE], (small, cpu[small]), (large, cpu[large])),
        rounds=len(spent[large]),
        parts=parts,
    )


def exponent(base: float, small: tuple[int, float], large: tuple[int, float]) -> float:
    """Return the power of the number of memories with which the seconds beyond `base` grow."""
    chance = max(CHANCE_SECONDS, CHANCE_SHARE * base)
    less, more = (max(chance, seconds - base) for _, seconds in (small, large))
    return math.log(more / less) / math.log(large[0] / small[0])


_MEMORY = Row(
    f"memory of reindex, {HUGE:,}",
    f"peak memory of `reverie reindex`, {HUGE:,} memories, nothing derived yet",
    "",
    Target(GIVEN, other=400),
    unit="MB",
    full=True,
)


def groups() -> Iterator[Group]:
    """Yield the rows about growth, from 1,000 to 10,000 memories and from there to 100,000."""
    for large in (LARGE, HUGE):
        rows = tuple(_row(work, large) for work in WORKS)
        more = (_MEMORY,) if large == HUGE else ()
        yield Group("How work grows with the store", (*rows, *more), _measure(large))
