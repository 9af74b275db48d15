"""The daily log ``episodes/YYYY-MM-DD.md``: entries are added at the end and never changed.

Each is a heading with the local time and bullets below it, as schema v3 has it. Between the two earlier
versions wrote a comment with the id of the run; such entries are read as before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from pipeline.core import zone
from pipeline.core.errors import StoreError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.hooklib.plain import well_formed
from pipeline.store.file_operations import WriteFile
from pipeline.store.files.document import without_line_breaks
from pipeline.store.files.layout import EPISODES, GRAPH, MAX_DERIVED, check_path, inside, read_regular
from pipeline.text.dates import DAY, parse_day

MERGE, REFLECTION = "merge", "reflection"
"""Types of entries that a dream writes: one for each merge, and one for all that it did."""
RESERVED = frozenset({MERGE, REFLECTION})
_TIME = re.compile(r"\d\d:\d\d")
_HEAD = re.compile(r"^## (?P<time>\d\d:\d\d) - (?P<title>.*)$", re.MULTILINE)
_FIELD = re.compile(r"^- \*\*(?P<field>Type|Tags|Memory|Summary):\*\* (?P<value>.*)$", re.MULTILINE)
_LINK = re.compile(r"\]\(\.\./(?P<path>[^)]+)\)")
_ID_END = re.compile(r"(?<=.)-[0-9a-z]{6}$")
_RUN = re.compile(r"<!-- run:(?P<run>\S+) -->")


def episode_path(date: str) -> str:
    """Return the path of the log for `date` (``2026-11-27``); StoreError when it is no date."""
    if not DAY.fullmatch(date):
        raise StoreError(f"{date!r} is no date", fix="Give it as YYYY-MM-DD.")
    return check_path(f"{EPISODES}/{date}.md", suffix=".md")


@dataclass(frozen=True, slots=True)
class Episode:
    """One entry of the log: the local `day` and `time` as written there, what it says, the run it is of.

    `memory` is the path of the memory it links to, relative to the store; any text may be empty. Only earlier
    versions noted the `run`.
    """

    day: str
    time: str
    title: str
    type: str = ""
    tags: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    memory: str = ""
    run: str = ""

    @classmethod
    def about(cls, memory: Memory, path: str, at: datetime) -> Self:
        """Return the entry that says that `memory`, in the file at `path`, was written at the moment `at`."""
        return cls.of(
            at,
            memory.shown_title,
            memory.type,
            tags=memory.tags,
            summary=(memory.description,) if memory.description else (),
            memory=path,
        )

    @classmethod
    def of(
        cls,
        at: datetime,
        title: str,
        type_name: str,
        *,
        tags: Sequence[str] = (),
        summary: Sequence[str] = (),
        memory: str = "",
    ) -> Self:
        """Return an entry of the moment `at`, on the day and at the time that the person's clock shows."""
        day, _, time = zone.minute(at).partition(" ")
        return cls(day, time, title, type_name, tuple(tags), tuple(summary), memory)


def with_entries(current: bytes | None, entries: Sequence[Episode]) -> WriteFile | None:
    """Return the log with `entries`, all of one day, at its end; None when it has them all already.

    `current` are the log's present bytes, None without a log. Raises StoreError for an odd day or time.
    """
    if not entries:
        return None
    path = episode_path(entries[0].day)
    data = before = current or f"# {entries[0].day}\n".encode()
    for entry in entries:
        if not _TIME.fullmatch(entry.time):
            raise StoreError(f"{entry.time!r} is no time of day", fix="Give it as HH:MM.")
        text = _written(entry)
        if b"\n" + text + b"\n" not in data + b"\n":
            data += (b"\n" if data.endswith(b"\n") else b"\n\n") + text
    if data == before:
        return None
    return WriteFile(path, data, None if current is None else digest(current))


def _written(entry: Episode) -> bytes:
    lines = [
        f"## {entry.time} - {without_line_breaks(entry.title)}",
        f"- **Type:** {without_line_breaks(entry.type)}",
    ]
    if entry.tags:
        lines.append(f"- **Tags:** {', '.join(map(without_line_breaks, entry.tags))}")
    if entry.memory:
        lines.append(f"- **Memory:** [{_link_text(entry.memory)}](../{entry.memory})")
    lines += [f"- **Summary:** {without_line_breaks(line)}" for line in entry.summary]
    return well_formed("\n".join(lines) + "\n").encode()


def _link_text(path: str) -> str:
    """Return what the link to the memory at `path` says: its name, without the id that ends it in a graph."""
    name = path.rpartition("/")[2].removesuffix(".md")
    return _ID_END.sub("", name) if path.startswith(f"{GRAPH}/") else name


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
