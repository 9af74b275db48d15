"""What a dream over ten changes costs in tokens, in a store of 10,000 memories and in one of 100.

The ten restate memories that are there in half of their words. The model of this bench keeps everything as
it is, so the tokens are those of the questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import Ratio
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

    def restate(self) -> None:
        """Say ten of the first hundred memories again, in half of their words."""
        chance = random.Random(8)
        old = [document.memory.body.split() for document in self.store.scan().documents[:100:10]]
        puts = [
            self.store.put(_memory(f"new{at}", " ".join((*chance.sample(body, WORDS // 2), _word(chance)))))
            for at, body in enumerate(old)
        ]
        self.store.apply(ChangeSet("restated", "bench", puts))


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


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(SYLLABLES, k=3))


def _memory(name: str, text: str) -> Memory:
    source = Evidence(session="bench", uuid=name, quote=text[:40], at="2026-03-01T10:00:00+00:00")
    return Memory(
        name=name, description=f"{text[:100]}.", type="project", body=f"{text.capitalize()}.\n",
        id=derived_id("bench.dream", name), created=NOW, updated=NOW, origin="user-stated", sources=(source,),
    )  # fmt: skip
