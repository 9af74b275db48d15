"""What the page shows beside memories: dreams' entries, an inbox, and calls, as many as years leave."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.graph_store import lay_out as lay_out_graph
from bench.growth import Desk
from bench.material import prose
from bench.reading import files
from pipeline.config import SpendSettings
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.report import DreamReport
from pipeline.core.clock import FixedClock, iso
from pipeline.core.home import Home
from pipeline.core.ids import derived_id
from pipeline.domain.action import DreamAction
from pipeline.ledger import calls, inbox, open_ledger
from pipeline.llm.budget import Usage

ENTRIES, EACH = 5_000, 10
"""What dreams did, and how much of it one did."""
WAITING, CALLS = 300, 3_000
_OPERATIONS = ("merge", "supersede", "rewrite", "relate", "retire")


def lay_out(place: Path, count: int, entries: int = ENTRIES) -> Desk:
    """Write a store of `count` memories with three edges each, and so many entries of dreams beside it."""
    desk, chance = lay_out_graph(place, count), random.Random(count)
    names = sorted(entry.name.removesuffix(".md") for entry in files(str(desk.store), edges=False))
    _dreams(desk, names, entries, chance)
    with open_ledger(Home(desk.home).ledger) as ledger:
        clock = FixedClock(datetime.now(UTC))
        with ledger.transaction():
            for number in range(WAITING):
                payload = {"name": chance.choice(names), "reason": prose(chance, 60)}
                inbox.add_inbox(
                    ledger,
                    str(desk.store),
                    kind="retire",
                    payload_json=json.dumps(payload),
                    reason=prose(chance, 60),
                    run_id=f"run-{number}",
                    now=clock.now(),
                )
    _calls(desk, chance)
    return desk


def _dreams(desk: Desk, names: Sequence[str], entries: int, chance: random.Random) -> None:
    now = datetime.now(UTC)
    for number in range(entries // EACH):
        report = DreamReport(
            derived_id("dream", str(number)),
            str(desk.store),
            iso(now - timedelta(hours=12 * number)),
            "done",
            memories=len(names),
            changed=EACH,
            calls=3,
            tokens=9_000,
            actions=[
                DreamAction(
                    chance.choice(_OPERATIONS),
                    tuple(chance.sample(names, 2)),
                    reason=prose(chance, 60),
                    left_out=((prose(chance, 80), prose(chance, 80)),),
                )
                for _ in range(EACH)
            ],
            looked_at=[chance.sample(names, 4) for _ in range(5)],
        )
        reports.write(report, desk.home)


def _calls(desk: Desk, chance: random.Random) -> None:
    caps = SpendSettings(
        calls_per_run=10**6, calls_per_hour=10**6, tokens_per_hour=10**9, dollars_per_day=1e6
    )
    now = datetime.now(UTC)
    with open_ledger(Home(desk.home).ledger) as ledger, ledger.transaction():
        for number in range(CALLS):
            clock = FixedClock(now - timedelta(minutes=30 * (CALLS - number)))
            usage = Usage(chance.randrange(9_000), chance.randrange(900), 0, chance.randrange(3_000))
            meter = calls.LedgerMeter(ledger, caps, clock)
            purpose = chance.choice(("extract.turn", "extract.verify", "consolidate.cluster"))
            call = meter.begin(
                purpose=purpose,
                provider="anthropic",
                model="claude-haiku-4-5",
                prompt_digest="",
                estimate=usage,
            )
            meter.end(call, outcome="ok", usage=usage, dollars=chance.random() / 50)
