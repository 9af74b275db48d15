"""A team's database as one worker sees it: its questions there, and its signs of life."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pipeline.core.clock import gone_by
from pipeline.core.errors import TeamError
from pipeline.record import record
from pipeline.team import leases
from pipeline.team.connecting import Address, Line, within
from pipeline.worker.unsettled import Unsettled

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


class Pulse:
    """Shows that a worker lives while it has leases, from a thread of its own. A lost lease stays lost."""

    def __init__(self, served: Served) -> None:
        self._address = served.address
        self._team = served.team
        self._is_over = Event()
        self._kept_at: dict[str, float] = {}
        self._thread = Thread(target=self._beat, name="pulse", daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def add(self, token: str) -> None:
        """Keep the lease of `token`, which was taken just now, from now on."""
        self._kept_at[token] = gone_by()

    def drop(self, token: str) -> None:
        """Keep the lease of `token` no more."""
        self._kept_at.pop(token, None)

    def holds(self, token: str) -> bool:
        """Return whether the lease of `token` is still this worker's, as far as can be known."""
        kept_at = self._kept_at.get(token)
        return kept_at is not None and gone_by() - kept_at < leases.LEASE_SECONDS

    def held(self, *tokens: str) -> Held:
        """Return the leases of `tokens`, which are kept here."""
        return Held(self, lambda: tokens)

    def _beat(self) -> None:
        while not self._is_over.wait(leases.LEASE_SECONDS / _BEATS):
            if not self._kept_at:
                continue
            try:
                within(self._address, self._keep)
            except TeamError as error:
                LOG.warning("no sign of life could be given: %s", error)

    def _keep(self, connection: Any) -> None:
        for token in list(self._kept_at):
            if not leases.keep(connection, self._team, token, seconds=leases.LEASE_SECONDS):
                self.drop(token)
            elif token in self._kept_at:
                self._kept_at[token] = gone_by()


@record
class Held:
    """The leases under which something is done: `tokens` gives theirs, and `pulse` keeps them."""

    pulse: Pulse
    tokens: Callable[[], Sequence[str]]

    def is_ours(self) -> bool:
        """Whether all of them are still this worker's, as far as can be known without the database."""
        return all(self.pulse.holds(token) for token in self.tokens())


class Table:
    """A team's database as one worker of a `home` sees it.

    `pulse` keeps its leases, and it tries a transcript `attempts` times. What the database could not take of
    what was paid for is `unsettled`.
    """

    def __init__(self, served: Served, pulse: Pulse, *, home: Path, attempts: int) -> None:
        self.served = served
        self.pulse = pulse
        self.line = Line(served.address)
        self.unsettled = Unsettled.of(home, served.team)
        self.attempts = attempts

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def ask(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """Return what the database answers to `work` about the team."""
        return self.line.ask(lambda connection: work(connection, self.served.team, *values, **named))

    def ask_plain(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """Return what the database answers to `work`, whichever team it is about."""
        return self.line.ask(lambda connection: work(connection, *values, **named))

    @contextmanager
    def holding(self, token: str) -> Iterator[Held]:
        """Keep the lease of `token`, which was taken just now, until the block ends, and give it back.

        Where it ends by an error the lease runs out by itself: what was at hand may be written here and not
        settled at the database, so that for a while it is for this machine alone to go on.
        """
        self.pulse.add(token)
        try:
            yield self.pulse.held(token)
        finally:
            self.pulse.drop(token)
        self.give_back(token)

    def give_back(self, token: str) -> None:
        """End the lease of `token`; where the database is away, that runs out by itself."""
        self.pulse.drop(token)
        with suppress(TeamError):
            self.ask(leases.give_back, token)
