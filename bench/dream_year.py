"""A year of dreams: 730 of them over a store that grows, with a model that errs. Is anything lost?

    python -m bench.dream_year [nights] [seed]

Each half day a few facts are said: new ones, old ones once more in other words, and new values for old
ones. The model of dice merges, supersedes, strikes, relates and retires within its rules, and at times
proposes what it must not. The second reader knows what is true and errs in one answer of ten. Every value is
a number of its own, so that a fact can be looked for in all files afterwards: it is live, in the archive, or
it is lost.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from pipeline.config import DreamSettings, Settings, SpendSettings
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext
from pipeline.core.clock import FixedClock, iso
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence, Memory
from pipeline.ledger import Ledger, calls, inbox, open_ledger
from pipeline.llm import Client
from pipeline.llm.fakes import ScriptedProvider
from pipeline.llm.request import Request
from pipeline.store import ARCHIVE, ChangeSet, Store, fsck
from tests.support.second_reader import Truth, scripted, second_reader

NIGHTS = 730
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_SYSTEMS = "mailer billing ledger search gateway crawler printer scanner archive wallet courier kiosk"
SUBJECTS = _SYSTEMS.split(" ")
SAYINGS = (
    ("timeout", "The {0} gives up after {1} milliseconds."),
    ("port", "Reach the {0} on port {1}."),
    ("quota", "At most {1} requests per tenant go to the {0}."),
    ("batch", "Work is handed to the {0} in batches of {1}."),
    ("budget", "Finance granted the {0} a budget of {1} euros."),
    ("ticket", "Outages of the {0} are tracked in ticket {1}."),
    ("cache", "Cached pages of the {0} expire after {1} seconds."),
    ("build", "Release candidate of the {0} carries build number {1}."),
)
AGAIN = ("Once more: {}", "{} That still holds.", "Remember this. {}")
ERRS = 0.1
"""Share of the second reader's answers that are wrong."""
_SENTENCE = re.compile(r"^    \[(m\d+)\.(\d+)\] (?:\(.*?\) )?(.*)", re.MULTILINE)
_VALUE = re.compile(r"\b\d{5}\b")


@dataclass(slots=True)
class Quarter:
    """One line of the table; what is counted is as of its end, tokens and calls are per dream in it."""

    dreams: int
    said: int
    live: int
    retired: int
    lost: int
    stale: int
    waiting: int
    calls: float
    tokens: float
    live_kb: float
    own_kb: float
    wrong: int


