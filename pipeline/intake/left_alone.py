"""Whether a session belongs to a project that a person wants left alone: asked before any of it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from pipeline.hooklib import places, projects
from pipeline.ledger import Ledger, utterances

if TYPE_CHECKING:
    from pipeline.config import Settings

_MOST_BYTES = 64 << 20
"""Bytes of a transcript in which the folder it began in is looked for."""


def why_left_alone(ledger: Ledger, key: str, settings: Settings, *, path: Path | None = None) -> str:
    """Return why the session of source file `key` is left alone, "" when it is not, or may not be.

    What counts is where it began, as for the memory folder; what the ledger does not know of that is looked
    for in the transcript at `path`.
    """
    cwd = utterances.first_cwd(ledger, key) or (began_in(path) if path else "")
    lists = settings.projects
    return projects.why_ignored(cwd, lists.only, lists.ignore) if cwd else ""


def began_in(path: Path) -> str:
    """Return the folder in which the session in the transcript at `path` began, "" where it does not say."""
    try:
        with open(path, "rb", opener=_open) as lines:
            # A pasted picture makes a line of megabytes, and rows that say nothing of a folder come first.
            while (line := lines.readline(_MOST_BYTES)) and lines.tell() <= _MOST_BYTES:
                if cwd := _cwd(line):
                    return cwd
    except (OSError, ValueError):
        return ""  # whoever reads it will say what is wrong with it
    return ""


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | places.OPEN)


def _cwd(line: bytes) -> str:
    if b'"cwd"' not in line:
        return ""
    try:
        record = orjson.loads(line)
    except ValueError:
        return ""
    cwd = record.get("cwd") if isinstance(record, dict) else None
    return cwd if isinstance(cwd, str) and "\0" not in cwd else ""
