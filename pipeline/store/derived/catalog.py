"""Files made from the memories alone: ``_index.json``, ``CORE.md``, ``.gitignore``.

They can be deleted and made again, identical but for times. Source: schema v3, checklist C-07, C-11, C-13
to C-16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import zone
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import iso, parse_time
from pipeline.core.errors import DocumentError, StoreError
from pipeline.domain.memory import Memory
from pipeline.hooklib.plain import lines_of
from pipeline.store.derived.usage import read_state
from pipeline.store.files import document
from pipeline.store.files.layout import EDGES, MAX_DERIVED, files_in, inside, read_regular
from pipeline.store.files.memory_index import inert, link_target
from pipeline.store.files.scanning import INDEX_JSON, Document

CORE = "CORE.md"
IGNORED = ("_index.json", "_state.json", "_embeddings.json", "_config.json")
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
_ONLY_PINNED = "Patterns & Workflows"
"""Where a pinned memory of a type without a section goes."""


def decay_score(memory: Memory, access: dict[str, Any], now: datetime) -> float:
    """Return importance × e^(−0.03 × days) × usage × type weight, or 999 for a pinned memory.

    Days count from the last access, or from creation when there was none; usage is log2(count + 1), or
    0.5 without any. Times in the future count as now.
    """
    if memory.pinned:
        return VAULT_SCORE
    raw_count = access.get("access_count")
    count = raw_count if isinstance(raw_count, int) and raw_count > 0 else 0
    since = parse_time(access.get("last_accessed")) or memory.created or memory.updated
    days = max(0.0, (now - since).total_seconds() / 86_400) if since else 0.0
    usage = math.log2(count + 1) if count else 0.5
    return memory.importance * math.exp(-_DECAY * days) * usage * memory.type_row.weight


def band(score: float) -> str:
    """Return the band of a decay score: active, fading, dormant or archived."""
    for least, name in ((0.5, "active"), (CORE_LEAST, "fading"), (0.05, "dormant")):
        if score >= least - _TOLERANCE:
            return name
    return "archived"


def write_index_json(root: Path, documents: Sequence[Document], now: datetime) -> bool:
    """Write ``_index.json`` if anything but its time would change; True if it was written."""
    entries: dict[str, Any] = {}
    for item in documents:
        key = item.id if item.id and item.id not in entries else f"path:{item.path}"
        entries[key] = item.to_entry()
        item.cached = True
    body = {"count": len(documents), "edges": _edges(root), "entries": entries}
    options = orjson.OPT_NON_STR_KEYS
    new = orjson.dumps({"version": 2, "updated": iso(now), **body}, default=str, option=options)
    old = _read(root / INDEX_JSON)
    if old is not None and _after_time(old) == _after_time(new):
        return False
    write_atomic(root / INDEX_JSON, new)
    return True


def write_core(root: Path, documents: Sequence[Document], now: datetime) -> bool:
    """Write ``CORE.md`` if its lists changed; True if it was written."""
    new = core_text([item.head for item in documents], read_state(root), now).encode("utf-8", "replace")
    old = _read(root / CORE)
    if old is not None and old.partition(b"\n\n##")[2] == new.partition(b"\n\n##")[2]:
        return False
    write_atomic(root / CORE, new)
    return True


def core_text(memories: Sequence[Memory], state: dict[str, dict[str, Any]], now: datetime) -> str:
    """Return ``CORE.md``: the memories with a score of at least 0.2, best first, 15 a section."""
    scored = sorted(
        ((decay_score(memory, state.get(memory.id) or {}, now), memory) for memory in memories),
        key=lambda pair: (-pair[0], pair[1].path),
    )
    alive = [memory for score, memory in scored if score >= CORE_LEAST - _TOLERANCE]
    head = (
        "# Memory Core (auto-generated)\n"
        f"> Last updated: {zone.day(now)} | Active memories: {len(alive)}/{len(memories)} (score 0.2 or more)"
        " | Next refresh: daily\n"
    )
    by_section: dict[str, list[Memory]] = {section: [] for section in _SECTIONS}
    for memory in alive:
        section = _section(memory)
        if section:
            by_section[section].append(memory)
    parts = [head]
    room = CORE_CHARS - len(head)
    for section, members in by_section.items():
        lines = [f"\n## {section}\n"]
        room -= len(lines[0])
        for memory in members[:CORE_PER_SECTION]:
            tags = f" ({inert(', '.join(memory.tags))})" if memory.tags else ""
            line = f"- [{inert(memory.headline)}]({link_target(memory.path)}){tags}\n"
            if len(line) > room:
                break
            room -= len(line)
            lines.append(line)
        parts.append("".join(lines))
    return "".join(parts)


def write_gitignore(root: Path) -> bool:
    """Make sure ``.gitignore`` names the four derived files; other lines stay. True if written."""
    file = root / ".gitignore"
    old = _read(file) or b""
    have = {line.strip() for line in lines_of(old.decode("utf-8", "replace"))}
    missing = [name for name in IGNORED if name not in have]
    if not missing:
        return False
    gap = b"\n" if old and not old.endswith(b"\n") else b""
    write_atomic(file, old + gap + "".join(f"{name}\n" for name in missing).encode())
    return True


def _section(memory: Memory) -> str:
    for section, types in _SECTIONS.items():
        if memory.type_row.name in types:
            return section
    return _ONLY_PINNED if memory.pinned else ""


def _edges(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (root / "graph").is_symlink():
        return found
    for path, _ in files_in(root, EDGES, []):
        try:
            _, front = document.load(read_regular(inside(root, path))[0], path)
        except (DocumentError, FileNotFoundError, StoreError):
            # `reverie doctor` reports it; an index without that edge is still right about the others.
            continue
        if front.get("id"):
            keys = ("type", "from_id", "to_id", "strength")
            found[str(front["id"])] = {**{key: front.get(key) for key in keys}, "path": path}
    return found


def _read(file: Path) -> bytes | None:
    try:
        return read_regular(file, MAX_DERIVED)[0]
    except FileNotFoundError:
        return None


def _after_time(raw: bytes) -> bytes:
    """Return index bytes without the version and time they begin with."""
    return raw[raw.find(b'"count"') :]
