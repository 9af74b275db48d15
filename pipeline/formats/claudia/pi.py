"""The sessions of Pi, another coding agent, read as transcripts: nothing is converted on disk.

Each line is turned into the record that Claude Code would have written, and goes the way of those, so that
places in the ledger are those in Pi's own file. A file is read from its first byte each time; what is known
already stays as it is. Both shapes are understood: lines in a row (version 1), and lines that name their
parent (2 and 3), where a branch that the person left counts as in Claude Code. A copy of a line in a session
that was branched off is the same line.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.core import clock
from pipeline.core.clock import iso
from pipeline.core.errors import ODD_DATA, InputError
from pipeline.core.ids import derived_id, digest
from pipeline.domain.speech import Entry
from pipeline.domain.tallies import tally
from pipeline.intake.clearing import Cleared, clear, type_counts
from pipeline.intake.ingest import Task
from pipeline.transcript import Cursor, lines
from pipeline.transcript.files import unreadable
from pipeline.transcript.reader import HEAD
from pipeline.transcript.records import Context, entries_of

_FIX = "Name a session file of Pi: ~/.pi/agent/sessions/<project>/<time>_<id>.jsonl."
_ENTRYPOINT = "pi"
_TOOLS = {"read": "Read", "write": "Write", "edit": "Edit", "bash": "Bash", "grep": "Grep", "find": "Glob"}
"""Pi's tools by the names that Claude Code gives them; any other keeps its own."""
_MILLISECONDS = 1000.0
_VERSIONS = (1, 2, 3)
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""A session's id, which names files of ours and of others': no path."""


def sessions(folder: Path) -> list[Path]:
    """Return the session files in `folder` and below, in their order."""
    return sorted(path for path in folder.rglob("*.jsonl") if path.is_file())


class PiReading:
    """One reading of a session file of Pi's; see `pipeline.intake.ingest.Source`.

    Raises FileNotFoundError, UnreadableError, and InputError for a file of another kind.
    """

    def __init__(self, task: Task) -> None:
        self._path, self._quiet, self._before = task.path, task.quiet, task.cursor
        self._handle = _opened(task.path)
        self.cursor = task.cursor
        self.restarted = ""
        self.bad: list[tuple[int, str]] = []
        self.bytes_read = 0
        self._counts: dict[str, int] = Counter()
        try:
            self._stat = os.fstat(self._handle.fileno())
            self._head = self._handle.read(HEAD)
            _require_pi(self._head, task.path)
            self.restarted = self._changed()
            self._handle.seek(0)
        except BaseException:
            self._handle.close()
            raise
        now = clock.from_environment().now()
        self._context = Context(session=_session_in(task.path), latest=now + timedelta(days=1))
        self._translation = _Translation(self._context.session)

    @property
    def type_counts(self) -> Mapping[str, int]:
        """Return how many records of each type came new."""
        return type_counts(self._counts)

    def cleared(self) -> Iterator[Cleared]:
        """Yield what the file tells."""
        return clear(self._entries())

    def _changed(self) -> str:
        """Return "" or why the file is another than the one that was read."""
        before = self._before
        if before.offset > self._stat.st_size:
            return "shrunk"
        return "replaced" if before.offset and digest(self._head[: before.offset]) != before.head else ""

    def _entries(self) -> Iterator[Entry]:
        offset, line, seen = 0, 0, 0 if self.restarted else self._before.line
        with self._handle:
            try:
                while raw := self._handle.readline(lines.MAX_LINE):
                    raw, size = lines.rest(raw, self._handle)
                    whole = raw.endswith(b"\n")
                    if not whole and not (self._quiet and _is_json(raw)):
                        break
                    line += 1
                    self.bytes_read += size
                    is_new = line > seen
                    if size > len(raw):
                        self._bad(line, f"longer than {lines.MAX_LINE} bytes", is_new)
                    else:
                        for piece in lines.parse(raw, offset, line):
                            yield from self._of(piece, is_new)
                    offset += size
            except OSError as error:
                raise unreadable(self._path, error) from error
        self.cursor = Cursor(
            offset=offset,
            head=digest(self._head[:offset]),
            inode=self._stat.st_ino,
            size=self._stat.st_size,
            mtime_ns=self._stat.st_mtime_ns,
            line=line,
            at=self._context.at,
        )

    def _of(self, piece: lines.Piece, is_new: bool) -> list[Entry]:
        if piece.record is None:
            self._bad(piece.line, piece.reason, is_new)
            return []
        kind = piece.record.get("type")
        if is_new:
            tally(self._counts, kind if isinstance(kind, str) else "(none)")
        try:
            translated = self._translation.of(piece.record, piece.raw)
            return entries_of(translated, piece, self._context) if translated else []
        except ODD_DATA as error:
            self._bad(piece.line, f"can't be understood ({error})", is_new)
            return []

    def _bad(self, line: int, reason: str, is_new: bool) -> None:
        if is_new:
            self.bad.append((line, reason))


class _Translation:
    """What a line takes from those before it: the session, its folder, and what each id became."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._cwd = ""
        self._uuids: dict[str, str] = {}
        self._last: str | None = None

    def of(self, record: dict[str, Any], raw: bytes) -> dict[str, Any] | None:
        """Return the record of Claude Code's that says what `record` does; None for the head of the file."""
        kind = record.get("type")
        if kind == "session":
            own = _text(record, "id")
            if own and not _ID.fullmatch(own):
                raise ValueError("its id is none of a session")
            self._session = own or self._session
            self._cwd = _text(record, "cwd")
            return None
        message = record.get("message")
        spoken = message if kind == "message" and isinstance(message, dict) else {}
        stamp = _stamp(record, spoken)
        # A copy in a session that was branched off is the same to the byte; without a time any two may be.
        uuid = derived_id(_ENTRYPOINT if stamp else self._session, digest(raw.strip()))
        parent = self._uuids.get(_text(record, "parentId")) if "parentId" in record else self._last
        if own := _text(record, "id"):
            self._uuids[own] = uuid
        self._last = uuid
        shared: dict[str, Any] = {
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": self._session,
            "cwd": self._cwd,
            "entrypoint": _ENTRYPOINT,
        }
        if stamp:
            shared["timestamp"] = stamp
        return shared | _spoken(spoken, _text(spoken, "role"))


