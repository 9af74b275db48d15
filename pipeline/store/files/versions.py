"""Versions of derived files: one newer than ours is left alone, and nothing beside it is written."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import system
from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.errors import StoreError
from pipeline.core.ids import digest
from pipeline.hooklib.places import PRIVATE
from pipeline.store.files.layout import MAX_DERIVED, read_regular

VECTORS = "_embeddings.json"
STORE_CONFIG = "_config.json"
"""What a store says of its vectors: who makes them, with which models."""
OURS = {"_index.json": 2, "_state.json": 1}
"""The version that we read and write of each."""
ENTRIES = frozenset({"entries", "updated", "count", "edges"})
"""Keys of which a derived file has one beside its version; a file without is another program's."""
LOG = logging.getLogger("reverie.store")
_DAMAGED = "damaged"
"""The folder of what was damaged, among what Reverie keeps for itself."""
_HEAD = 400
_LEAST = 2
"""Characters that a file must have to be anybody's."""
_MADE = re.compile(
    rb'\A\s*\{\s*"version"\s*:\s*[-\w."]{1,20}\s*(?:,\s*"(?:updated|count|entries|edges|provider)"|\Z|\})'
)
_SAID = re.compile(rb'\A\s*\{\s*"version"\s*:\s*(?P<version>-?\d{1,9})\s*[,}]')


class NewerVersionError(StoreError):
    """A derived file was written by a newer version of its format."""


def newer_than(ours: int, held: Any) -> str:
    """Return in words that `held` is of a higher version than `ours`, "" where it is not."""
    version = held.get("version") if isinstance(held, dict) else None
    text = str(version).strip().partition(".")[0]
    if isinstance(version, bool) or not text.isdecimal() or int(text[:9]) <= ours:
        return ""
    return f"it is of version {version}, and this Reverie knows version {ours}"


def require_version(file: Path, held: Any, ours: int) -> None:
    """Raise NewerVersionError where `held`, which stands in `file`, is of a higher version than `ours`."""
    newer = newer_than(ours, held)
    if not newer:
        return
    lost = " (access counts are lost with it)" if file.name == "_state.json" else ""
    fix = f"Update Reverie; or move the file away, and it is made anew{lost}."
    raise NewerVersionError(newer, file=str(file), fix=fix)


def is_anothers(file: Path) -> bool:
    """Whether `file` has the name of a derived file, and another program's content.

    One that is missing or empty is nobody's, and neither is what is no JSON, cut off or overwritten: it is
    made anew.
    """
    try:
        head = _head_of(file)
        if len(head.strip()) < _LEAST or _MADE.match(head):
            return False
        held = orjson.loads(read_regular(file, MAX_DERIVED)[0])
    except (OSError, StoreError):
        return False  # Whoever reads or writes it says so.
    except ValueError:
        return False  # What is no JSON at all is damage, whoever wrote it.
    if not isinstance(held, dict):
        return bool(held)
    return bool(held.keys() - {"version"}) and not held.keys() & ENTRIES


def set_aside(root: Path, name: str, raw: bytes) -> None:
    """Keep `raw`, what the derived file `name` of the store at `root` is before it is made anew."""
    kept = ensure_dir(root / PRIVATE / _DAMAGED) / f"{name}.{digest(raw)[:8]}"
    write_atomic(kept, raw)
    LOG.warning("%s was damaged; it is kept as %s, and made anew", root / name, kept)


def set_aside_unread(root: Path, name: str) -> None:
    """Keep the derived file `name` as it is where it is no JSON, and no beginning of one of ours."""
    try:
        raw = read_regular(root / name, MAX_DERIVED)[0]
        orjson.loads(raw)
    except (OSError, StoreError):
        return
    except ValueError:
        if raw.strip(b"\0 \t\r\n") and not raw.lstrip().startswith(b"{"):
            set_aside(root, name, raw)


def were_set_aside(root: Path) -> list[Path]:
    """Return the derived files that were damaged, each as it was found."""
    return sorted((root / PRIVATE / _DAMAGED).glob("_*.json.*"))


def require_ours(root: Path) -> None:
    """Raise NewerVersionError where a derived file of the store at `root` is newer than what we write.

    Only the head of each is read, where that says it.
    """
    for name, ours in OURS.items():
        try:
            found = _SAID.match(_head_of(root / name))
            if found:
                held: Any = {"version": int(found["version"])}
            else:
                held = orjson.loads(read_regular(root / name, MAX_DERIVED)[0])
        except (OSError, StoreError, ValueError):
            continue  # Missing, or damaged: whoever needs it says so, or makes it anew.
        require_version(root / name, held, ours)


def _head_of(file: Path) -> bytes:
    handle = os.open(file, os.O_RDONLY | system.NO_LINK | system.NO_WAIT | system.OPEN)
    try:
        return os.read(handle, _HEAD)
    finally:
        os.close(handle)
