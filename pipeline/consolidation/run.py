"""The dream as numbered steps: it proposes, code decides, and a crash leaves the old state or the new one.

1 gates    in cost order, each with its reason kept
2 lock     our lease, then Claude Code's own lock file; the gates once more behind it
3 resume   a plan committed before a crash is applied, not made again
4 select   what changed, with its nearest neighbours
5 propose  rules first, then one question per group, each answer committed
6 verify   what a plan would let go is asked of a second reader that does not see the plan
7 check    every operation alone; what a person should decide goes to the inbox
8 commit   the plan, before anything is touched
9 apply    one change set, the state before it kept for undo
10 finish  derived files, report, ledger, lock
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.consolidation import cues, gates, vetoes
from pipeline.consolidation.asking import Asked, ask_groups, count, last_call
from pipeline.consolidation.choose.gather import Gathered, gather
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.execute import Committed, carry_out, interrupted, resume, with_denied
from pipeline.consolidation.commit.proposals import inbox_item, new_among
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.gates import first_closed
from pipeline.consolidation.lease import Permit, judge, take
from pipeline.consolidation.propose import model
from pipeline.consolidation.second_reader import reading
from pipeline.context import PhaseContext
from pipeline.core import zone
from pipeline.core.clock import iso
from pipeline.core.collector import collector_paused
from pipeline.core.ids import new_id
from pipeline.domain.operations import Gate, Refused
from pipeline.intake.authors import note_authors
from pipeline.ledger.inbox import list_inbox
from pipeline.store import Snapshot
from pipeline.verify.check import check_plan, retire_ceiling

_ONLY = "this store only takes proposals"


class Question(NamedTuple):
    """Something asked once the groups were: under which purpose its calls count, and what asks it.

    `ask` returns how many proposals it put in the inbox, and leaves to the next dream what fails.
    """

    purpose: str
    ask: Callable[[PhaseContext, Snapshot], int]


class _Night(NamedTuple):
    """One dream: where it works, its report, whether it only looks, and what is asked last, if anything."""

    phase: PhaseContext
    home: Path
    report: DreamReport
    dry_run: bool
    last: Question | None


_WAITING = ("changed", "interval", "scan", "sessions")
"""Gates that time, work or changes open."""


def dream(
    phase: PhaseContext,
    *,
    home: Path,
    force: bool = False,
    dry_run: bool = False,
    since: datetime | None = None,
    last: Question | None = None,
    of_team: bool = False,
) -> DreamReport:
    """Consolidate the store of `phase` if its gates are open, and return what was done.

    `force` skips the gates but not the locks; `dry_run` says for what a dream would wait, goes on, and writes
    nothing, in the store or in the ledger but for what model calls cost and their answers, which the next
    dream uses. `since` looks at what was changed from then on instead of what changed since the last dream.
    `last` is asked after all else, on a night on which something changed. A dream that a crash interrupted is
    finished first, and is then the one returned. A team's folder sees none but one `of_team`, by who holds
    the lease for that at its database: all that it would do waits in the inbox. Raises StoreError when the
    store can't be written, LeaseLostError when another consolidation took over.
    """
    report = DreamReport(run_id=new_id(), store=phase.store_key, at=iso(phase.clock.now()))
    if phase.store.is_team and not of_team:
        report.word, report.reason = "closed", gates.TEAM
        return report
    if not force and (dry_run or interrupted(phase) is None):
        report.gates = judge(phase, record=not dry_run)
        closed = first_closed(report.gates)
        if dry_run:
            # What only waits for more to happen, or for time to pass, bars nobody from looking.
            barring = [gate for gate in report.gates if gate.name not in _WAITING]
            report.reason = f"A dream would wait: {closed.reason}" if closed else ""
            closed = first_closed(barring)
        if closed is not None:
            report.word, report.reason = "closed", closed.reason
            return report
    with take(phase, wanted=not dry_run) as permit:
        if permit is None:
            report.word, report.reason = "closed", "another consolidation holds the lock"
            return report
        begun = None if dry_run else interrupted(phase)
        if begun is not None:
            return resume(phase, home, begun, permit)
        # Whoever waited for the lock may find that the work was done meanwhile.
        closed = None if force or dry_run else _closed_meanwhile(phase)
        if closed is not None:
            report.word, report.reason = "closed", closed.reason
            return report
        night = _Night(phase, home, report, dry_run, None if dry_run else last)
        return _work(night, permit, since)


def _closed_meanwhile(phase: PhaseContext) -> Gate | None:
    gates = judge(phase, record=False)
    return first_closed(gate for gate in gates if gate.name in ("interval", "changed"))


def _work(night: _Night, permit: Permit, since: datetime | None) -> DreamReport:
    phase, report = night.phase, night.report
    snapshot = _looked_at(phase, keep=not night.dry_run)
    ceiling = retire_ceiling(len(snapshot.documents), phase.settings.dream.retire_share)
    report.unread = snapshot.left_out()
    with collector_paused():
        gathered = gather(phase, snapshot, night.home, ceiling=ceiling, since=since)
    asked = _asked(night, gathered, snapshot)
    now = phase.clock.now()
    checked = check_plan(
        asked.operations,
        gathered.memories,
        changeable=gathered.changeable,
        ceiling=ceiling,
        today=zone.local(now).date(),
        by_rule=gathered.by_rule,
    )
    present = {document.id: document.digest for document in snapshot.documents if document.id}
    known_vetoes = vetoes.read(phase.store)
    accepted, vetoed = vetoes.sift(checked.accepted, known_vetoes, present)
    if phase.proposes_only:
        checked.refused += [Refused(operation, _ONLY, to_inbox=True) for operation in accepted]
        accepted = []
    planned = changes.rehearsed(accepted, phase.store, snapshot, run_id=report.run_id, now=now)
    report.actions = with_denied(planned, asked.denied)
    refused = [*asked.refused, *checked.refused, *planned.refused]
    refused = [*vetoes.settle(refused, known_vetoes, present), *vetoed]
    _describe(report, gathered, refused)
    if night.dry_run:
        report.word = "dry"
        return report
    plan = _to_commit(phase, gathered, asked, planned, refused, snapshot)
    return carry_out(phase, night.home, report, plan, permit)


def _to_commit(
    phase: PhaseContext,
    gathered: Gathered,
    asked: Asked,
    planned: changes.Planned,
    refused: Sequence[Refused],
    snapshot: Snapshot,
) -> Committed:
    """Return the plan as the ledger keeps it before anything is touched."""
    meant = {memory_id for operation in planned.done for memory_id in operation.about}
    present = {document.id: document.digest for document in snapshot.documents if document.id}
    return Committed(
        operations=planned.done,
        digests={memory_id: present[memory_id] for memory_id in meant},
        paths={document.id: document.path for document in snapshot.documents if document.id in meant},
        groups=asked.used,
        seen=gathered.seen({*asked.failed} | _for_later(refused)),
        waiting=new_among(
            (inbox_item(item, gathered.memories) for item in refused if item.to_inbox),
            list_inbox(phase.ledger, phase.store_key, None),
        ),
        denied=[asked.denied.get(operation, ()) for operation in planned.done],
    )


def _asked(night: _Night, gathered: Gathered, snapshot: Snapshot) -> Asked:
    """Ask about every group, then what else a dream asks, and count in the report what all of it took."""
    phase, report, last = night.phase, night.report, night.last
    before = last_call(phase)
    asked = ask_groups(phase, gathered, snapshot, night.home, report)
    if gathered.changed and not night.dry_run and not phase.store.is_team:
        # A night on which nothing changed costs nothing.
        report.cued = cues.add_missing(phase, snapshot)
        report.procedures = last.ask(phase, snapshot) if last else 0
    purposes = (model.PURPOSE, reading.PURPOSE, cues.PURPOSE, *([last.purpose] if last else []))
    count(phase, report, before, purposes)
    return asked


def _looked_at(phase: PhaseContext, *, keep: bool) -> Snapshot:
    """Return what the store holds, and who wrote it."""
    snapshot, now = phase.store.scan(), phase.clock.now()
    if note_authors(phase.ledger, phase.store, now=now, keep=keep, documents=snapshot.documents):
        return phase.store.scan()
    return snapshot


def _for_later(refused: Sequence[Refused]) -> set[str]:
    """Return the ids of what only the ceiling kept from being done."""
    return {memory_id for item in refused if item.later for memory_id in item.operation.ids}


def _describe(report: DreamReport, gathered: Gathered, refused: Sequence[Refused]) -> None:
    report.memories = gathered.total
    report.changed = len(gathered.changed)
    report.carried_over = len(gathered.selection.carried_over)
    report.left_alone = gathered.left_alone
    report.nobodys = gathered.nobodys
    report.left_out = [f"{memory_id}: {why}" for memory_id, why in gathered.selection.left_out]
    report.refused = [
        {
            "op": item.operation.op,
            "memories": [
                gathered.memories[memory_id].name
                for memory_id in item.operation.ids
                if memory_id in gathered.memories
            ],
            "why": item.reason,
            "to_inbox": item.to_inbox,
            "later": item.later,
        }
        for item in refused
    ]
