"""``.reverie/cues.json``: phrases by which memories are searched that have none of their own.

    {"version": 1, "cues": {"user_role.md": {"text": "<16 hex digits>", "phrases": ["who am I", …]}}}

Extraction writes cues into a memory's front matter. Older memories, and files that are not ours, get theirs
here: no file is rewritten for the sake of search. Those of a text that changed since are not used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.ids import digest
from pipeline.domain.cues import fitting
from pipeline.domain.memory import Memory
from pipeline.store.files.layout import MAX_DERIVED, PRIVATE, read_regular

FILE = "cues.json"
_VERSION = 1


def text_digest(memory: Memory) -> str:
    """Return 16 hex digits of what cues are made from: the one-line description and the body."""
    return digest(f"{memory.description}\x1f{memory.body}")[:16]


def read(root: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return by path the digest of the text and its phrases; empty when the file is missing or unreadable."""
    try:
        held = orjson.loads(read_regular(root / PRIVATE / FILE, MAX_DERIVED)[0])
    except (OSError, ValueError):
        # It can be made again: the next dream asks anew.
        return {}
    entries = held.get("cues") if isinstance(held, dict) else None
    return {
        path: (entry["text"], tuple(entry["phrases"]))
        for path, entry in (entries.items() if isinstance(entries, dict) else ())
        if _is_entry(entry)
    }


def cues_of(memory: Memory, beside: Mapping[str, tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """Return the cues of `memory`: its own, else those that `beside` (see `read`) has of this very text."""
    text, phrases = beside.get(memory.path, ("", ()))
    return fitting(memory.cues or (phrases if text == text_digest(memory) else ()))


def borne_out_before(root: Path) -> int:
    """Return since when (ns) a file may have changed and left its entry; 0 where nobody can tell."""
    try:
        return (root / PRIVATE / FILE).lstat().st_mtime_ns
    except OSError:
        return 0


def write(root: Path, entries: Mapping[str, tuple[str, tuple[str, ...]]], *, newest: int) -> None:
    """Write `entries`, as `read` returns them. Raises OSError.

    Each is that of its file's text, and the last change of all those files was at `newest` (ns).
    """
    held: dict[str, Any] = {
        path: {"text": text, "phrases": list(phrases)} for path, (text, phrases) in sorted(entries.items())
    }
    ensure_dir(root / PRIVATE)
    write_atomic(root / PRIVATE / FILE, orjson.dumps({"version": _VERSION, "cues": held}))
    os.utime(root / PRIVATE / FILE, ns=(newest, newest))


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return False
    phrases = entry.get("phrases")
    return isinstance(phrases, list) and all(isinstance(phrase, str) for phrase in phrases)
