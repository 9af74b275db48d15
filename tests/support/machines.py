"""Machines of one person in one process: each with a home, a folder of memories and a clock of its own."""

from __future__ import annotations

import itertools
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.app import history, inbox, machines, memories, pins, undoing
from pipeline.app.application import App
from pipeline.app.writing import Change, update_memory
from pipeline.core.clock import FixedClock
from pipeline.core.errors import ReverieError
from pipeline.domain.sentences import sentences
from pipeline.sharing.git import make_remote
from pipeline.sharing.repository import BRANCH
from pipeline.sharing.run import Synced
from pipeline.store import is_arrival
from pipeline.store.files.document import parse
from pipeline.store.history.archive import scan_archive
from tests.support.deaths import HOWS, Gits, die_at_touch
from tests.support.stores import die_at

BEGIN = datetime(2026, 11, 1, 8, tzinfo=UTC)


class Machine:
    """One of them. Its remote is a link, so that it can be cut off."""

    def __init__(self, place: Path, skew: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.store = place / "memory"
        self.store.mkdir(parents=True)
        monkeypatch.setenv("REVERIE_HOME", str(place / "reverie"))
        self.app = App(store=self.store)
        self.skew = skew
        self.app.clock = self.clock = FixedClock(BEGIN + skew)
        self.link = place / "remote"
        self.remote = ""

    def join(self, remote: Path, served: str = "") -> machines.Begun:
        """Begin with `remote`, by a server at the address `served` of the folder that this machine is in."""
        if not remote.exists():
            make_remote(remote, BRANCH)
        self.link.symlink_to(remote)
        self.remote = f"{served}/{self.place.name}/remote" if served else str(self.link)
        return machines.init(self.app, self.remote)

    def cut_off(self, *, off: bool) -> None:
        gone = self.link.with_name("remote.off")
        here, there = (self.link, gone) if off else (gone, self.link)
        if here.is_symlink():
            here.rename(there)

    def sync(self, *, force: bool = False) -> Synced:
        return machines.now(self.app, force=force)

    def sync_dying_at(self, point: str) -> bool:
        """Sync in a process that dies there; whether it came so far."""
        return die_at(point, self.sync) == -9

    def add(self, statement: str, **more: Any) -> str:
        return memories.add(self.app, statement, kind="project", force=True, **more).name

    def update(self, name: str, body: str) -> None:
        update_memory(self.app, self.app.open_store(), name, Change(content=body))

    def body(self, name: str) -> str:
        return self.app.open_store().read(name).memory.body

    def names(self) -> list[str]:
        return sorted(document.name for document in self.app.open_store().scan().documents)

    def files(self) -> dict[str, bytes]:
        """The memories as they stand, by path."""
        return {item.path: item.raw for item in self.app.open_store().scan().documents}


def words_in(body: str) -> set[str]:
    return {sentence.folded for sentence in sentences(body)}


def kept_words(every: list[Machine], remote: Path) -> set[str]:
    """Every sentence that is live or archived on some machine, or stands in a revision."""
    found: set[str] = set()
    for machine in every:
        for raw in machine.files().values():
            found |= words_in(parse(raw, "a.md").body)
        store = machine.app.open_store()
        for item in scan_archive(store.root).documents:
            found |= words_in(item.memory.body)
        for file in (store.root / "archive").glob("*/earlier/*.md"):
            found |= words_in(parse(file.read_bytes(), "a.md").body)
    for value in revisions_in(remote):
        found |= words_in(parse(value.encode(), "a.md").body)
    return found


def git(remote: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(remote), *words], capture_output=True, check=True, timeout=60)
    return done.stdout.decode()


def revisions_in(remote: Path) -> list[str]:
    """The text of every revision there."""
    listed = git(remote, "ls-tree", "-r", "--name-only", "main", "revisions").split()
    given = "".join(f"main:{path}\n" for path in listed)
    out = subprocess.run(
        ["git", "-C", str(remote), "cat-file", "--batch"],
        input=given.encode(),
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    found, at = [], 0
    while at < len(out):
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[2])
        file = orjson.loads(out[end + 1 : end + 1 + size])["file"]
        found += [file] if file else []
        at = end + 2 + size
    return found