def _spoken(message: dict[str, Any], role: str) -> dict[str, Any]:
    """Return type and message of the record for `message`; one that nobody speaks is only a link."""
    content = message.get("content")
    if role == "user":
        texts = _texts(content)
        return {"type": "user", "message": {"role": "user", "content": texts}} if texts else _LINK
    if role == "assistant":
        blocks = [*_texts(content), *_calls(content)]
        return {"type": "assistant", "message": _assistant(message, blocks)} if blocks else _LINK
    if role == "toolResult":
        result = {"type": "tool_result", "tool_use_id": _text(message, "toolCallId"), "content": ""}
        return {"type": "user", "message": {"role": "user", "content": [result]}}
    return _LINK


_LINK: dict[str, Any] = {"type": "system", "subtype": "pi"}


def _assistant(message: dict[str, Any], blocks: list[dict[str, Any]]) -> dict[str, Any]:
    usage = message.get("usage")
    held = usage if isinstance(usage, dict) else {}
    tokens = {"input_tokens": held.get("input"), "output_tokens": held.get("output")}
    return {"role": "assistant", "model": _text(message, "model"), "content": blocks, "usage": tokens}


def _texts(content: Any) -> list[dict[str, Any]]:
    """Return what is said in a message, as blocks of text: no thoughts and no pictures."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [
        {"type": "text", "text": _text(block, "text")}
        for block in _blocks(content, "text")
        if _text(block, "text").strip()
    ]


def _calls(content: Any) -> list[dict[str, Any]]:
    found = []
    for block in _blocks(content, "toolCall"):
        given = block.get("arguments")
        path = _text(given, "path") if isinstance(given, dict) else ""
        name = _text(block, "name")
        used = {"type": "tool_use", "id": _text(block, "id"), "name": _TOOLS.get(name, name)}
        found.append({**used, "input": {"file_path": path} if path else {}})
    return found


def _blocks(content: Any, kind: str) -> list[dict[str, Any]]:
    listed = content if isinstance(content, list) else []
    return [block for block in listed if isinstance(block, dict) and block.get("type") == kind]


def _stamp(record: dict[str, Any], message: dict[str, Any]) -> str:
    stamp, millis = _text(record, "timestamp"), message.get("timestamp")
    if stamp or isinstance(millis, bool) or not isinstance(millis, int | float):
        return stamp
    return iso(datetime.fromtimestamp(millis / _MILLISECONDS, UTC))


def _text(held: dict[str, Any], name: str) -> str:
    value = held.get(name)
    return value if isinstance(value, str) else ""


def _session_in(path: Path) -> str:
    """Return the session's id in the name of its file: ``<time>_<id>.jsonl``, or ``<id>.jsonl``."""
    return path.stem.rpartition("_")[2]


def _is_json(raw: bytes) -> bool:
    return all(piece.record is not None for piece in lines.parse(raw, 0, 1))


def _opened(path: Path) -> BinaryIO:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError("not a plain file", file=str(path), fix=_FIX)
        return path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def _require_pi(head: bytes, path: Path) -> None:
    """Raise InputError where a file does not begin as a session of Pi does."""
    number = 1
    for number, line in enumerate(head.split(b"\n"), start=1):
        pieces = list(lines.parse(line, 0, 1)) if line.strip() else []
        record = pieces[0].record if pieces else None
        if record is not None:
            if record.get("type") == "session" and isinstance(record.get("id"), str):
                _require_known(record, path, number)
                return
            break
    raise InputError("it does not begin as a session of Pi does", file=str(path), line=1, fix=_FIX)


def _require_known(record: dict[str, Any], path: Path, line: int) -> None:
    """Raise InputError for a session of an unknown version, and for an id that is none."""
    version = record.get("version", 1)
    if isinstance(version, bool) or version not in _VERSIONS:
        raise InputError(
            f"version {version!r:.40} of Pi's sessions is not known here",
            file=str(path),
            line=line,
            fix=f"Versions {_VERSIONS[0]} to {_VERSIONS[-1]} are read; a later Reverie may know more.",
        )
    if not _ID.fullmatch(record["id"]):
        raise InputError(
            f"{record['id']!r:.40} is no id of a session",
            file=str(path),
            line=line,
            fix="An id has letters, digits, hyphens and underscores; put it right in the first line.",
        )
