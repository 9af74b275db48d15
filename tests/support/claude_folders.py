"""The folders of `fixtures/audit`: memory folders as Claude Code leaves them, with their projects."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.hooklib.places import sanitise

ROOT = Path(__file__).resolve().parents[2] / "fixtures" / "audit"
HALVES = ("looked_at", "held_back")
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
"""The day on which the folders are looked at; the newest file is a few days older."""
TREE = "tree.txt"
"""Beside the memories: the files of the project, one path a line."""

UNREADABLE = {
    ("law_office", "project_krause_client.md"),
    ("law_office", "project_krause_expert.md"),
    ("radio_station", "project_la_plaza_fest.md"),
    ("radio_station", "project_talkshow_live.md"),
}
"""Folder and file of what the client's own reader makes nothing of: text behind a quoted value."""


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of one file or of two: `kind` says what it is, or what it only looks like."""

    folder: str
    kind: str
    files: tuple[str, ...]
    what: str


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A project with empty files as its tree says, and its memory folder where Claude Code has it."""

    project: Path
    memory: Path


def names(half: str) -> list[str]:
    """Return the folders of `half` in order."""
    return sorted(entry.name for entry in (ROOT / half).iterdir() if entry.is_dir())


def every_folder() -> list[tuple[str, str]]:
    """Return half and name of each folder."""
    return [(half, name) for half in HALVES for name in names(half)]


def labels(half: str) -> list[Label]:
    """Return what is known of the files of `half`."""
    lines = (ROOT / half / "labels.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Label(row["folder"], row["kind"], tuple(row["files"]), row["what"]) for row in rows]


def lay_out(half: str, name: str, place: Path, *, config: Path | None = None) -> LaidOut:
    """Copy folder `name` of `half`, byte for byte, to where the client with folder `config` would have it.

    `place` is an existing directory; the project is made in it, and the client's folder too unless it is
    named.
    """
    source = ROOT / half / name
    project = place / name
    project.mkdir()
    (project / ".git").mkdir()
    for line in (source / TREE).read_text("utf-8").splitlines():
        if line.strip():
            file = project / line.strip()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    folder = sanitise(str(project.resolve()))
    memory = (config or place / "claude") / "projects" / folder / "memory"
    shutil.copytree(source, memory, ignore=shutil.ignore_patterns(TREE), dirs_exist_ok=True)
    return LaidOut(project, memory)
