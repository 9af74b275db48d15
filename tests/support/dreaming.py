"""A bench for whole dreams: real ledger, real store, a scripted model that speaks of memories by name.

    bench.keep(note("a", "Use tabs."), note("b", "Indent with tabs."))
    bench.model(planned(op("merge", "a", "b", into="a", covered=[("b.1", "a.1")])))
    report = bench.dream()

A plan names memories by name and sentences as ``name.number``. `model` takes a second reader too (see
`tests.support.second_reader`); without one, it finds what the plan said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.config import DreamSettings, Settings, SpendSettings
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext
from pipeline.core.clock import FixedClock
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence, Memory
from pipeline.ledger import Ledger, calls, dreams, inbox
from pipeline.llm import Client
from pipeline.llm.fakes import Scripted, ScriptedProvider
from pipeline.llm.request import Request
from pipeline.store import ChangeSet, Document, Store
from tests.support.ledgers import new_ledger
from tests.support.second_reader import Model, scripted

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
OVER = "2026-05-20"
"""A day that is over, until which what the tests retire says that it holds."""
KEEP: dict[str, Any] = {"operations": []}
_SHOWN = re.compile(r"^\[([mf]\d+)\] (\S+) \(", re.MULTILINE)
GENEROUS = SpendSettings(
    calls_per_run=10_000, calls_per_hour=100_000, tokens_per_hour=10**9, dollars_per_day=10_000
)
WITHOUT_CUES = DreamSettings(cues=False)
"""Phrases for search are a question of their own, which only `test_cues` asks."""


def shown(request: Request) -> dict[str, str]:
    """Return name → handle of the memories in a prompt."""
    return {name: handle for handle, name in _SHOWN.findall(request.messages[0].content)}


def planned(*operations: dict[str, Any]) -> Model:
    """Return a model that obeys: it proposes each of `operations` where all that it names is shown."""

    def answer(request: Request) -> Scripted:
        known = shown(request)
        mine = [item for item in operations if _named(item) <= {*known}]
        return {"operations": [_with_handles(item, known) for item in mine]}

    return answer


def _named(operation: dict[str, Any]) -> set[str]:
    into = [operation["into"]] if operation.get("into") else []
    covers = [name.rpartition(".")[0] for pair in operation.get("covered", ()) for name in pair]
    return {*operation["ids"], *into, *covers}


def _with_handles(operation: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    def sentence(name: str) -> str:
        memory, _, number = name.rpartition(".")
        return f"{known[memory]}.{number}"

    covered = [{"sentence": sentence(text), "by": sentence(by)} for text, by in operation.get("covered", ())]
    ids, into = [known[name] for name in operation["ids"]], known.get(operation.get("into", ""), "")
    return {**operation, "ids": ids, "into": into, "covered": covered}


def op(kind: str, /, *ids: str, **values: Any) -> dict[str, Any]:
    """An operation about the memories named `ids`; `covered` lists (sentence, by), as ``name.number``."""
    until = {"until": OVER} if kind == "retire" else {}
    return {"op": kind, "ids": list(ids), "reason": f"{kind} for a test", **until, **values}


def note(name: str, text: str, said: str | None = "2026-03-01", **values: Any) -> Memory:
    """A memory that a person stated on day `said`."""
    at = f"{said}T10:00:00+00:00"
    source = Evidence(session="s", uuid=f"u-{name}", quote=text[:40], at=at, speaker="person")
    moment = datetime.fromisoformat(at) if said else None
    defaults: dict[str, Any] = {
        "description": text.split(". ")[0][:140],
        "type": "project",
        "id": derived_id("dreaming", name),
        "created": moment,
        "updated": moment,
        "origin": "user-stated",
        "sources": (source,) if said else (),
    }
    return Memory(name=name, body=f"{text}\n", **{**defaults, **values})


@dataclass
class Dreaming:
    """One store and its ledger; `provider` keeps every request."""

    ledger: Ledger
    store: Store
    home: Path
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOW))
    settings: Settings = field(default_factory=lambda: Settings(spend=GENEROUS, dream=WITHOUT_CUES))
    provider: ScriptedProvider = field(default_factory=lambda: ScriptedProvider(lambda _: KEEP))
    kept: int = 0

    def model(self, script: Model | Iterable[Scripted], reader: Model | None = None) -> None:
        """Let `script` plan and `reader` be the second reader; without one, it finds what the plan said."""
        self.provider = ScriptedProvider(scripted(script, reader) if callable(script) else script)

    def keep(self, *memories: Memory) -> None:
        """Write `memories` as Reverie would."""
        self.kept += 1
        puts = [self.store.put(memory) for memory in memories]
        self.store.apply(ChangeSet(f"kept-{self.kept}", "test", puts))

    def client(self) -> Client:
        meter = calls.LedgerMeter(self.ledger, self.settings.spend, self.clock)
        return Client(self.provider, meter, settings=self.settings.model, sleep=lambda seconds: None)

    def desk(self, *, offline: bool = False) -> PhaseContext:
        client = None if offline else self.client()
        return PhaseContext(self.ledger, self.store, client, self.settings, self.clock)

    def dream(
        self,
        *,
        offline: bool = False,
        force: bool = True,
        dry_run: bool = False,
        since: datetime | None = None,
    ) -> DreamReport:
        desk = self.desk(offline=offline)
        return dream(desk, home=self.home, force=force, dry_run=dry_run, since=since)

    def later(self, **span: float) -> None:
        self.clock.at += timedelta(**span)

    def set(self, **values: Any) -> None:
        """Change settings of the dream."""
        changed = self.settings.dream.model_copy(update=values)
        self.settings = self.settings.model_copy(update={"dream": changed})

    def documents(self) -> dict[str, Document]:
        return {d.name: d for d in self.store.scan().documents}

    def names(self) -> list[str]:
        return sorted(self.documents())

    def body(self, name: str) -> str:
        return self.documents()[name].memory.body

    def waiting(self) -> list[tuple[str, str]]:
        """Kind and reason of what is in the inbox."""
        return [(item.kind, item.reason) for item in inbox.list_inbox(self.ledger)]

    def edit(self, name: str, text: str = "by hand\n") -> bytes:
        """Change a memory's file as a person does."""
        file = self.store.root / self.documents()[name].path
        file.write_bytes(file.read_bytes() + text.encode())
        return file.read_bytes()


def talk(bench: Dreaming, sessions: int, days_ago: float = 0.1) -> None:
    """Let `sessions` sessions of this store have spoken."""
    at = (NOW - timedelta(days=days_ago)).isoformat()
    with bench.ledger.transaction():
        for number in range(sessions):
            bench.ledger.execute(
                "INSERT INTO memory_file_states (file_path, last_entry_timestamp, session_id, store)"
                " VALUES (?, ?, ?, ?)",
                (f"{days_ago}-{number}.jsonl", at, f"s-{days_ago}-{number}", str(bench.store.path)),
            )


def last(bench: Dreaming, hours: float) -> None:
    """Let the last dream be `hours` ago."""
    dreams.note_success(bench.ledger, str(bench.store.path), now=NOW.timestamp() - hours * 3600.0)


@contextmanager
def dreaming(place: Path) -> Iterator[Dreaming]:
    """Open a bench below `place`."""
    home = place / "home"
    home.mkdir(parents=True, exist_ok=True)
    with new_ledger(home / "ledger.sqlite") as ledger:
        yield Dreaming(ledger, Store.open(place / "memory", create=True), home)
