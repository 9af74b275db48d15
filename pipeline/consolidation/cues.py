"""Cues for memories that have none: one question a dream, whose answer only search ever sees.

It is asked last and costs nothing else anything: when it fails, the next dream asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.consolidation.propose import committed_reply
from pipeline.context import PhaseContext
from pipeline.core.errors import ModelError, SpendError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.hooklib.plain import one_line
from pipeline.llm import Message, Request
from pipeline.llm.lenient_fields import ITEMS, Text, Texts
from pipeline.llm.prompts import load
from pipeline.safety.invisible import visible_line
from pipeline.store import Snapshot
from pipeline.store.derived import cues
from pipeline.verify.barred import bar
from pipeline.verify.tags import phrased

LOG = logging.getLogger("reverie.dream")
PURPOSE = "consolidate.cues"
MOST_MEMORIES = 25
"""Memories of one question; the others wait for the next dream."""
_TEXT_CHARS = 600


class CuesOfOne(BaseModel):
    """The phrases for one memory."""

    model_config = ConfigDict(extra="ignore")

    id: Text = ""
    cues: Texts = Field(default_factory=list)


class Cued(BaseModel):
    """The reply."""

    model_config = ConfigDict(extra="ignore")

    memories: Annotated[list[CuesOfOne], ITEMS] = Field(default_factory=list)


def add_missing(phase: PhaseContext, snapshot: Snapshot) -> int:
    """Ask for the cues of memories that have none, newest first, and keep them beside the store's files.

    Return of how many memories. What can't be asked or written now is logged and left to the next dream.
    """
    if phase.client is None or not phase.settings.dream.cues:
        return 0
    present = {document.path: document.memory for document in snapshot.documents}
    # An empty answer counts as asked: the same text would get it again.
    asked = {
        path: (text, phrases)
        for path, (text, phrases) in cues.read(phase.store.root).items()
        if path in present and text == cues.text_digest(present[path])
    }
    lacking = [memory for path, memory in present.items() if not memory.cues and path not in asked]
    lacking = [memory for memory in lacking if not bar(f"{memory.description}\n{memory.body}")]
    lacking = sorted(lacking, key=lambda memory: (-memory.changed_at, memory.path))[:MOST_MEMORIES]
    if not lacking:
        return 0
    shown = "\n\n".join(_shown(number, memory) for number, memory in enumerate(lacking, start=1))
    key = digest(shown)[:16]
    try:
        reply = committed_reply.committed(phase, key, Cued) or committed_reply.complete(
            phase, key, _request(phase, shown), Cued
        )
    except (ModelError, SpendError) as error:
        LOG.warning("no cues were added to %d memories: %s", len(lacking), error)
        return 0
    kept = asked | _entries(lacking, reply)
    try:
        cues.write(phase.store.root, kept)
    except OSError as error:
        LOG.warning("the cues can't be written: %s", error)
        return 0
    with phase.ledger.transaction():
        committed_reply.close(phase, [key], word="applied")
    return sum(1 for memory in lacking if kept[memory.path][1])


def _entries(memories: Sequence[Memory], reply: Cued) -> dict[str, tuple[str, tuple[str, ...]]]:
    given = {item.id.strip().strip("[]").lower(): item.cues for item in reply.memories}
    return {
        memory.path: (cues.text_digest(memory), phrased(given.get(f"m{number}", ())))
        for number, memory in enumerate(memories, start=1)
    }


def _shown(number: int, memory: Memory) -> str:
    text = one_line(visible_line(memory.body.replace("**", "")), _TEXT_CHARS)
    return f"[m{number}] {visible_line(memory.description)}\n    {text}"


def _request(phase: PhaseContext, shown: str) -> Request:
    return Request(
        purpose=PURPOSE,
        model=phase.settings.model.model,
        system="",
        messages=(Message("user", load("consolidate.cues").render(memories=shown)),),
        max_tokens=phase.settings.model.max_output_tokens,
    )
