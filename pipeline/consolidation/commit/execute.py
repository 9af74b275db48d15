"""From a checked plan to a changed store: commit, apply, finish, and all of that again after a crash.

The plan is in the ledger before a file is touched. It names each memory it is about with the digest that
memory had, so that a plan found after a crash changes nothing that was written since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.consolidation import reflection
from pipeline.consolidation.commit import changes, diary
from pipeline.consolidation.commit.report import DreamReport, write
from pipeline.consolidation.lease import Permit
from pipeline.context import PhaseContext, open_store
from pipeline.core import faults
from pipeline.core.clock import iso
from pipeline.core.errors import ConflictError, StoreError, cause
from pipeline.core.home import Home
from pipeline.core.ids import digest
from pipeline.domain.action import DreamAction, RunSummary
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation, is_of_earlier_version
from pipeline.ledger import dreams, inbox, runs
from pipeline.ledger.runs import Run
from pipeline.revision.door import Door
from pipeline.store import Document, Snapshot, Store, require_writable
from pipeline.store.ownership.permission import may_change
from pipeline.verify.check import says_the_same

if TYPE_CHECKING:
    from pipeline.config import Settings

KIND = "dream"
INDEX_LINES = 140
"""Most lines of MEMORY.md after a dream, so that a day's memories fit below Claude Code's 200."""
_PROMOTION = "-user"
"""What stands behind a run's id in that of its change set for the user-scope store."""
_TRIES = 4


@dataclass(slots=True)
class Committed:
    """All that finishing a dream takes, as it is kept in the ledger.

    `digests` and `paths` are those of the memories the operations are about; `groups` the keys
    of the answers they came from; `seen` is what this dream looked at (see `Gathered.seen`); `waiting`
    holds one (kind, payload, reason) for each operation that a person is to decide. `denied` gives, for each
    of `operations`, what of it the second reader did not agree to. `outdated` says that an earlier version
    planned it, in which dreams wrote texts of their own.
    """

    operations: list[Operation] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    waiting: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    denied: list[tuple[str, ...]] = field(default_factory=list)
    outdated: bool = False

    def dump(self, report: DreamReport) -> str:
        """Return this and `report` as JSON."""
        values = {
            "operations": [operation.to_json() for operation in self.operations],
            "digests": self.digests,
            "places": self.paths,
            "groups": self.groups,
            "seen": self.seen,
            "waiting": self.waiting,
            "denied": self.denied,
            "report": {**asdict(report), "gates": []},
        }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> tuple[Committed, DreamReport]:
        """Return what `dump` wrote."""
        values = json.loads(text)
        report = DreamReport.from_json(values.pop("report"))
        listed = values["operations"]
        # A plan that an earlier version committed holds them as JSON text, and may wait to be resumed.
        listed = json.loads(listed) if isinstance(listed, str) else listed
        values["operations"] = [Operation.from_json(item) for item in listed]
        values["outdated"] = any(map(is_of_earlier_version, listed))
        values["denied"] = [tuple(claims) for claims in values.get("denied", ())]
        values["paths"] = values.pop("places")
        values["waiting"] = [(kind, payload, reason) for kind, payload, reason in values["waiting"]]
        return cls(**values), report


def interrupted(phase: PhaseContext) -> Run | None:
    """Return the dream of this store whose plan was committed and which never ended, or None."""
    return runs.pending_run(phase.ledger, phase.store_key, phase.store_key, KIND)


def carry_out(
    phase: PhaseContext, home: Path, report: DreamReport, plan: Committed, permit: Permit
) -> DreamReport:
    """Do what `plan` says, and finish. Raises StoreError and LeaseLostError."""
    if plan.operations:
        _commit(phase, report, plan)
        faults.reach("dream.after_plan_commit")
        permit.confirm()
        try:
            _apply(phase, home, report, plan)
        except ConflictError as error:
            return _give_up(phase, home, report, str(error))
        faults.reach("dream.after_store")
    return _finish(phase, home, report, plan, permit)


def with_denied(planned: changes.Planned, denied: Mapping[Operation, tuple[str, ...]]) -> list[DreamAction]:
    """Return the actions of `planned`, with what of each operation the second reader denied."""
    return [
        replace(action, denied=denied.get(operation, ()))
        for action, operation in zip(planned.actions, planned.done, strict=True)
    ]


