"""May we dream, and is it still us: the gates' facts, Claude Code's lock file and our own lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.consolidation import gates
from pipeline.consolidation.gates import first_closed
from pipeline.context import PhaseContext
from pipeline.core.clock import at_most_now
from pipeline.core.errors import LeaseLostError
from pipeline.core.process import boot_id, lives, process_name
from pipeline.domain.operations import Gate
from pipeline.ledger import Ledger, calls, dreams
from pipeline.llm.budget import Usage, refusal
from pipeline.record import changing

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.store import HeldLock, Snapshot

LEASE_SECONDS = 900.0


@changing
class Permit:
    """The right to change a store, held by a lease in the ledger and by Claude Code's lock file."""

    phase: PhaseContext
    token: str
    held: HeldLock | None
    done: bool = False

    def confirm(self) -> None:
        """Prove right before the store is touched that nobody took over; LeaseLostError when somebody did."""
        now = self.phase.clock.now()
        ours = dreams.confirm_lease(
            self.phase.ledger, self.phase.store_key, self.token, lease_seconds=LEASE_SECONDS, now=now
        )
        if not ours or (self.held is not None and not self.held.still_ours()):
            raise LeaseLostError("another consolidation took over; nothing was changed")

    def succeed(self) -> None:
        """Stamp Claude Code's lock with the time of this consolidation."""
        if self.held is not None:
            self.held.succeed(self.phase.clock.now())
        self.done = True


def changed_ids(phase: PhaseContext, snapshot: Snapshot) -> dict[str, str]:
    """Return id → digest of every memory in `snapshot` that is not as the last dream saw it."""
    seen = dreams.seen(phase.ledger, phase.store_key)
    return {
        document.id: document.digest
        for document in snapshot.documents
        if document.id and seen.get(document.id) != document.digest
    }


def changed_since(snapshot: Snapshot, moment: datetime) -> dict[str, str]:
    """Return id → digest of every memory in `snapshot` that was last changed at `moment` or later."""
    begin = moment.timestamp()
    return {
        document.id: document.digest
        for document in snapshot.documents
        if document.id and document.head.changed_at >= begin
    }


def carried_over_ids(phase: PhaseContext) -> list[str]:
    """Return the ids that an earlier dream carried over or failed on: they lead this one."""
    return dreams.carried_over(phase.ledger, phase.store_key)


def judge(phase: PhaseContext, *, record: bool) -> list[Gate]:
    """Return the gates of this store now, in cost order; `record` keeps them for `status`."""
    from pipeline.store import ConsolidateLock

    now = phase.clock.now()
    snapshot = phase.store.scan()
    facts = replace(
        _facts(phase.ledger, phase.store_key, phase.settings, now),
        changed=len(changed_ids(phase, snapshot)),
        held=len(snapshot.documents),
        spend_refusal=_spend(phase),
        lock_holder=ConsolidateLock(phase.store.path).holder(now),
    )
    found = gates.evaluate(facts, phase.settings.dream)
    if record:
        _keep(phase.ledger, phase.store_key, facts, found)
    return found


def closed_without_a_look(
    ledger: Ledger, store: str, settings: Settings, now: datetime, *, unchanged: Callable[[], bool]
) -> Gate | None:
    """Return the first gate of `store` that is closed as far as the ledger tells; None if the store decides.

    What was asked is kept for `status` where one is closed. `unchanged` is asked last: whether it is known
    that no memory differs from what the last dream saw.
    """
    facts = _facts(ledger, store, settings, now)
    found = [gate for gate in gates.evaluate(facts, settings.dream) if gate.name in gates.OF_THE_LEDGER]
    if first_closed(found) is None and unchanged():
        asked = (*gates.OF_THE_LEDGER, "changed")
        answers = gates.evaluate(replace(facts, changed=0), settings.dream)
        found = [gate for gate in answers if gate.name in asked]
    closed = first_closed(found)
    if closed is not None:
        _keep(ledger, store, facts, found)
    return closed


def _facts(ledger: Ledger, store: str, settings: Settings, now: datetime) -> gates.GateFacts:
    """Return what the ledger knows; as for the rest, nothing stands in the way."""
    state = dreams.state(ledger, store)
    # Counted from now when the clock was put back, or the wait would last until it has caught up.
    since = None if state.last_success is None else at_most_now(state.last_success, now.timestamp())
    return gates.GateFacts(
        enabled=settings.store.mode in ("auto", "propose"),
        changed=1,
        last_success=_moment(state.last_success),
        last_scan=_moment(state.last_scan),
        sessions=dreams.sessions_since(ledger, store, since=since),
        spend_refusal=None,
        lock_holder=None,
        now=now,
    )


def _keep(ledger: Ledger, store: str, facts: gates.GateFacts, found: list[Gate]) -> None:
    _settle(ledger, store, facts)
    # A look that an earlier gate ended is no scan: it must not put off the next one.
    before_scan = found[: [gate.name for gate in found].index("scan") + 1]
    with ledger.transaction():
        rows = [(gate.name, gate.open, gate.reason) for gate in found]
        dreams.log_gates(ledger, store, rows, now=facts.now)
        if all(gate.open for gate in before_scan):
            dreams.note_scan(ledger, store, now=facts.now)


def _settle(ledger: Ledger, store: str, facts: gates.GateFacts) -> None:
    """Keep moments that a clock put back left in the future as now, so that they delay one interval only."""
    past = gates.settled(facts)
    if past.last_success != facts.last_success:
        dreams.note_success(ledger, store, now=facts.now)
    if past.last_scan != facts.last_scan:
        dreams.note_scan(ledger, store, now=facts.now)


@contextmanager
def take(phase: PhaseContext, *, wanted: bool) -> Iterator[Permit | None]:
    """Hold both locks; yields None while somebody else consolidates. Without `wanted` nothing is taken."""
    if not wanted:
        yield Permit(phase, "", None)
        return
    from pipeline.store import ConsolidateLock

    now = phase.clock.now()
    token = dreams.take_lease(
        phase.ledger,
        phase.store_key,
        owner=process_name(),
        boot_id=boot_id(),
        lease_seconds=LEASE_SECONDS,
        now=now,
        alive=lives,
    )
    if token is None:
        yield None
        return
    permit = None
    try:
        held = ConsolidateLock(phase.store.path).acquire(now)
        permit = Permit(phase, token, held) if held is not None else None
        dreams.note_attempt(phase.ledger, phase.store_key, now=now)
        yield permit
    finally:
        if permit is not None and permit.held is not None and not permit.done:
            permit.held.fail()
        dreams.release_lease(phase.ledger, phase.store_key, token)


def _spend(phase: PhaseContext) -> str | None:
    if phase.client is None:
        return None
    now = phase.clock.now()
    paused = calls.paused(phase.ledger, now=now)
    if paused:
        return paused
    spent = calls.spent(phase.ledger, now=now)
    return refusal(
        phase.settings.spend, spent, Usage(4_000, 1_000, estimated=True), phase.settings.model.model
    )


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)
