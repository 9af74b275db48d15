"""Cues for memories that have none: one question a dream, whose answer only search ever sees.

It is asked last and costs nothing else anything: when it fails, the next dream asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
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
from pipeline.store import Document, Snapshot
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
    asked = _asked(phase.store.root, snapshot.documents)
    lacking = _lacking(item for item in snapshot.documents if item.path not in asked)
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
        newest = max(item.stamp.ctime_ns for item in snapshot.documents)
        cues.write(phase.store.root, kept, newest=newest)
    except OSError as error:
        LOG.warning("the cues can't be written: %s", error)
        return 0
    with phase.ledger.transaction():
        committed_reply.close(phase, [key], word="applied")
    return sum(1 for memory in lacking if kept[memory.path][1])


def _asked(root: Path, documents: Iterable[Document]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return by path what was answered for the text that each file has; only what changed since is read.

    An empty answer counts as asked: the same text would get it again.
    """
    known, before = cues.read(root), cues.borne_out_before(root)
    return {
        item.path: known[item.path]
        for item in documents
        if item.path in known
        and (item.stamp.ctime_ns < before or known[item.path][0] == cues.text_digest(item.memory))
    }


def _lacking(documents: Iterable[Document]) -> list[Memory]:
    """Return the memories among `documents` to ask for, newest first; no more are read than it takes."""
    without = [item for item in documents if not item.head.cues]
    without.sort(key=lambda item: (-item.head.changed_at, item.path))
    memories = (item.memory for item in without)
    open_to_all = (memory for memory in memories if not bar(f"{memory.description}\n{memory.body}"))
    return list(islice(open_to_all, MOST_MEMORIES))


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
