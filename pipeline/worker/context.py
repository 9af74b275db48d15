"""What the parts of the worker share: the home, the ledger, the stores that were opened, the model."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from pipeline.config import Settings
from pipeline.context import PhaseContext, open_store
from pipeline.core.clock import Clock
from pipeline.core.errors import UnauthorisedError
from pipeline.core.ids import new_id
from pipeline.domain.job import Job, JobKind
from pipeline.ledger import Ledger, calls, jobs, secrets
from pipeline.ledger.jobs import Unclaimed
from pipeline.llm import Client, Provider, logins, open_provider
from pipeline.store import Store
from pipeline.worker.retry import PROVIDER_DOWN, Decision, Stop, Wait


class WorkerContext:
    """One home at work. `store_override` is where memories go instead; `llm` is a provider's spec.

    `touched` holds the paths of the stores that were opened to be written since their search indexes were
    last made.
    """

    def __init__(
        self,
        home: Path,
        settings: Settings,
        clock: Clock,
        ledger: Ledger,
        *,
        llm: str | None = None,
        store: Path | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self.clock = clock
        self.ledger = ledger
        self.llm = llm or settings.model.provider
        self.store_override = store
        self.touched: set[Path] = set()
        self._owner = f"{os.getpid()}-{new_id()[:8]}"
        self._stores: dict[Path, Store] = {}
        self._provider: Provider | None = None

    def now(self) -> float:
        """Return the time in epoch seconds."""
        return self.clock.now().timestamp()

    # -- stores and the model ---------------------------------------------------------------------

    def open_store(self, store_path: Path) -> Store:
        """Open the store at `store_path`; a missing one is made at the first write."""
        store = open_store(store_path, self.settings, later=True)
        self._stores[store_path] = store
        self.touched.add(store_path)
        return store

    def opened_store(self, store_path: Path) -> Store:
        """Return the store at `store_path` as it was last opened here, else open it."""
        return self._stores.get(store_path) or self.open_store(store_path)

    def close_stores(self) -> None:
        """Forget the opened stores and what they have read."""
        self._stores.clear()

    def provider(self) -> Provider:
        """Return what answers, opened at the first need and kept."""
        if self._provider is None:
            self._provider = open_provider(self.llm, self.settings.model, home=self.home)
        return self._provider

    def client(self) -> Client | None:
        """Return a model client whose calls count as one run, or None when extraction goes by rules."""
        provider = self.provider()
        if provider.name == "offline":
            return None
        meter = calls.LedgerMeter(self.ledger, self.settings.spend, self.clock, run_id=new_id())
        return Client(provider, meter, settings=self.settings.model, mask=secrets.masking(self.ledger))

    def phase(self, store: Store) -> PhaseContext:
        """Return what a phase over `store` works with."""
        return PhaseContext(
            ledger=self.ledger,
            store=store,
            client=self.client(),
            settings=self.settings,
            clock=self.clock,
        )

    # -- jobs -------------------------------------------------------------------------------------

    def claim(
        self, *kinds: JobKind, leave_out: Collection[int] = (), ignore_schedule: bool = False
    ) -> Job | Unclaimed:
        """Take the job of `kinds` that has been due longest, or say why there is none."""
        return jobs.claim(
            self.ledger,
            owner=self._owner,
            lease_seconds=self.settings.worker.lease_seconds,
            now=self.now(),
            kinds=kinds,
            ignore_schedule=ignore_schedule,
            leave_out=leave_out,
        )

    def enqueue(self, kind: JobKind, key: str) -> None:
        """Ask for a job that is due now."""
        jobs.enqueue(self.ledger, kind, key, now=self.now(), run_after=self.now())

    def keep_alive(self, job: Job) -> None:
        """Renew the lease of a job that takes long."""
        jobs.heartbeat(self.ledger, job, lease_seconds=self.settings.worker.lease_seconds, now=self.now())

    def finish(self, job: Job, *, again_after: float = 0.0) -> None:
        """Mark a job done, or waiting for `again_after` seconds if it was asked for meanwhile."""
        jobs.finish(self.ledger, job, now=self.now(), again_after=again_after)

    def postpone(self, job: Job, seconds: float, reason: str, error: Exception | None = None) -> None:
        """Put a job back for `seconds`, with no attempt counted, or less if `error` is mended sooner."""
        jobs.postpone(
            self.ledger,
            job,
            run_after=self.now() + seconds,
            reason=reason,
            now=self.now(),
            held_for=logins.stamp(self.settings.model) if isinstance(error, PROVIDER_DOWN) else "",
            login=isinstance(error, UnauthorisedError),
        )

    def wake(self) -> None:
        """Make due what waits for a provider, whose settings or logins changed, or work again."""
        if jobs.any_held(self.ledger):
            jobs.wake(self.ledger, held_for=logins.stamp(self.settings.model), now=self.now())

    def put_back(self, job: Job, decision: Decision, reason: str, error: Exception | None = None) -> None:
        """Put a job back as `decision` says, for `error`; one that stops is parked, for a person to see."""
        match decision:
            case Wait(seconds, counted=False):
                self.postpone(job, seconds, reason, error)
            case Wait(seconds):
                jobs.fail(self.ledger, job, reason, now=self.now(), retry_at=self.now() + seconds)
            case Stop():
                jobs.fail(self.ledger, job, reason, now=self.now(), retry_at=None)


def log_fields(job: Job, *, source: str = "", run: str = "") -> dict[str, object]:
    """Return the fields of a log line about `job`, as `logging` takes them.

    `source` is the key of the transcript that is read, whose name is the session's id; `run` the run's id.
    """
    if not source and job.kind == "extract_turn":
        source = job.key
    return {"job": job.id, "run": run, "session": Path(source).stem if source else ""}
