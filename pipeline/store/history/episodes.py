"""The daily log ``episodes/YYYY-MM-DD.md``: entries are added at the end and never changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import StoreError
from pipeline.core.ids import digest
from pipeline.hooklib.plain import well_formed
from pipeline.store.file_operations import WriteFile
from pipeline.store.files.document import without_line_breaks
from pipeline.store.files.layout import EPISODES, MAX_DERIVED, check_path, inside, read_regular
from pipeline.text.dates import DAY, parse_day

_TIME = re.compile(r"\d\d:\d\d")
_HEAD = re.compile(r"^## (?P<time>\d\d:\d\d) - (?P<title>.*)$", re.MULTILINE)
_FIELD = re.compile(r"^- \*\*(?P<field>Type|Tags|Memory|Summary):\*\* (?P<value>.*)$", re.MULTILINE)
_LINK = re.compile(r"\]\(\.\./(?P<path>[^)]+)\)")
_RUN = re.compile(r"<!-- run:(?P<run>\S+) -->")


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


@dataclass(frozen=True, slots=True)
class Episode:
    """One entry of the log: the local `day` and `time` as written there, what it says, the run it is of.

    `memory` is the path of the memory it links to, relative to the store; any text may be empty.
    """

    day: str
    time: str
    title: str
    type: str = ""
    tags: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    memory: str = ""
    run: str = ""


def days(root: Path) -> list[str]:
    """Return the days that have a log in the store at `root`, the newest first; of what is no file, none."""
    folder = root / EPISODES
    if folder.is_symlink() or not folder.is_dir():
        return []
    pages = (file for file in folder.glob("*.md") if file.is_file() and not file.is_symlink())
    return sorted((page.stem for page in pages if parse_day(page.stem)), reverse=True)


def read_day(root: Path, date: str) -> list[Episode]:
    """Return the entries of the log for `date`, in their order; none without a log.

    What a person wrote between them is passed over. Raises StoreError when `date` is no date, OSError when
    the log can't be read.
    """
    try:
        raw = read_regular(inside(root, episode_path(date)), MAX_DERIVED)[0]
    except FileNotFoundError:
        return []
    heads = [*_HEAD.finditer(text := raw.decode("utf-8", "replace"))]
    ends = [*(head.start() for head in heads), len(text)][1:]
    return [_episode(date, head, text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def _episode(date: str, head: re.Match[str], text: str) -> Episode:
    fields: dict[str, list[str]] = {}
    for match in _FIELD.finditer(text):
        fields.setdefault(match["field"].lower(), []).append(match["value"].strip())
    link = _LINK.search(" ".join(fields.get("memory", ())))
    run = _RUN.search(text)
    return Episode(
        date,
        head["time"],
        head["title"].strip(),
        " ".join(fields.get("type", ())),
        tuple(tag.strip() for tag in ",".join(fields.get("tags", ())).split(",") if tag.strip()),
        tuple(fields.get("summary", ())),
        link["path"] if link else "",
        run["run"] if run else "",
    )
