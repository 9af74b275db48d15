"""Tool events: what a transcript's lines say that tools were given and gave back, one event after another.

A second consumer of the transcripts' one reader: it decides what is a record and who speaks, this only what
became of tools. Claude Code's own lines and an older tool's flat ones (K-05, K-07) may stand in one file;
which a line is, it says itself. Nothing is stored: a transcript is read anew for each question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipeline.core import clock
from pipeline.core.clock import iso, parse_time
from pipeline.core.errors import ODD_DATA
from pipeline.record import changing, field
from pipeline.transcript import Reading, Seen, trace
from pipeline.transcript.legacy import moment as flat_moment
from pipeline.transcript.reader import TOLERANCE
from pipeline.transcript.records import BRANCH_CHARS, Context, directory_of, id_of, session_of, text_field
from pipeline.transcript.speech import content_of, text_of
from pipeline.transcript.tools import path_in

MOST_CALLS = 20_000
"""Calls of tools that are remembered by their id, so that a result can say whose it is."""
UNNAMED = "other"
"""What a line is that names no type of its own."""

Role = Literal["tool_use", "tool_result", ""]
_USE_ROLE: Literal["tool_use"] = "tool_use"
_RESULT_ROLE: Literal["tool_result"] = "tool_result"


class Problem(NamedTuple):
    """What is wrong with a line of a transcript: it holds no record, or not a whole one."""

    line: int
    reason: str


class _Call(NamedTuple):
    tool: str
    path: str


@changing
class Event:
    """One thing that a line of a transcript says: a tool was called, gave something back, or neither.

    A line with several calls or results gives as many events, told apart by `block`, their number among the
    line's content blocks; a line without any gives one event. (session, uuid, block) is an event's key.
    Texts are as they were written, secrets included: who shows or stores them redacts.
    """

    line: int
    """Its number in the file, from 1."""
    offset: int
    block: int
    kind: str
    """The line's ``type``, else its ``kind``; an open list."""
    role: Role
    session: str
    uuid: str
    record: dict[str, Any] = field(repr=False)
    """The line itself. All blocks share it; nobody changes it."""
    number: int = 0
    """Which of the line's events it is, from 0."""
    flat: bool = False
    """Whether the line has the older, flat shape."""
    parent_uuid: str | None = None
    at: str | None = None
    """ISO 8601 UTC in whole seconds; the line's own or, where it has no stamp, that of the one before."""
    at_ms: int | None = None
    """The same moment in milliseconds since 1970."""
    cwd: str | None = None
    branch: str = ""
    sidechain: bool = False
    agent: str = ""
    subtype: str = ""
    tool: str = ""
    """The tool's name; of a result, that of the call it answers, "" where no call with its id was seen."""
    tool_use_id: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    """What the tool was given."""
    output: Any = None
    """What the tool gave back, a text or a list of blocks, as the line has it."""
    details: Any = None
    """``toolUseResult``: the client's own account of a result, in a shape of each tool's own."""
    is_error: bool = False
    path: str = ""
    """The file or folder that the tool worked on; of a result, that of the call it answers."""
    text: str = ""
    """The line's words, whoever wrote them; of a result, the texts that it holds."""
    typed: str = ""
    """What of the line are a person's own words."""
    given_class: str = ""
    """The class that the line brought along (``event_class``)."""
    message_id: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class Trace:
    """The events of one transcript, in order. Consume `events` once, then look at `problems`.

    The file is opened with the first event, and what `pipeline.transcript.read` raises comes then. `quiet`
    says that nobody writes to it now: a last line may lack its newline.
    """

    def __init__(self, path: Path, *, quiet: bool = False, now: datetime | None = None) -> None:
        self.path = path
        self._quiet = quiet
        self._now = now or clock.from_environment().now()
        self._reading: Reading[Seen] | None = None
        self._context = Context(session=path.stem, latest=self._now + TOLERANCE)
        self._calls: dict[str, _Call] = {}
        self._odd: list[Problem] = []
        self._last: tuple[str | None, int | None] = (None, None)
        self.events: Iterator[Event] = self._events()

    @property
    def problems(self) -> list[Problem]:
        """What no event could be made of, by line; complete when all events are consumed."""
        if self._reading is None:
            return []
        found = [Problem(*bad) for bad in self._reading.bad] + self._odd
        cursor = self._reading.cursor
        if cursor.offset < cursor.size:
            found.append(Problem(cursor.line + 1, "not written to its end"))
        return sorted(set(found))

    def _events(self) -> Iterator[Event]:
        self._reading = trace(self.path, quiet=self._quiet, now=self._now)
        for seen in self._reading.entries:
            if seen.piece.record is None:
                continue
            try:
                found = self._of_record(seen.piece.record, seen)
            except ODD_DATA as error:
                self._odd.append(Problem(seen.piece.line, f"can't be understood ({error})"))
                continue
            yield from found

    def _of_record(self, record: dict[str, Any], seen: Seen) -> list[Event]:
        base = self._envelope(record, seen)
        if text_field(record, "kind") and not text_field(record, "type"):
            events = [self._flat(base)]
        else:
            events = self._blocks(base) or [base]
        self._speech(events[0], seen)
        return events

    def _envelope(self, record: dict[str, Any], seen: Seen) -> Event:
        """Return an event with what every event of the line shares."""
        at, at_ms = self._time(record)
        return Event(
            line=seen.piece.line,
            offset=seen.piece.offset,
            block=0,
            kind=text_field(record, "type") or text_field(record, "kind") or UNNAMED,
            role="",
            session=session_of(record, self._context),
            uuid=id_of(record, seen.piece, self._context),
            record=record,
            parent_uuid=text_field(record, "parentUuid"),
            at=at,
            at_ms=at_ms,
            cwd=directory_of(record),
            branch=(text_field(record, "gitBranch") or "")[:BRANCH_CHARS],
            sidechain=record.get("isSidechain") is True,
            agent=text_field(record, "agentId") or "",
            subtype=text_field(record, "subtype") or "",
            is_error=record.get("is_error") is True,
            given_class=text_field(record, "event_class") or "",
        )

    def _time(self, record: dict[str, Any]) -> tuple[str | None, int | None]:
        """Return when a line was written. A missing stamp is inherited, one that can't be true is none."""
        stamp = record.get("ts", record.get("timestamp"))
        if stamp is None:
            return self._last
        moment = flat_moment({"ts": stamp}) or parse_time(record.get("timestamp"))
        if moment is None or moment > self._context.latest:
            return None, None
        self._last = iso(moment), round(moment.timestamp() * 1000)
        return self._last

    def _flat(self, event: Event) -> Event:
        """Return the event of a flat line."""
        record = event.record
        event.flat = True
        event.role = _role(event.kind)
        event.tool = text_field(record, "tool") or ""
        event.path = path_in(record)
        event.text = text_field(record, "message") or ""
        if event.role == _USE_ROLE and event.path:
            event.given = {"file_path": event.path}
        if event.role == _RESULT_ROLE:
            event.output = event.text
        return event

    def _blocks(self, base: Event) -> list[Event]:
        """Return one event for each call and each result in a line, none where it has neither."""
        record, found = base.record, list[Event]()
        role = "assistant" if base.kind == "assistant" else "user"
        for number, block in enumerate(content_of(record, role)):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == _USE_ROLE and role == "assistant":
                found.append(self._use(replace(base, block=number, number=len(found)), block))
            elif kind == _RESULT_ROLE and role == "user":
                found.append(self._result(replace(base, block=number, number=len(found)), block))
        if not found and (
            base.subtype == _RESULT_ROLE or (base.kind == "user" and "toolUseResult" in record)
        ):
            found.append(self._result(replace(base), {"content": record.get("toolUseResult")}))
        return found

    def _use(self, event: Event, block: dict[str, Any]) -> Event:
        given = block.get("input")
        event.role = _USE_ROLE
        event.tool = text_field(block, "name") or ""
        event.tool_use_id = text_field(block, "id") or ""
        event.given = given if isinstance(given, dict) else {}
        event.path = path_in(event.given)
        if event.tool_use_id:
            self._calls[event.tool_use_id] = _Call(event.tool, event.path)
            if len(self._calls) > MOST_CALLS:
                del self._calls[next(iter(self._calls))]
        return event

    def _result(self, event: Event, block: dict[str, Any]) -> Event:
        record = event.record
        event.role = _RESULT_ROLE
        event.tool_use_id = text_field(block, "tool_use_id") or text_field(record, "toolUseID") or ""
        event.tool, event.path = self._calls.get(event.tool_use_id, _Call("", ""))
        event.output = block.get("content")
        event.details = record.get("toolUseResult")
        event.is_error = event.is_error or block.get("is_error") is True
        event.text = _text(event.output)
        return event

    def _speech(self, event: Event, seen: Seen) -> None:
        """Note on the first event of a line what was said in it, and what it cost."""
        own = [entry for entry in seen.entries if entry.offset == event.offset]
        event.typed = "\n".join(entry.text for entry in own if entry.speaker == "person")
        if not (event.role or event.flat):
            event.text = _words(event.record, event.kind)
        for entry in own[:1]:
            event.message_id = entry.message_id or ""
            event.input_tokens, event.output_tokens = entry.input_tokens, entry.output_tokens


def _role(kind: str) -> Role:
    if kind == _USE_ROLE:
        return _USE_ROLE
    return _RESULT_ROLE if kind == _RESULT_ROLE else ""


def _text(content: object) -> str:
    """Return the texts of a result's content."""
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(text_of, blocks)))


def _words(record: dict[str, Any], kind: str) -> str:
    """Return the words of a line without tools: its message's texts, or what stands in their place."""
    message = record.get("message")
    if isinstance(message, str) and not message.startswith("{"):
        return message
    words = _text(content_of(record, "assistant" if kind == "assistant" else "user"))
    return words or _text(record.get("content")) or text_field(record, "result") or ""


def events(path: Path, *, quiet: bool = False, now: datetime | None = None) -> Iterator[Event]:
    """Yield the events of the transcript `path`; for the lines without any see `Trace`."""
    return Trace(path, quiet=quiet, now=now).events
