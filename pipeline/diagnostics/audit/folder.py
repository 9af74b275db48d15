"""Reading a folder of memories as it is, whoever wrote it: bounded, through no link, with nothing written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core.errors import DocumentError, StoreError, UnsettledError
from pipeline.domain.finding import Finding, Level
from pipeline.domain.memory import Memory
from pipeline.hooklib import front_matter
from pipeline.hooklib.memory_format import (
    NOT_MEMORIES,
    decoded,
    is_hidden_file,
    odd_name,
    split_front_matter,
)
from pipeline.safety.invisible import visible_name
from pipeline.store.files import document, memory_index
from pipeline.store.files.layout import INDEX, OVERFLOW, read_regular
from pipeline.store.soundness import INDEX_ENCODING, ODD_NAME, RENAME

MAX_FILES = 20_000
_APART = ("archive", "episodes", "graph/edges", "logs")
"""Folders whose files no session is shown: the archive, the diary, relations, logs."""


@dataclass(frozen=True, slots=True)
class File:
    """One memory file: its text, where its body begins (line, from 1), and the memory if it can be read.

    `front` is its front matter, None where it has none; `mtime` is in epoch seconds.
    """

    path: str
    text: str
    body_line: int
    front: dict[str, Any] | None
    memory: Memory | None
    mtime: float

    @property
    def body(self) -> str:
        """Return the text below the front matter."""
        return self.memory.body if self.memory else self.text

    def given(self, key: str) -> str:
        """Return what the front matter has for `key`, at its top or under ``metadata``; "" for nothing."""
        return str(front_matter.field(self.front or {}, key) or "").strip()

    def line_of(self, part: str) -> int:
        """Return the line of the file on which `part` first stands, 0 when it does not."""
        at = self.text.find(part)
        return self.text.count("\n", 0, at) + 1 if part and at >= 0 else 0

    def dated(self) -> datetime | None:
        """Return the day its front matter gives: changed, else made."""
        return (self.memory.updated or self.memory.created) if self.memory else None


@dataclass(slots=True)
class Folder:
    """All memory files in path order, the texts of MEMORY.md and its overflow page, what can't be read."""

    root: Path
    files: list[File] = field(default_factory=list)
    index: str | None = None
    overflow: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def memories(self) -> list[File]:
        """Return the files that can be read as a memory."""
        return [file for file in self.files if file.memory is not None]


def read(root: Path) -> Folder:
    """Return what `root`, an existing directory, holds."""
    folder = Folder(root)
    for number, path in enumerate(_paths(root, folder.findings)):
        if number == MAX_FILES:
            message = f"more than {MAX_FILES:,} files; the rest was not looked at"
            folder.findings.append(
                Finding("warning", "too-many", message, "Audit a smaller folder.", path=".")
            )
            break
        _take(folder, path)
    return folder


def _paths(root: Path, findings: list[Finding]) -> Iterator[str]:
    for here, folders, names in os.walk(root):
        at = Path(here).relative_to(root).as_posix().removeprefix(".")
        start = f"{at}/" if at else ""
        for name in sorted([*folders, *names]):
            if (Path(here) / name).is_symlink() and not name.startswith("."):
                fix = "Replace the link by the file it names."
                shown = visible_name(start + name)
                findings.append(Finding("warning", "link", "a link; it is not followed", fix, path=shown))
                if name in folders:
                    folders.remove(name)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and start + f not in _APART)
        for name in sorted(names):
            file = Path(here) / name
            if name.endswith(".md") and not name.startswith("._") and not file.is_symlink():
                yield start + name


def _first_odd_byte(raw: bytes) -> int:
    """Return where `raw` stops being UTF-8, -1 when it does not, or is UTF-16 by its mark."""
    if raw.startswith(b"\xff\xfe"):
        return -1
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _take(folder: Folder, path: str) -> None:
    shown = visible_name(path)
    reason = next(filter(None, map(odd_name, path.split("/"))), "")
    if reason:
        level: Level = "note" if is_hidden_file(path) else "warning"
        folder.findings.append(Finding(level, ODD_NAME, reason, RENAME, path=shown))
    if is_hidden_file(path):
        return
    try:
        raw, stamp = read_regular(folder.root / path)
    except (OSError, StoreError) as error:
        cause = error.args[0] if isinstance(error, StoreError) else error.strerror
        fix = "Make the file readable, or move it out."
        folder.findings.append(Finding("error", "unreadable", f"can't be read: {cause}", fix, path=shown))
        return
    text = decoded(raw)
    odd = _first_odd_byte(raw)
    unreadable = memory_index.unreadable(raw) if path == INDEX else None
    if unreadable:
        line, message = unreadable
        fix = memory_index.SAVE_AS_UTF_8
        folder.findings.append(Finding("error", INDEX_ENCODING, message, fix, path=shown, line=line))
    elif odd >= 0:
        message = "bytes that are not UTF-8, which are shown as \ufffd"
        line = raw.count(b"\n", 0, odd) + 1
        fix = "Save the file as UTF-8."
        folder.findings.append(Finding("warning", "encoding", message, fix, path=shown, line=line))
    if path in (INDEX, OVERFLOW):
        folder.index, folder.overflow = (text, folder.overflow) if path == INDEX else (folder.index, text)
        return
    if path.lower() in NOT_MEMORIES:
        return
    memory: Memory | None = None
    front: dict[str, Any] | None = None
    body_line = 1
    try:
        fenced, below = split_front_matter(text)
        body_line = text.count("\n", 0, len(text) - len(below)) + 1
        memory, given = document.load(raw, path)
        front = None if fenced is None else given
    except UnsettledError:
        pass  # `files.unsettled` tells of each conflict.
    except DocumentError as error:
        message = str(error.args[0]).removeprefix("front matter: ")
        fix = error.fix.partition(";")[0].rstrip(".") + "."
        folder.findings.append(
            Finding("error", "front-matter", message, fix, path=shown, line=error.line or 0)
        )
    folder.files.append(File(shown, text, body_line, front, memory, stamp.mtime_ns / 1e9))
