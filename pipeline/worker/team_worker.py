"""A worker for a team: it reads transcripts of its login off the team's queue, on whatever machine it runs.

    waiting ─► lease of the folder ─► job ─► ingested ─► calls in the team's books ─► store ─► job off it

Who dies leaves its lease, which runs out, and its job, which whoever takes the lease puts back. The dialogue
that was read up to then is in that machine's ledger, what was answered in the database: a machine that
comes back goes on where it was, and one that takes over asks only what has no reply.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pipeline.core import faults
from pipeline.core.errors import (
    ODD_DATA,
    PROVIDER_DOWN,
    BusyWorkerError,
    InputError,
    LeaseLostError,
    ModelError,
    ReverieError,
    SpendError,
    TeamError,
    UnreadableError,
    cause,
)
from pipeline.domain.job import Job
from pipeline.intake.ingest import ingest_file, stat_of
from pipeline.ledger import conversation_states, runs
from pipeline.record import changing, field
from pipeline.team import dreams, leases, queue, spending
from pipeline.team.queue import Item, Waiting
from pipeline.text.humanize import count, money
from pipeline.worker import retry
from pipeline.worker.retry import Decision, Stop, Wait
from pipeline.worker.team_batches import TeamBatches
from pipeline.worker.team_calls import TeamCalls
from pipeline.worker.team_table import Pulse, Served, Table

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.extraction.outcome import Outcome
    from pipeline.ledger import Ledger
    from pipeline.worker.jobs import Worker

LOG = logging.getLogger("reverie.worker")
POLL_SECONDS = 2.0
LEAST_REVISIONS = 5
"""Revisions since the last dream that make another over a team's memories worth while."""
FAILED_DREAM_SECONDS = 3600.0
"""So long after a dream that failed a machine tries no other."""
CLOSED_SECONDS = 60.0
"""So long nothing is asked where a cap is reached or the provider is down."""


@changing
class Done:
    """What a worker did: `read` by how it ended, `failed` for good, and for what it waits now."""

    read: int = 0
    failed: int = 0
    waiting: str = ""
    absent: set[str] = field(default_factory=set)


