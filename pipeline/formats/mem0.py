"""mem0: what ``Memory.get_all`` returns, as JSON. Its ``metadata`` may hold any key, so nothing is lost."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, ClassVar

from pipeline.core.clock import iso
from pipeline.core.ids import digest, new_id
from pipeline.domain.memory import TYPES, Memory
from pipeline.formats.json_items import JsonItems
from pipeline.hooklib.front_matter import text_of
from pipeline.hooklib.plain import well_formed
from pipeline.store.files.document import front_of
from pipeline.store.files.frontmatter_schema import to_memory

_OF_MEM0 = ("user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date")
_TIMES = {"created_at": "created", "updated_at": "updated"}
_THEIR_TYPE = "mem0_type"


class Mem0(JsonItems):
    """A JSON file of mem0: ``{"results": [...]}``, or the list alone."""

    name = "mem0-json"
    about = 'a JSON file {"results": [...]}'
    lists: ClassVar[tuple[str, ...]] = ("results", "memories")

    def decoded(self, item: dict[str, Any]) -> Memory | str:
        """Return the memory in `item`, or why it is none."""
        text = item.get("memory")
        if not isinstance(text, str) or not text.strip():
            return "it has no text under memory"
        held = item.get("metadata")
        front: dict[str, Any] = {**held} if isinstance(held, dict) else {}
        if text_of(front.get("type")) not in TYPES:
            front = {**front, "type": "general", _THEIR_TYPE: front.get("type")}
        front |= {ours: item.get(theirs) for theirs, ours in _TIMES.items()}
        front |= {key: item[key] for key in _OF_MEM0 if item.get(key) is not None}
        front["id"] = text_of(item.get("id"))
        front = {key: value for key, value in front.items() if value is not None}
        memory = to_memory(front, text.strip("\n") + "\n", "")
        return replace(memory, name=memory.name or text_of(front.get("title")))

    def encoded(self, memory: Memory, base: dict[str, Any] | None) -> dict[str, Any]:
        """Return the item of `memory`; what mem0 keeps beside it stays."""
        front = front_of(memory)
        for key in ("id", "metadata", *_TIMES.values()):
            front.pop(key, None)
        outside = {key: front.pop(key) for key in _OF_MEM0 if key in front}
        theirs = front.pop(_THEIR_TYPE, None)
        if memory.type == "general":
            front.pop("type") if theirs is None and base is not None else None
        if theirs is not None:
            front["type"] = theirs
        text = memory.body.strip("\n")
        item = {
            "id": memory.id or new_id(),
            "memory": text,
            "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
            "created_at": iso(memory.created) if memory.created else None,
            "updated_at": iso(memory.updated) if memory.updated else None,
            **outside,
            "metadata": {key: value for key, value in front.items() if value != []},
        }
        if base is None:
            return item
        kept = base.get("metadata")
        there = self.decoded(base)
        old = self.encoded(there, None)["metadata"] if isinstance(there, Memory) else {}
        fresh = {key: value for key, value in item["metadata"].items() if old.get(key) != value}
        kept = kept if isinstance(kept, dict) else {}
        metadata = {key: value for key, value in kept.items() if key in item["metadata"] or key not in old}
        return {**base, **item, "id": base.get("id") or item["id"], "metadata": {**metadata, **fresh}}

    def key_of(self, item: dict[str, Any]) -> str:
        """Return the id of `item`; of one without, what its text tells it by."""
        return text_of(item.get("id")) or f"text-{digest(well_formed(str(item.get('memory'))))[:12]}"

    def around(self, held: Any, found: list[dict[str, Any]]) -> Any:
        """Return the whole file with the list `found`."""
        if isinstance(held, list):
            return found
        key = next((name for name in self.lists if isinstance(held, dict) and name in held), self.lists[0])
        return {**(held or {}), key: found}
