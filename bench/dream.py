"""What a dream over ten changes costs, in a large store and in a small one.

The ten restate memories that are there in half of their words. The model of this bench keeps everything as
it is, so the tokens are those of the questions.

    python -m bench.dream restate FOLDER COUNT NUMBER   ten changes more; FOLDER is made if it is not there
    python -m bench.dream dream FOLDER                  dream once; prints its processor and wall time
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import Ratio
from bench.process import Command, Spent, ratio, spend
from pipeline.config import DreamSettings, Settings
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext
from pipeline.core.clock import FixedClock
from pipeline.core.ids import derived_id, digest
from pipeline.domain.memory import Evidence, Memory
from pipeline.ledger import Ledger, calls, dreams, open_ledger
from pipeline.llm import Client
from pipeline.llm.fakes import ScriptedProvider
from pipeline.store import ChangeSet, Store
from pipeline.store.files import document
from pipeline.store.ownership.written_log import WrittenLog

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
CHANGES = 10
ROOT = Path(__file__).resolve().parent.parent
WORDS = 40
_PARTS = "ba co de fi gu ha jo ke li mu na po ri so te vu wa xi yo zu"
SYLLABLES = _PARTS.split(" ")


@dataclass(slots=True)
class Night:
    """One store whose memories a dream has looked at, but for what is said from now on."""

    ledger: Ledger
    store: Store
    home: Path

    def dream(self) -> DreamReport:
        """Dream with a model that proposes nothing."""
        settings, clock = Settings(dream=DreamSettings(cues=False)), FixedClock(NOW)
        meter = calls.LedgerMeter(self.ledger, settings.spend, clock)
        client = Client(ScriptedProvider(lambda _: {"operations": []}), meter, settings=settings.model)
        return dream(
            PhaseContext(self.ledger, self.store, client, settings, clock), home=self.home, force=True
        )

    def restate(self, number: int = 0) -> None:
        """Say ten of the first hundred memories again, in half of their words; for the `number`-th time."""
        chance = random.Random(8 + number)
        old = [document.memory.body.split() for document in self.store.scan().documents[:100:10]]
        puts = [
            self.store.put(
                _memory(f"new{number}-{at}", " ".join((*chance.sample(body, WORDS // 2), _word(chance))))
            )
            for at, body in enumerate(old)
        ]
        self.store.apply(ChangeSet(f"restated-{number}", "bench", puts))


@contextmanager
def opened(place: Path) -> Iterator[Night]:
    """Yield what was laid out in `place`."""
    with open_ledger(place / "home" / "ledger.sqlite") as ledger:
        yield Night(ledger, Store.open(place / "memory"), place / "home")


@contextmanager
def filled(place: Path, count: int) -> Iterator[Night]:
    """Yield a store of `count` memories that a dream has looked at, the same in each run."""
    store, home = place / "memory", place / "home"
    (store / ".reverie").mkdir(parents=True)
    home.mkdir()
    chance = random.Random(7)
    seen: dict[str, str] = {}
    written: list[tuple[str, str]] = []
    for at in range(count):
        # As files, not by the store, which would take minutes.
        memory = _memory(f"n{at:05d}", " ".join(_word(chance) for _ in range(WORDS)))
        data = document.compose(memory)
        (store / f"{memory.name}.md").write_bytes(data)
        written.append((f"{memory.name}.md", digest(data)))
        seen[memory.id] = digest(data)
    WrittenLog(store).append(written)
    with open_ledger(home / "ledger.sqlite") as ledger:
        opened = Store.open(store)
        dreams.mark_seen(ledger, str(opened.path), seen)
        yield Night(ledger, opened, home)


def tokens(folder: Path, _: int, many: int = 10_000, few: int = 100) -> Ratio:
    """Tokens of a dream over ten changes among `many` memories, against the same among `few`."""
    spent = []
    for count in (many, few):
        with filled(folder / f"of-{count}", count) as night:
            night.restate()
            spent.append(float(night.dream().tokens))
    return Ratio(spent[0] / spent[1], None, spent[0], spent[1], 1)


def cost(folder: Path, rounds: int, many: int = 10_000, few: int = 100) -> Ratio:
    """A dream over ten changes among `many` memories, against the same among `few`.

    Each is in a process of its own, whose start and imports are left out: they would hide what grows.
    """
    spent: dict[int, list[Spent]] = {many: [], few: []}
    for number in range(rounds + 1):
        for count, runs in spent.items():
            night = folder / f"of-{count}"
            spend(process("restate", night, count, number))
            told = spend(process("dream", night))
            cpu, wall = map(float, told.out.split())
            runs.append(Spent(wall, cpu, told.peak_mb, b""))
    return ratio(spent[many][1:], spent[few][1:])


def process(work: str, night: Path, *more: int) -> Command:
    """Return the process that does `work`, one of those that the module's text names, for `night`."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(night), "PYTHONPATH": str(ROOT)}
    return Command([sys.executable, "-m", "bench.dream", work, str(night), *map(str, more)], env, cwd=ROOT)


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(SYLLABLES, k=3))


def _memory(name: str, text: str) -> Memory:
    source = Evidence(session="bench", uuid=name, quote=text[:40], at="2026-03-01T10:00:00+00:00")
    return Memory(
        name=name, description=f"{text[:100]}.", type="project", body=f"{text.capitalize()}.\n",
        id=derived_id("bench.dream", name), created=NOW, updated=NOW, origin="user-stated", sources=(source,),
    )  # fmt: skip


def main() -> None:
    """Do what the command line names."""
    work, place = sys.argv[1], Path(sys.argv[2])
    if work == "dream":
        with opened(place) as night:
            cpu, wall = time.process_time(), time.perf_counter()
            assert night.dream().tokens, "there was something to dream of"
            print(time.process_time() - cpu, time.perf_counter() - wall)
        return
    count, number = int(sys.argv[3]), int(sys.argv[4])
    with opened(place) if place.exists() else filled(place, count) as night:
        if not number:
            # What a store makes once is no part of a dream.
            night.store.reindex(now=NOW)
        night.restate(number)


if __name__ == "__main__":
    main()