class TeamWorker:
    """Serves teams from one home, one transcript at a time.

    `worker` opens the home's worker for as long as a transcript takes; its calls go through what it is given.
    Transcripts are looked for below each of `roots`. `stop` ends it between two of them. `tell` gets a line
    about each.
    """

    def __init__(
        self,
        served: Sequence[Served],
        machine: str,
        roots: Sequence[Path],
        worker: Callable[[TeamCalls], AbstractContextManager[Worker]],
        *,
        settings: Settings,
        stop: Event,
        tell: Callable[[str], object],
    ) -> None:
        self._dreams = settings.dream
        self._attempts = settings.extraction.attempts
        self._served = served
        self._machine = machine
        self._roots = roots
        self._worker = worker
        self._stop = stop
        self._tell = tell
        self._closed: dict[str, tuple[float, str]] = {}
        self._nothing_here: dict[str, float] = {}
        self._no_dream_until = 0.0
        self._batches: dict[str, TeamBatches] = {}
        self.done = Done()

    def run(self, *, until_empty: bool = False, once: bool = False) -> Done:
        """Work until `stop` is set, or with `until_empty` until nothing is left that can be done here.

        With `once` what can be done now is done, and what has to wait is left.
        """
        tables = [Table(served, attempts=self._attempts) for served in self._served]
        for table in tables:
            self._batches[table.served.team] = self._batches_of(table)
        try:
            while not self._stop.is_set():
                self.done.waiting = ""
                worked = [self._look(table) for table in tables]
                if any(worked):
                    continue
                dreamt = [self._dream(table) for table in tables]
                if any(dreamt):
                    continue
                if once or (until_empty and not any(self._is_open(table) for table in tables)):
                    break
                self._stop.wait(POLL_SECONDS)
        finally:
            for table in tables:
                self._batches[table.served.team].end()
                table.end()
        return self.done

    def _batches_of(self, table: Table) -> TeamBatches:
        return TeamBatches(
            table,
            self._machine,
            self._worker,
            is_here=self._is_here,
            file=self._file,
            take_in=_take_in,
            do=self._do,
            stop=self._stop,
            tell=self._tell,
        )

    def _look(self, table: Table) -> bool:
        """Work at one queue of a team; False where there is none, or nothing can be asked now."""
        try:
            until, why = self._closed.get(table.served.team, (0.0, ""))
            if time.monotonic() < until:
                self.done.waiting = self.done.waiting or why
                return False
            is_capped = self._is_capped(table)
            in_batches = self._batches[table.served.team]
            for found in () if is_capped else table.ask(queue.waiting, self._machine):
                if not self._is_here(found):
                    self.done.absent.update(table.ask_plain(queue.keys, found.name))
                    continue
                if time.monotonic() < self._nothing_here.get(found.name, 0.0):
                    continue
                if held := in_batches.token(found.name):
                    table.ask(queue.take_up, found.name)
                token = held or table.ask(queue.take, found.name, self._machine)
                if token is not None:
                    return self._serve(table, found, token, is_kept=held is not None)
            if in_batches.look(may_begin=not is_capped):
                return True
            self.done.waiting = self.done.waiting or in_batches.waiting
        except TeamError as error:
            self._wait_for(table, str(error))
        return False

    def _dream(self, table: Table) -> bool:
        """Dream over the team's folder here, if it is time and nobody else does; whether that was done.

        What comes of it waits in the inbox of this home.
        """
        try:
            if table.served.folder is None or not self._is_time(table):
                return False
            token = table.ask(leases.take, dreams.LEASE, self._machine, seconds=queue.LEASE_SECONDS)
            if token is None:
                return False
            try:
                with Pulse(table) as pulse:
                    pulse.add(token)
                    holds = partial(pulse.holds, token)
                    calls = self._calls(table, holds, "team")
                    self._dream_over(table, token, calls)
            finally:
                table.ask(leases.give_back, token)
            return True
        except LeaseLostError as error:
            LOG.warning("the dream over the team's memories: %s", error)
        except (ReverieError, OSError, *ODD_DATA) as error:
            self._wait_for(table, cause(error))
        return False

    def _is_time(self, table: Table) -> bool:
        if not self._dreams.enabled or time.monotonic() < self._no_dream_until:
            return False
        found = table.ask(dreams.since_last)
        if found.hours is not None and found.hours < self._dreams.interval_hours:
            return False
        return bool(found.revisions >= LEAST_REVISIONS)

    def _dream_over(self, table: Table, token: str, calls: TeamCalls) -> None:
        from pipeline.sharing.run import sync
        from pipeline.sharing.state import Share

        folder = table.served.folder
        assert folder is not None, "its caller has looked"
        with self._worker(calls) as worker:
            context = worker.context
            latest = table.ask(dreams.since_last).latest
            store = context.opened_store(folder)
            sync(
                Share.of(context.home, folder),
                store,
                clock=context.clock,
                ledger=context.ledger,
                unattended=True,
            )
            report = worker.dreams.dream_over(folder, of_team=True)
        if report.failed or report.word == "failed":
            # Another machine may have more luck; this one tries again in a while.
            self._no_dream_until = time.monotonic() + FAILED_DREAM_SECONDS
            self._tell(f"dream over {table.served.name}: a part failed, and it is tried again")
            return
        if table.ask(dreams.note, token, self._machine, latest):
            waits = count(sum(bool(row["to_inbox"]) for row in report.refused), "proposal")
            self._tell(f"dream over {table.served.name}: {report.word}, {waits} for the inbox")

    def _is_open(self, table: Table) -> bool:
        """Whether anything is left for this login that this machine can do, now or when another one dies."""
        try:
            found = [*table.ask(queue.waiting), *table.ask(queue.waiting, in_batches=True)]
            return any(
                self._file(key)
                for each in found
                if self._is_here(each)
                for key in table.ask_plain(queue.keys, each.name)
            )
        except TeamError:
            return True

    def _serve(self, table: Table, found: Waiting, token: str, *, is_kept: bool) -> bool:
        """Work at a queue under the lease of `token`, which goes back then unless it `is_kept`."""
        worked = False
        with Pulse(table) as pulse:
            pulse.add(token)
            holds = partial(pulse.holds, token)
            calls = self._calls(table, holds, found.project)
            while not self._stop.is_set() and holds():
                item = self._next(table, found.name)
                if item is None:
                    break
                worked = True
                if not self._do(table, token, calls, item):
                    break
        if not is_kept:
            with suppress(TeamError):  # It runs out by itself.
                table.ask(leases.give_back, token)
        return worked

    def _calls(self, table: Table, holds: Callable[[], bool], project: str) -> TeamCalls:
        return TeamCalls(table.line, table.served.team, self._machine, holds, project, tell=self._tell)

    def _next(self, table: Table, name: str) -> Item | None:
        """Begin the first job of a queue whose transcript is here; the others are left to other machines."""
        while True:
            found = table.ask_plain(queue.in_hand, name, without=tuple(self.done.absent), limit=1)
            if not found:
                self._nothing_here[name] = time.monotonic() + CLOSED_SECONDS
                return None
            item: Item = found[0]
            if self._file(item.key) is not None:
                table.ask_plain(queue.begin, item, tries=item.attempts)
                return item
            self.done.absent.add(item.key)

    def _do(self, table: Table, token: str, calls: TeamCalls, item: Item) -> bool:
        """Read one transcript and settle its job; False where the next one of the queue has to wait."""
        path = self._file(item.key)
        try:
            with self._worker(calls) as worker:
                # One that is gone since it was taken in is in the ledger.
                outcomes = _read(worker, path, item.key) if path else worker.read_file(item.key)
                words = _in_words(outcomes) or _before(worker.context.ledger, item.key)
        except LeaseLostError as error:
            LOG.warning("%s: %s", item.key, error)
            return False
        except (ReverieError, OSError, *ODD_DATA) as error:
            return self._settle_failure(table, token, calls, item, error)
        faults.reach("team.read")
        if table.ask(queue.finish, token, item, self._machine, words):
            self.done.read += 1
            self._tell(f"{item.key}: {words}")
            return True
        LOG.warning("%s was read, and another machine has its folder by now", item.key)
        return False

    def _settle_failure(
        self, table: Table, token: str, calls: TeamCalls, item: Item, error: Exception
    ) -> bool:
        if isinstance(error, TeamError):
            raise error  # Its job stays as it is until somebody takes the lease again.
        if isinstance(error, (SpendError, *PROVIDER_DOWN)):
            # The worker waits, not the job: somebody else may have room sooner.
            table.ask(queue.put_back, token, item, seconds=0, counted=False)
            self._wait_for(table, str(error))
            return False
        if isinstance(error, BusyWorkerError):
            table.ask(queue.put_back, token, item, seconds=CLOSED_SECONDS, counted=False)
            return False
        decision = retry.extraction(table.attempts).retry_after(error, item.attempts + 1)
        if decision is Stop.GIVE_UP and isinstance(error, ModelError):
            decision = self._give_up(calls, item, error)
        LOG.warning("%s: %s", item.key, cause(error))
        self._tell(f"{item.key}: {cause(error)}")
        match decision:
            case Wait(seconds, counted):
                table.ask(queue.put_back, token, item, seconds=seconds, counted=counted)
            case Stop():
                self.done.failed += 1
                table.ask(queue.put_back, token, item, seconds=None)
        return True

    def _give_up(self, calls: TeamCalls, item: Item, error: ModelError) -> Decision:
        """Pass over what no model reads, so that the rest of the transcript is read."""
        try:
            with self._worker(calls) as worker:
                worker.extraction.give_up(_job_of(item), error)
        except ReverieError as second:
            LOG.warning("%s can't be passed over: %s", item.key, second)
            return Stop.PARK
        return Wait(0.0, counted=False)

    def _wait_for(self, table: Table, why: str) -> None:
        if self.done.waiting != why:
            self._tell(f"waiting: {why}")
        self.done.waiting = why
        self._closed[table.served.team] = (time.monotonic() + CLOSED_SECONDS, why)

    def _is_capped(self, table: Table) -> bool:
        """Whether a cap is reached, so that nothing new is asked."""
        reached = [
            f"{money(float(most))} a {span}"
            for span, (so_far, most) in table.ask(spending.caps).items()
            if so_far >= most
        ]
        if reached:
            self._wait_for(table, f"the team's cap of {reached[0]} is reached")
        return bool(reached)

    def _is_here(self, found: Waiting) -> bool:
        """Whether the folder of a queue is on this machine; of its transcripts some may be gone."""
        return any(
            (root / found.project).is_dir()
            and (root / found.project).resolve().is_relative_to(root.resolve())
            for root in self._roots
        )

    def _file(self, key: str) -> Path | None:
        for root in self._roots:
            path = root / key
            try:
                if path.resolve().is_relative_to(root.resolve()) and stat_of(path) is not None:
                    return path
            except (UnreadableError, OSError, RuntimeError) as error:  # A loop of links is the last.
                LOG.warning("%s: %s", key, cause(error))
        return None


