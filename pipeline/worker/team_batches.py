"""A team's backlog that is read in batches: whole folders at a time, by one order of this machine's ledger.

    queue ─► lease of the folder ─► ingested ─► order ─► batches, looked at now and then ─► job off the queue

The order is one as for a person alone (`batch_runner`), and in the team's books beside it. A machine that
comes back finds its order in the ledger. One that takes over makes its own, and the books hold the replies to
what was asked, and the batches that are under way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pipeline.core.errors import ODD_DATA, BusyError, InputError, ReverieError, TeamError, cause
from pipeline.ledger import batches, conversations
from pipeline.record import changing, field
from pipeline.team import outages, queue
from pipeline.team.queue import Item, Waiting
from pipeline.text.humanize import count, span
from pipeline.worker.batch_runner import BatchPass, BatchRunner, is_whole
from pipeline.worker.extraction_runner import TO_READ
from pipeline.worker.retry import MINUTE
from pipeline.worker.session_store import store_for
from pipeline.worker.team_books import TeamBooks
from pipeline.worker.team_calls import TeamCalls
from pipeline.worker.team_table import Held, Table

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.ledger.batches import Order, Progress
    from pipeline.ledger.conversations import Conversation
    from pipeline.worker.jobs import Worker

LOG = logging.getLogger("reverie.worker")
ABSENT_SECONDS = 600.0
"""So long a machine leaves a transcript to others that is not on it."""
CANCELED = "canceled; `reverie process --team --cancel` takes it back"
Do = Callable[[Table, str, TeamCalls, Item], bool]
"""Reads what is left of one transcript, and settles its job."""


@changing
class _Folder:
    """A queue whose lease is held by `token`, and its jobs in hand by the keys of their transcripts."""

    name: str
    project: str
    token: str
    items: dict[str, Item] = field(default_factory=dict)


class TeamBatches:
    """What one worker reads of one team in batches.

    `worker` opens the home's worker, and `calls` makes its calls, of a table, leases and a project; `is_here`
    tells whether a queue's folder is on this machine, and `file` finds a transcript by its key; `take_in`
    brings one into the ledger, and `do` does the rest of it when its batches are through. `stop` ends that
    between two of them.
    """

    def __init__(
        self,
        table: Table,
        machine: str,
        worker: Callable[[TeamCalls], AbstractContextManager[Worker]],
        *,
        calls: Callable[[Table, Held, str], TeamCalls],
        is_here: Callable[[Waiting], bool],
        file: Callable[[str], Path | None],
        take_in: Callable[[Worker, Path, str], object],
        do: Do,
        stop: Event,
        tell: Callable[[str], object],
    ) -> None:
        self._calls = calls
        self._is_here = is_here
        self._stop = stop
        self._table = table
        self._machine = machine
        self._worker = worker
        self._file = file
        self._take_in = take_in
        self._do = do
        self._tell = tell
        self._folders: dict[str, _Folder] = {}
        self._due = 0.0
        self._has_order = False
        self._ready: list[tuple[_Folder, Item]] = []
        self._nothing_whole: set[str] = set()
        self._not_here: dict[str, float] = {}
        self._nothing_here: dict[str, float] = {}
        self._under_way = ""
        self.waiting = ""

    def token(self, name: str) -> str | None:
        """Return the token of the lease of the folder whose other queue is `name`, if it is held here."""
        folder = self._folders.get(name + queue.BATCH)
        return folder.token if folder else None

    def end(self) -> None:
        """Give the leases back, but for what is under way: this machine goes on with it, if it comes soon."""
        self._let_all_go()

    def look(self, waiting: Sequence[Waiting], *, may_begin: bool = True) -> bool:
        """Do what can be done now of what is `waiting` and what is under way; False where that is nothing.

        Without `may_begin` only what is under way goes on: what was paid for is taken all the same. Raises
        TeamError, as the database does.
        """
        if not self._folders and time.monotonic() < self._due:
            return False
        self._take_folders(waiting)
        if not self._folders:
            return False
        if time.monotonic() < self._due:
            return self._finish()
        try:
            has_looked = self._read(may_begin=may_begin)
        except TeamError:
            raise
        except (ReverieError, OSError, *ODD_DATA) as error:
            LOG.warning("batches for %s: %s", self._table.served.name, cause(error))
            self._wait(cause(error), MINUTE)
            self._let_all_go()
            return False
        return self._finish() or has_looked

    # -- folders ----------------------------------------------------------------------------------

    def _take_folders(self, waiting: Sequence[Waiting]) -> None:
        """Hold the leases of all folders with something for a batch that is on this machine."""
        for folder in list(self._folders.values()):
            if not self._table.pulse.holds(folder.token):
                LOG.warning("another machine may go on with %s", folder.project)
                self._table.pulse.drop(folder.token)
                self._folders.pop(folder.name)
                self._due = 0.0
        for found in waiting:
            if found.name in self._folders or not self._is_here(found):
                continue
            if time.monotonic() < self._nothing_here.get(found.name, 0.0):
                continue
            token = self._table.ask(queue.take, found.name, self._machine)
            if token is not None:
                self._table.pulse.add(token)
                self._folders[found.name] = _Folder(found.name, found.project, token)
                if not self._has_order:
                    self._due = 0.0

    def _let_all_go(self) -> None:
        """Leave the folders to others, unless something of them is under way here."""
        for folder in list(self._folders.values()):
            if not self._has_order:
                self._let_go(folder)

    def _let_go(self, folder: _Folder) -> None:
        self._table.give_back(folder.token)
        self._folders.pop(folder.name)

    def _refresh(self) -> dict[str, Item]:
        """Ask what is in hand of the folders held here; one with nothing left is let go."""
        for folder in list(self._folders.values()):
            found = self._table.ask_plain(queue.in_hand, folder.name)
            folder.items = {item.key: item for item in found if not self._is_elsewhere(item)}
            if not folder.items:
                self._nothing_here[folder.name] = time.monotonic() + MINUTE
                self._let_go(folder)
        return {key: item for folder in self._folders.values() for key, item in folder.items.items()}

    def _is_elsewhere(self, item: Item) -> bool:
        """Whether a transcript was not here when it was to be taken in."""
        return time.monotonic() < self._not_here.get(item.key, 0.0) and not item.is_canceled

    # -- the order --------------------------------------------------------------------------------

    def _read(self, *, may_begin: bool) -> bool:
        """Look at the order there is, or make one; False where there is none."""
        held = Held(self._table.pulse, self._tokens)
        calls = self._calls(self._table, held, "")
        items = self._refresh()
        with self._worker(calls) as worker:
            ledger = worker.context.ledger
            order = batches.open_order(ledger)
            if order is not None and order.team != self._table.served.team:
                raise InputError(
                    "another backlog is being read in batches on this machine",
                    fix="`reverie process --batch` tells how far it is.",
                )
            runner = BatchRunner(worker.context, worker.extraction, TeamBooks(calls))
            if order is None and may_begin:
                order = self._ordered(worker, runner)
            self._has_order = order is not None
            found = self._look_at(worker, runner, order, items) if order is not None else None
            read = _keys_of(ledger, order) | self._nothing_whole
            self._ready = [
                (folder, item)
                for folder in self._folders.values()
                for key, item in folder.items.items()
                if (key in read or item.is_canceled)
                and not batches.holds(ledger, key)
                and not self._put_off(ledger, folder, item)
            ]
        self._has_order = found is not None and found.wait is not None
        self._wait(found.reason if found else "", found.wait or 0.0 if found else 0.0)
        return found is not None

    def _tokens(self) -> list[str]:
        return [folder.token for folder in self._folders.values()]

    def _ordered(self, worker: Worker, runner: BatchRunner) -> Order | None:
        """Take in what is in hand, and order what of it is read as a whole; None where nothing is."""
        wanted: list[Conversation] = []
        most = 0.0
        for folder in self._folders.values():
            for key, item in folder.items.items():
                path = self._file(key)
                if item.is_canceled:
                    continue
                if path is None:
                    self._not_here[key] = time.monotonic() + ABSENT_SECONDS
                    continue
                whole = self._taken_in(worker, path, item)
                wanted += whole
                most += item.most if whole else 0.0
                if not whole:
                    self._nothing_whole.add(key)
        if not wanted:
            return None
        wanted.sort(key=lambda each: (each.first_message_at or "", each.id))
        runner.order(wanted, most, team=self._table.served.team)
        self._tell(f"{count(len(wanted), 'conversation')} to read in batches for {self._table.served.name}")
        return batches.open_order(worker.context.ledger)

    def _taken_in(self, worker: Worker, path: Path, item: Item) -> list[Conversation]:
        """Bring a transcript into the ledger, and return its conversations that are read as a whole.

        One that can't be taken in has none; doing it singly settles why.
        """
        context = worker.context
        ledger, limits = context.ledger, context.settings.extraction
        # What kills the worker here counts as tried; a batch that is under way does not.
        self._table.ask_plain(queue.begin, item, tries=item.attempts + 1)
        try:
            self._take_in(worker, path, item.key)
        except (ReverieError, OSError, *ODD_DATA) as error:
            LOG.warning("%s: %s", item.key, cause(error))
            return []
        self._table.ask_plain(queue.begin, item, tries=item.attempts)
        conversations.mark_ready(ledger, now=context.clock.now(), gap_minutes=limits.conversation_gap_minutes)
        store = context.store_override or store_for(ledger, item.key)
        return [
            each
            for each in conversations.list_conversations(ledger, key=item.key)
            if is_whole(ledger, each, store, least=limits.min_conversation_messages)
        ]

    def _look_at(
        self, worker: Worker, runner: BatchRunner, order: Order, items: dict[str, Item]
    ) -> BatchPass:
        """Go on with an order: leave what is another machine's by now, end what is canceled, take and ask."""
        context = worker.context
        for key in batches.held(context.ledger) - items.keys():
            LOG.warning("%s is left to another machine", key)
            batches.give_up(context.ledger, order.id, key, now=context.now())
        if any(items[key].is_canceled for key in batches.held(context.ledger)):
            batches.cancel(context.ledger, order.id)
            order = batches.open_order(context.ledger) or order
        self._require_provider(worker)
        found = runner.look(order)
        so_far = batches.progress(context.ledger, order)
        under_way = _words(so_far, found.wait) if found.wait is not None else ""
        if under_way and under_way != self._under_way:
            self._tell(under_way)
        self._under_way = under_way
        worker.derived.rebuild()
        worker.derived.index()
        return found

    def _require_provider(self, worker: Worker) -> None:
        """Raise BusyError while the provider is known to be down, here or on another machine of the login."""
        known = worker.context.outage()
        if known is not None:
            raise BusyError(known.reason)
        seconds, why = self._table.ask(outages.known, worker.context.provider_name)
        if seconds:
            raise BusyError(why)

    # -- what its batches are through with -----------------------------------------------------------

    def _put_off(self, ledger: Ledger, folder: _Folder, item: Item) -> bool:
        """Put a transcript that was canceled off the queue, if something of it was not read."""
        if not item.is_canceled:
            return False
        found = conversations.list_conversations(ledger, key=item.key)
        if found and not any(each.status in TO_READ for each in found):
            return False
        self._table.ask(queue.put_back, folder.token, item, seconds=None)
        self._tell(f"{item.key}: {CANCELED}")
        return True

    def _finish(self) -> bool:
        """Do the rest of the transcripts whose batches are through; whether there was one."""
        ready, self._ready = self._ready, []
        for number, (folder, item) in enumerate(ready):
            if self._stop.is_set():
                return False
            held = self._table.pulse.held(folder.token)
            calls = self._calls(self._table, held, folder.project)
            if not held.is_ours() or not self._do(self._table, folder.token, calls, item):
                self._ready = ready[number + 1 :]
                return number > 0
            self._nothing_whole.discard(item.key)
        return bool(ready)

    def _wait(self, why: str, seconds: float) -> None:
        if why and why != self.waiting:
            self._tell(f"waiting: {why}")
        self.waiting = why
        self._due = time.monotonic() + seconds


def _words(so_far: Progress, wait: float) -> str:
    if not so_far.batches:
        return ""
    requests, sent = count(so_far.requests, "request"), count(so_far.batches, "batch", "batches")
    return f"{requests} in {sent} under way; the next look is in {span(wait)}"


def _keys_of(ledger: Ledger, order: Order | None) -> set[str]:
    return batches.keys(ledger, order.id) if order is not None else set()