def resume(phase: PhaseContext, home: Path, run: Run, permit: Permit) -> DreamReport:
    """Finish the interrupted dream `run`: nothing is asked or checked anew.

    A plan that can't be carried out though the store can be written is given up, so that it blocks no
    other dream. Raises StoreError when the store can't be written, LeaseLostError.
    """
    try:
        plan, report = Committed.load(run.reply_json or "")
    except (ValueError, KeyError, TypeError) as error:
        report = DreamReport(run.id, phase.store_key, iso(phase.clock.now()))
        return _give_up(phase, home, report, f"its plan can't be read: {cause(error)}")
    if plan.outdated:
        return _give_up(phase, home, report, "an earlier version planned it, and wrote texts of its own")
    note = "It finished what was begun before a crash."
    report.reason = f"{report.reason} {note}".strip()
    permit.confirm()
    try:
        _apply(phase, home, report, plan)
    except StoreError as error:
        require_writable(phase.store.root)
        return _give_up(phase, home, report, str(error))
    faults.reach("dream.after_store")
    return _finish(phase, home, report, plan, permit)


def _give_up(phase: PhaseContext, home: Path, report: DreamReport, why: str) -> DreamReport:
    """End the run of `report` as failed; what it was about is looked at again by the next dream."""
    report.word, report.reason, report.actions = "failed", why, []
    write(report, home)
    runs.finish_run(
        phase.ledger, report.run_id, outcome="failed:plan", summary=RunSummary(why), now=phase.clock.now()
    )
    return report


def _commit(phase: PhaseContext, report: DreamReport, plan: Committed) -> None:
    now = phase.clock.now()
    text = plan.dump(report)
    with phase.ledger.transaction():
        runs.start_run(
            phase.ledger,
            id=report.run_id,
            kind=KIND,
            key=phase.store_key,
            store=phase.store_key,
            strategy=KIND,
            from_row=0,
            through_row=0,
            now=now,
        )
        runs.commit_reply(
            phase.ledger,
            report.run_id,
            text,
            prompt_digest=digest(text),
            model="",
            provider="dream",
            now=now,
        )


def _apply(phase: PhaseContext, home: Path, report: DreamReport, plan: Committed) -> None:
    """Apply `plan` as one change set; operations about a memory that somebody changed are left out."""
    now = phase.clock.now()
    promote(home, phase.settings, report.run_id, _promotions(phase, report, plan), now=now)
    before = next((item for item in phase.store.history() if item.run == report.run_id), None)
    # The change set was done before the crash. Planning again would refuse all of it: the files are changed.
    if before is not None:
        report.paths = sorted({file.path for file in before.files if not file.index})
        _note_overtaken(phase, report, plan, plan.operations, ())
        return
    for attempt in range(_TRIES):
        snapshot = phase.store.scan()
        wanted = [operation for operation in plan.operations if _fits(operation, plan, phase.store, snapshot)]
        try:
            # Planning reads files too, so it meets a change made meanwhile as well.
            planned = changes.plan(wanted, phase.store, snapshot, run_id=report.run_id, now=phase.clock.now())
            planned.door.bring(diary.page(planned, phase.store, snapshot, now, whole=True))
            report.paths = planned.door.write(report.run_id, "dream").paths
        except ConflictError:
            phase.store.drop_plans()
            if attempt == _TRIES - 1:
                raise
            continue
        report.actions = with_denied(planned, dict(zip(plan.operations, plan.denied, strict=False)))
        report.refused += [_refusal(item.operation, item.reason, snapshot) for item in planned.refused]
        turned_away = [item.operation for item in planned.refused]
        _note_overtaken(phase, report, plan, planned.done, turned_away)
        return


def _fits(operation: Operation, plan: Committed, store: Store, snapshot: Snapshot) -> bool:
    """Whether every memory `operation` is about is where and as it was, and may still be changed."""
    found = [document for document in snapshot.documents if document.id in operation.about]
    # Neither gone nor copied: of two files with one id nobody can say which was meant.
    copied = any(item.own_id in operation.about for item in snapshot.documents if item.twin)
    alone = not copied and len(found) == len(operation.about)
    touched = {*operation.leaving, *operation.written}
    return alone and all(
        document.digest == plan.digests.get(document.id)
        and document.path == plan.paths.get(document.id)
        and (document.id not in touched or may_change(document, store) is None)
        for document in found
    )


def _note_overtaken(
    phase: PhaseContext,
    report: DreamReport,
    plan: Committed,
    wanted: Sequence[Operation],
    turned_away: Sequence[Operation],
) -> None:
    """Correct `report`, whose actions are those of `wanted`, by what of the plan was not done.

    An operation whose files somebody wrote in the last moment is none of the actions.
    """
    snapshot, paths = phase.store.scan(), {*report.paths}
    done = [bool(not _files(operation, plan) or paths & _files(operation, plan)) for operation in wanted]
    lost = [operation for operation, was_done in zip(wanted, done, strict=True) if not was_done]
    report.actions = [action for action, was_done in zip(report.actions, done, strict=True) if was_done]
    lost += [operation for operation in plan.operations if operation not in (*wanted, *turned_away)]
    report.refused += [_refusal(operation, changes.OVERTAKEN, snapshot) for operation in lost]


