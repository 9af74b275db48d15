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
from contextlib import AbstractContextManager, ExitStack
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
from pipeline.team import dreams, heard, leases, looking, queue
from pipeline.team.dreams import Since
from pipeline.team.looking import Look
from pipeline.team.queue import Item, Waiting
from pipeline.text.humanize import count, money
from pipeline.worker import retry
from pipeline.worker.retry import Decision, Stop, Wait
from pipeline.worker.team_batches import TeamBatches
from pipeline.worker.team_calls import TeamCalls
from pipeline.worker.team_table import Held, Pulse, Served, Table

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
    """Serves teams from one `home`, one transcript at a time.

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
        home: Path,
        settings: Settings,
        stop: Event,
        tell: Callable[[str], object],
    ) -> None:
        self._dreams = settings.dream
        self._home = home
        self._attempts = settings.extraction.attempts
        self._served = served
        self._machine = machine
        self._roots = roots
        self._worker = worker
        self._stop = stop
        self._tell = tell
        self._closed: dict[str, tuple[float, str]] = {}
        self._nothing_here: dict[str, float] = {}
        self._elsewhere: set[str] = set()
        self._since: dict[str, Since] = {}
        self._no_dream_until = 0.0
        self._batches: dict[str, TeamBatches] = {}
        self.done = Done()

    def run(self, *, until_empty: bool = False, once: bool = False) -> Done:
        """Work until `stop` is set, or with `until_empty` until nothing is left that can be done here.

        With `once` what can be done now is done, and what has to wait is left.
        """
        with ExitStack() as stack:
            tables = [self._begin(served, stack) for served in self._served]
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
        return self.done

    def _begin(self, served: Served, stack: ExitStack) -> Table:
        """Begin to serve a team; what that takes ends with `stack`."""
        pulse = stack.enter_context(Pulse(served))
        table = stack.enter_context(Table(served, pulse, home=self._home, attempts=self._attempts))
        self._batches[served.team] = self._batches_of(table)
        stack.callback(self._batches[served.team].end)
        return table

    def _batches_of(self, table: Table) -> TeamBatches:
        return TeamBatches(
            table,
            self._machine,
            self._worker,
            calls=self._calls,
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
            table.unsettled.settle(table.ask)
            seen: Look = table.ask(looking.look, self._machine)
            self._since[table.served.team] = seen.since
            if seen.odd:
                self._set_aside(table)
            is_capped = self._is_capped(table, seen)
            in_batches = self._batches[table.served.team]
            for found in () if is_capped else seen.singly:
                if not self._may_serve(table, found):
                    continue
                if token := in_batches.token(found.name):
                    table.ask(queue.take_up, found.name)
                    return self._serve(table, found, token, table.pulse.held(token))
                token = table.ask(queue.take, found.name, self._machine)
                if token is not None:
                    with table.holding(token) as held:
                        return self._serve(table, found, token, held)
            if in_batches.look(seen.in_batches, may_begin=not is_capped):
                return True
            self.done.waiting = self.done.waiting or in_batches.waiting
        except TeamError as error:
            self._wait_for(table, str(error))
        return False

    def _set_aside(self, table: Table) -> None:
        """Let jobs fail that nobody can do, and say so."""
        for words in table.ask(queue.set_aside):
            self._tell(words)
            self.done.failed += 1

    def _may_serve(self, table: Table, found: Waiting) -> bool:
        """Whether something of a queue may be on this machine; of one that is not its keys are noted once."""
        if self._is_here(found):
            return time.monotonic() >= self._nothing_here.get(found.name, 0.0)
        if found.name not in self._elsewhere:
            self.done.absent.update(table.ask(queue.keys, found.name))
            self._elsewhere.add(found.name)
        return False

    def _dream(self, table: Table) -> bool:
        """Dream over the team's folder here, if it is time and nobody else does; whether that was done.

        What comes of it waits in the inbox of this home.
        """
        try:
            if table.served.folder is None or not self._is_time(table):
                return False
            token = table.ask(leases.take, dreams.LEASE, self._machine, seconds=leases.LEASE_SECONDS)
            if token is None:
                return False
            with table.holding(token) as held:
                calls = self._calls(table, held, "team")
                self._dream_over(table, token, calls)
            return True
        except LeaseLostError as error:
            LOG.warning("the dream over the team's memories: %s", error)
        except (ReverieError, OSError, *ODD_DATA) as error:
            self._wait_for(table, cause(error))
        return False

    def _is_time(self, table: Table) -> bool:
        if not self._dreams.enabled or time.monotonic() < self._no_dream_until:
            return False
        found = self._since.pop(table.served.team, None)
        if found is None:
            return False
        if found.hours is not None and found.hours < self._dreams.interval_hours:
            return False
        return bool(found.revisions >= LEAST_REVISIONS)

    def _dream_over(self, table: Table, token: str, calls: TeamCalls) -> None:
        from pipeline.sharing.run import sync
        from pipeline.sharing.state import Share
        from pipeline.sharing.turn import folder_of

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
            heard.note_dream(folder_of(context.home, folder), context.clock.now().timestamp())
            waits = count(sum(bool(row["to_inbox"]) for row in report.refused), "proposal")
            self._tell(f"dream over {table.served.name}: {report.word}, {waits} for the inbox")

    def _is_open(self, table: Table) -> bool:
        """Whether anything is left for this login that this machine can do, now or when another one dies."""
        try:
            return any(self._file(key) for key in table.ask(queue.keys))
        except TeamError:
            return True

    def _calls(self, table: Table, held: Held, project: str) -> TeamCalls:
        return TeamCalls(table, self._machine, held, project)

    def _serve(self, table: Table, found: Waiting, token: str, held: Held) -> bool:
        """Work at a queue under its lease of `token`, which is `held`."""
        worked = False
        calls = self._calls(table, held, found.project)
        while not self._stop.is_set() and held.is_ours():
            item = self._next(table, found.name)
            if item is None:
                break
            worked = True
            if not self._do(table, token, calls, item):
                break
        return worked

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

    def _is_capped(self, table: Table, seen: Look) -> bool:
        """Whether a cap is reached, so that nothing new is asked."""
        for span, most in seen.reached[:1]:
            self._wait_for(table, f"the team's cap of {money(most)} a {span} is reached")
        return bool(seen.reached)

    def _is_here(self, found: Waiting) -> bool:
        """Whether the folder of a queue is on this machine; of its transcripts some may be gone."""
        return self._below(found.project, Path.is_dir) is not None

    def _file(self, key: str) -> Path | None:
        return self._below(key, lambda path: stat_of(path) is not None)

    def _below(self, name: str, is_there: Callable[[Path], bool]) -> Path | None:
        """Return what is called `name` below one of the roots, and not outside of it, if `is_there`."""
        for root in self._roots:
            path = root / name
            try:
                if path.resolve().is_relative_to(root.resolve()) and is_there(path):
                    return path
            except (UnreadableError, OSError, RuntimeError) as error:  # A loop of links is the last.
                LOG.warning("%s: %s", name, cause(error))
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
