"""What a memory of ours is in agent-memory's own fields, and back: tier, category, importance, tags, task.

The one home of it. The mirror of a store and the exchange of files differ only in what they keep beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.domain.memory import FINISHED, TYPES, Memory
from pipeline.formats.agent_memory.schema import (
    BLOCKED,
    COMPLETED,
    CORE,
    IN_PROGRESS,
    KINDS,
    LEARNING,
    MOST_CATEGORY,
    MOST_TAG_CHARACTERS,
    MOST_TAGS,
    TASK,
    Record,
    stamp,
)

OURS = "agent_memory"
"""The key of our front matter with what only agent-memory has."""
THEIRS = "reverie"
"""The field of its line with what only we have."""
CATEGORY = "category"
"""The field of its line, and the key of our front matter for one that is none of our types."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""The time there of what has none here: a line has to name one."""
WORTH: Mapping[str, float] = {"high": 0.8, "medium": 0.5, "low": 0.3}
_LEAST = (("high", 0.7), ("medium", 0.4))
_TYPE: Mapping[str, str] = {CORE: "project", LEARNING: "general", TASK: "task"}


# -- out ----------------------------------------------------------------------------------------------


def kept_of(memory: Memory) -> dict[str, Any]:
    """Return what our front matter keeps of the line that `memory` was, nothing where it was none."""
    held = memory.extra.get(OURS)
    return held if isinstance(held, dict) else {}


def tier_of(memory: Memory) -> str:
    """Return the type there: the one it came with, else that of our type."""
    tier = kept_of(memory).get("tier")
    return tier if tier in KINDS else memory.type_row.tier


def category_of(memory: Memory) -> str:
    """Return the category there: the one it came with, else our type; "" where it came without one."""
    kept, foreign = kept_of(memory), memory.extra.get(CATEGORY)
    if CATEGORY in kept:
        return str(kept[CATEGORY])
    if kept:
        return ""
    names_a_type = memory.type != _TYPE[tier_of(memory)]
    fits = isinstance(foreign, str) and 0 < len(foreign) <= MOST_CATEGORY
    return str(foreign) if fits and not names_a_type else memory.type


def word_of(importance: float) -> str:
    """Return agent-memory's word for a share."""
    return next((word for word, least in _LEAST if importance >= least), "low")


def tags_of(memory: Memory) -> tuple[str, ...]:
    """Return the tags that fit its schema, as many as it takes."""
    return tuple(tag for tag in memory.tags if 0 < len(tag) <= MOST_TAG_CHARACTERS)[:MOST_TAGS]


def status_word(status: str, *, blocked: bool = False) -> str:
    """Return agent-memory's word for a task's status of ours; `blocked` says that something blocks it."""
    word = status.strip().lower()
    if word in FINISHED:
        return COMPLETED
    return BLOCKED if blocked or word == BLOCKED else IN_PROGRESS


def task_of(memory: Memory) -> dict[str, Any]:
    """Return the task metadata of `memory`; nothing where it says nothing of itself as a task."""
    if not (memory.status or memory.completed_at or memory.blockers or memory.outcome):
        return {}
    status = status_word(memory.status, blocked=bool(memory.blockers))
    found: dict[str, Any] = {"status": status}
    if status == COMPLETED:
        found["completed_at"] = stamp(memory.finished_at or LONG_AGO)
    if memory.blockers or status == BLOCKED:
        found["blockers"] = list(memory.blockers)
    return found | ({"outcome": memory.outcome} if memory.outcome else {})


# -- in -----------------------------------------------------------------------------------------------


def type_of(record: Record, exact: object = "") -> str:
    """Return our type of `record`: that of its category, else the `exact` one where that is of its tier.

    A category makes a task of nothing else, and nothing else of a task.
    """
    tier, category = record["type"], record.get(CATEGORY)
    if category in TYPES and (TYPES[category].tier == TASK) == (tier == TASK):
        return str(category)
    return exact if isinstance(exact, str) and exact in TYPES and TYPES[exact].tier == tier else _TYPE[tier]


def plain_type(tier: str) -> str:
    """Return our type of what comes from that tier without one."""
    return _TYPE[tier]


def importance_of(word: str, exact: object = None) -> float:
    """Return the share for its word: the `exact` one where that says the same."""
    fits = isinstance(exact, int | float) and not isinstance(exact, bool) and 0 <= exact <= 1
    if fits and isinstance(exact, int | float) and word_of(exact) == word:
        return float(exact)
    return WORTH[word]


def task_values(record: Record, status: str = "") -> dict[str, Any]:
    """Return the fields of a memory that the task metadata of `record` says, nothing where it has none.

    A `status` of ours that means the same stays.
    """
    meta = record.get("task_metadata")
    if record["type"] != TASK or not isinstance(meta, dict):
        return {}
    blockers = tuple(str(text) for text in meta.get("blockers") or ())
    same = bool(status) and status_word(status, blocked=bool(blockers)) == meta["status"]
    ended = parse_time(meta.get("completed_at"))
    return {
        "status": status if same else str(meta["status"]),
        "completed_at": None if ended == LONG_AGO else ended,
        "blockers": blockers,
        "outcome": str(meta.get("outcome") or ""),
    }