class Storm:
    """Machines that change memories at random, are offline for a while, and die within a sync."""

    def __init__(
        self,
        place: Path,
        number: int,
        seed: int,
        monkeypatch: pytest.MonkeyPatch,
        points: tuple[str, ...],
        served: Sequence[str] = ("",),
    ) -> None:
        self.chance = random.Random(seed)
        self.remote = place / "remote.git"
        self.points = points
        self.said: set[str] = set()
        self.died: Counter[str] = Counter()
        self.gits = Gits(place / "gits")
        self.changes = self.syncs = self.away = 0
        self.machines = []
        for nth in range(number):
            # Two are never less than four hours apart.
            hours = 30 / number * (nth - (number - 1) / 2)
            skew = timedelta(hours=hours, minutes=self.chance.randrange(-60, 60))
            machine = Machine(place / f"m{nth}", skew, monkeypatch)
            machine.join(self.remote, served[nth % len(served)])
            self.machines.append(machine)
        self.now = BEGIN
        self.offline = dict.fromkeys(range(number), 0)

    def run(self, changes: int, *, sync_every: int = 4, dying: float = 0.25) -> None:
        """Make so many changes; what may not be done now is no change."""
        for step in itertools.count():
            if self.changes == changes:
                break
            nth = self.chance.randrange(len(self.machines))
            self.now += timedelta(seconds=self.chance.randrange(1, 600))
            self.changes += self._change(self.machines[nth], step)
            if self.chance.random() < 1 / sync_every:
                self._sync(self.chance.randrange(len(self.machines)), dying)

    def settle(self) -> None:
        """Everybody is online again, and syncs until nothing moves."""
        for nth, machine in enumerate(self.machines):
            machine.cut_off(off=False)
            self.offline[nth] = 0
        for _ in range(2):
            for machine in self.machines:
                self._clock(machine)
                done = machine.sync()
                assert done.error == "", done

    def _clock(self, machine: Machine) -> None:
        machine.clock.at = self.now + machine.skew

    def _sync(self, nth: int, dying: float) -> None:
        machine = self.machines[nth]
        self._clock(machine)
        if self.offline[nth]:
            self.offline[nth] -= 1
        elif self.chance.random() < 0.15:
            self.offline[nth] = self.chance.randrange(1, 4)
        machine.cut_off(off=bool(self.offline[nth]))
        self.syncs += 1
        self.away += bool(self.offline[nth])
        if self.chance.random() < dying:
            self.died[self._die(machine)] += 1
        else:
            machine.sync()

    def _die(self, machine: Machine) -> str:
        """Let a sync of `machine` die anywhere, and return where; "" where it came to its end."""
        kind = self.chance.choice(("point", "touch", "git"))
        if kind == "point":
            point = self.chance.choice(self.points)
            return point if machine.sync_dying_at(point) else ""
        if kind == "touch":
            number = self.chance.randrange(1, 400)
            name = die_at_touch(number, machine.sync, self.gits.folder / "touch")
            return name and f"before {name}()"
        how = self.chance.choice(HOWS)
        moment = self.chance.randrange(1, 20) / 1000
        verb = self.gits.die(self.chance.randrange(1, 9), how, machine.sync, moment=moment)
        return verb and f"git {verb}, {how}"

    def _change(self, machine: Machine, step: int) -> bool:
        self._clock(machine)
        names = machine.names()
        fresh = f"Fact number {step} of {machine.place.name} is told here."
        deeds: list[Callable[[], object]] = [lambda: self._add(machine, fresh)] * 2
        if names:
            name = self.chance.choice(names)
            deeds += [lambda: self._update(machine, name, fresh)] * 7
            deeds += [lambda: self._by_hand(machine, name, fresh)] * 2
            deeds += [lambda: memories.forget(machine.app, name)]
            deeds += [lambda: pins.pin(machine.app, name, pinned=self.chance.random() < 0.5)]
            deeds += [lambda: self._undo(machine)]
        asked = inbox.waiting(machine.app)
        if asked:
            decide = self.chance.choice((inbox.accept, inbox.reject))
            deeds += [lambda: decide(machine.app, self.chance.choice(asked)["id"])]
        left = machine.app.open_store().retired()
        if left:
            deeds += [lambda: history.restore(machine.app, self.chance.choice(left).target)]
        try:
            self.chance.choice(deeds)()
        except ReverieError:
            return False  # It may not be done now, such as an undo over a later edit; nothing was changed.
        return True

    def _undo(self, machine: Machine) -> None:
        # What is undone before a sync has told of it is no other machine's: undo itself keeps it.
        machine.sync()
        came = [item.run for item in machine.app.open_store().history() if is_arrival(item.run)]
        run = self.chance.choice(came) if came and self.chance.random() < 0.3 else ""
        undoing.take_back(machine.app, run, for_all=True)

    def _add(self, machine: Machine, fresh: str) -> None:
        # Names are few, so that machines choose the same.
        name = f"topic-{self.chance.randrange(8)}"
        machine.add(f"{fresh} It stands first.", name=name)
        self.said |= words_in(f"{fresh} It stands first.")

    def _update(self, machine: Machine, name: str, fresh: str) -> None:
        texts = [item.text for item in sentences(machine.body(name))]
        at = self.chance.randrange(len(texts))
        deed = self.chance.randrange(3)
        if deed == 0 and len(texts) > 1:
            texts.pop(at)
        elif deed == 1:
            texts[at] = fresh
        else:
            texts.insert(at, fresh)
        body = "\n".join(texts) + "\n"
        machine.update(name, body)
        self.said |= words_in(machine.body(name))

    def _by_hand(self, machine: Machine, name: str, fresh: str) -> None:
        document = machine.app.open_store().read(name)
        file = machine.store / document.path
        file.write_bytes(document.raw.rstrip(b"\n") + f"\n{fresh}\n".encode())
        self.said |= words_in(fresh)


def exchange(*every: Machine) -> None:
    """Let each of `every` sync, and all but the last once more, so that each has what all the others told."""
    for machine in (*every, *every[:-1]):
        trouble = machine.sync().error
        assert trouble == "", trouble
