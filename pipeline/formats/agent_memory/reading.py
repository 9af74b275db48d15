"""Reading a file of memories line by line: every line is accounted for, none stops the others.

The first line with an id counts. A line that lacks a field counts with its default; one that is no JSON or
that no default mends is left out and told of by its number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

import orjson

from pipeline.core.clock import SystemClock
from pipeline.core.errors import ReverieError
from pipeline.formats.agent_memory import schema
from pipeline.formats.agent_memory.errors import of_system
from pipeline.formats.agent_memory.layout import kind_of
from pipeline.formats.agent_memory.schema import Record
from pipeline.store.files.layout import read_regular

Trouble = Literal["", "syntax", "schema", "misplaced", "duplicate", "fields", "long"]
"""What is wrong with a line. One of `fields` or `long` counts all the same; the others do not."""
MOST_FILE = 200_000_000
_ID_AT = slice(7, 43)
"""Where the id stands in a line as we write it: behind ``{"id":"``."""
Fingerprint = tuple[int, int]
"""Size and time of a file, by which a change is noticed."""


@dataclass(slots=True)
class Line:
    """One line as it stands: its number from 1, its bytes, the memory in it or None, and what is wrong."""

    number: int
    raw: bytes
    record: Record | None = None
    trouble: Trouble = ""
    why: str = ""

    @property
    def counts(self) -> bool:
        """Whether its memory is one of the file's."""
        return self.record is not None


@dataclass(slots=True)
class Content:
    """A file as it was read: its lines, its memories by id, and whether the last line has its break."""

    file: Path
    fingerprint: Fingerprint = (0, 0)
    lines: list[Line] = field(default_factory=list)
    by_id: dict[str, Line] = field(default_factory=dict)
    ends: bool = True

    @property
    def records(self) -> list[Record]:
        """Return the memories in the order of their lines."""
        return [line.record for line in self.by_id.values() if line.record is not None]

    @property
    def troubles(self) -> list[Line]:
        """Return the lines with which something is wrong."""
        return [line for line in self.lines if line.trouble]


def fingerprint(file: Path) -> Fingerprint:
    """Return what changes when the file does; zeros for none. Raises AgentMemoryError where it can't look."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return (0, 0)
    except OSError as error:
        raise of_system(error, str(file)) from error
    return (stat.st_size, stat.st_mtime_ns)


def read(file: Path, *, now: datetime | None = None) -> Content:
    """Return what `file` holds; nothing for one that is not there.

    Raises AgentMemoryError, by its code, only where the file itself can't be read.
    """
    found = Content(file, fingerprint(file))
    data = bytes_of(file)
    moment, kind = now or SystemClock().now(), kind_of(file)
    found.ends = not data or data.endswith(b"\n")
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if raw.strip():
            line = _read_line(number, raw, kind, moment)
            _enter(found, line)
    return found


def bytes_of(file: Path) -> bytes:
    """Return the bytes of a regular file, none for a missing one."""
    try:
        return read_regular(file, MOST_FILE)[0]
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise of_system(error, str(file)) from error
    except ReverieError as error:
        raise of_system(OSError(5, str(error.args[0])), str(file)) from error


def records_with(file: Path, ids: Collection[str]) -> Iterator[Record]:
    """Yield the memories of `file` whose id is one of `ids`; other lines are not even parsed.

    Only for a file of which an index says that all its lines are sound and as we write them.
    """
    wanted = {ident.encode() for ident in ids}
    for raw in bytes_of(file).split(b"\n"):
        if raw[_ID_AT] in wanted:
            yield orjson.loads(raw)


def parsed(raw: bytes) -> object:
    """Return the JSON in a line; ValueError where there is none."""
    return orjson.loads(raw)


def _read_line(number: int, raw: bytes, kind: str, now: datetime) -> Line:
    line = Line(number, raw)
    try:
        value = parsed(raw)
    except ValueError as error:
        line.trouble, line.why = "syntax", f"no JSON: {error}"
        return line
    if not isinstance(value, dict):
        line.trouble, line.why = "syntax", "no JSON object"
        return line
    wrong = list(schema.faults(value))
    if wrong:
        value, fixed = schema.corrected(value, kind, raw, now)
        left = list(schema.faults(value))
        if left:
            line.trouble, line.why = "schema", "; ".join(left)
            return line
        line.trouble, line.why = "fields", f"filled in: {', '.join(fixed)}"
    if value["type"] != kind:
        line.trouble, line.why = "misplaced", f"a memory of type {value['type']} in the file of type {kind}"
        return line
    if len(raw) > schema.MOST_LINE:
        line.trouble, line.why = "long", f"{len(raw):,} bytes; a line has at most {schema.MOST_LINE:,}"
    line.record = value
    return line


def _enter(found: Content, line: Line) -> None:
    if line.record is not None:
        first = found.by_id.setdefault(line.record["id"], line)
        if first is not line:
            line.why = f"the id {line.record['id']} stands in line {first.number} already, which counts"
            line.record, line.trouble = None, "duplicate"
    found.lines.append(line)


def is_plain(content: Content) -> bool:
    """Whether every line is sound and begins with its id, so that ids can be found unparsed."""
    return content.ends and all(
        not line.trouble and line.record is not None and line.raw[_ID_AT] == line.record["id"].encode()
        for line in content.lines
    )


def merged(record: Record, used: Mapping[str, object] | None) -> Record:
    """Return `record` with its access data as the side file has them, where these are later."""
    if not used:
        return record
    found = dict(record)
    at, number = used.get("accessed_at"), used.get("access_count")
    later, known = schema.moment_of(at), schema.moment_of(record["accessed_at"])
    if later is not None and (known is None or later > known):
        found["accessed_at"] = at
    if isinstance(number, int) and number > record["access_count"]:
        found["access_count"] = number
    return found
