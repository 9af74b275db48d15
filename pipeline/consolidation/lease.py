"""May we dream, and is it still us: the gates' facts, Claude Code's lock file and our own lease."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.consolidation import gates
from pipeline.context import Desk
from pipeline.core.errors import LeaseLostError
from pipeline.core.process import boot_id, lives, process_name
from pipeline.domain.operations import Gate
from pipeline.ledger import calls, dreams
from pipeline.llm.budget import Usage, refusal
from pipeline.store import ConsolidateLock, Snapshot
from pipeline.store.ownership.consolidate_lock import Held

LEASE_SECONDS = 900.0


@dataclass(slots=True)
class Permit:
    """The right to change a store, held by a lease in the ledger and by Claude Code's lock file."""

    desk: Desk
    token: str
    held: Held | None
    done: bool = False

    def confirm(self) -> None:
        """Prove right before the store is touched that nobody took over; LeaseLostError when somebody did."""
        now = self.desk.clock.now()
        ours = dreams.confirm_lease(
            self.desk.ledger, self.desk.store_key, self.token, lease_seconds=LEASE_SECONDS, now=now
        )
        if not ours or (self.held is not None and not self.held.still_ours()):
            raise LeaseLostError("another consolidation took over; nothing was changed")

    def succeed(self) -> None:
        """Stamp Claude Code's lock with the time of this consolidation."""
        if self.held is not None:
            self.held.succeed(self.desk.clock.now())
        self.done = True


def changed_ids(desk: Desk, snapshot: Snapshot) -> dict[str, str]:
    """Return id → digest of every memory in `snapshot` that is not as the last dream saw it."""
    seen = dreams.seen(desk.ledger, desk.store_key)
    return {d.id: d.digest for d in snapshot.documents if d.id and seen.get(d.id) != d.digest}


def waiting(desk: Desk) -> list[str]:
    """Return the ids that an earlier dream carried over or failed on: they lead this one."""
    return sorted(one for one, mark in dreams.seen(desk.ledger, desk.store_key).items() if not mark)


def judge(desk: Desk, *, record: bool) -> list[Gate]:
    """Return the gates of this store now, in cost order; `record` keeps them for `status`."""
    state = dreams.state(desk.ledger, desk.store_key)
    now = desk.clock.now()
    # Counted from now when the clock was put back, or the wait would last until it has caught up.
    since = None if state.last_success is None else min(state.last_success, now.timestamp())
    facts = gates.GateFacts(
        enabled=desk.settings.store.mode in ("auto", "propose"),
        changed=len(changed_ids(desk, desk.store.scan())),
        last_success=_moment(state.last_success),
        last_scan=_moment(state.last_scan),
        sessions=dreams.sessions_since(desk.ledger, desk.store_key, since=since),
        spend_refusal=_spend(desk),
        lock_holder=ConsolidateLock(desk.store.path).holder(now),
        now=now,
    )
    found = gates.evaluate(facts, desk.settings.dream)
    if record:
        _settle(desk, facts)
        before_scan = found[: [gate.name for gate in found].index("scan") + 1]
        with desk.ledger.transaction():
            rows = [(gate.name, gate.open, gate.reason) for gate in found]
            dreams.log_gates(desk.ledger, desk.store_key, rows, now=now)
            if all(gate.open for gate in before_scan):
                dreams.note_scan(desk.ledger, desk.store_key, now=now)
    return found


def _settle(desk: Desk, facts: gates.GateFacts) -> None:
    """Keep moments that a clock put back left in the future as now, so that they delay one interval only."""
    past = gates.settled(facts)
    if past.last_success != facts.last_success:
        dreams.note_success(desk.ledger, desk.store_key, now=facts.now)
    if past.last_scan != facts.last_scan:
        dreams.note_scan(desk.ledger, desk.store_key, now=facts.now)


@contextmanager
def take(desk: Desk, *, wanted: bool) -> Iterator[Permit | None]:
    """Hold both locks; yields None while somebody else consolidates. Without `wanted` nothing is taken."""
    if not wanted:
        yield Permit(desk, "", None)
        return
    now = desk.clock.now()
    token = dreams.take_lease(
        desk.ledger,
        desk.store_key,
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
        held = ConsolidateLock(desk.store.path).acquire(now)
        permit = Permit(desk, token, held) if held is not None else None
        dreams.note_attempt(desk.ledger, desk.store_key, now=now)
        yield permit
    finally:
        if permit is not None and permit.held is not None and not permit.done:
            permit.held.fail()
        dreams.release_lease(desk.ledger, desk.store_key, token)


def _spend(desk: Desk) -> str | None:
    if desk.client is None:
        return None
    now = desk.clock.now()
    paused = calls.paused(desk.ledger, now=now)
    if paused:
        return paused
    spent = calls.spent(desk.ledger, now=now)
    return refusal(desk.settings.spend, spent, Usage(4_000, 1_000, estimated=True), desk.settings.model.model)


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)
