"""Dialogue, replies and a whole extraction bench: real ledger, real store, a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.config import Settings
from pipeline.context import PhaseContext
from pipeline.core import paths
from pipeline.core.clock import FixedClock
from pipeline.domain.speech import Utterance
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.render import Rendering, render
from pipeline.extraction.run import extract
from pipeline.extraction.strategies import Strategy, TurnStrategy
from pipeline.hooklib.places import sanitise
from pipeline.intake import spool
from pipeline.intake.ingest import Ingested, file_key, ingest_file
from pipeline.ledger import Ledger, calls
from pipeline.llm import Client
from pipeline.llm.fakes import Scripted
from pipeline.llm.request import Request
from pipeline.store import Store
from pipeline.worker import Worker, WorkerContext
from tests.support.model import TwoReaders, borne_out
from tests.support.transcripts import Transcript

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NOTHING: dict[str, Any] = {"memories": [], "withdrawals": []}
Script = Iterable[Scripted] | Callable[[Request], Scripted]


def said(row: int, text: str, speaker: str = "person", **more: Any) -> Utterance:
    """Row `row` of a session: the person's typed line unless `more` says otherwise."""
    values: dict[str, Any] = {
        "row": row,
        "session_id": "5e55",
        "uuid": f"u{row}",
        "speaker": speaker,
        "channel": "typed" if speaker == "person" else "prose",
        "text": text,
        "at": f"2026-03-02T09:{row % 60:02}:00+00:00",
    }
    return Utterance(**(values | more))


def talk(*texts: str, context: int = 0) -> Rendering:
    """Lines of a dialogue; one that starts with ``A:`` is the assistant's. The first `context` are old."""
    spoken = [
        said(n, text.removeprefix("A:").strip(), "assistant" if text.startswith("A:") else "person")
        for n, text in enumerate(texts, start=1)
    ]
    return render(spoken[:context], spoken[context:])


def fact(line: int, quote: str, **more: Any) -> dict[str, Any]:
    """One candidate as a model would return it, citing `line`."""
    values: dict[str, Any] = {
        "name": "retries-stay-at-three",
        "type": "project",
        "statement": "The payment gateway is retried 3 times at most.",
        "importance": 0.6,
        "confidence": 0.9,
        "evidence": [{"line": line, "quote": quote}],
    }
    return values | more


def reply(*facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"memories": list(facts), "withdrawals": [], **more}


@dataclass
class Bench:
    """Everything extraction needs, over one transcript in one project; `provider` keeps the requests."""

    ledger: Ledger
    store: Store
    root: Path
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOW))
    settings: Settings = field(default_factory=Settings)
    fired: int = 0
    provider: TwoReaders = field(default_factory=lambda: TwoReaders([]))

    def script(self, script: Script, reader: Callable[[str], Scripted] = borne_out) -> TwoReaders:
        """Let the first reader answer by `script`, the second by `reader`."""
        self.provider = TwoReaders(script, reader)
        return self.provider

    def path(self, session: Transcript) -> Path:
        folder = paths.projects_dir() / sanitise(session.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{session.session_id}.jsonl"

    def hear(self, session: Transcript) -> str:
        """Write `session` as it stands, ingest it, and return its key."""
        return self.ingest(session.write(self.path(session))).key

    def ingest(self, path: Path, **more: Any) -> Ingested:
        key = file_key(path, (paths.projects_dir(),))
        return ingest_file(self.ledger, path, key=key, settings=self.settings, clock=self.clock, **more)

    def client(self) -> Client:
        meter = calls.LedgerMeter(self.ledger, self.settings.spend, self.clock)
        return Client(self.provider, meter, settings=self.settings.model, sleep=lambda seconds: None)

    def fire(self, session: Transcript, hook: str = "Stop") -> Path:
        """Write `session` as it stands and leave its hook's spool file; return the transcript."""
        path = session.write(self.path(session))
        folder = spool.directory(self.root)
        folder.mkdir(parents=True, exist_ok=True)
        fields = {"session_id": session.session_id, "transcript_path": str(path), "cwd": session.cwd}
        self.fired += 1
        stamp = int(self.clock.at.timestamp() * 1000)
        file = folder / f"{stamp:013d}-1-{self.fired:06x}-{hook}.json"
        file.write_text(json.dumps({**fields, "hook_event_name": hook}), "utf-8")
        return path

    def desk(self, *, offline: bool = False) -> PhaseContext:
        client = None if offline else self.client()
        return PhaseContext(self.ledger, self.store, client, self.settings, self.clock)

    def turns(self, key: str, **more: Any) -> TurnStrategy:
        return TurnStrategy(key, self.settings.extraction, **more)

    def run(self, strategy: Strategy) -> list[Outcome]:
        """Do every span of `strategy`, as the worker does."""
        found: list[Outcome] = []
        while outcome := extract(self.desk(), strategy, window=found[-1].window if found else 0):
            found.append(outcome)
        return found

    def worker(self, *, store: Path | None = None) -> Worker:
        """Return a worker whose model is the script."""
        return Worker(
            WorkerContext(
                self.root,
                self.settings,
                self.clock,
                self.ledger,
                store=store,
                provider=self.provider,
                sleep=lambda seconds: None,
            )
        )

    def prompt(self, number: int = -1) -> str:
        return self.provider.history[number].messages[0].content

    def names(self) -> list[str]:
        return sorted(document.memory.name for document in self.store.scan().documents)
