"""A candidate that passed the screen: the memory or the revision it makes, and how it waits in the inbox.

Both doors, extraction's own and a person's yes in the inbox, write what is made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.core.errors import InputError
from pipeline.domain.body import Body
from pipeline.domain.memory import (
    MAX_DESCRIPTION,
    Evidence,
    Memory,
    Origin,
    strongest_origin,
)
from pipeline.text.slugs import slugify
from pipeline.verify.provenance import vouched
from pipeline.verify.tags import MOST_TAGS, union

MOST_ANCHORS = 8


@dataclass(frozen=True, slots=True)
class Screened:
    """A candidate that passed: everything the store needs but its place."""

    name: str
    update_of: str
    type: str
    title: str
    description: str
    statement: str
    why: str
    how_to_apply: str
    tags: tuple[str, ...]
    anchors: tuple[str, ...]
    importance: float
    confidence: float
    origin: Origin
    sources: tuple[Evidence, ...]
    said_at: datetime | None

    @property
    def body(self) -> str:
        """Return the markdown body: the statement, then why and how to apply it."""
        return Body(self.statement, self.why, self.how_to_apply).render()

    def memory(self, memory_id: str, now: datetime) -> Memory:
        """Return the new memory this makes."""
        return Memory(
            name=self.name,
            description=self.description,
            type=self.type,
            body=self.body,
            id=memory_id,
            title=self.title,
            tags=self.tags,
            importance=self.importance,
            confidence=self.confidence,
            created=now,
            updated=now,
            origin=self.origin,
            sources=self.sources,
            anchors=self.anchors,
        )

    def revision_of(self, old: Memory, now: datetime) -> Memory:
        """Return `old` with this text; name, place, id, type and age stay, older sources if there is room."""
        sources = [*self.sources, *(source for source in old.sources if source not in self.sources)]
        origin = strongest_origin((old.origin, self.origin))
        if self.origin == "assistant-inferred" and vouched(old):
            # Only a person's yes lets the assistant's words replace a person's (see `verify.revision`).
            origin = "user-confirmed"
        return replace(
            old,
            description=self.description,
            body=self.body,
            title=self.title or old.title,
            tags=union((self.tags, old.tags), most=MOST_TAGS),
            importance=max(old.importance, self.importance),
            confidence=self.confidence,
            updated=now,
            origin=origin,
            sources=tuple(sources),
            anchors=union((self.anchors, old.anchors), most=MOST_ANCHORS),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as the payload of an inbox item, with its body to be read there."""
        return {
            **asdict(self),
            "sources": [source.model_dump() for source in self.sources],
            "said_at": self.said_at.isoformat() if self.said_at else None,
            "body": self.body,
        }

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Screened:
        """Return the candidate of an inbox item, also of one that an earlier version put there.

        Those held a candidate without sources, or only a body. Raises InputError when there is no text to
        write, or what is there can't be read.
        """
        fix = "Add it yourself with `reverie add`, then `reverie inbox reject` this one."
        whole = Body.parse(str(payload.get("body") or ""))
        body = Body(*(str(payload.get(part) or "") for part in ("statement", "why", "how_to_apply")))
        body = body if body.statement.strip() else whole
        if not body.statement or not payload.get("type"):
            raise InputError("it holds no text to write", fix=fix)
        try:
            return cls(
                name=slugify(str(payload["name"])),
                update_of=str(payload.get("update_of") or ""),
                type=str(payload["type"]),
                title=str(payload.get("title") or ""),
                description=str(payload.get("description") or "")[:MAX_DESCRIPTION],
                statement=body.statement,
                why=body.why,
                how_to_apply=body.how_to_apply,
                tags=tuple(payload.get("tags") or ()),
                anchors=tuple(payload.get("anchors") or ()),
                importance=float(payload.get("importance", 0.5)),
                confidence=float(payload.get("confidence", 0.8)),
                origin=payload.get("origin") or "assistant-inferred",
                sources=tuple(Evidence(**source) for source in payload.get("sources") or ()),
                said_at=parse_time(payload.get("said_at")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("the proposal can't be read", fix=fix) from error
