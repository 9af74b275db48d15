"""The dream as numbered steps: it proposes, code decides, and a crash leaves the old state or the new one.

1 resume   a plan committed before a crash is applied, not made again
2 gates    in cost order, each with its reason kept
3 lock     Claude Code's own lock file, then our lease; the gates once more behind it
4 select   what changed, with its nearest neighbours
5 propose  rules first, then one question per group, each answer committed
6 check    every operation alone; what a person should decide goes to the inbox
7 commit   the plan, before anything is touched
8 apply    one change set, the state before it kept for undo
9 finish   ledger, lock, report
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline import faults
from pipeline.clock import iso
from pipeline.consolidation import apply, ask, check
from pipeline.consolidation.gather import Gathered, gather
from pipeline.consolidation.permit import Permit, judge, take
from pipeline.consolidation.report import DreamReport, write
from pipeline.desk import Desk
from pipeline.domain.memory import Memory
from pipeline.domain.plan import Checked, Gate, Operation, Refused
from pipeline.errors import ConflictError, ModelError, SpendError
from pipeline.ids import digest, new_id
from pipeline.ledger import calls, dreams, inbox, runs
from pipeline.store import ChangeSet, Snapshot, Store

KIND = "dream"
USER_STORE = "memory"
_TRIES = 4


def dream(desk: Desk, *, home: Path, force: bool = False, dry_run: bool = False) -> DreamReport:
    """Consolidate the store of `desk` if its gates are open, and return what was done.

    `force` skips the gates but not the locks; `dry_run` writes nothing, in the store or in the ledger but
    for what model calls cost. Raises StoreError when the store can't be written.
    """
    report = DreamReport(run_id=new_id(), store=desk.store_key, at=iso(desk.clock.now()))
    if not dry_run and (done := _resume(desk, home, report)) is not None:
        return done
    if not force:
        report.gates = judge(desk, record=not dry_run)
        closed = next((gate for gate in report.gates if not gate.open), None)
        if closed is not None:
            report.word, report.reason = "closed", closed.reason
            return report
    with take(desk, wanted=not dry_run) as permit:
        if permit is None:
            report.word, report.reason = "closed", "another consolidation holds the lock"
            return report
        # Whoever waited for the lock may find that the work was done meanwhile.
        late = None if force else _late(desk)
        if late is not None:
            report.word, report.reason = "closed", late.reason
            return report
        return _work(desk, home, report, permit, dry_run)


def _late(desk: Desk) -> Gate | None:
    again = judge(desk, record=False)
    return next((gate for gate in again if not gate.open and gate.name in ("interval", "changed")), None)


def _work(desk: Desk, home: Path, report: DreamReport, permit: Permit, dry_run: bool) -> DreamReport:
    snapshot = desk.store.scan()
    found = gather(desk, snapshot, home)
    proposed: list[Operation] = []
    refused: list[Refused] = []
    used = _ask_groups(desk, found, proposed, refused, report)
    checked = check.check(
        proposed,
        found.memories,
        changeable=found.changeable,
        ceiling=_ceiling(desk, snapshot),
        evidence_times=found.evidence_times,
        by_rule=found.by_rule,
    )
    _describe(report, found, Checked(checked.accepted, [*refused, *checked.refused]))
    if dry_run:
        report.actions = apply.plan(
            checked.accepted, desk.store, snapshot, run_id=report.run_id, now=desk.clock.now()
        ).actions
        report.word = "dry"
        return report
    later = {one for item in checked.refused if item.later for one in item.operation.ids}
    payload = {
        "operations": ask.pack(checked.accepted),
        "groups": used,
        "seen": found.seen(report.failed, later),
    }
    if checked.accepted:
        _commit(desk, report.run_id, payload)
        faults.reach("dream.after_plan_commit")
        permit.confirm()
        report.actions, report.paths = _apply(desk, home, report.run_id, checked.accepted)
        faults.reach("dream.after_store")
    return _finish(desk, home, report, payload, [*refused, *checked.refused], found.memories, permit)


def _ask_groups(
    desk: Desk,
    found: Gathered,
    proposed: list[Operation],
    refused: list[Refused],
    report: DreamReport,
) -> list[str]:
    """Put every group to the model; a group that fails is noted and stays changed for the next dream."""
    used: list[str] = []
    for cluster in found.selection.clusters if desk.client is not None else ():
        try:
            operations, strange, dollars = ask.plan_group(desk, cluster, found.memories)
        except SpendError as error:
            report.failed += [found.memories[one].name for one in cluster.ids]
            report.reason = str(error)
            break
        except ModelError as error:
            report.failed += [found.memories[one].name for one in cluster.ids]
            report.reason = f"{error.outcome}: {error}"
            continue
        used.append(ask.group_key(cluster, found.memories))
        proposed += operations
        refused += strange
        report.dollars += dollars
        report.looked_at.append([found.memories[one].name for one in (*cluster.ids, *cluster.fixed)])
    return used


def _ceiling(desk: Desk, snapshot: Snapshot) -> int:
    return check.retire_ceiling(len(snapshot.documents), desk.settings.dream.retire_share)


def _describe(report: DreamReport, found: Gathered, checked: Checked) -> None:
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
        }
        for item in checked.refused
    ]


def _commit(desk: Desk, run_id: str, payload: dict[str, Any]) -> None:
    with desk.ledger.transaction():
        runs.start_run(
            desk.ledger, id=run_id, kind=KIND, key=desk.store_key, store=desk.store_key,
            strategy=KIND, from_row=0, through_row=0, now=desk.clock.now(),
        )  # fmt: skip
        runs.commit_reply(
            desk.ledger, run_id, json.dumps(payload, ensure_ascii=False),
            prompt_digest=digest(payload["operations"]), model="", provider="dream", now=desk.clock.now(),
        )  # fmt: skip


def _apply(
    desk: Desk, home: Path, run_id: str, operations: Sequence[Operation]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Apply the plan as one change set; when Claude writes in between, what it touched is left out."""
    wanted = list(operations)
    for attempt in range(_TRIES):
        snapshot = desk.store.scan()
        known = {d.id for d in snapshot.documents}
        wanted = [o for o in wanted if all(one in known for one in (*o.ids, *([o.into] if o.into else [])))]
        wanted = [o for o in wanted if _still_ours(desk.store, snapshot, o)]
        planned = apply.plan(wanted, desk.store, snapshot, run_id=run_id, now=desk.clock.now())
        try:
            applied = desk.store.apply(
                ChangeSet(id=run_id, reason="dream", operations=planned.operations), generation=True
            )
        except ConflictError:
            if attempt == _TRIES - 1:
                raise
            continue
        _promote(home, run_id, planned.promoted)
        return planned.actions, applied.paths
    raise AssertionError("unreachable: the loop returns or raises")


