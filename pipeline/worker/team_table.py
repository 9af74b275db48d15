"""A team's database as one worker sees it: its questions, its number there, and its signs of life."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pipeline.core.errors import TeamError
from pipeline.record import record
from pipeline.team import leases, queue
from pipeline.team.connecting import Address, Line
from pipeline.team.queue import Item

LOG = logging.getLogger("reverie.worker")
_BEATS = 4
"""Signs of life within the time of a lease."""


@record
class Served:
    """A team that is worked for: where its database is, its id and name there, and its folder here if any."""

    address: Address
    team: str
    name: str
    folder: Path | None = None


class Table:
    """A team's database as one worker sees it."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.line = Line(served.address)
        self.attempts = 3
        self._number: int | None = None

    @property
    def number(self) -> int:
        """Return the number of this worker there."""
        if self._number is None:
            self._number = int(self.line.ask(queue.register))
        return self._number

    def ask(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """Return what the database answers to `work` about the team."""
        return self.line.ask(lambda connection: work(connection, self.served.team, *values, **named))

    def fetch(self, name: str) -> Item | None:
        """Take the first job of the queue `name`."""
        return self.line.ask(lambda connection: queue.fetch(connection, name, self.number))

    def end(self) -> None:
        """Take leave of the database."""
        number = self._number
        if number is not None:
            with suppress(TeamError):  # Others forget it after a day.
                self.line.ask(lambda connection: queue.unregister(connection, number))
        self.line.close()


class Pulse:
    """Shows that a worker lives while it has a lease, from a thread of its own. A lost lease stays lost."""

    def __init__(self, table: Table, token: str) -> None:
        self._line = Line(table.served.address)
        self._team, self._token, self._number = table.served.team, token, table.number
        self._is_over = Event()
        self._kept_at = time.monotonic()
        self._is_lost = False
        self._thread = Thread(target=self._beat, name="pulse", daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._line.close()

    def holds(self) -> bool:
        """Return whether the lease is still this worker's, as far as can be known."""
        return not self._is_lost and time.monotonic() - self._kept_at < queue.LEASE_SECONDS

    def _beat(self) -> None:
        while not self._is_over.wait(queue.LEASE_SECONDS / _BEATS):
            try:
                if not self._line.ask(self._keep):
                    self._is_lost = True
                    return
                self._kept_at = time.monotonic()
            except TeamError as error:
                LOG.warning("no sign of life could be given: %s", error)

    def _keep(self, connection: Any) -> bool:
        queue.beat(connection, self._number)
        return leases.keep(connection, self._team, self._token, seconds=queue.LEASE_SECONDS)
