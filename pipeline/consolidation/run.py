"""The dream as numbered steps: it proposes, code decides, and a crash leaves the old state or the new one.

1 gates    in cost order, each with its reason kept
2 lock     our lease, then Claude Code's own lock file; the gates once more behind it
3 resume   a plan committed before a crash is applied, not made again
4 select   what changed, with its nearest neighbours
5 propose  rules first, then one question per group, each answer committed
6 check    every operation alone; what a person should decide goes to the inbox
7 commit   the plan, before anything is touched
8 apply    one change set, the state before it kept for undo
9 finish   derived files, report, ledger, lock
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.consolidation import vetoes
from pipeline.consolidation.choose.gather import Gathered, gather
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.execute import Committed, carry_out, interrupted, resume
from pipeline.consolidation.commit.proposals import inbox_item
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.gates import first_closed
from pipeline.consolidation.lease import Permit, judge, take
from pipeline.consolidation.propose import model
from pipeline.context import PhaseContext
from pipeline.core.clock import iso
from pipeline.core.errors import ModelError, QuotaError, SpendError, UnauthorisedError, UnavailableError
from pipeline.core.ids import new_id
from pipeline.domain.operations import Gate, Operation, Refused
from pipeline.ledger import calls
from pipeline.verify.check import check_plan, retire_ceiling

PURPOSE = "consolidate.cluster"
_MANY_CALLS = 1_000


def dream(phase: PhaseContext, *, home: Path, force: bool = False, dry_run: bool = False) -> DreamReport:
    """Consolidate the store of `phase` if its gates are open, and return what was done.

    `force` skips the gates but not the locks; `dry_run` writes nothing, in the store or in the ledger but
    for what model calls cost and their answers, which the next dream uses. A dream that a crash
    interrupted is finished first, and is then the one returned. Raises StoreError when the store can't be
    written, LeaseLostError when another consolidation took over.
    """
    report = DreamReport(run_id=new_id(), store=phase.store_key, at=iso(phase.clock.now()))
    if not force and (dry_run or interrupted(phase) is None):
        report.gates = judge(phase, record=not dry_run)
        closed = first_closed(report.gates)
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
        closed = None if force else _closed_meanwhile(phase)
        if closed is not None:
            report.word, report.reason = "closed", closed.reason
            return report
        return _work(phase, home, report, permit, dry_run)


def _closed_meanwhile(phase: PhaseContext) -> Gate | None:
    gates = judge(phase, record=False)
    return first_closed(gate for gate in gates if gate.name in ("interval", "changed"))


def _work(phase: PhaseContext, home: Path, report: DreamReport, permit: Permit, dry_run: bool) -> DreamReport:
    snapshot = phase.store.scan()
    ceiling = retire_ceiling(len(snapshot.documents), phase.settings.dream.retire_share)
    gathered = gather(phase, snapshot, home, ceiling=ceiling)
    proposed: list[Operation] = []
    refused: list[Refused] = []
    used, failed = _ask_groups(phase, gathered, proposed, refused, report)
    checked = check_plan(
        proposed,
        gathered.memories,
        changeable=gathered.changeable,
        ceiling=ceiling,
        evidence_times=gathered.evidence_times,
        by_rule=gathered.by_rule,
    )
    present = {document.id: document.digest for document in snapshot.documents if document.id}
    known_vetoes = vetoes.read(phase.store)
    accepted, vetoed = vetoes.sift(checked.accepted, known_vetoes, present)
    refused = [*vetoes.settle([*refused, *checked.refused], known_vetoes, present), *vetoed]
    if phase.settings.store.mode == "propose":
        refused += [
            Refused(operation, "this store only takes proposals", to_inbox=True) for operation in accepted
        ]
        accepted = []
    _describe(report, gathered, refused)
    if dry_run:
        report.actions = changes.actions_of(accepted, snapshot)
        report.word = "dry"
        return report
    meant = {memory_id for operation in accepted for memory_id in operation.about}
    plan = Committed(
        operations=accepted,
        digests={memory_id: present[memory_id] for memory_id in meant},
        paths={document.id: document.path for document in snapshot.documents if document.id in meant},
        groups=used,
        seen=gathered.seen(failed | _for_later(refused)),
        waiting=[inbox_item(item, gathered.memories) for item in refused if item.to_inbox],
    )
    return carry_out(phase, home, report, plan, snapshot, permit)


def _ask_groups(
    phase: PhaseContext,
    gathered: Gathered,
    proposed: list[Operation],
    refused: list[Refused],
    report: DreamReport,
) -> tuple[list[str], set[str]]:
    """Put every group to the model; return the keys of the answers and the ids of what failed.

    A group that fails is noted and leads the next dream; over a spend cap so do all that would follow.
    """
    # Call ids only grow, so that what is above this one was asked by this run.
    before = max((call.id for call in calls.list_calls(phase.ledger, limit=1)), default=0)
    used: list[str] = []
    failed: list[str] = []
    stopped = False
    if phase.client is None:
        report.by_rules = True
        groups = [(*cluster.ids, *cluster.fixed) for cluster in gathered.selection.clusters]
        report.looked_at = [[gathered.memories[memory_id].name for memory_id in group] for group in groups]
        return used, set()
    for cluster in gathered.selection.clusters:
        members = (*cluster.ids, *cluster.fixed)
        if stopped:
            failed += members
            continue
        try:
            operations, unshown, _ = model.plan_group(phase, cluster, gathered.memories)
        except SpendError as error:
            # Asking the other groups would meet the same cap.
            report.reason, stopped = str(error), True
            failed += members
            continue
        except ModelError as error:
            report.reason = f"{error.outcome}: {error}"
            # No other group would fare better with a provider that is down.
            stopped = isinstance(error, UnauthorisedError | UnavailableError | QuotaError)
            failed += members
            continue
        used.append(model.group_key(cluster, gathered.memories))
        proposed += operations
        refused += unshown
        report.looked_at.append([gathered.memories[memory_id].name for memory_id in members])
    report.failed = [gathered.memories[memory_id].name for memory_id in failed]
    _count(phase, report, before)
    return used, set(failed)


def _for_later(refused: Sequence[Refused]) -> set[str]:
    """Return the ids of what only the ceiling kept from being done."""
    return {memory_id for item in refused if item.later for memory_id in item.operation.ids}


def _describe(report: DreamReport, gathered: Gathered, refused: Sequence[Refused]) -> None:
    report.memories = gathered.total
    report.changed = len(gathered.changed)
    report.carried_over = len(gathered.selection.carried_over)
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


def _count(phase: PhaseContext, report: DreamReport, before: int) -> None:
    """Add up the calls entered after call `before`, failed ones too; a committed answer cost nothing now."""
    latest = calls.list_calls(phase.ledger, limit=_MANY_CALLS)
    mine = [call for call in latest if call.id > before and call.purpose == PURPOSE]
    report.calls = len(mine)
    report.tokens = sum(call.input_tokens + call.output_tokens for call in mine)
    report.estimated = any(call.estimated for call in mine)
    report.dollars = sum(call.dollars for call in mine)
