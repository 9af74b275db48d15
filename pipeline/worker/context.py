"""What the parts of the worker share: the home, the ledger, the stores that were opened, the model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.context import PhaseContext, open_store
from pipeline.core.clock import Clock
from pipeline.core.errors import PROVIDER_DOWN, CassetteError, LiveCallError, ModelError
from pipeline.core.ids import new_id
from pipeline.domain.job import Job, JobKind
from pipeline.ledger import Ledger, calls, jobs, outages, secrets
from pipeline.ledger.jobs import Unclaimed
from pipeline.ledger.outages import Outage
from pipeline.llm import describe, logins
from pipeline.worker.last_look import LastLook
from pipeline.worker.retry import Decision, Stop, Wait

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.llm import Client, Provider
    from pipeline.llm.batching import Asking
    from pipeline.llm.request import Meter
    from pipeline.store import Store


class SharedCalls(Protocol):
    """Books that the calls of many workers are in."""

    def meter(self, inner: Meter) -> Meter:
        """Return a meter that enters each call with `inner` as well."""
        ...

    def provider(self, inner: Provider) -> Provider:
        """Return a provider that asks `inner` what has no reply yet."""
        ...


class WorkerContext:
    """One home at work. `store_override` is where memories go instead; `llm` is a provider's spec,
    and `provider` what answers in its place.

    `sleep` is what a call waits with between its tries, given seconds. `shared` puts its calls into other
    books as well. `patient` work asks no provider that is down before its wait is over; what a person typed
    does.
    Of the paths of stores, `visited` holds those whose sessions were read in this pass, and `touched` those
    whose search indexes have to be looked at anew.
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
        provider: Provider | None = None,
        patient: bool = True,
        sleep: Callable[[float], None] = time.sleep,
        shared: SharedCalls | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self.clock = clock
        self.ledger = ledger
        self.llm = llm or settings.model.provider
        self.store_override = store
        self.patient = patient
        self._sleep = sleep
        self.visited: set[Path] = set()
        self.touched: set[Path] = set()
        self.last_look = LastLook(home, settings, clock, ledger)
        self._owner = f"{os.getpid()}-{new_id()[:8]}"
        self._stores: dict[Path, Store] = {}
        self._provider = provider
        self._shared = shared

    def now(self) -> float:
        """Return the time in epoch seconds."""
        return self.clock.now().timestamp()

    # -- stores and the model ---------------------------------------------------------------------

    def open_store(self, store_path: Path) -> Store:
        """Open the store at `store_path`; a missing one is made at the first write."""
        store = open_store(store_path, self.settings, later=True)
        self._stores[store_path] = store
        return store

    def opened_store(self, store_path: Path) -> Store:
        """Return the store at `store_path` as it was opened in this pass, with all it has read, else open it.

        An interrupted change is finished in opening.
        """
        known = self._stores.get(store_path)
        return known if known is not None and not known.interrupted() else self.open_store(store_path)

    def close_stores(self) -> None:
        """Forget the opened stores and what they have read."""
        self._stores.clear()

    @property
    def provider_name(self) -> str:
        """Return the name of what answers, also where it can't be opened."""
        return self._provider.name if self._provider else describe(self.llm, self.settings.model)[0]

    def provider(self) -> Provider:
        """Return what answers, opened at the first need and kept. One that can't be opened counts as down."""
        if self._provider is None:
            from pipeline.llm import open_provider  # Few passes have anything to ask.

            try:
                self._provider = open_provider(self.llm, self.settings.model, home=self.home)
            except PROVIDER_DOWN as error:
                self._meter().note_failure(self.provider_name, error)
                raise
        return self._provider

    def client(self) -> Client | None:
        """Return a model client whose calls count as one run, or None when extraction goes by rules.

        While the provider counts as down, one try must do: it is made for all that waits.
        """
        provider = self.provider()
        if provider.name == "offline":
            return None
        from pipeline.llm import Client

        down = outages.known(self.ledger, provider.name) is not None
        model = self.settings.model.model_copy(update={"attempts": 1}) if down else self.settings.model
        meter: Meter = self._meter()
        return Client(
            self._shared.provider(provider) if self._shared else provider,
            self._shared.meter(meter) if self._shared else meter,
            settings=model,
            sleep=self._sleep,
            mask=secrets.masking(self.ledger),
        )

    def asking(self) -> Asking:
        """Return a client that raises what it would ask, for it to be asked in a batch."""
        from pipeline.llm.batching import Asking

        return Asking(
            self.provider(),
            self._meter(),
            settings=self.settings.model,
            sleep=self._sleep,
            mask=secrets.masking(self.ledger),
        )

    def note_failure(self, error: ModelError) -> None:
        """Note that the provider is down, if that is what `error` means."""
        meter: Meter = self._meter()
        if self._shared is not None:
            meter = self._shared.meter(meter)
        meter.note_failure(self.provider_name, error)

    def _meter(self) -> calls.LedgerMeter:
        return calls.LedgerMeter(
            self.ledger,
            self.settings.spend,
            self.clock,
            run_id=new_id(),
            patient=self.patient,
            held_for=self._stamp(),
        )

    def _stamp(self) -> str:
        return logins.stamp(self.settings.model)

    def outage(self) -> Outage | None:
        """Return the outage for which background work waits now, or None."""
        return outages.in_force(self.ledger, self.provider_name, now=self.now(), held_for=self._stamp())

    def model_in(self) -> float:
        """Return in how many seconds a model may be asked, 0 when it may be now."""
        known = outages.known(self.ledger, self.provider_name)
        return outages.seconds_left(known, now=self.now(), held_for=self._stamp())

    def provider_is_well(self, *, for_all: bool = True) -> bool:
        """Ask the provider a small question without dialogue in it; whether it gave an answer.

        When it gave none it counts as down from now on. If that is not `for_all`, an answer of no use keeps
        nobody else from asking: what they ask may be answered, and if not, they find out. Raises SpendError
        where a cap forbids the question.
        """
        from pipeline.llm.cassette import is_replayed
        from pipeline.llm.ping import ping

        if is_replayed(self.provider().name):
            return True
        try:
            client = self.client()
            if client is not None:
                ping(client, self.settings.model.model)
        except (CassetteError, LiveCallError):
            return True  # nothing was asked of a provider
        except ModelError as error:
            if for_all and not isinstance(error, PROVIDER_DOWN):
                outages.note(
                    self.ledger,
                    self.provider_name,
                    error,
                    now=self.now(),
                    held_for=self._stamp(),
                    proved=True,
                )
            return False
        return True

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

    def owe(self, store_path: Path) -> None:
        """Ask for what is derived from the store at `store_path` to be made anew: something changed in it."""
        self.touched.add(store_path)
        self.enqueue("reindex", str(store_path))

    def keep_alive(self, job: Job) -> None:
        """Renew the lease of a job that takes long."""
        jobs.heartbeat(self.ledger, job, lease_seconds=self.settings.worker.lease_seconds, now=self.now())

    def finish(self, job: Job, *, again_after: float = 0.0) -> None:
        """Mark a job done, or waiting for `again_after` seconds if it was asked for meanwhile."""
        jobs.finish(self.ledger, job, now=self.now(), again_after=again_after)

    def postpone(self, job: Job, seconds: float, reason: str, *, failed_call: int | None = None) -> None:
        """Put a job back for `seconds`, with no attempt counted; `failed_call` as in `jobs.postpone`."""
        now = self.now()
        jobs.postpone(
            self.ledger, job, run_after=now + seconds, reason=reason, now=now, failed_call=failed_call
        )

    def begin_anew(self, job: Job) -> None:
        """Let a job that is done with what it could not do go on with what comes after that."""
        with self.ledger.transaction():
            self.finish(job)
            self.enqueue(job.kind, job.key)

    def put_back(self, job: Job, decision: Decision, reason: str) -> None:
        """Put a job back as `decision` says, for `reason`; one that stops is parked, for a person to see."""
        match decision:
            case Wait(seconds, counted=False):
                self.postpone(job, seconds, reason)
            case Wait(seconds):
                jobs.fail(self.ledger, job, reason, now=self.now(), retry_at=self.now() + seconds)
            case Stop():
                jobs.fail(self.ledger, job, reason, now=self.now(), retry_at=None)


def log_fields(job: Job | None, *, source: str = "", run: str = "") -> dict[str, object]:
    """Return the fields of a log line about `job`, as `logging` takes them; None is work without one.

    `source` is the key of the transcript that is read, whose name is the session's id; `run` the run's id.
    """
    if not source and job is not None and job.kind == "extract_turn":
        source = job.key
    return {"job": job.id if job else 0, "run": run, "session": Path(source).stem if source else ""}
