"""From a checked plan to a changed store: commit, apply, finish, and all of that again after a crash.

The plan is in the ledger before a file is touched. It names each memory it is about with the digest that
memory had, so that a plan found after a crash changes nothing that was written since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline import faults
from pipeline.consolidation import apply, ask
from pipeline.consolidation.permit import Permit
from pipeline.consolidation.report import DreamReport, write
from pipeline.desk import Desk
from pipeline.domain.memory import Memory
from pipeline.domain.plan import Operation, Refused
from pipeline.errors import ConflictError
from pipeline.ids import digest
from pipeline.ledger import dreams, inbox, runs
from pipeline.ledger.runs import Run
from pipeline.store import ChangeSet, Document, Snapshot, Store

KIND = "dream"
USER_STORE = "memory"
OVERTAKEN = "a memory it is about was changed before it could be done"
_TRIES = 4


@dataclass(slots=True)
class Committed:
    """All that finishing a dream takes, as it is kept in the ledger.

    `digests` are those of the memories the operations are about; `groups` the keys of the answers they came
    from; `seen` is what this dream looked at (see `Gathered.seen`); `waiting` holds one (kind, payload,
    reason) for each operation that a person is to decide.
    """

    operations: list[Operation] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    waiting: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)

    def dump(self, report: DreamReport) -> str:
        """Return this and `report` as JSON."""
        values = {
            "operations": ask.pack(self.operations),
            "digests": self.digests,
            "groups": self.groups,
            "seen": self.seen,
            "waiting": self.waiting,
            "report": {**asdict(report), "gates": []},
        }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> tuple[Committed, DreamReport]:
        """Return what `dump` wrote."""
        values = json.loads(text)
        report = DreamReport(**values.pop("report"))
        values["operations"] = ask.unpack(values["operations"])
        values["waiting"] = [(kind, payload, reason) for kind, payload, reason in values["waiting"]]
        return cls(**values), report


def waits(item: Refused, memories: Mapping[str, Memory]) -> tuple[str, dict[str, Any], str]:
    """Return `item` as the inbox takes it: kind, payload, reason."""
    names = [memories[one].name for one in item.operation.ids if one in memories]
    payload = {"name": ", ".join(names), "operation": asdict(item.operation)}
    return f"dream:{item.operation.op}", payload, item.reason


def interrupted(desk: Desk) -> Run | None:
    """Return the dream of this store whose plan was committed and which never ended, or None."""
    return runs.pending_run(desk.ledger, desk.store_key, desk.store_key, KIND)


def carry_out(
    desk: Desk, home: Path, report: DreamReport, plan: Committed, snapshot: Snapshot, permit: Permit
) -> DreamReport:
    """Do what `plan`, checked against `snapshot`, says, and finish. Raises StoreError and LeaseLostError."""
    if plan.operations:
        report.actions = apply.tell(plan.operations, snapshot)
        _commit(desk, report, plan)
        faults.reach("dream.after_plan_commit")
        permit.confirm()
        _apply(desk, home, report, plan)
        faults.reach("dream.after_store")
    return _finish(desk, home, report, plan, permit)


def resume(desk: Desk, home: Path, run: Run, permit: Permit) -> DreamReport:
    """Finish the interrupted dream `run`: nothing is asked or checked anew."""
    plan, report = Committed.load(run.reply_json or "")
    note = "It finished what was begun before a crash."
    report.reason = f"{report.reason} {note}".strip()
    _apply(desk, home, report, plan)
    faults.reach("dream.after_store")
    return _finish(desk, home, report, plan, permit)


def _commit(desk: Desk, report: DreamReport, plan: Committed) -> None:
    now = desk.clock.now()
    text = plan.dump(report)
    with desk.ledger.transaction():
        runs.start_run(
            desk.ledger, id=report.run_id, kind=KIND, key=desk.store_key, store=desk.store_key,
            strategy=KIND, from_row=0, through_row=0, now=now,
        )  # fmt: skip
        runs.commit_reply(
            desk.ledger, report.run_id, text,
            prompt_digest=digest(text), model="", provider="dream", now=now,
        )  # fmt: skip


def _apply(desk: Desk, home: Path, report: DreamReport, plan: Committed) -> None:
    """Apply `plan` as one change set; operations about a memory that somebody changed are left out."""
    _promote(home, report.run_id, _promotions(desk, report, plan))
    before = next((item for item in desk.store.history() if item.run == report.run_id), None)
    if before is not None:
        report.paths = sorted({file.path for file in before.files if not file.index})
        return
    for attempt in range(_TRIES):
        snapshot = desk.store.scan()
        present = {d.id: d.digest for d in snapshot.documents}
        wanted = [o for o in plan.operations if all(present.get(i) == plan.digests[i] for i in about(o))]
        planned = apply.plan(wanted, desk.store, snapshot, run_id=report.run_id, now=desk.clock.now())
        if planned.operations:
            try:
                change = ChangeSet(report.run_id, "dream", planned.operations, desk.clock.now())
                report.paths = desk.store.apply(change, generation=True).paths
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
                continue
        report.actions = planned.actions
        report.refused += [_overtaken(o, snapshot) for o in plan.operations if o not in wanted]
        return


def about(operation: Operation) -> set[str]:
    """Return the ids of every memory that `operation` names."""
    return {*operation.ids, *([operation.into] if operation.into else [])}


def _overtaken(operation: Operation, snapshot: Snapshot) -> dict[str, Any]:
    names = [d.name for d in snapshot.documents if d.id in operation.ids]
    return {"op": operation.op, "memories": names, "why": OVERTAKEN, "to_inbox": False}


def _promotions(desk: Desk, report: DreamReport, plan: Committed) -> list[Memory]:
    snapshot = desk.store.scan()
    present = {d.id for d in snapshot.documents}
    wanted = [o for o in plan.operations if o.op == "promote" and about(o) <= present]
    planned = apply.plan(wanted, desk.store, snapshot, run_id=report.run_id, now=desk.clock.now())
    return planned.promoted


def _promote(home: Path, run_id: str, promoted: Sequence[Memory]) -> None:
    """Copy `promoted` to the user-scope store, but for what it holds already."""
    if not promoted:
        return
    user = Store.open(home / USER_STORE, create=True)
    held = {" ".join(d.memory.body.split()) for d in user.scan().documents}
    fresh = [memory for memory in promoted if " ".join(memory.body.split()) not in held]
    if fresh:
        puts = [user.put(memory) for memory in fresh]
        user.apply(ChangeSet(f"{run_id}-user", "promoted by a dream", puts), generation=True)


def _finish(desk: Desk, home: Path, report: DreamReport, plan: Committed, permit: Permit) -> DreamReport:
    """Bring derived files, report, inbox and ledger in step: the ledger last, so a crash repeats the rest."""
    now = desk.clock.now()
    report.word = "partial" if report.failed else "done" if report.actions else "nothing"
    desk.store.reindex(now=now)
    if report.actions or report.refused or report.failed:
        write(report, home)
    live = desk.store.scan().documents
    seen = {**plan.seen, **_written(desk, report, live, {one for one, mark in plan.seen.items() if not mark})}
    with desk.ledger.transaction():
        for kind, payload, reason in plan.waiting:
            inbox.add_inbox(
                desk.ledger, desk.store_key, kind=kind, reason=reason, run_id=report.run_id, now=now,
                payload_json=json.dumps(payload, ensure_ascii=False),
            )  # fmt: skip
        ask.close_groups(desk, plan.groups, word="applied" if report.actions else "nothing")
        dreams.mark_seen(desk.ledger, desk.store_key, seen)
        gone = dreams.seen(desk.ledger, desk.store_key).keys() - {d.id for d in live}
        dreams.forget_seen(desk.ledger, desk.store_key, gone)
        if report.word != "partial":
            dreams.note_success(desk.ledger, desk.store_key, now=now)
        if runs.run(desk.ledger, report.run_id) is not None:
            runs.finish_run(
                desk.ledger, report.run_id, outcome="applied" if report.actions else "nothing",
                summary_json=json.dumps(
                    {"actions": report.actions, "refused": report.refused}, ensure_ascii=False
                ), now=now,
            )  # fmt: skip
    faults.reach("dream.after_ledger")
    permit.succeed()
    return report


def _written(desk: Desk, report: DreamReport, live: Sequence[Document], first: Set[str]) -> dict[str, str]:
    """Return id → digest of what the dream itself wrote, which calls for no other dream (bug case 58).

    Ids in `first` are left out: they lead the next one whatever happened to them.
    """
    mine = [d for d in live if d.id and d.path in report.paths and d.id not in first]
    return {d.id: d.digest for d in mine if desk.store.is_ours(d)}
