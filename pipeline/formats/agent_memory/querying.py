"""Which memories a query wants, in which order: pure work on records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipeline.formats.agent_memory.errors import invalid
from pipeline.formats.agent_memory.schema import (
    COMPLETED,
    IMPORTANCES,
    KINDS,
    MOST_CATEGORY,
    STATUSES,
    TIMES,
    Record,
    moment_of,
)

SORTS = (*TIMES, "importance", "access_count")
ORDERS = ("asc", "desc")
MOST_PAGE = 100
MOST_SEARCH = 200
_RANK = {word: len(IMPORTANCES) - at for at, word in enumerate(IMPORTANCES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is wanted: all that is given must hold. `search` is part of content, category or a tag."""

    type: str = ""
    tags: Sequence[str] = ()
    search: str = ""
    importance: str = ""
    category: str = ""
    archived: bool = False
    limit: int = 10
    offset: int = 0
    sort_by: str = "accessed_at"
    sort_order: str = "desc"

    def require_sound(self) -> None:
        """Raise INVALID_INPUT for what is no query."""
        _require_one("type", self.type, KINDS)
        _require_one("importance", self.importance, IMPORTANCES)
        if self.sort_by not in SORTS:
            raise invalid(f"sort_by is one of {', '.join(SORTS)}, not {self.sort_by!r}")
        if self.sort_order not in ORDERS:
            raise invalid(f"sort_order is asc or desc, not {self.sort_order!r}")
        if not 1 <= self.limit <= MOST_PAGE:
            raise invalid(f"limit is from 1 to {MOST_PAGE}, not {self.limit}")
        if self.offset < 0:
            raise invalid(f"offset is at least 0, not {self.offset}")
        if len(self.search) > MOST_SEARCH:
            raise invalid(f"search has at most {MOST_SEARCH} characters")
        if len(self.category) > MOST_CATEGORY:
            raise invalid(f"category has at most {MOST_CATEGORY} characters")


def _require_one(name: str, value: str, of: Sequence[str]) -> None:
    if value and value not in of:
        raise invalid(f"{name} is one of {', '.join(of)}, not {value!r}")


def chosen(records: Iterable[Record], query: Query) -> list[Record]:
    """Return those of `records` that `query` wants, in its order; of equal ones the later line first."""
    wanted, words = {*query.tags}, query.search.casefold()
    found = [
        record
        for record in records
        if (not query.type or record["type"] == query.type)
        and wanted <= {*record["tags"]}
        and (not query.importance or record["importance"] == query.importance)
        and (not query.category or record.get("category") == query.category)
        and (not words or words in _searched(record))
    ]
    descends = query.sort_order == "desc"
    numbered = sorted(
        enumerate(found), key=lambda item: (_key(item[1], query.sort_by), item[0]), reverse=descends
    )
    return [record for _, record in numbered]


def _searched(record: Record) -> str:
    return "\n".join((record["content"], record.get("category") or "", *record["tags"])).casefold()


def _key(record: Record, name: str) -> Any:
    if name == "importance":
        return _RANK[record["importance"]], seconds(record, "accessed_at")
    return seconds(record, name) if name in TIMES else record[name]


def seconds(record: Record, name: str) -> float:
    """Return the time in that field, in epoch seconds; 0 for none."""
    moment = moment_of(record.get(name))
    return moment.timestamp() if moment else 0.0


def is_due(record: Record, now: datetime, *, learning_days: int, task_days: int) -> bool:
    """Whether a memory has to be archived: a learning nobody used, a task long done; of others never."""
    if record["type"] == "learning":
        return seconds(record, "accessed_at") < (now - timedelta(days=learning_days)).timestamp()
    return is_done(record) and ended(record) < (now - timedelta(days=task_days)).timestamp()


def is_done(record: Record) -> bool:
    """Whether it is a task that is completed."""
    return record["type"] == "task" and (record.get("task_metadata") or {}).get("status") == COMPLETED


def ended(record: Record) -> float:
    """Return when a task was completed."""
    return seconds(record.get("task_metadata") or {}, "completed_at")


def least_used(records: Iterable[Record], number: int) -> list[Record]:
    """Return those that could leave first: used least often, then longest ago."""
    order = sorted(records, key=lambda record: (record["access_count"], seconds(record, "accessed_at")))
    return order[:number]


def statistics(live: Sequence[Record], archived: int, size: int) -> dict[str, Any]:
    """Return what is told of the memories in figures."""
    by_time = sorted(live, key=lambda record: seconds(record, "created_at"))
    most = max(live, key=lambda record: record["access_count"], default=None)
    tags = Counter(tag for record in live for tag in record["tags"])
    kinds, words = Counter(r["type"] for r in live), Counter(r["importance"] for r in live)
    return {
        "total": len(live),
        "by_type": {kind: kinds[kind] for kind in KINDS},
        "by_importance": {word: words[word] for word in IMPORTANCES},
        "archived_count": archived,
        "total_storage_kb": round(size / 1024, 2),
        "oldest": by_time[0]["created_at"] if by_time else None,
        "newest": by_time[-1]["created_at"] if by_time else None,
        "most_accessed": most["id"] if most is not None and most["access_count"] else None,
        "top_tags": [{"tag": tag, "count": number} for tag, number in tags.most_common(10)],
    }


def status_of(record: Record) -> str:
    """Return a task's status; one that says nothing of it is at work, or what its category says."""
    meta = record.get("task_metadata") or {}
    category = record.get("category")
    return str(meta.get("status") or (category if category in STATUSES else "in-progress"))
