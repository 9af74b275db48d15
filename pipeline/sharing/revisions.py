"""What travels: each text that a memory had, as a record of its own, and what was forgotten.

    revisions/<memory>/<name>.json    {"memory", "parents", "machine", "clock", "at", "path", "file", …}
    forgotten/<name>.json             {"name", "reason", "sentences", "day", "lifted", "machine", "clock"}

A record is named by its content and never changes, so two machines never write the same file differently.
The clock of a text is when it was changed, not when it was sent: as far as the machine knows that, never
after its own now, and never before the texts that it was made from. So a text is later than those, also where
clocks are hours apart, and what lay on a machine that was offline for weeks is as old as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

import orjson

from pipeline.core.clock import from_environment
from pipeline.core.errors import DocumentError, InputError, PathEscapeError
from pipeline.core.ids import derived_id, digest
from pipeline.store.files import document
from pipeline.store.files.layout import GRAPH, VAULT, check_path, is_live

REVISIONS, FORGOTTEN = "revisions", "forgotten"
MOST_BYTES = 4_000_000
"""A record that is larger is nobody's memory."""
_RECORD_VERSION = 1
_NAME = 40
_KNOWN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{5,63}")
_MACHINE = re.compile(r"[0-9a-f]{1,32}")
_HASH = re.compile(r"[0-9a-f]{40}")
_MOST_AHEAD_MS = 10 * 366 * 86_400_000
"""A clock may be wrong by hours, months, or years; one that is further ahead would be ahead for ever."""
_EARLIEST_NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""A machine that lost its time is not to take all others for wrong."""
_MOST_COUNT = 2**32

Moment = tuple[int, int]
"""A hybrid clock's time: milliseconds since 1970, and a count of what happened within them."""


def after(seen: Moment, now_ms: int) -> Moment:
    """Return the time of what happens now on a machine that has `seen` that moment."""
    if now_ms > seen[0]:
        return now_ms, 0
    return (seen[0], seen[1] + 1) if seen[1] + 1 < _MOST_COUNT else (seen[0] + 1, 0)


def is_believed(moment: Moment, now: datetime) -> bool:
    """Whether some machine's clock may tell `moment` by `now`. What is not believed, no clock is set by."""
    most = max(now, _EARLIEST_NOW).timestamp() * 1000 + _MOST_AHEAD_MS
    return 0 <= moment[0] <= most and 0 <= moment[1] < _MOST_COUNT


def memory_id(own: str, path: str) -> str:
    """Return how the memory with the id `own` is known everywhere; one without an id is known by its path."""
    if not own:
        return derived_id("shared memory", path)
    return own if _KNOWN_ID.fullmatch(own) else derived_id("shared id", own)


