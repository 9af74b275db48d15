"""Reading one session of a suite in a scratch home: its memories, what was proposed, and what it took."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline import config
from pipeline.config import SpendSettings
from pipeline.context import open_store
from pipeline.core import zone
from pipeline.core.clock import FixedClock, SystemClock, parse_time
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.domain.body import Body
from pipeline.domain.memory import MAX_QUOTE, Evidence, Memory
from pipeline.evaluation.manner import SECOND_READER, InManner
from pipeline.evaluation.suite import Session
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.strategies import TurnStrategy
from pipeline.hooklib.plain import lines_of
from pipeline.intake.ingest import ingest_file
from pipeline.ledger import Ledger, calls, open_ledger, runs, utterances
from pipeline.llm import Provider, budget
from pipeline.llm.budget import Usage
from pipeline.store.files.described import gist
from pipeline.worker import Worker, WorkerContext

_ALL = 10**6
"""More calls or runs than one session makes."""
_START = "start"
"""The folder of memories that a session starts with, if any."""


@dataclass(slots=True)
class Spent:
    """Calls of one kind: what they took, and what they cost at list prices, replayed or not."""

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    estimated: bool = False

    def add(self, other: Spent) -> None:
        """Count `other` in."""
        self.calls += other.calls
        self.tokens += other.tokens
        self.dollars += other.dollars
        self.estimated = self.estimated or other.estimated


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a session.

    `memories` are those written or changed, ordered by name; `candidates` what the first reader proposed, as
    the memories they would have been; `withdrawals` how many memories it would have taken back.
    """

    memories: list[Memory]
    outcomes: list[Outcome]
    candidates: list[Memory] = field(default_factory=list)
    withdrawals: int = 0
    first: Spent = field(default_factory=Spent)
    second: Spent = field(default_factory=Spent)


class _Context(WorkerContext):
    """A worker's context whose first reader answers in a `manner`, if that is named."""

    manner = ""

    def provider(self) -> Provider:
        """Return what answers."""
        inner = super().provider()
        return InManner(inner, self.manner) if self.manner else inner


def read_session(session: Session, *, llm: str = "", pieces: int = 1, manner: str = "") -> Reading:
    """Extract from `session` in a scratch home.

    `llm` is empty to replay its recordings, ``record`` to record them, else a provider's spec. With `pieces`
    over 1 it is read that many times while it grows, turn by turn, before it is read as a whole.
    """
    spec = llm
    if llm in ("", "record"):
        spec = f"{llm or 'replay'}:{session.recordings(pieces=pieces, manner=manner)}"
    # In another zone than it was recorded in its requests would have other times in them.
    with zone.using(session.zone), tempfile.TemporaryDirectory(prefix="reverie-eval-") as scratch:
        return _read(session, Path(scratch), spec, pieces, manner)


def _read(session: Session, scratch: Path, spec: str, pieces: int, manner: str) -> Reading:
    # The caps guard a person's money; a suite is started by hand and replays for nothing.
    generous = SpendSettings(
        calls_per_run=1000, calls_per_hour=10_000, tokens_per_hour=10**9, dollars_per_day=1000
    )
    settings = config.load(scratch).model_copy(update={"spend": generous})
    clock = FixedClock(_end(session.transcript) + timedelta(hours=2))
    home = Home(scratch)
    if (session.folder / _START).is_dir():
        shutil.copytree(session.folder / _START, home.user_store)
    before = _memories(home.user_store)
    growing = scratch / session.name / session.transcript.name
    growing.parent.mkdir()
    outcomes: list[Outcome] = []
    with open_ledger(home.ledger) as ledger:
        context = _Context(scratch, settings, clock, ledger, llm=spec, store=home.user_store)
        context.manner = manner
        worker = Worker(context)
        key = f"{growing.parent.name}/{growing.name}"
        for part in _parts(session.transcript, pieces):
            growing.write_bytes(part)
            ingest_file(ledger, growing, key=key, settings=settings, clock=clock, quiet=True)
            if pieces > 1:
                turn = TurnStrategy(key, settings.extraction, first_sight=False)
                outcomes += worker.read_spans(key, turn)
        outcomes += worker.read_file(key) if pieces == 1 else worker.read_conversations(key)
        if not utterances.utterances(ledger, key, after_row=0):
            raise InputError("nobody speaks in it", file=str(session.transcript), fix="Check the transcript.")
        replies = [json.loads(run.reply_json) for run in runs.list_runs(ledger, limit=_ALL) if run.reply_json]
        first, second = _spent(ledger)
    found = [memory for memory in _memories(home.user_store) if memory not in before]
    candidates = [memory for reply in replies for memory in _candidates(reply)]
    withdrawals = sum(len(reply["reply"]["withdrawals"]) for reply in replies)
    return Reading(found, outcomes, candidates, withdrawals, first, second)


def _memories(store_path: Path) -> list[Memory]:
    documents = open_store(store_path, config.Settings()).scan().documents if store_path.is_dir() else []
    return sorted((document.memory for document in documents), key=lambda memory: memory.name)


def _candidates(kept: dict[str, Any]) -> Iterator[Memory]:
    """Yield what a run's reply proposed, each with the entries of the lines that it cites."""
    for item in kept["reply"]["memories"]:
        sources = [
            Evidence(
                session=line["session_id"], uuid=line["uuid"], quote=cited["quote"][:MAX_QUOTE], at=line["at"]
            )
            for cited in item["evidence"]
            if (line := kept["lines"].get(str(cited["line"])))
        ]
        changed = "\n".join(change["text"] for change in item["replaces"])
        body = Body(f"{item['statement']}\n{changed}", item["why"], item["how_to_apply"]).render()
        yield Memory(item["name"], gist(body), item["type"], body, sources=tuple(sources))


def _spent(ledger: Ledger) -> tuple[Spent, Spent]:
    """Return what the first reader's calls took, and the second's."""
    first, second = Spent(), Spent()
    for call in calls.list_calls(ledger, limit=_ALL):
        usage = Usage(call.input_tokens, call.output_tokens, call.cache_write_tokens, call.cache_read_tokens)
        dollars = budget.dollars(call.model, usage)
        kind = second if call.purpose == SECOND_READER else first
        kind.add(Spent(1, usage.total, dollars, call.estimated))
    return first, second


def _parts(transcript: Path, pieces: int) -> Iterator[bytes]:
    lines = transcript.read_bytes().splitlines(keepends=True)
    for number in range(1, pieces + 1):
        yield b"".join(lines[: len(lines) * number // pieces])


def _end(transcript: Path) -> datetime:
    stamps = (
        parse_time(json.loads(line).get("timestamp"))
        for line in lines_of(transcript.read_text("utf-8"))
        if line.startswith("{")
    )
    return max((stamp for stamp in stamps if stamp), default=SystemClock().now())
