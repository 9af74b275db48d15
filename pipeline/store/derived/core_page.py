"""``CORE.md``, made from the memories alone: what is alive, best first, by section.

It can be deleted and made again, identical but for times. Source: schema v3, checklist C-07, C-11, C-14 to
C-16.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import zone
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import parse_time
from pipeline.domain.memory import HUMAN_ONLY, TYPES, Memory
from pipeline.hooklib.memory_format import CORE
from pipeline.hooklib.plain import clipped
from pipeline.store.derived.usage import access_of, read_state
from pipeline.store.files.kept import Worth, micros, worth_of
from pipeline.store.files.layout import derived_bytes
from pipeline.store.files.memory_index import inert, link_target

VAULT_SCORE = 999.0
CORE_LEAST = 0.2
CORE_CHARS = 12_000
CORE_PER_SECTION = 15
_DECAY = 0.03
_TITLE = "# Memory Core (auto-generated)"
TOLERANCE = 1e-9
"""How far below a bound a score may lie and still count as on it."""
_SEEDS = {
    "Critical Solutions": ("solution",),
    "Active Decisions": ("decision",),
    "Key Fixes": ("fix",),
    "Configurations": ("configuration",),
    "Patterns & Workflows": ("code_pattern", "workflow", "procedure", "insight"),
}
"""The sections that schema v3 has; they stand even where they are empty."""
_OURS = {
    "The Person": ("user",),
    "How to Work": ("feedback",),
    "Projects": ("project",),
    "References": ("reference",),
    "Open Tasks": ("task",),
    "Problems & Errors": ("problem", "error"),
    "General": ("general",),
}
_SECTION_OF = {name: section for section, names in (_SEEDS | _OURS).items() for name in names}
_LONGEST = 160
"""Characters of a headline, so that one memory takes no room of ten."""
_MORE = "- … and {:,} more, not shown here\n"
_AFTER_TIME = b" | Active memories:"


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
        count = _count_of(access)
        last = parse_time(access.get("last_accessed"))
        since = micros(last) if last else since
    days = 0.0 if since is None else max(0.0, (now_us - since) / 1e6 / 86_400)
    usage = math.log2(count + 1) if count else 0.5
    return worth.importance * math.exp(-_DECAY * days) * usage * TYPES[worth.kind].weight


def is_asked_for(access: dict[str, Any]) -> bool:
    """Whether anybody has asked for a memory that was used as `access` tells."""
    return bool(access) and _count_of(access) > 0


def _count_of(access: dict[str, Any]) -> int:
    count = access.get("access_count")
    return count if isinstance(count, int) and count > 0 else 0


def band(score: float) -> str:
    """Return the band of a decay score: active, fading, dormant or archived."""
    for least, name in ((0.5, "active"), (CORE_LEAST, "fading"), (0.05, "dormant")):
        if score >= least - TOLERANCE:
            return name
    return "archived"


def core_is_ours(root: Path) -> bool:
    """Whether ``CORE.md`` of the store at `root` was made here, or is still to be made."""
    file = root / CORE
    if not os.path.lexists(file):
        return True
    return (derived_bytes(file) or b"").startswith(_TITLE.encode())


def write_core(root: Path, memories: Memories, now: datetime) -> bool:
    """Write ``CORE.md`` if its lists or counts changed; True if it was written.

    A file of that name which somebody else wrote stays as it is.
    """
    if not core_is_ours(root):
        return False
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

    What a person said of themselves or asked for, and tasks until they are done, have no least score. All of
    it has 12,000 characters at most: where they don't suffice each section gives up its last lines. What is
    left out is counted in a line. Nothing is made of those that it does not show.
    """
    total, alive, now_us = 0, dict[str, list[tuple[float, str]]](), micros(now)
    for worth in memories.worths:
        total += 1
        access = access_of(state, memories.id_of(worth.path), worth.path) if state else {}
        score = score_of(worth, access, now_us)
        if _is_alive(worth, score, memories):
            alive.setdefault(_SECTION_OF[worth.kind], []).append((-score, worth.path))
    count = sum(map(len, alive.values()))
    head = (
        f"{_TITLE}\n"
        f"> Last updated: {zone.day(now)} | Active memories: {count}/{total} (score 0.2 or more)"
        " | Next refresh: daily\n"
    )
    sections = [section for section in _SEEDS | _OURS if section in _SEEDS or alive.get(section)]
    lines = {
        section: [
            _line(memories.get(path)) for _, path in heapq.nsmallest(CORE_PER_SECTION, alive.get(section, ()))
        ]
        for section in sections
    }
    fixed = sum(len(f"\n## {section}\n") for section in sections)
    fixed += sum(len(_MORE.format(len(found))) for found in alive.values())
    shown = _fitting(lines, CORE_CHARS - len(head) - fixed)
    parts = [head]
    for section in sections:
        more = len(alive.get(section, ())) - shown[section]
        parts += [f"\n## {section}\n", *lines[section][: shown[section]]]
        parts += [_MORE.format(more)] if more else []
    return "".join(parts)


def _is_alive(worth: Worth, score: float, memories: Memories) -> bool:
    if worth.kind == "task":
        return memories.get(worth.path).finished_at is None
    return worth.kind in HUMAN_ONLY or score >= CORE_LEAST - TOLERANCE


def _fitting(lines: dict[str, list[str]], room: int) -> dict[str, int]:
    """Return how many of the `lines` of each section fit into `room`, which all share line by line."""
    shown, open_sections = dict.fromkeys(lines, 0), [*lines]
    for rank in range(CORE_PER_SECTION):
        for section in [*open_sections]:
            line = lines[section][rank] if rank < len(lines[section]) else ""
            if line and len(line) <= room:
                room -= len(line)
                shown[section] += 1
            else:
                open_sections.remove(section)
    return shown


def _line(memory: Memory) -> str:
    tags = f" ({clipped(inert(', '.join(memory.tags)), _LONGEST)})" if memory.tags else ""
    headline = inert(clipped(memory.headline, _LONGEST))
    return f"- [{headline}]({link_target(memory.path)}){tags}\n"