def memory_in(path: str) -> str:
    """Return the memory whose revision lies at `path` in a repository."""
    return path.split("/", 2)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One text of a memory, or that it left (`file` is None).

    `parents` are the names of what it was made from, `path` is where the file lies in a store. `written` says
    that the file went through Reverie's hands on its machine. Of what left, `reason` says why, `heir` is the
    memory that took its path, and `forgotten` that its words are not to come back.
    """

    memory: str
    parents: tuple[str, ...]
    machine: str
    clock: Moment
    at: str
    path: str
    file: str | None
    written: bool = True
    reason: str = ""
    heir: str = ""
    forgotten: bool = False

    folder: ClassVar[str] = REVISIONS

    @property
    def name(self) -> str:
        """Return what names the record: a digest of all it says."""
        return digest(self.data)[:_NAME]

    @property
    def file_name(self) -> str:
        """Return where it lies in the repository."""
        return f"{REVISIONS}/{self.memory}/{self.name}.json"

    @property
    def data(self) -> bytes:
        """Return the bytes of the record."""
        return _dumped(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Return the record with these values. Raises InputError when they are none."""
        values = {**values, "parents": tuple(values["parents"]), "clock": _moment(values["clock"])}
        found = cls(**values)
        texts = (found.memory, found.machine, found.at, found.path, found.reason, found.heir)
        sound = (
            all(isinstance(text, str) for text in (*texts, *found.parents))
            and isinstance(found.file, str | None)
            and isinstance(found.written, bool)
            and isinstance(found.forgotten, bool)
            and _KNOWN_ID.fullmatch(found.memory)
            and _MACHINE.fullmatch(found.machine)
            and all(map(_HASH.fullmatch, found.parents))
        )
        if not sound or not _is_place(found.path):
            raise ValueError("it is no revision of a memory")
        if found.file is not None and found.memory != memory_id(_own_id(found.file, found.path), found.path):
            raise ValueError("its text is that of another memory")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Words that were forgotten, or with `lifted` are not any more, as digests; no word of them is in it."""

    memory_name: str
    reason: str
    sentences: tuple[str, ...]
    day: str
    lifted: bool
    machine: str
    clock: Moment

    folder: ClassVar[str] = FORGOTTEN

    @property
    def name(self) -> str:
        """Return what names the record: a digest of all it says."""
        return digest(self.data)[:_NAME]

    @property
    def file_name(self) -> str:
        """Return where it lies in the repository."""
        return f"{FORGOTTEN}/{self.name}.json"

    @property
    def data(self) -> bytes:
        """Return the bytes of the record."""
        return _dumped(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Return the record with these values. Raises InputError when they are none."""
        values = {**values, "sentences": tuple(values["sentences"]), "clock": _moment(values["clock"])}
        found = cls(**values)
        texts = (found.memory_name, found.reason, found.day, found.machine, *found.sentences)
        if not all(isinstance(text, str) for text in texts) or not isinstance(found.lifted, bool):
            raise ValueError("it is no note of what was forgotten")
        return found


Record = Revision | Note


def read_record(path: str, data: bytes) -> Record:
    """Return the record in `data`, which lies at `path` in a repository.

    Raises InputError for what is none, or stands under a name that is not its own.
    """
    kind: type[Revision] | type[Note] = Revision if path.startswith(f"{REVISIONS}/") else Note
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("it is too large")
        values = orjson.loads(data)
        if not isinstance(values, dict) or values.pop("version", None) != _RECORD_VERSION:
            raise ValueError("it is of another version of Reverie")
        found = kind.of(values)
        if found.file_name != path:
            raise ValueError("its name is not that of its content")
    except (KeyError, TypeError, ValueError, PathEscapeError) as error:
        raise InputError(
            f"a record that can't be used: {error}", file=path, fix="It is passed over; nothing is lost."
        ) from error
    return found


def records_in(files: Iterable[tuple[str, bytes]]) -> tuple[list[Record], dict[str, str]]:
    """Return the records of `files`, and path → line about each that is none."""
    found: list[Record] = []
    odd: dict[str, str] = {}
    for path, data in files:
        try:
            found.append(read_record(path, data))
        except InputError as error:
            odd[path] = str(error)
    return found, odd


def _dumped(record: Record) -> bytes:
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    values["version"] = _RECORD_VERSION
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _own_id(file: str, path: str) -> str:
    """Return the id that `file` gives, "" for none."""
    try:
        return document.parse(file.encode(), path).id
    except DocumentError:
        return ""


def _moment(value: Any) -> Moment:
    ms, count = value
    if not all(isinstance(item, int) for item in (ms, count)):
        raise ValueError("its clock tells no time")
    if not is_believed((ms, count), from_environment().now()):
        raise ValueError("its clock is more than ten years ahead, or tells no time")
    return ms, count


def _is_place(path: str) -> bool:
    """Whether a memory of a store can lie at `path`."""
    check_path(path, suffix=".md")
    folder = path.rpartition("/")[0]
    below = folder.startswith(f"{GRAPH}/") and folder.count("/") == 1
    return is_live(path) and (folder in ("", VAULT) or below)
