"""claude-mem: the JSON that its export writes and its import takes, and its database, which is only read.

An observation is a memory. Summaries of sessions and prompts are dialogue, and are left where they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core.clock import iso, parse_time
from pipeline.core.errors import InputError
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Memory
from pipeline.formats.carried import Carried, Reading, Written, told_title
from pipeline.formats.json_items import JsonItems
from pipeline.hooklib.front_matter import text_of
from pipeline.hooklib.plain import one_line
from pipeline.store.files.frontmatter_schema import first_line, plain
from pipeline.text.slugs import slugify

PROJECT = "reverie"
"""The project, and the start of the session ids, of observations that come from here."""
_SESSION = "reverie-export"
_OURS = {
    "decision": "decision",
    "bugfix": "fix",
    "discovery": "insight",
    "feature": "project",
    "refactor": "code_pattern",
    "change": "general",
}
"""Our type for each of theirs; theirs for ours is the same read backwards, else the nearest."""
_THEIRS = {ours: theirs for theirs, ours in _OURS.items()} | {
    "user": "discovery",
    "feedback": "decision",
    "reference": "discovery",
    "configuration": "change",
    "procedure": "change",
    "workflow": "change",
    "solution": "bugfix",
    "problem": "discovery",
    "error": "discovery",
    "task": "change",
}
_LOOKS_LIKE_SQLITE = b"SQLite format 3\0"


class ClaudeMem(JsonItems):
    """A JSON file of claude-mem, or its database."""

    name = "claude-mem"
    about = "a JSON file of its export; claude-mem.db is only read"
    lists: ClassVar[tuple[str, ...]] = ("observations",)

    def read(self, path: Path) -> Reading:
        """Return the observations in the file at `path`."""
        if _is_database(path):
            return self._of_rows(path)
        seen = super().read(path)
        rest = seen.rest if isinstance(seen.rest, dict) else {}
        for kind in ("summaries", "prompts"):
            number = len(_listed(rest, kind))
            if number:
                seen.fault(path.name, None, f"{number} {kind} are dialogue, no memories", unread=False)
        return seen

    def _of_rows(self, path: Path) -> Reading:
        from pipeline.formats.claude_mem_database import rows_of

        seen = Reading()
        for number, row in rows_of(path):
            memory = self.decoded(row)
            if isinstance(memory, str):
                seen.fault(path.name, number, memory)
                continue
            seen.records.append(Carried(memory, self.key_of(row), path.name, number, row))
        return seen

    def decoded(self, item: dict[str, Any]) -> Memory | str:
        """Return the memory in the observation `item`, or why it is none."""
        facts = [f"- {fact}" for fact in texts(item.get("facts"))]
        narrative = text_of(item.get("narrative")) or text_of(item.get("text"))
        body = "\n\n".join(part for part in (narrative, "\n".join(facts)) if part)
        title, subtitle = text_of(item.get("title")), text_of(item.get("subtitle"))
        if not body and not title:
            return "it has neither a title nor a narrative nor facts"
        body = body or subtitle or title
        return Memory(
            name="",
            description=one_line(subtitle, 150) or first_line(body),
            type=_OURS.get(text_of(item.get("type")), "general"),
            body=body + "\n",
            title=title,
            tags=tuple(slugify(concept) for concept in texts(item.get("concepts"))),
            anchors=tuple(dict.fromkeys(_files(item))),
            created=_moment(item),
        )

    def encoded(self, memory: Memory, base: dict[str, Any] | None) -> dict[str, Any]:
        """Return the observation of `memory`."""
        moment = memory.created or datetime.fromtimestamp(0, UTC)
        fields = {
            "type": _THEIRS.get(memory.type, "discovery"),
            "title": told_title(memory),
            "subtitle": memory.description,
            "narrative": memory.whole_text.strip("\n"),
            "facts": "[]",
            "concepts": json.dumps(list(memory.tags), ensure_ascii=False),
            "files_read": json.dumps(list(memory.anchors), ensure_ascii=False),
        }
        if base is not None:
            there = self.decoded(base)
            old = self.encoded(there, None) if isinstance(there, Memory) else {}
            changed: dict[str, Any] = {key: value for key, value in fields.items() if old.get(key) != value}
            # What stood in two places stands in one then.
            changed |= {"facts": "[]", "text": None} if "narrative" in changed else {}
            changed |= {"files_modified": "[]"} if "files_read" in changed else {}
            return {**base, **changed}
        return {
            "memory_session_id": f"{_SESSION}-{memory.id or derived_id(_SESSION, memory.name, memory.body)}",
            "project": PROJECT,
            "text": None,
            **fields,
            "files_modified": "[]",
            "prompt_number": None,
            "discovery_tokens": 0,
            "created_at": iso(moment),
            "created_at_epoch": int(moment.timestamp() * 1000),
        }

    def key_of(self, item: dict[str, Any]) -> str:
        """Return the id of its row; of one that has none yet, by what its import knows it again."""
        return text_of(item.get("id")) or "|".join(
            text_of(item.get(key)) for key in ("memory_session_id", "title", "created_at_epoch")
        )

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan the file; the database is another program's, which may be at work in it."""
        if _is_database(path):
            raise InputError(
                "the database of claude-mem is only read",
                file=str(path),
                fix="Name a file NAME.json; its own import takes that.",
            )
        return super().write(path, records, gone, seen)

    def around(self, held: Any, found: list[dict[str, Any]]) -> Any:
        """Return the whole file: an observation that comes from here has a session that its import needs."""
        held = held if isinstance(held, dict) else {}
        sessions = _listed(held, "sessions")
        known = {text_of(item.get("memory_session_id")) for item in sessions if isinstance(item, dict)}
        for item in found:
            session = item.get("memory_session_id") if isinstance(item, dict) else None
            if isinstance(session, str) and session.startswith(_SESSION) and session not in known:
                sessions.append(_session(item))
        head = {"exportedAt": "", "exportedAtEpoch": 0, "query": "", **held}
        summaries, prompts = _listed(held, "summaries"), _listed(held, "prompts")
        numbers = {
            "totalObservations": len(found),
            "totalSessions": len(sessions),
            "totalSummaries": len(summaries),
            "totalPrompts": len(prompts),
        }
        lists = {"observations": found, "sessions": sessions, "summaries": summaries, "prompts": prompts}
        return {**head, **numbers, **lists}


