"""The five tools and five resources over agent-memory's files, as they are listed."""

from typing import Any

from pipeline.server.shapes import Schema, answer, fields, flag, many, or_none, text, whole
from pipeline.server.tool import ADDS, AGAIN, READS, REMOVES, Tool

_KINDS = ("core", "learning", "task")
_IMPORTANCES = ("high", "medium", "low")
_ID = text("A memory's id, a UUID of version 4.", most=36, least=36)
_CONTENT = text("The fact; at most 10,240 bytes with all else. No secrets.", most=5_000, least=1)
_CATEGORY = text("Such as preference or fact.", most=50)
_TAGS = many(text(most=30, least=1), most=10)
_IMPORTANCE = text(choices=_IMPORTANCES)
_TASK: Schema = {
    **fields(
        status=text(choices=("completed", "in-progress", "blocked")),
        completed_at=text("ISO 8601 with zone; left out: now, where it is completed.", most=40),
        blockers=many(text(most=1_000, least=1), "What a blocked task waits for.", most=50),
        outcome=text("What came of it.", most=5_000),
    ),
    "description": "Of a task only.",
}
_MEMORY: Schema = {"type": "object"}

AGENT_MEMORY_TOOLS: tuple[Tool, ...] = (
    Tool(
        "store_memory",
        "Store a memory",
        "Store a memory in agent-memory's files: core for what lasts, learning for what was found out, task"
        " for work. With `id` the memory that has it is changed instead; it keeps its type.",
        fields(
            ["type", "content"],
            type=text(choices=_KINDS),
            content=_CONTENT,
            category=_CATEGORY,
            tags=_TAGS,
            importance={**_IMPORTANCE, "default": "medium"},
            id=_ID,
            task_metadata=_TASK,
        ),
        answer(id=text(), created=flag(), memory=_MEMORY),
        ADDS,
        "agent_memory.store",
        coded=True,
    ),
    Tool(
        "query_memories",
        "Query memories",
        "List memories of agent-memory's files that pass all filters. Counts as a use of those it gives.",
        fields(
            type=text(choices=_KINDS),
            tags=many(text(most=30, least=1), "All of these.", most=10),
            search=text("Part of content, category or a tag, in any case.", most=200),
            importance=_IMPORTANCE,
            category=_CATEGORY,
            archived=flag("Those in the archive instead.", default=False),
            limit=whole(least=1, most=100, default=10),
            offset=whole(default=0),
            sort_by=text(choices=("created_at", "updated_at", "accessed_at", "importance", "access_count")),
            sort_order=text(choices=("asc", "desc")),
        ),
        answer(memories=many(_MEMORY), total=whole(), limit=whole(), offset=whole(), has_more=flag()),
        READS,
        "agent_memory.query",
        coded=True,
    ),
    Tool(
        "update_memory",
        "Update a memory",
        "Change the fields that are given of a memory in agent-memory's files; `archived` moves it to the"
        " archive or back.",
        fields(
            ["id"],
            id=_ID,
            content=_CONTENT,
            category=_CATEGORY,
            tags=_TAGS,
            importance=_IMPORTANCE,
            archived=flag(),
            task_metadata=_TASK,
        ),
        answer(memory=_MEMORY, updated_fields=many(text())),
        AGAIN,
        "agent_memory.update",
        coded=True,
    ),
    Tool(
        "delete_memory",
        "Delete a memory",
        "Move a memory of agent-memory's files to the archive, or with `permanent` take it out for good.",
        fields(["id"], id=_ID, permanent=flag(default=False)),
        answer(success=flag(), action=text(choices=("archived", "deleted")), id=text()),
        REMOVES,
        "agent_memory.delete",
        coded=True,
    ),
    Tool(
        "get_memory_stats",
        "Memory statistics",
        "Count the memories in agent-memory's files by type and importance, with the tags used most.",
        fields(),
        answer(
            total=whole(),
            by_type={"type": "object"},
            by_importance={"type": "object"},
            archived_count=whole(),
            total_storage_kb={"type": "number"},
            oldest=or_none(text()),
            newest=or_none(text()),
            most_accessed=or_none(text()),
            top_tags=many(answer(tag=text(), count=whole())),
        ),
        READS,
        "agent_memory.stats",
        coded=True,
    ),
)


def _resource(path: str, name: str, about: str) -> dict[str, Any]:
    kind = "application/json"
    return {"uri": f"{SCHEME}{path}", "name": name, "title": name, "description": about, "mimeType": kind}


SCHEME = "memory://"
RESOURCES: tuple[dict[str, Any], ...] = (
    _resource("recent", "Recent memories", "The 20 memories that were used last."),
    _resource("core", "Core memories", "All core memories, the important and lately used first."),
    _resource("learnings", "Learnings", "What was learned or looked at within 30 days, the newest first."),
    _resource("tasks/active", "Active tasks", "The tasks that are not archived, the last changed first."),
    _resource("tasks/completed", "Completed tasks", "The tasks completed within 30 days, the last first."),
)
"""To read one counts as no use of what it shows."""