def _still_ours(store: Store, snapshot: Snapshot, operation: Operation) -> bool:
    changed = {*operation.written, *operation.leaving}
    by_id = {d.id: d for d in snapshot.documents}
    return all(store.is_ours(by_id[one]) for one in changed)


def _promote(home: Path, run_id: str, promoted: Sequence[Memory]) -> None:
    if not promoted:
        return
    user = Store.open(home / USER_STORE, create=True)
    user.apply(
        ChangeSet(
            id=f"{run_id}-user", reason="promoted by a dream", operations=[user.put(m) for m in promoted]
        )
    )


def _finish(
    desk: Desk,
    home: Path,
    report: DreamReport,
    payload: dict[str, Any],
    refused: Sequence[Refused],
    memories: dict[str, Memory],
    permit: Permit | None,
) -> DreamReport:
    now = desk.clock.now()
    if report.actions:
        # What the dream itself wrote is not a change that calls for the next one.
        held_back = {one for one, mark in payload["seen"].items() if not mark}
        payload["seen"].update({o: m for o, m in _written(desk, report).items() if o not in held_back})
    report.word = "partial" if report.failed else "done" if report.actions else "nothing"
    with desk.ledger.transaction():
        for item in refused:
            if item.to_inbox:
                _to_inbox(desk, report.run_id, item, memories)
        ask.close_groups(desk, payload["groups"], word="applied" if report.actions else "nothing")
        dreams.mark_seen(desk.ledger, desk.store_key, payload["seen"])
        if report.word != "partial":
            dreams.note_success(desk.ledger, desk.store_key, now=now)
        if runs.run(desk.ledger, report.run_id) is not None:
            summary = {"actions": report.actions, "refused": report.refused}
            runs.finish_run(
                desk.ledger, report.run_id, outcome="applied" if report.actions else "nothing",
                summary_json=json.dumps(summary, ensure_ascii=False), now=now,
            )  # fmt: skip
    faults.reach("dream.after_ledger")
    if permit is not None:
        permit.succeed()
    _count(desk, report)
    if report.actions or report.refused or report.failed:
        write(report, home)
    desk.store.reindex(now=now)
    return report


def _written(desk: Desk, report: DreamReport) -> dict[str, str]:
    paths = set(report.paths)
    return {d.id: d.digest for d in desk.store.scan().documents if d.id and d.path in paths}


def _count(desk: Desk, report: DreamReport) -> None:
    since = [c for c in calls.list_calls(desk.ledger, limit=200) if c.purpose == "consolidate.cluster"]
    mine = since[: len(report.looked_at) + len(report.failed)]
    report.calls = len(report.looked_at)
    report.tokens = sum(c.input_tokens + c.output_tokens for c in mine[: report.calls])
    report.estimated = any(c.estimated for c in mine[: report.calls])


def _to_inbox(desk: Desk, run_id: str, item: Refused, memories: dict[str, Memory]) -> None:
    names = [memories[one].name for one in item.operation.ids if one in memories]
    payload = {"name": ", ".join(names), "operation": asdict(item.operation)}
    inbox.add_inbox(
        desk.ledger, desk.store_key, kind=f"dream:{item.operation.op}",
        payload_json=json.dumps(payload, ensure_ascii=False), reason=item.reason, run_id=run_id,
        now=desk.clock.now(),
    )  # fmt: skip


def _resume(desk: Desk, home: Path, report: DreamReport) -> DreamReport | None:
    """Finish a dream whose plan was committed and whose process died, or return None if there is none."""
    interrupted = runs.pending_run(desk.ledger, desk.store_key, desk.store_key, KIND)
    if interrupted is None:
        return None
    payload = json.loads(interrupted.reply_json or "{}")
    report.run_id = interrupted.id
    report.reason = "It finished what was begun before a crash."
    snapshot = desk.store.scan()
    memories = {d.id: d.memory for d in snapshot.documents if d.id}
    report.memories = len(snapshot.documents)
    report.actions, report.paths = _apply(desk, home, interrupted.id, ask.unpack(payload["operations"]))
    return _finish(desk, home, report, payload, [], memories, None)
