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
from pipeline.consolidation.commit import change_set
from pipeline.consolidation.commit.execute import Committed, carry_out, interrupted, resume
from pipeline.consolidation.commit.proposals import waits
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
        late = None if force else _late(phase)
        if late is not None:
            report.word, report.reason = "closed", late.reason
            return report
        return _work(phase, home, report, permit, dry_run)


def _late(phase: PhaseContext) -> Gate | None:
    again = judge(phase, record=False)
    return first_closed(gate for gate in again if gate.name in ("interval", "changed"))


def _work(phase: PhaseContext, home: Path, report: DreamReport, permit: Permit, dry_run: bool) -> DreamReport:
    snapshot = phase.store.scan()
    ceiling = retire_ceiling(len(snapshot.documents), phase.settings.dream.retire_share)
    found = gather(phase, snapshot, home, ceiling=ceiling)
    proposed: list[Operation] = []
    refused: list[Refused] = []
    used, failed = _ask_groups(phase, found, proposed, refused, report)
    checked = check_plan(
        proposed,
        found.memories,
        changeable=found.changeable,
        ceiling=ceiling,
        evidence_times=found.evidence_times,
        by_rule=found.by_rule,
    )
    present = {d.id: d.digest for d in snapshot.documents if d.id}
    taken = vetoes.read(phase.store)
    accepted, again = vetoes.sift(checked.accepted, taken, present)
    refused = [*vetoes.settle([*refused, *checked.refused], taken, present), *again]
    if phase.settings.store.mode == "propose":
        refused += [Refused(o, "this store only takes proposals", to_inbox=True) for o in accepted]
        accepted = []
    _describe(report, found, refused)
    if dry_run:
        report.actions = change_set.tell(accepted, snapshot)
        report.word = "dry"
        return report
    meant = {one for operation in accepted for one in operation.about}
    plan = Committed(
        operations=accepted,
        digests={one: present[one] for one in meant},
        places={d.id: d.path for d in snapshot.documents if d.id in meant},
        groups=used,
        seen=found.seen(failed | _for_later(refused)),
        waiting=[waits(item, found.memories) for item in refused if item.to_inbox],
    )
    return carry_out(phase, home, report, plan, snapshot, permit)


def _ask_groups(
    phase: PhaseContext,
    found: Gathered,
    proposed: list[Operation],
    refused: list[Refused],
    report: DreamReport,
) -> tuple[list[str], set[str]]:
    """Put every group to the model; return the keys of the answers and the ids of what failed.

    A group that fails is noted and leads the next dream; over a spend cap so do all that would follow.
    """
    before = max((call.id for call in calls.list_calls(phase.ledger, limit=1)), default=0)
    used: list[str] = []
    failed: list[str] = []
    stopped = False
    if phase.client is None:
        report.by_rules = True
        groups = [(*cluster.ids, *cluster.fixed) for cluster in found.selection.clusters]
        report.looked_at = [[found.memories[one].name for one in group] for group in groups]
        return used, set()
    for cluster in found.selection.clusters:
        members = (*cluster.ids, *cluster.fixed)
        if stopped:
            failed += members
            continue
        try:
            operations, strange, _ = model.plan_group(phase, cluster, found.memories)
        except SpendError as error:
            report.reason, stopped = str(error), True
            failed += members
            continue
        except ModelError as error:
            report.reason = f"{error.outcome}: {error}"
            # No other group would fare better with a provider that is down.
            stopped = isinstance(error, UnauthorisedError | UnavailableError | QuotaError)
            failed += members
            continue
        used.append(model.group_key(cluster, found.memories))
        proposed += operations
        refused += strange
        report.looked_at.append([found.memories[one].name for one in members])
    report.failed = [found.memories[one].name for one in failed]
    _count(phase, report, before)
    return used, set(failed)


def _for_later(refused: Sequence[Refused]) -> set[str]:
    """Return the ids of what only the ceiling kept from being done."""
    return {one for item in refused if item.later for one in item.operation.ids}


def _describe(report: DreamReport, found: Gathered, refused: Sequence[Refused]) -> None:
    report.memories = found.total
    report.changed = len(found.changed)
    report.carried_over = len(found.selection.carried_over)
    report.left_out = [f"{one}: {why}" for one, why in found.selection.left_out]
    report.refused = [
        {
            "op": item.operation.op,
            "memories": [found.memories[one].name for one in item.operation.ids if one in found.memories],
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