def _take_in(worker: Worker, path: Path, key: str) -> None:
    """Bring a transcript into the ledger, for whoever reads it here."""
    context = worker.context
    done = ingest_file(
        context.ledger,
        path,
        key=key,
        settings=context.settings,
        clock=context.clock,
        quiet=True,
        asked_for=True,
    )
    if done.key != key:
        raise InputError(f"it is {done.key} in the ledger", file=str(path), fix="Rename the folder.")
    conversation_states.take_back(context.ledger, key, now=context.clock.now())


def _read(worker: Worker, path: Path, key: str) -> list[Outcome]:
    """Take the transcript in and read all of it that was not read here."""
    _take_in(worker, path, key)
    return worker.read_file(key)


def _in_words(outcomes: Sequence[Outcome]) -> str:
    counted: dict[str, int] = {}
    for outcome in outcomes:
        for action in outcome.actions:
            counted[action.action] = counted.get(action.action, 0) + 1
    if counted:
        return ", ".join(f"{number} {word}" for word, number in sorted(counted.items()))
    return outcomes[-1].word if outcomes else ""


def _before(ledger: Ledger, key: str) -> str:
    """Return what came of a transcript of which nothing was left to read, as of one read in batches."""
    number = runs.memories_of(ledger, key)
    return count(number, "memory", "memories") if number else "nothing new"


def _job_of(item: Item) -> Job:
    return Job(0, "extract_turn", item.key, "leased", 0.0, item.attempts, again=False)
