"""What a run did, as it is kept with the run in the ledger and told to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.record import field, record


@record
class MemoryAction:
    """What an extraction did to one memory.

    `action` is ``created``, ``updated``, ``withdrawn`` or ``known`` (it said so already). `path` is relative
    to the store, empty where no file was written; `reason` is that of a withdrawal. `sources` are the words
    for which a memory was changed or withdrawn.
    """

    action: str
    name: str
    id: str
    path: str = ""
    reason: str = ""
    sources: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the action as values that JSON holds, without the empty ones."""
        more = {"path": self.path, "reason": self.reason, "sources": [dict(item) for item in self.sources]}
        filled = {key: value for key, value in more.items() if value}
        return {"action": self.action, "name": self.name, "id": self.id, **filled}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> MemoryAction:
        """Return what `to_json` gave; what is missing is empty."""
        keys = ("action", "name", "id", "path", "reason")
        action, name, memory_id, path, reason = (str(values.get(key) or "") for key in keys)
        return cls(action, name, memory_id, path, reason, tuple(values.get("sources") or ()))


@record
class DreamAction:
    """What one operation of a dream did.

    `memories` are the names of all it was about, `into` is the one of them that went on, if any. `left_out`
    holds each sentence that left, with the one that speaks for it now, `denied` what the second reader did
    not agree to, and `sources` who said what it rests on.
    """

    op: str
    memories: tuple[str, ...] = ()
    into: str = ""
    reason: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    denied: tuple[str, ...] = ()
    sources: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the action as values that JSON holds."""
        return {
            "op": self.op,
            "memories": list(self.memories),
            "into": self.into,
            "reason": self.reason,
            "left_out": [list(pair) for pair in self.left_out],
            "denied": list(self.denied),
            "sources": [dict(source) for source in self.sources],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DreamAction:
        """Return what `to_json` gave; what is missing is empty."""
        return cls(
            op=str(values.get("op") or ""),
            memories=tuple(map(str, values.get("memories") or ())),
            into=str(values.get("into") or ""),
            reason=str(values.get("reason") or ""),
            left_out=tuple((str(text), str(by)) for text, by in values.get("left_out") or ()),
            denied=tuple(map(str, values.get("denied") or ())),
            sources=tuple(values.get("sources") or ()),
        )


Action = MemoryAction | DreamAction


def action_from_json(values: Mapping[str, Any]) -> Action:
    """Return the action that `values` hold, whichever it is. Raises TypeError or ValueError when none."""
    return DreamAction.from_json(values) if "op" in values else MemoryAction.from_json(values)


@record
class RunSummary:
    """How a run ended: why, what it did, what it turned down.

    `rejected` are candidates of an extraction (name, reason, check), `refused` operations of a dream (op,
    memories, why, to_inbox, later).
    """

    reason: str = ""
    actions: tuple[Action, ...] = ()
    rejected: tuple[dict[str, str], ...] = ()
    refused: tuple[dict[str, Any], ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the summary as values that JSON holds."""
        return {
            "reason": self.reason,
            "actions": [action.to_json() for action in self.actions],
            "rejected": list(self.rejected),
            "refused": list(self.refused),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunSummary:
        """Return what `to_json` gave, also where an earlier version wrote only some of it."""
        actions = (item for item in values.get("actions") or () if isinstance(item, Mapping))
        return cls(
            reason=str(values.get("reason") or ""),
            actions=tuple(map(action_from_json, actions)),
            rejected=tuple(values.get("rejected") or ()),
            refused=tuple(values.get("refused") or ()),
        )

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """Return the ids of the memories that the run is known to have created or changed, each once."""
        ids = (action.id for action in self.actions if isinstance(action, MemoryAction))
        return tuple(dict.fromkeys(filter(None, ids)))
