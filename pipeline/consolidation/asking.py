"""Every group put to the model, and what its plan would let go to the second reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.consolidation.choose.elsewhere import stands_elsewhere
from pipeline.consolidation.choose.gather import Gathered
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.propose import model
from pipeline.consolidation.second_reader import reading
from pipeline.context import PhaseContext
from pipeline.core import zone
from pipeline.core.errors import PROVIDER_DOWN, ModelError, SpendError
from pipeline.domain.operations import Cluster, Operation, Refused
from pipeline.ledger import calls
from pipeline.llm.cassette import in_words
from pipeline.store import Snapshot
from pipeline.verify.check import check_plan

_MANY_CALLS = 1_000
_ANY_NUMBER = 1_000_000


@dataclass(slots=True)
class Asked:
    """What came of all groups: operations that both keys agree on, and what was refused.

    `denied` is what the second reader did not agree to of an operation that is done all the same; `used` are
    the keys of the committed answers, `failed` the ids of groups whose questions were not answered.
    """

    operations: list[Operation] = field(default_factory=list)
    denied: dict[Operation, tuple[str, ...]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def ask_groups(
    phase: PhaseContext, gathered: Gathered, snapshot: Snapshot, home: Path, report: DreamReport
) -> Asked:
    """Put every group to the model and to the second reader, and note in `report` what was looked at.

    A group of which either fails is noted and leads the next dream; over a spend cap so do all that would
    follow.
    """
    asked = Asked()
    stopped = False
    names = {memory_id: memory.name for memory_id, memory in gathered.memories.items()}
    if phase.client is None:
        report.by_rules = True
        report.looked_at = [[names[i] for i in _members(c)] for c in gathered.selection.clusters]
        return asked
    for cluster in gathered.selection.clusters:
        if stopped:
            asked.failed += _members(cluster)
            continue
        try:
            _ask_group(phase, gathered, snapshot, home, cluster, asked)
        except SpendError as error:
            # Asking the other groups would meet the same cap.
            report.reason, stopped = str(error), True
            asked.failed += _members(cluster)
            continue
        except ModelError as error:
            report.reason = f"{error.outcome}: {error}"
            # No other group would fare better with a provider that is down.
            stopped = isinstance(error, PROVIDER_DOWN)
            asked.failed += _members(cluster)
            continue
        report.looked_at.append([names[memory_id] for memory_id in _members(cluster)])
    report.failed = [names[memory_id] for memory_id in asked.failed]
    return asked


def _ask_group(
    phase: PhaseContext,
    gathered: Gathered,
    snapshot: Snapshot,
    home: Path,
    cluster: Cluster,
    asked: Asked,
) -> None:
    """Add what comes of `cluster` to `asked`; nothing of it when a question is not answered."""
    operations, refused = model.plan_group(phase, cluster, gathered.memories)
    # A person decides on each insight: there is nothing to ask a second reader.
    insights = [operation for operation in operations if operation.op == "insight"]
    fit = _fit(phase, gathered, [item for item in operations if item.op != "insight"], refused)
    rehearsal = changes.rehearsed(fit, phase.store, snapshot, run_id="rehearsal", now=phase.clock.now())
    promoted = [gathered.memories[item.ids[0]] for item in rehearsal.done if item.op == "promote"]
    elsewhere = frozenset(memory.id for memory in promoted if stands_elsewhere(phase, home, memory))
    confirmed, key = reading.confirm(phase, rehearsal.done, gathered.memories, _members(cluster), elsewhere)
    asked.operations += [*confirmed.operations, *insights]
    asked.denied |= dict(zip(confirmed.operations, confirmed.denied, strict=True))
    asked.refused += [*refused, *rehearsal.refused, *confirmed.refused]
    asked.used += [model.group_key(cluster, gathered.memories), *([key] if key else [])]


def _fit(
    phase: PhaseContext, gathered: Gathered, operations: Sequence[Operation], refused: list[Refused]
) -> list[Operation]:
    """Return those of `operations` that are in order beside what the rules do; add the others to `refused`.

    The ceiling is left for the end: what the second reader denies takes no room.
    """
    checked = check_plan(
        operations,
        gathered.memories,
        changeable=gathered.changeable,
        ceiling=_ANY_NUMBER,
        today=zone.local(phase.clock.now()).date(),
        by_rule=gathered.by_rule,
    )
    refused += [item for item in checked.refused if item.operation not in gathered.by_rule]
    return [operation for operation in checked.accepted if operation not in gathered.by_rule]


def _members(cluster: Cluster) -> tuple[str, ...]:
    return (*cluster.ids, *cluster.fixed)


def last_call(phase: PhaseContext) -> int:
    """Return the id of the newest model call: ids only grow, so that what is above it comes after now."""
    return calls.last_call(phase.ledger)


def count(phase: PhaseContext, report: DreamReport, before: int, purposes: Sequence[str]) -> None:
    """Add to `report` the calls for `purposes` after call `before`, failed ones too.

    An answer that was committed earlier cost nothing now.
    """
    latest = calls.list_calls(phase.ledger, limit=_MANY_CALLS)
    mine = [call for call in latest if call.id > before and call.purpose in purposes]
    plans = sum(call.purpose == model.PURPOSE for call in mine)
    report.reused = 0 if report.by_rules else max(0, len(report.looked_at) - plans)
    report.calls += len(mine)
    report.tokens += sum(call.input_tokens + call.output_tokens for call in mine)
    report.estimated |= any(call.estimated for call in mine)
    report.dollars += sum(call.dollars for call in mine)
    wordings = filter(None, (report.replies, *(in_words(call.provider) for call in mine)))
    report.replies = "; ".join(dict.fromkeys(wordings))
