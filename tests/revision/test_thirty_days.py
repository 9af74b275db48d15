"""Thirty days of sessions, dreams and a person's commands: what was ever live is found afterwards.

The second readers agree with everything, so that as much as ever leaves; the dice choose what is said,
what the models propose, and what the person does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.app import history, memories
from pipeline.app import inbox as decisions
from pipeline.app.application import App
from pipeline.config import DreamSettings, Settings
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext
from pipeline.core.clock import FixedClock, iso
from pipeline.core.errors import ReverieError
from pipeline.ledger import calls, inbox
from pipeline.llm import Client
from pipeline.llm.fakes import ScriptedProvider
from pipeline.llm.request import Request
from pipeline.store import Store, fsck
from tests.support.dreaming import GENEROUS, op, planned, shown
from tests.support.extraction import NOW, Bench, fact, reply
from tests.support.kept import kept_anywhere, texts_of
from tests.support.ledgers import new_ledger
from tests.support.second_reader import scripted
from tests.support.transcripts import Transcript

SUBJECTS = ("mailer", "ledger", "search", "gateway", "printer", "scanner", "courier", "kiosk")
ACTS = ("said", "said", "said", "dream", "add", "forget", "undo", "restore", "accept", "reject")


class Month:
    """One store with everything that changes it; `seen` is every sentence that was ever live."""

    def __init__(self, bench: Bench, app: App, seed: int) -> None:
        self.bench, self.app, self.dice = bench, app, random.Random(seed)
        self.seen: set[str] = set()
        self.done: list[str] = []
        self.number = 0

    def day(self) -> None:
        clock = self.bench.clock
        clock.at += timedelta(days=1)
        self.app.clock = FixedClock(clock.at)
        for act in ["said", *self.dice.choices(ACTS, k=3)]:
            try:
                getattr(self, f"_{act}")()
            except (ReverieError, IndexError):
                # Nothing there to forget, or what came after would be lost: the person is told so.
                continue
            self.done.append(act)
            self.seen |= texts_of(self.bench.store)

    def _said(self) -> None:
        """A session in which a value is said, anew or in the place of one."""
        self.number += 1
        subject, line = self.dice.choice(SUBJECTS), f"the value is {self.number}00 from now on"
        talk = Transcript(session_id=f"s{self.number}", start=iso(self.bench.clock.at - timedelta(hours=2)))
        talk.user(line)
        key = self.bench.hear(talk)
        known = self.bench.store.scan().by_name(f"{subject}-value")
        statement = f"The {subject} has the value {self.number}00."
        values = {"name": f"{subject}-value", "description": statement, "statement": statement, "title": ""}
        if known is not None and self.dice.random() < 0.2:
            withdrawn = {"name": known.name, "reason": "over", "evidence": [{"line": 1, "quote": line}]}
            answer = reply(withdrawals=[withdrawn])
        elif known is not None:
            change = {"number": 1, "text": statement}
            more = f"Note {self.number} belongs to it." if self.dice.random() < 0.5 else ""
            answer = reply(
                fact(1, line, **values | {"statement": more}, update_of=known.name, replaces=[change])
            )
        else:
            answer = reply(fact(1, line, **values))
        self.bench.script([answer])
        self.bench.run(self.bench.turns(key, first_sight=False))

    def _dream(self) -> None:
        def plan(request: Request) -> Any:
            names = list(shown(request))
            self.dice.shuffle(names)
            return planned(*self._operations(names))(request)

        provider = ScriptedProvider(scripted(plan))
        meter = calls.LedgerMeter(self.bench.ledger, GENEROUS, self.bench.clock)
        client = Client(provider, meter, settings=self.bench.settings.model)
        phase = PhaseContext(
            self.bench.ledger, self.bench.store, client, self.bench.settings, self.bench.clock
        )
        dream(phase, home=self.bench.root, force=True)

    def _operations(self, names: list[str]) -> Iterator[dict[str, Any]]:
        while len(names) > 1:
            first, second = names.pop(), names.pop()
            kind = self.dice.choice(("merge", "supersede", "strike", "retire", "relate", "insight"))
            covered = [(f"{second}.1", f"{first}.1")] if kind in ("merge", "strike") else []
            into = first if kind in ("merge", "supersede") else ""
            ids = (second,) if kind in ("strike", "retire") else (first, second)
            yield op(kind, *ids, into=into, covered=covered, relation="RELATED_TO")

    def _add(self) -> None:
        self.number += 1
        memories.add(
            self.app, f"By hand, number {self.number}.", kind="project", name="", description="", why=""
        )

    def _forget(self) -> None:
        memories.forget(self.app, self.dice.choice(sorted(self.bench.names())))

    def _undo(self) -> None:
        standing = [item.generation.run for item in history.history(self.app)]
        history.undo(self.app, self.dice.choice(standing[:6]))

    def _restore(self) -> None:
        history.restore(self.app, self.dice.choice([item.id for item in self.bench.store.retired()]))

    def _accept(self) -> None:
        decisions.accept(self.app, self.dice.choice(inbox.list_inbox(self.bench.ledger)).id)

    def _reject(self) -> None:
        decisions.reject(self.app, self.dice.choice(inbox.list_inbox(self.bench.ledger)).id)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.whole) for seed in (1, 2))])
def test_every_sentence_ever_live_is_live_archived_or_in_a_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    home = tmp_path / "home"
    settings = Settings(spend=GENEROUS, dream=DreamSettings(retire_share=0.3))
    monkeypatch.setenv("REVERIE_HOME", str(home))
    with new_ledger(home / "ledger.sqlite") as ledger:
        store = Store.open(tmp_path / "memory", create=True, generations=3)
        bench = Bench(ledger, store, home, FixedClock(NOW), settings)
        month = Month(bench, App(store=store.path), seed)
        for _ in range(30):
            month.day()
        assert not month.seen - kept_anywhere(store), month.done
        assert len(month.seen) > 20 and {"said", "dream", "forget", "undo"} <= set(month.done)
        assert {item.code for item in fsck(store)} <= {"duplicate-name"}
