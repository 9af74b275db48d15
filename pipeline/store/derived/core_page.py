"""``CORE.md``, made from the memories alone: what is alive, best first, by section.

It can be deleted and made again, identical but for times. Source: schema v3, checklist C-07, C-11, C-14 to
C-16.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import zone
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import parse_time
from pipeline.domain.memory import TYPES, Memory
from pipeline.store.derived.usage import access_of, read_state
from pipeline.store.files.kept import Worth, micros, worth_of
from pipeline.store.files.layout import derived_bytes
from pipeline.store.files.memory_index import inert, link_target

CORE = "CORE.md"
VAULT_SCORE = 999.0
CORE_LEAST = 0.2
CORE_CHARS = 12_000
CORE_PER_SECTION = 15
_DECAY = 0.03
_TOLERANCE = 1e-9
_SECTIONS = {
    "Critical Solutions": ("solution",),
    "Active Decisions": ("decision",),
    "Key Fixes": ("fix",),
    "Configurations": ("configuration",),
    "Patterns & Workflows": ("code_pattern", "workflow", "procedure", "insight"),
}
_AFTER_TIME = b" | Active memories:"
_ONLY_PINNED = "Patterns & Workflows"
"""Where a pinned memory of a type without a section goes."""


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of a store, of which few are asked for: what each is worth, its id and itself by path."""

    worths: Iterable[Worth]
    id_of: Callable[[str], str]
    get: Callable[[str], Memory]


def decay_score(memory: Memory, access: dict[str, Any], now: datetime) -> float:
    """Return importance × e^(−0.03 × days) × usage × type weight, or 999 for a pinned memory.

    Days count from the last access, or from creation when there was none; usage is log2(count + 1), or
    0.5 without any. Times in the future count as now.
    """
    return score_of(worth_of(memory), access, micros(now))


def score_of(worth: Worth, access: dict[str, Any], now_us: int) -> float:
    """Return `decay_score` of what is known without looking at the memory."""
    if worth.pinned:
        return VAULT_SCORE
    count, since = 0, worth.since_us
    if access:
        raw_count = access.get("access_count")
        count = raw_count if isinstance(raw_count, int) and raw_count > 0 else 0
        last = parse_time(access.get("last_accessed"))
        since = micros(last) if last else since
    days = 0.0 if since is None else max(0.0, (now_us - since) / 1e6 / 86_400)
    usage = math.log2(count + 1) if count else 0.5
    return worth.importance * math.exp(-_DECAY * days) * usage * TYPES[worth.kind].weight


def band(score: float) -> str:
    """Return the band of a decay score: active, fading, dormant or archived."""
    for least, name in ((0.5, "active"), (CORE_LEAST, "fading"), (0.05, "dormant")):
        if score >= least - _TOLERANCE:
            return name
    return "archived"


def write_core(root: Path, memories: Memories, now: datetime) -> bool:
    """Write ``CORE.md`` if its lists or counts changed; True if it was written."""
    new = core_page(memories, read_state(root), now).encode("utf-8", "replace")
    old = derived_bytes(root / CORE)
    if old is not None and old.partition(_AFTER_TIME)[2] == new.partition(_AFTER_TIME)[2]:
        return False
    write_atomic(root / CORE, new)
    return True


def core_text(memories: Sequence[Memory], state: dict[str, dict[str, Any]], now: datetime) -> str:
    """Return ``CORE.md`` of `memories` that are at hand."""
    by_path = {memory.path: memory for memory in memories}
    ids = {memory.path: memory.id for memory in memories}
    return core_page(Memories(map(worth_of, memories), ids.__getitem__, by_path.__getitem__), state, now)


def core_page(memories: Memories, state: dict[str, dict[str, Any]], now: datetime) -> str:
    """Return ``CORE.md``: the memories with a score of at least 0.2, best first, 15 a section.

    Nothing is made of those that it does not show.
    """
    total, alive, now_us = 0, [], micros(now)
    for worth in memories.worths:
        total += 1
        access = access_of(state, memories.id_of(worth.path), worth.path) if state else {}
        score = score_of(worth, access, now_us)
        if score >= CORE_LEAST - _TOLERANCE:
            alive.append((-score, worth.path, _section(worth)))
    head = (
        "# Memory Core (auto-generated)\n"
        f"> Last updated: {zone.day(now)} | Active memories: {len(alive)}/{total} (score 0.2 or more)"
        " | Next refresh: daily\n"
    )
    parts = [head]
    room = CORE_CHARS - len(head)
    for section in _SECTIONS:
        lines = [f"\n## {section}\n"]
        room -= len(lines[0])
        members = (item for item in alive if item[2] == section)
        for _, path, _ in heapq.nsmallest(CORE_PER_SECTION, members):
            memory = memories.get(path)
            tags = f" ({inert(', '.join(memory.tags))})" if memory.tags else ""
            line = f"- [{inert(memory.headline)}]({link_target(memory.path)}){tags}\n"
            if len(line) > room:
                break
            room -= len(line)
            lines.append(line)
        parts.append("".join(lines))
    return "".join(parts)


def _section(worth: Worth) -> str:
    for section, types in _SECTIONS.items():
        if worth.kind in types:
            return section
    return _ONLY_PINNED if worth.pinned else ""