@dataclass
class Year:
    """The store, what was said, and the dice."""

    ledger: Ledger
    store: Store
    home: Path
    dice: random.Random
    clock: FixedClock = field(default_factory=lambda: FixedClock(BEGIN))
    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    latest: dict[tuple[str, str], str] = field(default_factory=dict)
    settings: Settings = field(
        default_factory=lambda: Settings(
            spend=SpendSettings(
                calls_per_run=100, calls_per_hour=1000, tokens_per_hour=10**9, dollars_per_day=1e6
            ),
            dream=DreamSettings(interval_hours=12, learning_days=10_000, cues=False),
        )
    )

    def __post_init__(self) -> None:
        truth = Truth(covers=self.covers, one_fact=self.one_fact, replaces=self.replaces)
        self.reader = second_reader(truth, ERRS, seed=self.dice.randrange(2**32))

    def half_day(self, number: int) -> DreamReport:
        """Let time pass, say some facts, and dream."""
        self.clock.at += timedelta(hours=12)
        puts = [self.store.put(self._fact(number, at)) for at in range(self.dice.randint(1, 3))]
        self.store.apply(ChangeSet(f"said-{number}", "said", puts, self.clock.at))
        provider = ScriptedProvider(
            scripted(lambda request: {"operations": list(self._answer(request))}, self.reader)
        )
        meter = calls.LedgerMeter(self.ledger, self.settings.spend, self.clock)
        client = Client(provider, meter, settings=self.settings.model)
        desk = PhaseContext(self.ledger, self.store, client, self.settings, self.clock)
        return dream(desk, home=self.home, force=True)

    def _fact(self, number: int, at: int) -> Memory:
        key = (self.dice.choice(SUBJECTS), self.dice.choice(SAYINGS)[0])
        old = self.latest.get(key)
        if old is None or self.dice.random() < 0.3:
            value = str(10_000 + len(self.values))
            self.values[value], self.latest[key] = key, value
            text = self.sentence(value)
        else:
            value = old
            text = self.dice.choice(AGAIN).format(self.sentence(old))
        name = f"{key[0]}-{key[1]}-{number}-{at}"
        source = Evidence(session=f"s{number}", uuid=name, quote=text[:80], at=iso(self.clock.at))
        return Memory(
            name=name, description=text, type="project", body=f"{text}\n", id=derived_id("year", name),
            created=self.clock.at, updated=self.clock.at, origin="user-stated", sources=(source,),
        )  # fmt: skip

    def sentence(self, value: str) -> str:
        """Return the plain sentence that says `value`."""
        subject, attribute = self.values[value]
        return dict(SAYINGS)[attribute].format(subject, value)

    def _answer(self, request: Request) -> Iterator[dict[str, Any]]:
        """Propose what is right most of the time, and what is wrong at times."""
        shown: dict[str, list[str]] = {}
        for handle, _, text in _SENTENCE.findall(request.messages[0].content):
            shown.setdefault(handle, []).append(text)
        used: set[str] = set()
        for one, other in combinations(shown, 2):
            if {one, other} & used or self.dice.random() < 0.1:
                continue
            proposal = self._pair(one, other, shown)
            if proposal is not None:
                used |= {one, other}
                yield proposal
        left = [handle for handle in shown if handle not in used]
        if left and self.dice.random() < 0.03:
            yield from ({"op": "retire", "ids": [handle], "until": "2025-12-31"} for handle in left)
        if left and self.dice.random() < 0.1:
            yield {"op": "rewrite", "ids": left[:1], "statement": "Something else.", "description": "Else."}

    def _pair(self, one: str, other: str, shown: dict[str, list[str]]) -> dict[str, Any] | None:
        mine, theirs = " ".join(shown[one]), " ".join(shown[other])
        if self.one_fact(mine, theirs):
            into, gone = (one, other) if len(shown[one]) >= len(shown[other]) else (other, one)
            return self._merge(into, gone, shown)
        for old, new, earlier, later in ((one, other, mine, theirs), (other, one, theirs, mine)):
            if self.replaces(later, earlier):
                return {"op": "supersede", "ids": [old, new], "into": new, "reason": "a newer value"}
            struck = self._struck(old, new, shown)
            if struck:
                return {"op": "strike", "ids": [old], "covered": struck, "reason": "a newer value"}
        dice = self.dice.random()
        if dice < 0.002:
            return self._merge(one, other, shown)
        if dice < 0.004:
            return {"op": "supersede", "ids": [one, other], "reason": "a newer value"}
        if dice < 0.006:
            first = [{"sentence": f"{other}.1", "by": f"{one}.1"}]
            return {"op": "merge", "ids": [one, other], "into": one, "covered": first, "reason": "the same"}
        if dice < 0.02:
            return {"op": "relate", "ids": [one, other], "relation": "RELATED_TO", "reason": "of one system"}
        return None

    def _merge(self, into: str, gone: str, shown: dict[str, list[str]]) -> dict[str, Any]:
        covered = [
            {"sentence": f"{gone}.{number}", "by": f"{into}.{by}"}
            for number, text in enumerate(shown[gone], start=1)
            for by, other in enumerate(shown[into], start=1)
            if self.covers(text, other)
        ]
        return {"op": "merge", "ids": [into, gone], "into": into, "covered": covered, "reason": "one fact"}

    def _struck(self, old: str, new: str, shown: dict[str, list[str]]) -> list[dict[str, str]]:
        return [
            {"sentence": f"{old}.{number}", "by": f"{new}.{by}"}
            for number, text in enumerate(shown[old], start=1)
            for by, other in enumerate(shown[new], start=1)
            if self.replaces(other, text)
        ][:1]

    # -- what is true, for the second reader ---------------------------------------------------------

    def covers(self, sentence: str, other: str) -> bool:
        """Whether `other` has every value of `sentence`; one without a value says nothing of its own."""
        return {*_VALUE.findall(sentence)} <= {*_VALUE.findall(other)}

    def one_fact(self, text: str, other: str) -> bool:
        """Whether two memories have a value in common."""
        return bool({*_VALUE.findall(text)} & {*_VALUE.findall(other)})

    def replaces(self, later: str, earlier: str) -> bool:
        """Whether each value of `earlier` gave way to one of `later`."""
        new = {self.values[value]: value for value in sorted(_VALUE.findall(later))}
        old = _VALUE.findall(earlier)
        return bool(old) and all(new.get(self.values[value], "") > value for value in old)

    def quarter(self, reports: list[DreamReport]) -> Quarter:
        """Look for everything that was ever said."""
        live = {d.path: d.memory.body for d in self.store.scan().documents}
        kept = [file.read_text("utf-8") for file in (self.store.root / ARCHIVE).rglob("*.md")]
        stands = {value for body in live.values() for value in _VALUE.findall(body)}
        shelved = {value for text in kept for value in _VALUE.findall(text)}
        files = [f for f in self.store.root.rglob("*") if f.is_file()]
        own = sum(f.stat().st_size for f in files if ".reverie" in f.parts)
        return Quarter(
            dreams=len(reports),
            said=len(self.values),
            live=len(live),
            retired=len(kept),
            lost=len({*self.values} - stands - shelved),
            stale=len({*self.latest.values()} - stands),
            waiting=inbox.count_inbox(self.ledger),
            calls=sum(r.calls for r in reports) / len(reports),
            tokens=sum(r.tokens for r in reports) / len(reports),
            live_kb=sum(len(body.encode()) for body in live.values()) / 1000,
            own_kb=own / 1000,
            wrong=len(fsck(self.store)),
        )


def simulate(place: Path, nights: int = NIGHTS, seed: int = 1) -> Iterator[Quarter]:
    """Yield four lines of the table over `nights` dreams."""
    home = place / "home"
    home.mkdir(parents=True)
    with open_ledger(home / "ledger.sqlite") as ledger:
        year = Year(ledger, Store.open(place / "memory", create=True), home, random.Random(seed))
        reports: list[DreamReport] = []
        for number in range(nights):
            reports.append(year.half_day(number))
            if (number + 1) % max(1, nights // 4) == 0 and len(reports) >= nights // 4:
                yield year.quarter(reports)
                reports = []


def main() -> None:
    """Print the table as it comes."""
    numbers = [int(word) for word in sys.argv[1:]]
    columns = list(Quarter.__dataclass_fields__)
    print("".join(f"{name:>10}" for name in columns))
    with tempfile.TemporaryDirectory(prefix="reverie-year-") as folder:
        for line in simulate(Path(folder), *numbers):
            print("".join(f"{getattr(line, name):>10,.4g}" if isinstance(getattr(line, name), float)
                          else f"{getattr(line, name):>10,}" for name in columns), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
