"""``REFLECTION.md``: what the memories are about, and what the dreams have done to them (checklist C-17).

Derived: from the memories, the access counts and the dreams' reports under ``<home>/reports``. Patterns
across projects are left out, since a dream sees one project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import zone
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.domain.memory import Memory
from pipeline.store import Document, Store
from pipeline.store.derived.usage import read_state
from pipeline.store.files.layout import MAX_DERIVED, read_regular
from pipeline.store.files.memory_index import inert, link_target

FILE = "REFLECTION.md"
_HEAD = "# Memory Reflection (auto-generated)\n"
_THEMES = 8
_TITLES = 3
"""Titles named for one theme."""
_MOST = 10
_INSIGHTS = 10
_DREAMS = 20
_PREVIEW = 80
"""Characters of a memory's text."""


def write(store: Store, live: Sequence[Document], home: Path, now: datetime) -> bool:
    """Write ``REFLECTION.md`` if more than its times would change; True if it was written.

    `live` are the documents of `store` as they are now. A file of that name which somebody else wrote stays
    as it is.
    """
    file = store.root / FILE
    try:
        old = read_regular(file, MAX_DERIVED)[0].decode("utf-8", "replace")
    except FileNotFoundError:
        old = _HEAD
    except StoreError:
        return False
    if not old.startswith(_HEAD):
        return False
    new = text([item.head for item in live], read_state(store.root), [*_reports(home, str(store.path))], now)
    if old.partition("\n\n")[2] == new.partition("\n\n")[2]:
        return False
    write_atomic(file, new.encode("utf-8", "replace"))
    return True


def text(
    memories: Sequence[Memory], state: dict[str, dict[str, Any]], reports: list[dict[str, Any]], now: datetime
) -> str:
    """Return the file for `memories`, their access entries by id, and the JSON reports of past dreams."""
    reports = sorted(reports, key=lambda report: str(report["at"]), reverse=True)
    last = zone.day(reports[0]["at"]) if reports else "never"
    sections = {
        "Themes": _themes(memories),
        "Most Accessed": _accessed(memories, state),
        "Recent Insights": _insights(memories),
        "Consolidation History": _history(reports),
    }
    parts = [
        f"{_HEAD}> Last updated: {zone.day(now)} | Last reflection: {last} | Reflections: {len(reports)}\n"
    ]
    for title, lines in sections.items():
        parts += [f"\n## {title}\n", *(f"- {line}\n" for line in lines or ["none yet"])]
    return "".join(parts)


def _reports(home: Path, store: str) -> Iterator[dict[str, Any]]:
    """Yield the reports of dreams in `store` that found something to do."""
    for file in sorted(Home(home).reports.glob("*.json")):
        try:
            report = orjson.loads(file.read_bytes())
        except (OSError, ValueError):
            # A report that can't be read any more counts nothing; nothing else hangs on it.
            continue
        if (
            isinstance(report, dict)
            and report.get("store") == store
            and isinstance(report.get("actions"), list)
            and any(report.get(key) for key in ("actions", "refused", "failed", "reason"))
        ):
            yield {**report, "at": str(report.get("at", ""))}


def _link(memory: Memory) -> str:
    return f"[{inert(memory.headline)}]({link_target(memory.path)})"


def _themes(memories: Sequence[Memory]) -> list[str]:
    pairs: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        for pair in combinations(sorted({*memory.tags}), 2):
            pairs.setdefault(pair, []).append(memory)
    best = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))[:_THEMES]
    return [
        f"{inert(' + '.join(pair))} ({len(found)}): {', '.join(map(_link, found[:_TITLES]))}"
        for pair, found in best
    ]


def _accessed(memories: Sequence[Memory], state: dict[str, dict[str, Any]]) -> list[str]:
    counts: Counter[str] = Counter()
    by_path = {memory.path: memory for memory in memories}
    for memory in memories:
        count = (state.get(memory.id) or {}).get("access_count")
        if isinstance(count, int) and count > 0:
            counts[memory.path] = count
    best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
    return [f"{_link(by_path[path])}: {count}" for path, count in best]


def _insights(memories: Sequence[Memory]) -> list[str]:
    found = sorted(
        (memory for memory in memories if memory.type == "insight"),
        key=lambda memory: (-(memory.created.timestamp() if memory.created else 0.0), memory.path),
    )
    return [f"{_link(memory)}: {inert(memory.description[:_PREVIEW])}" for memory in found[:_INSIGHTS]]


def _history(reports: list[dict[str, Any]]) -> list[str]:
    did = [(zone.day(report["at"]), Counter(_operations(report))) for report in reports]
    merges = sum(counts["merge"] for _, counts in did)
    lines = [
        f"{day}: {', '.join(f'{count} {op}' for op, count in sorted(counts.items()))}"
        for day, counts in did
        if counts
    ]
    return [f"Memories merged: {merges}; dreams: {len(reports)}", *lines[:_DREAMS]] if reports else []


def _operations(report: dict[str, Any]) -> Iterator[str]:
    for action in report["actions"]:
        if isinstance(action, dict) and isinstance(action.get("op"), str):
            yield action["op"]
