"""What the dream does without a model: exact and near-exact doubles, and retention.

These rules are deterministic and narrow. A double is a memory whose every word another of the same type has
too, in the same order; the fuller one stays, with the names of both. Retention is seed 1's (S-14): learnings
nobody used for 90 days and tasks done for 30 days leave for the archive; everything else only leaves when
somebody says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from pipeline.clock import parse_time
from pipeline.consolidation.specifics import specifics
from pipeline.domain.memory import Memory
from pipeline.domain.plan import Operation

_WORD = re.compile(r"\w+", re.UNICODE)


def doubles(memories: Sequence[Memory], groups: Iterable[Sequence[str]]) -> list[Operation]:
    """Return a merge for each memory that adds no word to another of its group.

    `groups` are ids of memories that lie near each other; only those are compared. The survivor keeps its
    text; of two equal ones it is the older.
    """
    by_id = {memory.id: memory for memory in memories}
    gone: set[str] = set()
    found: list[Operation] = []
    for group in groups:
        members = sorted((by_id[one] for one in group if one in by_id), key=_fullest)
        for place, memory in enumerate(members):
            keeper = next((m for m in members[:place] if m.id not in gone and _covers(m, memory)), None)
            if keeper is None or memory.id in gone:
                continue
            gone.add(memory.id)
            found.append(
                Operation(
                    op="merge",
                    ids=(keeper.id, memory.id),
                    into=keeper.id,
                    reason=f"{memory.name} says nothing that {keeper.name} does not say",
                )
            )
    return found


def expired(
    memories: Iterable[Memory],
    used: Mapping[str, datetime],
    now: datetime,
    *,
    learning_days: int,
    task_days: int,
) -> list[Operation]:
    """Return a retirement for each learning and each finished task whose time is over.

    `used` is when a memory was last asked for, by id; a memory never asked for counts from its last change.
    Where nothing was ever asked for, nobody counts uses, and no learning is taken for unused.
    """
    found = []
    for memory in memories:
        reason = _over(memory, used.get(memory.id), now, learning_days if used else None, task_days)
        if reason:
            found.append(Operation(op="retire", ids=(memory.id,), reason=reason))
    return found


def _over(
    memory: Memory, used: datetime | None, now: datetime, learning_days: int | None, task_days: int
) -> str:
    if memory.kind.tier == "learning" and learning_days is not None:
        last = max((t for t in (used, memory.updated, memory.created) if t), default=None)
        if last and now - last > timedelta(days=learning_days):
            return f"a learning that nobody used since {last.date().isoformat()}"
    if memory.kind.tier == "task":
        done = parse_time(memory.extra.get("completed_at"))
        if done and now - done > timedelta(days=task_days):
            return f"a task that was done on {done.date().isoformat()}"
    return ""


def _fullest(memory: Memory) -> tuple[int, str, str]:
    created = memory.created.isoformat() if memory.created else "9999"
    return (-len(memory.body), created, memory.name)


def _covers(keeper: Memory, other: Memory) -> bool:
    """Whether `keeper` has every word of `other`, in the same order, and none that turns its sense round."""
    if keeper.type != other.type or keeper.id == other.id:
        return False
    mine, theirs = _words(keeper.body), _words(other.body)
    if not theirs or len(theirs) * 2 < len(mine) or not _runs_through(theirs, mine):
        return False
    # In another order the same words may say the opposite: tabs, not spaces; spaces, not tabs.
    if not _runs_through(_words(other.description), [*_words(keeper.description), *mine]):
        return False
    # So may a fuller text with one word more.
    if ({*mine} - {*theirs}) & _TURNING:
        return False
    return specifics(other.body) <= specifics(keeper.body)


def _runs_through(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether the words `few` stand in `many` in their order, with or without others between."""
    rest = iter(many)
    return all(word in rest for word in few)


_TURNING = frozenset(
    ("not", "no", "never", "none", "nobody", "without", "except", "unless", "only", "instead", "don",
     "doesn", "isn", "won", "cannot", "longer", "nicht", "kein", "nie", "ない", "不", "没", "别")
)  # fmt: skip


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