def texts(value: Any) -> list[str]:
    """Return the texts of a list, which claude-mem keeps as JSON in a text."""
    if isinstance(value, str):
        try:
            value = plain(json.loads(value))
        except ValueError:
            value = [value]
    return [text for item in value if (text := text_of(item))] if isinstance(value, list) else []


def _listed(held: dict[str, Any], key: str) -> list[Any]:
    found = held.get(key)
    return [*found] if isinstance(found, list) else []


def _files(item: dict[str, Any]) -> list[str]:
    return [*texts(item.get("files_read")), *texts(item.get("files_modified"))]


def _moment(item: dict[str, Any]) -> datetime | None:
    moment = parse_time(item.get("created_at"))
    epoch = item.get("created_at_epoch")
    if moment is None and isinstance(epoch, int) and 0 < epoch < 4e12:
        moment = datetime.fromtimestamp(epoch / 1000, UTC)
    return None if moment is not None and moment.timestamp() == 0 else moment


def _session(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "content_session_id": item["memory_session_id"],
        "memory_session_id": item["memory_session_id"],
        "project": item["project"],
        "user_prompt": "",
        "started_at": item["created_at"],
        "started_at_epoch": item["created_at_epoch"],
        "completed_at": item["created_at"],
        "completed_at_epoch": item["created_at_epoch"],
        "status": "completed",
    }


def _is_database(path: Path) -> bool:
    if path.suffix.lower() in (".db", ".sqlite", ".sqlite3"):
        return True
    try:
        with path.open("rb") as file:
            return file.read(16) == _LOOKS_LIKE_SQLITE
    except OSError:
        return False
