"""Stores and talks for choosing memories in advance, built from ``fixtures/select/*.json``.

Run as a script it asks about one case and records the reply:

    python tests/support/select_cases.py CASE
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline import config
from pipeline.config import Settings
from pipeline.context import PhaseContext
from pipeline.core.clock import FixedClock
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Memory
from pipeline.intake.ingest import ingest_file
from pipeline.ledger import calls
from pipeline.llm import Client, Provider, open_provider
from pipeline.recall.prepared.prefetch import Choice, prefetch
from pipeline.store import ChangeSet, Store
from tests.support.ledgers import new_ledger
from tests.support.transcripts import Transcript

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "select"
CASES = sorted(path.stem for path in FIXTURES.glob("*.json"))
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
KEY = "talk.jsonl"


def load(case: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FIXTURES / f"{case}.json").read_text("utf-8"))
    return loaded


def cassettes(case: str) -> Path:
    return FIXTURES / "cassettes" / case


def write_store(case: str, place: Path) -> Store:
    """Write the case's memories, the first of them last changed."""
    store = Store.open(place, create=True)
    made = [
        Memory(
            name=name, type=kind, description=line, body=f"{line}\n", id=derived_id("select", name),
            updated=NOW - timedelta(days=days), origin="user-stated",
        )
        for days, (name, kind, line) in enumerate(load(case)["memories"], start=1)
    ]  # fmt: skip
    store.apply(ChangeSet(id=f"case-{case}", reason="fixture", operations=[store.put(one) for one in made]))
    return store


def write_talk(dialogue: list[list[str]], folder: Path) -> Path:
    talk = Transcript(cwd="/home/ada/harbour", start="2026-11-27T09:00:00Z")
    for who, text in dialogue:
        (talk.user if who == "person" else talk.assistant)(text)
    return talk.write(folder)


@contextmanager
def at_desk(
    place: Path, store: Store, provider: Provider | None, settings: Settings | None = None
) -> Iterator[PhaseContext]:
    """Open a desk over `store` with a ledger below `place`."""
    chosen = settings or Settings()
    clock = FixedClock(NOW)
    with new_ledger(place / "ledger.sqlite") as ledger:
        meter = calls.LedgerMeter(ledger, chosen.spend, clock)
        client = Client(provider, meter, settings=chosen.model, sleep=lambda _: None) if provider else None
        yield PhaseContext(ledger, store, client, chosen, clock)


def take_in(desk: PhaseContext, transcript: Path) -> str:
    """Bring the transcript into the ledger; return its key."""
    settings, clock = desk.settings, desk.clock
    return ingest_file(desk.ledger, transcript, key=KEY, settings=settings, clock=clock).key


def choose(case: str, place: Path, provider: Provider, settings: Settings | None = None) -> Choice | None:
    """Choose in the case `case`, laid out below `place`."""
    store = write_store(case, place / "memory")
    transcript = write_talk(load(case)["dialogue"], place)
    with at_desk(place, store, provider, settings) as desk:
        return prefetch(desk, place, take_in(desk, transcript))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        settings_here = config.load(home)
        recorder = open_provider(f"record:{cassettes(sys.argv[1])}", settings_here.model, home=home)
        sys.stdout.write(f"{choose(sys.argv[1], home, recorder, settings_here)}\n")
