"""What the dream does without a model: equal texts, and retention.

These rules are deterministic and narrow. Two memories of one type are doubles when their texts are equal,
sentence for sentence, but for case, spacing and punctuation. Retention is seed 1's (S-14): learnings
nobody used for 90 days and tasks done for 30 days leave for the archive; everything else only leaves when
somebody says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from pipeline.core.zone import day
from pipeline.domain.memory import TYPES, Memory
from pipeline.domain.operations import Operation
from pipeline.verify.check import says_the_same
from pipeline.verify.provenance import vouched

EXPIRING = frozenset(name for name, row in TYPES.items() if row.tier in ("learning", "task"))
"""The types of what may expire."""


def doubles(memories: Sequence[Memory], groups: Iterable[Sequence[str]]) -> list[Operation]:
    """Return a merge for each memory whose text others of its group have too.

    `groups` are ids of memories that lie near each other; only those are compared. The survivor is one that
    a person stands behind, and of those the oldest.
    """
    by_id = {memory.id: memory for memory in memories}
    merges: list[Operation] = []
    for group in groups:
        keepers: dict[str, list[Memory]] = {}
        for memory in sorted((by_id[memory_id] for memory_id in group if memory_id in by_id), key=_oldest):
            keeper = next((memory_id for memory_id in keepers if _equal(by_id[memory_id], memory)), None)
            if keeper is None:
                keepers[memory.id] = []
            else:
                keepers[keeper].append(memory)
        merges += [_merge(by_id[memory_id], doubled) for memory_id, doubled in keepers.items() if doubled]
    return merges


def _equal(keeper: Memory, other: Memory) -> bool:
    return keeper.type == other.type and says_the_same(keeper, other)


def _merge(keeper: Memory, doubled: Sequence[Memory]) -> Operation:
    names = ", ".join(memory.name for memory in doubled)
    return Operation(
        op="merge",
        ids=(keeper.id, *(memory.id for memory in doubled)),
        into=keeper.id,
        reason=f"{names}: the same text as {keeper.name}",
    )


def expired(
    memories: Iterable[Memory],
    used: Mapping[str, datetime],
    now: datetime,
    *,
    since: datetime | None,
    learning_days: int,
    task_days: int,
) -> list[Operation]:
    """Return a retirement for each learning and each finished task whose time is over.

    `used` is when a memory was last of use, by id; one that never was counts from its last change. `since`
    is since when uses are counted: what was not used before that could not be, and with None nobody counts,
    so that no learning is taken for unused.
    """
    found = []
    for memory in memories:
        reason = _unused(memory, used.get(memory.id), since, now, learning_days) or _done(
            memory, now, task_days
        )
        if reason:
            found.append(Operation(op="retire", ids=(memory.id,), reason=reason))
    return found


def _unused(
    memory: Memory, used: datetime | None, since: datetime | None, now: datetime, learning_days: int
) -> str:
    if memory.type_row.tier != "learning" or since is None:
        return ""
    last = max((moment for moment in (used, memory.updated, memory.created) if moment), default=None)
    if last and now - (last := max(last, since)) > timedelta(days=learning_days):
        return f"a learning that nobody used since {day(last)}"
    return ""


def _done(memory: Memory, now: datetime, task_days: int) -> str:
    if memory.type_row.tier == "task":
        done = memory.finished_at
        if done and now - done > timedelta(days=task_days):
            return f"a task that was done on {day(done)}"
    return ""


def _oldest(memory: Memory) -> tuple[bool, str, str]:
    created = memory.created.isoformat() if memory.created else "9999"
    return (not vouched(memory), created, memory.name)
