"""``REFLECTION.md``: what the memories are about, and what dreams have done to them (checklist C-17).

Made from the memories, the access counts and the diary of the store, and from the tags that other projects
use; so it can be deleted and made again. Source: schema v3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from pipeline.core import zone
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import StoreError
from pipeline.domain.memory import Memory
from pipeline.store.derived.usage import read_state
from pipeline.store.files.layout import MAX_DERIVED, read_regular
from pipeline.store.files.memory_index import inert, link_target
from pipeline.store.files.scanning import Document
from pipeline.store.history.episodes import MERGE, REFLECTION, Episode, days, read_day
from pipeline.text.humanize import count

FILE = "REFLECTION.md"
_HEAD = "# Reflection Summary (auto-generated)\n"
_FORMER_HEAD = "# Memory Reflection (auto-generated)\n"
_THEMES = 8
_PAIRS = 64
"""Pairs of tags, the most frequent ones, of which themes are made."""
_SHARED = 0.8
"""How much of their memories two pairs with a tag in common share that are one theme."""
_TAGS = 4
"""Tags named for one theme."""
_TITLES = 3
_TITLE = 40
"""Characters of a title that stands for a theme."""
_PATTERNS = 20
_MOST = 10
_INSIGHTS = 10
_PREVIEW = 80
_NONE = "- none yet\n"


def write(
    root: Path, documents: Sequence[Document], projects: Mapping[str, Counter[str]], now: datetime
) -> bool:
    """Write ``REFLECTION.md`` if more than its times would change; True if it was written.

    `documents` are those of the store at `root`, `projects` how many memories of each known project have
    which tag. A file of that name which somebody else wrote stays as it is.
    """
    try:
        old = read_regular(root / FILE, MAX_DERIVED)[0].decode("utf-8", "replace")
    except FileNotFoundError:
        old = _HEAD
    except StoreError:
        return False
    if not old.startswith((_HEAD, _FORMER_HEAD)):
        return False
    memories = [
        replace(item.head, body=item.preview) if item.head.type == "insight" else item.head
        for item in documents
    ]
    new = text(memories, read_state(root), _dreamt(root), projects, now)
    if old.startswith(_HEAD) and _without_time(old) == _without_time(new):
        return False
    write_atomic(root / FILE, new.encode("utf-8", "replace"))
    return True


def text(
    memories: Sequence[Memory],
    state: Mapping[str, dict[str, Any]],
    dreamt: Sequence[Episode],
    projects: Mapping[str, Counter[str]],
    now: datetime,
) -> str:
    """Return the file for `memories`, their access entries by id, and what dreams noted in the diary."""
    reflections = [entry.day for entry in dreamt if entry.type == REFLECTION]
    merges = sum(entry.type == MERGE for entry in dreamt)
    head = (
        f"{_HEAD}> Last updated: {zone.day(now)} | Last reflection: {max(reflections, default='never')}"
        f" | Total reflections: {len(reflections)}\n"
    )
    parts = {
        "Themes\nTop tag co-occurrences revealing recurring themes:": _themes(memories),
        "Cross-Project Patterns\nTags that span multiple projects:": _patterns(projects),
        "Most Accessed\nTop 10 memories by access count:": _accessed(memories, state),
        "Recent Insights\nInsight-type memories:": _insights(memories),
        "Consolidation History": [f"- Total merges performed: {merges}\n"],
    }
    return head + "".join(f"\n## {title}\n\n{''.join(lines) or _NONE}" for title, lines in parts.items())


def _dreamt(root: Path) -> list[Episode]:
    """Return what dreams noted in the diary of the store at `root`."""
    found: list[Episode] = []
    for day in days(root):
        try:
            found += [entry for entry in read_day(root, day) if entry.type in (MERGE, REFLECTION)]
        except (OSError, StoreError):
            # `reverie day` names a page that can't be read; the others still count.
            continue
    return found


def _without_time(page: str) -> str:
    start, _, rest = page.partition(" | ")
    return start.partition(">")[0] + rest


def _link(memory: Memory) -> str:
    return f"[{inert(memory.headline)}]({link_target(memory.path)})"


# -- themes -------------------------------------------------------------------------------------------


def _themes(memories: Sequence[Memory]) -> list[str]:
    pairs: dict[tuple[str, str], set[int]] = {}
    for number, memory in enumerate(memories):
        for pair in combinations(sorted({*memory.tags}), 2):
            pairs.setdefault(pair, set()).add(number)
    best = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))[:_PAIRS]
    themes = sorted(_joined(best), key=lambda item: (-len(item[1]), item[0]))[:_THEMES]
    lines = []
    for tags, numbers in themes:
        found = sorted((memories[n] for n in numbers), key=lambda item: (-item.importance, item.path))
        titles = ", ".join(f'"{_title(memory)}"' for memory in found[:_TITLES])
        named = inert(" + ".join(tags[:_TAGS]))
        lines.append(f"- **{named}**: {count(len(numbers), 'memory', 'memories')} ({titles})\n")
    return lines


def _joined(
    pairs: Sequence[tuple[tuple[str, str], set[int]]],
) -> list[tuple[tuple[str, ...], set[int]]]:
    """Return `pairs` of tags with their memories as themes: those that tell of much the same are one."""
    parent = [*range(len(pairs))]

    def root_of(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for (first, (tags, found)), (other, (more_tags, more)) in combinations(enumerate(pairs), 2):
        if {*tags} & {*more_tags} and len(found & more) >= _SHARED * len(found | more):
            parent[root_of(other)] = root_of(first)
    groups: dict[int, list[int]] = {}
    for number in range(len(pairs)):
        groups.setdefault(root_of(number), []).append(number)
    return [
        (
            tuple(dict.fromkeys(tag for number in numbers for tag in pairs[number][0])),
            set[int]().union(*(pairs[number][1] for number in numbers)),
        )
        for numbers in groups.values()
    ]


def _title(memory: Memory) -> str:
    title = inert(memory.shown_title)
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 3].rstrip()}..."


# -- the other sections -------------------------------------------------------------------------------


def _patterns(projects: Mapping[str, Counter[str]]) -> list[str]:
    spans: dict[str, list[tuple[int, str]]] = {}
    for project, tags in projects.items():
        for tag, number in tags.items():
            spans.setdefault(tag, []).append((-number, project))
    wide = sorted(
        ((tag, sorted(found)) for tag, found in spans.items() if len(found) > 1),
        key=lambda item: (-len(item[1]), sum(number for number, _ in item[1]), item[0]),
    )
    lines = []
    for tag, found in wide[:_PATTERNS]:
        counts = ", ".join(f"{inert(name)} ({-number})" for number, name in found)
        lines.append(f"- **{inert(tag)}**: appears in {counts}\n")
    return lines


def _accessed(memories: Sequence[Memory], state: Mapping[str, dict[str, Any]]) -> list[str]:
    counted = []
    for memory in memories:
        number = (state.get(memory.id) or {}).get("access_count")
        if isinstance(number, int) and number > 0:
            counted.append((-number, memory.path, memory))
    best = sorted(counted, key=lambda item: item[:2])[:_MOST]
    return [
        f"{rank}. {_link(memory)} - {count(-number, 'access', 'accesses')}\n"
        for rank, (number, _, memory) in enumerate(best, start=1)
    ]


def _insights(memories: Sequence[Memory]) -> list[str]:
    found = sorted(
        (memory for memory in memories if memory.type == "insight"),
        key=lambda memory: (-(memory.created.timestamp() if memory.created else 0.0), memory.path),
    )
    return [f"- {_link(memory)} - {_preview(memory)}\n" for memory in found[:_INSIGHTS]]


def _preview(memory: Memory) -> str:
    words = " ".join(memory.body.split())
    return inert(words if len(words) <= _PREVIEW else f"{words[:_PREVIEW].rstrip()}...")