def _files(operation: Operation, plan: Committed) -> set[str]:
    """Return the paths that `operation` itself writes or takes away; none for one that only adds."""
    touched = (*operation.leaving, *operation.written)
    return {plan.paths[memory_id] for memory_id in touched if memory_id in plan.paths}


def _refusal(operation: Operation, reason: str, snapshot: Snapshot) -> dict[str, Any]:
    names = [document.name for document in snapshot.documents if document.id in operation.ids]
    return {"op": operation.op, "memories": names, "why": reason, "to_inbox": False}


def _promotions(phase: PhaseContext, report: DreamReport, plan: Committed) -> list[Memory]:
    snapshot = phase.store.scan()
    promotions = [operation for operation in plan.operations if operation.op == "promote"]
    wanted = [operation for operation in promotions if _fits(operation, plan, phase.store, snapshot)]
    planned = changes.plan(wanted, phase.store, snapshot, run_id=report.run_id, now=phase.clock.now())
    return planned.promoted


def promote(
    home: Path, settings: Settings, run_id: str, promoted: Sequence[Memory], *, now: datetime
) -> None:
    """Copy `promoted` to the user-scope store, but for what it holds already."""
    if not promoted:
        return
    user = open_store(Home(home).user_store, settings, create=True)
    held = [document.memory for document in user.scan().documents]
    door = Door(user, now=now)
    for memory in promoted:
        if not any(says_the_same(memory, known) for known in held):
            door.create(memory)
    door.write(promotion_of(run_id), "promoted by a dream")


def promotion_of(run_id: str) -> str:
    """Return the id of the change set with which the run `run_id` changed the user-scope store."""
    return f"{run_id}{_PROMOTION}"


def promoted_by(change_id: str) -> str:
    """Return the run whose promotions change set `change_id` of the user-scope store holds, else "" ."""
    return change_id.removesuffix(_PROMOTION) if change_id.endswith(_PROMOTION) else ""


def _finish(
    phase: PhaseContext, home: Path, report: DreamReport, plan: Committed, permit: Permit
) -> DreamReport:
    """Bring derived files, report, inbox and ledger in step: the ledger last, so a crash repeats the rest."""
    from pipeline.consolidation.propose import committed_reply

    now = phase.clock.now()
    report.word = "partial" if report.failed else "done" if report.actions else "nothing"
    word = "applied" if report.actions else "nothing"
    live: list[Document] = []
    again = not report.actions  # Nothing was written since the look that began it.
    phase.store.reindex(now=now, index_lines=INDEX_LINES, begin=False, tell=live.extend, again=again)
    write(report, home)
    if report.actions:
        reflection.write(phase.ledger, phase.settings, phase.store, live, now)
    first = {memory_id for memory_id, seen_digest in plan.seen.items() if not seen_digest}
    seen = {**plan.seen, **_written(phase, report, live, first)}
    with phase.ledger.transaction():
        for kind, payload, reason in plan.waiting:
            inbox.add_inbox(
                phase.ledger,
                phase.store_key,
                kind=kind,
                reason=reason,
                run_id=report.run_id,
                now=now,
                payload_json=json.dumps(payload, ensure_ascii=False),
            )
        committed_reply.close(phase, plan.groups, word=word)
        dreams.mark_seen(phase.ledger, phase.store_key, seen)
        gone = dreams.seen_ids(phase.ledger, phase.store_key) - {d.id for d in live}
        dreams.forget_seen(phase.ledger, phase.store_key, gone)
        # A dream of which a part failed does not start the interval: the rest must not wait that long.
        if report.word != "partial":
            dreams.note_success(phase.ledger, phase.store_key, now=now)
        # Without operations nothing was committed, so that there is no run to end.
        if runs.run(phase.ledger, report.run_id) is not None:
            summary = RunSummary(actions=tuple(report.actions), refused=tuple(report.refused))
            runs.finish_run(phase.ledger, report.run_id, outcome=word, summary=summary, now=now)
    faults.reach("dream.after_ledger")
    permit.succeed()
    return report


def _written(
    phase: PhaseContext, report: DreamReport, live: Sequence[Document], first: Set[str]
) -> dict[str, str]:
    """Return id → digest of what the dream itself wrote, which calls for no other dream (bug case 58).

    Ids in `first` are left out: they lead the next one whatever happened to them.
    """
    paths = {*report.paths}
    written = [document for document in live if document.path in paths]
    mine = [document for document in written if document.id and document.id not in first]
    return {document.id: document.digest for document in mine if phase.store.is_ours(document)}
