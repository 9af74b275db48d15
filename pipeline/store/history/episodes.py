"""The daily log ``episodes/YYYY-MM-DD.md``: entries are added at the end and never changed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.errors import StoreError
from pipeline.core.ids import digest
from pipeline.hooklib.plain import well_formed
from pipeline.store.file_operations import WriteFile
from pipeline.store.files.document import without_line_breaks
from pipeline.store.files.layout import EPISODES, check_path
from pipeline.text.dates import DAY

_TIME = re.compile(r"\d\d:\d\d")


def episode_path(date: str) -> str:
    """Return the path of the log for `date` (``2026-11-27``); StoreError when it is no date."""
    if not DAY.fullmatch(date):
        raise StoreError(f"{date!r} is no date", fix="Give it as YYYY-MM-DD.")
    return check_path(f"{EPISODES}/{date}.md", suffix=".md")


def marker_line(marker: str) -> str:
    """Return the comment that says which run wrote an entry."""
    return f"<!-- run:{re.sub(r'[^A-Za-z0-9_.:-]', '-', marker).replace('--', '-')} -->"


def with_entry(
    current: bytes | None,
    *,
    date: str,
    time: str,
    title: str,
    type_name: str,
    tags: Sequence[str],
    link: str,
    summary: Sequence[str],
    marker: str,
) -> WriteFile | None:
    """Return the log for `date` with one more entry, or None when `marker` is in it already.

    `current` are the log's present bytes, None without a log; `time` is ``HH:MM``; `link` is a
    memory's path relative to the store, or empty; each line of `summary` is one bullet.
    """
    path = episode_path(date)
    if not _TIME.fullmatch(time):
        raise StoreError(f"{time!r} is no time of day", fix="Give it as HH:MM.")
    entry_line = marker_line(marker)
    before = current or f"# {date}\n".encode()
    if entry_line.encode() in before:
        return None
    lines = [
        f"## {time} - {without_line_breaks(title)}",
        entry_line,
        f"- **Type:** {without_line_breaks(type_name)}",
    ]
    if tags:
        lines.append(f"- **Tags:** {', '.join(without_line_breaks(tag) for tag in tags)}")
    if link:
        name = link.rsplit("/", 1)[-1].removesuffix(".md")
        lines.append(f"- **Memory:** [{name}](../{link})")
    lines += [f"- **Summary:** {without_line_breaks(line)}" for line in summary]
    gap = b"\n" if before.endswith(b"\n") else b"\n\n"
    data = before + gap + well_formed("\n".join(lines) + "\n").encode()
    return WriteFile(path, data, None if current is None else digest(current))
