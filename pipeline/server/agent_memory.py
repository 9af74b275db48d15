"""What carries out the tools and resources over agent-memory's files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from threading import RLock
from typing import Any

from pipeline.app.application import App
from pipeline.formats.agent_memory import querying
from pipeline.formats.agent_memory.errors import NO_SUCH_RESOURCE
from pipeline.formats.agent_memory.keepable import require_keepable, texts_of
from pipeline.formats.agent_memory.memory import AgentMemory, Change
from pipeline.formats.agent_memory.options import default_folder, load
from pipeline.formats.agent_memory.querying import Query, seconds
from pipeline.formats.agent_memory.schema import CORE, IMPORTANCES, LEARNING, STATUSES, TASK, Record, stamp
from pipeline.formats.agent_memory.shown import shown, shown_records
from pipeline.formats.agent_memory.starting import log_to, start
from pipeline.server.agent_memory_tools import SCHEME
from pipeline.server.calls import Answer, Call
from pipeline.server.jsonrpc import INVALID_PARAMS, NO_RESOURCE, ProtocolError

_MORE = ("category", "tags", "importance", "task_metadata")
_RECENT = 20
_DAYS = 30
_MOST = 1_000
"""Memories in one resource."""
_OPEN: dict[Path, AgentMemory] = {}
_TURN = RLock()
"""Calls come in several threads, and what was read is kept for all of them."""


def memory_of(app: App) -> AgentMemory:
    """Return the files that the settings name, brought up to date when they are first asked for."""
    root = default_folder(app.settings.agent_memory.folder)
    options = load(root)
    known = _OPEN.get(root)
    if known is None or known.options != options:
        log_to(options.log_file, options.log_level)
        known = _OPEN[root] = AgentMemory(root, options)
        start(known)
    return known


def store(call: Call, given: dict[str, Any]) -> Answer:
    """Add a memory, or change the one that has the id."""
    require_keepable(texts_of(given), by_person=False)
    more = {name: given[name] for name in _MORE if name in given}
    with _TURN:
        memory = memory_of(call.app())
        if "id" in given:
            change = Change(content=given["content"], **more)
            record, _ = memory.update(given["id"], change, kind=given["type"])
        else:
            record = memory.append(given["type"], given["content"], **more)
    return {"id": record["id"], "created": "id" not in given, "memory": shown(record)}


def query(call: Call, given: dict[str, Any]) -> Answer:
    """Return the page of memories that pass the filters."""
    with _TURN:
        page = memory_of(call.app()).query(Query(**given))
    return {
        "memories": shown_records(page.memories),
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
        "has_more": page.has_more,
    }


def update(call: Call, given: dict[str, Any]) -> Answer:
    """Change a memory."""
    require_keepable(texts_of(given), by_person=False)
    changes = {name: value for name, value in given.items() if name != "id"}
    with _TURN:
        record, names = memory_of(call.app()).update(given["id"], Change(**changes))
    return {"memory": shown(record), "updated_fields": names}


def delete(call: Call, given: dict[str, Any]) -> Answer:
    """Archive a memory, or take it out for good."""
    with _TURN:
        action = memory_of(call.app()).delete(given["id"], permanent=given.get("permanent", False))
    return {"success": True, "action": action, "id": given["id"]}


def stats(call: Call, _: dict[str, Any]) -> Answer:
    """Count the memories."""
    with _TURN:
        return dict(shown(memory_of(call.app()).stats()))


# -- resources ----------------------------------------------------------------------------------------


def read(app: App, uri: object) -> dict[str, Any]:
    """Return the resource at `uri`, made anew. Raises ProtocolError where there is none."""
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, "uri is a text")
    made = _MADE.get(uri.removeprefix(SCHEME))
    if made is None:
        what = f"{NO_SUCH_RESOURCE}: there is no resource {uri!a}; resources/list names those there are"
        raise ProtocolError(NO_RESOURCE, what)
    with _TURN:
        memory = memory_of(app)
        records, more = made(memory)
        now = stamp(memory.now())
    some = shown_records(records[:_MOST])
    value = {"memories": some, "count": len(some), "generated_at": now, **shown(more)}
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return {"uri": uri, "mimeType": "application/json", "text": text}


Made = tuple[list[Record], dict[str, Any]]


def _recent(memory: AgentMemory) -> Made:
    page = memory.query(Query(limit=_RECENT), touch=False)
    return page.memories, {}


def _core(memory: AgentMemory) -> Made:
    found = querying.chosen(memory.records(CORE), Query(sort_by="importance"))
    importances = _grouped(found, lambda record: str(record["importance"]), IMPORTANCES)
    return found, {"by_importance": importances, "by_category": _grouped(found, _category)}


def _learnings(memory: AgentMemory) -> Made:
    since = (memory.now() - timedelta(days=_DAYS)).timestamp()
    records = [
        record
        for record in memory.records(LEARNING)
        if max(seconds(record, "created_at"), seconds(record, "accessed_at")) >= since
    ]
    found = querying.chosen(records, Query(sort_by="created_at"))
    times = [record["created_at"] for record in found]
    return found, {"date_range": {"from": times[-1], "to": times[0]} if times else None}


def _active(memory: AgentMemory) -> Made:
    found = querying.chosen(memory.records(TASK), Query(sort_by="updated_at"))
    return found, {"by_status": _grouped(found, querying.status_of, STATUSES)}


def _completed(memory: AgentMemory) -> Made:
    since = (memory.now() - timedelta(days=_DAYS)).timestamp()
    every = [*memory.records(TASK), *memory.archived(TASK)]
    done = [record for record in every if querying.is_done(record) and querying.ended(record) >= since]
    return sorted(done, key=querying.ended, reverse=True), {}


_MADE: Mapping[str, Callable[[AgentMemory], Made]] = {
    "recent": _recent,
    "core": _core,
    "learnings": _learnings,
    "tasks/active": _active,
    "tasks/completed": _completed,
}


def _category(record: Record) -> str:
    return str(record.get("category") or "")


def _grouped(
    records: Sequence[Record], key: Callable[[Record], str], known: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Return the ids of `records` by what `key` says of each; every word of `known` is there."""
    found: dict[str, list[str]] = {word: [] for word in known}
    for record in records:
        found.setdefault(key(record), []).append(record["id"])
    return found
