"""Composition: one object that opens what a command needs and answers in plain values.

Nothing is opened before it is used, so that `status` loads no model library and `config` no database. The
CLI turns the values into tables or JSON; it knows no adapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pipeline import clock as clocks
from pipeline import config, locks, paths, schedule, spend
from pipeline.capture import spool
from pipeline.capture.registration import note_interpreter
from pipeline.clock import iso, parse_time
from pipeline.config import Settings
from pipeline.domain.memory import TYPES, Evidence, Memory
from pipeline.errors import InputError, LedgerError, ReverieError
from pipeline.extraction.guard import violation
from pipeline.extraction.render import size
from pipeline.extraction.run import Outcome
from pipeline.ids import new_id
from pipeline.ingestion import Ingested, file_key, ingest_file
from pipeline.ledger import (
    Ledger,
    calls,
    conversations,
    inbox,
    ingest,
    jobs,
    lookups,
    open_ledger,
    runs,
    tombstones,
)
from pipeline.llm import describe
from pipeline.redact import redact
from pipeline.slugs import slugify
from pipeline.store import ChangeSet, Document, Problem, Store
from pipeline.transcript import find, scan
from pipeline.worker import Pass, Worker, store_for

WORKER_WAIT_SECONDS = 120.0
_CALL_OVERHEAD_TOKENS = 4_000
_REPLY_TOKENS = 1_500


@dataclass(frozen=True, slots=True)
class Why:
    """A memory, and for each of its sources what the transcript says there."""

    memory: Memory
    path: Path
    sources: tuple[dict[str, Any], ...]
    runs: tuple[dict[str, Any], ...]
    ours: bool


class App:
    """Reverie for one home; `store` and `llm` override what the settings and the cwd would choose."""

    def __init__(self, *, store: Path | None = None, llm: str | None = None) -> None:
        self.home = paths.home_dir()
        self.settings: Settings = config.load(self.home)
        self.clock = clocks.from_environment()
        self.llm = llm or self.settings.model.provider
        self.store_override = store.expanduser().absolute() if store else None

    # -- opening ----------------------------------------------------------------------------------

    @property
    def store_path(self) -> Path:
        """Return the memory folder commands act on: ``--store``, else the one of the project here."""
        return self.store_override or paths.project_store(Path.cwd())

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """Open the ledger, made at the first use."""
        with open_ledger(self.home / "ledger.sqlite") as ledger:
            if not (self.home / "python").exists():
                # So that a hook finds the interpreter that can run the worker.
                note_interpreter(self.home)
            yield ledger

    def open_store(self, *, create: bool = False) -> Store:
        """Open the memory folder; without `create`, a missing one is an InputError that says where."""
        if not create and not self.store_path.is_dir():
            raise InputError(
                "there is no memory folder here yet",
                file=str(self.store_path),
                fix="Run it in the project's directory, or name the folder with --store.",
            )
        return Store.open(self.store_path, create=create)

    @contextmanager
    def _alone(self, ledger: Ledger) -> Iterator[Worker]:
        """Hold the worker's lock, so that no background worker does the same work at the same time."""
        with locks.lock(self.home / "worker.lock", timeout=WORKER_WAIT_SECONDS) as held:
            if not held:
                raise LedgerError(
                    "the background worker is busy", fix="Try again when `reverie status` shows it idle."
                )
            yield Worker(
                self.home, self.settings, self.clock, ledger, llm=self.llm, store=self.store_override
            )

    # -- from transcripts to memories -------------------------------------------------------------

    def extract(self, transcript: Path) -> tuple[Ingested, list[Outcome], Path]:
        """Ingest one transcript and extract all of it that was not read yet; returns the store's path too."""
        with self.ledger() as ledger, self._alone(ledger) as worker:
            done = self._ingest(ledger, transcript, (paths.projects_dir(),))
            outcomes = worker.read_file(done.key)
            return done, outcomes, self.store_override or store_for(ledger, done.key)

    def ingest(
        self, *, file: Path | None = None, folder: Path | None = None, reimport: bool = False
    ) -> Iterator[Ingested | InputError]:
        """Ingest one file, or every session file under `folder`; a bad file is yielded as its error."""
        with self.ledger() as ledger:
            ingest.recover_ingesting(ledger)
            roots = (folder,) if folder else (paths.projects_dir(),)
            for path in [file] if file else scan(folder or paths.projects_dir()):
                try:
                    yield self._ingest(ledger, path, roots, reimport=reimport)
                except InputError as error:
                    if file:
                        raise
                    yield error

    def _ingest(
        self, ledger: Ledger, path: Path, roots: tuple[Path, ...], *, reimport: bool = False
    ) -> Ingested:
        if not path.exists():
            raise InputError("there is no such file", file=str(path), fix="Check the path.")
        return ingest_file(
            ledger,
            path,
            key=file_key(path, roots),
            settings=self.settings,
            clock=self.clock,
            quiet=True,
            reimport=reimport,
        )

    def backlog(self, *, everything: bool) -> list[dict[str, Any]]:
        """Return the ready conversations `process` would read, each with its estimated tokens and dollars."""
        with self.ledger() as ledger:
            limits = self.settings.extraction
            conversations.mark_ready(
                ledger, now=self.clock.now(), gap_minutes=limits.conversation_gap_minutes
            )
            return [self._estimate(ledger, item) for item in self._ready(ledger, everything)]

    def process(self, *, everything: bool) -> Iterator[tuple[str, list[Outcome]]]:
        """Read the ready conversations, oldest first; yields each file's key with its outcomes."""
        with self.ledger() as ledger, self._alone(ledger) as worker:
            for key in dict.fromkeys(item.source_file for item in self._ready(ledger, everything)):
                yield key, worker.read_file(key)

    def _ready(self, ledger: Ledger, everything: bool) -> list[conversations.Conversation]:
        ready = conversations.list_conversations(ledger, status="ready")
        if everything:
            return ready
        here = self.store_path
        return [c for c in ready if self.store_override or store_for(ledger, c.source_file) == here]

    def _estimate(self, ledger: Ledger, item: conversations.Conversation) -> dict[str, Any]:
        spoken = ingest.utterances_of_conversation(ledger, item.id)
        chars = sum(size(utterance) for utterance in spoken)
        windows = max(1, -(-chars // max(1, self.settings.extraction.window_chars)))
        usage = spend.Usage(
            input_tokens=chars * 2 // 7 + windows * _CALL_OVERHEAD_TOKENS,
            output_tokens=windows * _REPLY_TOKENS,
            estimated=True,
        )
        short = len(spoken) < self.settings.extraction.min_conversation_messages
        return {
            "conversation": item.id,
            "file": item.source_file,
            "from": item.first_message_at,
            "messages": len(spoken),
            "calls": 0 if short else windows,
            "tokens": 0 if short else usage.total,
            "dollars": 0.0 if short else round(spend.dollars(self.settings.model.model, usage), 4),
        }

    def work(self, *, retry: bool = False) -> Pass:
        """Drain the spool and do every waiting job now; `retry` first puts parked jobs back."""
        with self.ledger() as ledger, self._alone(ledger) as worker:
            if retry:
                jobs.unpark(ledger, None, now=self.clock.now().timestamp())
            return worker.run(now_too=True)

    # -- looking ----------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Return the state of everything: queue, runs, spend, conversations, provider, store."""
        now = self.clock.now()
        provider, reason = describe(self.llm, self.settings.model)
        with self.ledger() as ledger:
            caps = self.settings.spend
            spent = calls.spent(ledger, now=now)
            waiting = [job for job in jobs.list_jobs(ledger) if job.state != "done"]
            return {
                "home": str(self.home),
                "store": str(self.store_path),
                "mode": self.settings.store.mode,
                "provider": {"name": provider, "why": reason, "model": self.settings.model.model},
                "worker": "running" if schedule.worker_alive(self.home) else "idle",
                "spool": {
                    "waiting": sum(1 for _ in spool.pending(self.home)),
                    "quarantined": [list(item) for item in spool.quarantined(self.home)],
                    "hook_log": _last_line(self.home / "logs" / "hook.log"),
                },
                "jobs": [asdict(job) for job in waiting],
                "runs": [_run_row(run) for run in runs.list_runs(ledger, limit=8)],
                "conversations": lookups.conversation_counts(ledger),
                "spend": {
                    "calls_hour": [spent.hour_calls, caps.calls_per_hour],
                    "tokens_hour": [spent.hour_tokens, caps.tokens_per_hour],
                    "dollars_day": [round(spent.day_dollars, 4), caps.dollars_per_day],
                    "held": calls.paused(ledger, now=now),
                },
                "inbox": inbox.count_inbox(ledger, str(self.store_path)),
                "files": lookups.file_counts(ledger),
            }

    def conversations(self, status: str | None) -> list[dict[str, Any]]:
        """Return the conversations, all or those in `status`."""
        with self.ledger() as ledger:
            return [asdict(item) for item in conversations.list_conversations(ledger, status=status)]

    def memories(self, kind: str | None) -> tuple[list[Document], list[Problem]]:
        """Return the store's memories (all or of one type) and the files that can't be read as one."""
        if kind is not None and kind not in TYPES:
            raise InputError(f"there is no type {kind!r}", fix=f"Types: {', '.join(TYPES)}.")
        snapshot = self.open_store().scan()
        found = [d for d in snapshot.documents if kind is None or d.memory.type == kind]
        return sorted(found, key=lambda d: (d.memory.type, d.memory.name)), list(snapshot.problems)

    def why(self, name: str) -> Why:
        """Return where the memory `name` comes from: lines, speakers, runs, models."""
        store = self.open_store()
        document = store.read(name)
        with self.ledger() as ledger:
            sources = tuple(_source(ledger, source) for source in document.memory.sources)
            made = tuple(
                _run_row(run)
                for run_id in lookups.runs_of_memory(ledger, document.memory.id)
                if (run := runs.run(ledger, run_id)) is not None
            )
        return Why(document.memory, store.path / document.path, sources, made, store.is_ours(document))

    # -- changing ---------------------------------------------------------------------------------

    def add(self, statement: str, *, kind: str, name: str, description: str, why: str) -> Memory:
        """Write a memory a person dictates; refuses secrets and what must never be kept."""
        if kind not in TYPES:
            raise InputError(f"there is no type {kind!r}", fix=f"Types: {', '.join(TYPES)}.")
        text = "\n".join((statement, why, description))
        if redact(text).found:
            raise InputError("the text holds a secret", fix="Leave the secret out; say where it is kept.")
        barred = violation(text)
        if barred:
            raise InputError(f"the text reads like {barred}", fix="Memories state facts; they grant nothing.")
        store = self.open_store(create=True)
        now = self.clock.now()
        line = " ".join((description or statement).split())[:150]
        body = statement.strip() + (f"\n\n**Why:** {why.strip()}" if why else "") + "\n"
        memory = Memory(
            name=slugify(name or line[:60]), description=line, type=kind, body=body, id=new_id(),
            created=now, updated=now, origin="hand-written", confidence=1.0,
        )  # fmt: skip
        if store.scan().by_name(memory.name):
            raise InputError(
                f"there is a memory {memory.name} already",
                fix=f"See `reverie show {memory.name}`; choose --name.",
            )
        put = store.put(memory)
        store.apply(ChangeSet(id=new_id(), reason="added by hand", operations=[put]))
        return replace(put.memory, path=put.path)

    def forget(self, name: str) -> str:
        """Move a memory to the archive and leave a tombstone; returns the memory's name."""
        store = self.open_store()
        document = store.read(name)
        now = self.clock.now()
        retire = store.retire(document, year=now.year, reason="forgotten on request")
        with self.ledger() as ledger:
            # The tombstone first: if we die between the two, the memory is still there to be forgotten.
            tombstones.add_tombstone(
                ledger, str(store.path), document.memory.name,
                memory_id=document.memory.id, now=now, reason="forgotten on request",
            )  # fmt: skip
        store.apply(ChangeSet(id=new_id(), reason=f"forget {document.memory.name}", operations=[retire]))
        return document.memory.name

    def reindex(self) -> list[str]:
        """Rebuild every derived file from the markdown; returns the files that changed."""
        return self.open_store().reindex(now=self.clock.now())


def _run_row(run: runs.Run) -> dict[str, Any]:
    summary = json.loads(run.summary_json or "{}")
    return {
        "id": run.id,
        "file": run.key,
        "strategy": run.strategy,
        "outcome": run.outcome,
        "reason": summary.get("reason", ""),
        "actions": summary.get("actions", []),
        "rejected": summary.get("rejected", []),
        "provider": run.provider,
        "model": run.model,
        "started_at": run.started_at,
    }


def _source(ledger: Ledger, source: Evidence) -> dict[str, Any]:
    row = ingest.find_entry(ledger, source.session, source.uuid)
    return {
        **source.model_dump(),
        "text": row.text if row else None,
        "file": row.source_file if row else None,
        "cwd": row.cwd if row else None,
    }


def _last_line(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip().rpartition("\n")[2]
    except FileNotFoundError:
        return ""


def find_transcript(text: str) -> Path:
    """Return the transcript a person means by a path or a session id."""
    path = Path(text).expanduser()
    if path.exists():
        return path
    found = find(text, None, paths.projects_dir())
    if found is None:
        raise InputError("there is no such file or session", file=text, fix="Give a path or a session id.")
    return found


__all__: Sequence[str] = ("App", "ReverieError", "Why", "find_transcript", "iso", "parse_time")
