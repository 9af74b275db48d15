"""From one record to entries: the envelope, the words in it, its time, its tools and its token counts.

The format is internal to Claude Code and changes, so every field may be missing or of another type, and
unknown kinds of record are kept as a note (contract §3.2-3.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

from pipeline.core.clock import iso, iso_exact, parse_time
from pipeline.core.ids import derived_id, digest
from pipeline.domain.speech import PLAN_TOOL, TOUCHING, Entry, MemoryWrite
from pipeline.domain.tallies import PROMPTS
from pipeline.record import changing, field
from pipeline.transcript import legacy, speech, tools
from pipeline.transcript.dialogs import Dialogs, Said
from pipeline.transcript.lines import Piece
from pipeline.transcript.memory_files import SAVED, OpenWrites

NOTE_CHARS = 2000
TYPE_CHARS = 4096
"""Characters of a record's type that are kept: enough to see a secret in it, which the caller takes out."""
_WHOLE = "000"
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TOKENS = 2**40
UNKNOWN_SESSION = "?"
"""Where a fork does not name the session it came from."""

CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress", "result"})
"""Types that take part in the parentUuid tree when they have a uuid."""

SILENT = frozenset(
    [
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "continued-in",
        "cost-state",
        "custom-title",
        "ended-by-model",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "history-suppression",
        "isolation-latch",
        "last-prompt",
        "memory-mode",
        "mode",
        "observer-ref",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "relocated",
        "speculation-accept",
        "summary",
        "tag",
        "tools-used",
        "worktree-state",
    ]
)
SILENT_PREFIXES = ("api-request", "artifact-", "marble-origami-")
"""Known types in which nobody speaks and nothing hangs on anything: counted, but no entry."""

AtSource = Literal["own", "inherited", "unknown"]


@changing
class Context:
    """What a record takes from its surroundings.

    `session` stands in for a missing sessionId; `at` is the last usable time seen, ISO 8601 or empty, and
    `worked_at` the last one at which the assistant or a tool was at work; stamps after `latest` are no time,
    since a clock that runs ahead must not date a memory. `dialogs` are those still to be answered, `writes`
    the calls that would write a memory file and have no result yet.
    """

    session: str
    latest: datetime
    at: str = ""
    worked_at: str = ""
    dialogs: Dialogs = field(default_factory=Dialogs)
    writes: OpenWrites = field(default_factory=OpenWrites)


def text_field(record: dict[str, Any], name: str) -> str | None:
    """Return the field `name` if it holds a non-empty text."""
    value = record.get(name)
    return value if value and isinstance(value, str) else None


def session_of(record: dict[str, Any], context: Context) -> str:
    """Return the session a record says it belongs to, else the one its file is named after."""
    return text_field(record, "sessionId") or text_field(record, "session_id") or context.session


def time_of(record: dict[str, Any], kind: str, context: Context) -> tuple[str | None, AtSource]:
    """Return when a record was written, and whether that is its own stamp or the one before it.

    A stamp that can't be true (no date, far future) is unknown; only a missing one is inherited.
    """
    if kind != "legacy":
        return time_at(record.get("timestamp"), context)
    return _dated(record.get("ts"), legacy.moment(record), context)


def time_at(stamp: object, context: Context) -> tuple[str | None, AtSource]:
    """Return what `time_of` does for a record with this ``timestamp``."""
    if isinstance(stamp, str) and _is_plain(stamp):
        # The same as below, without what this form does not need.
        try:
            moment = datetime.fromisoformat(stamp)
        except ValueError:
            return None, "unknown"
        if not _FIRST <= moment <= context.latest:
            return None, "unknown"
        context.at = f"{stamp[: 19 if stamp[20:23] == _WHOLE else 23]}+00:00"
        return context.at, "own"
    return _dated(stamp, parse_time(stamp), context)


def _dated(stamp: object, moment: datetime | None, context: Context) -> tuple[str | None, AtSource]:
    if stamp is None:
        return (context.at, "inherited") if context.at else (None, "unknown")
    if moment is None or moment > context.latest:
        return None, "unknown"
    context.at = iso_exact(moment)
    return context.at, "own"


def _is_plain(stamp: str) -> bool:
    """Say whether a stamp has the form ``2026-03-02T09:00:00.000Z``, as nearly all have."""
    return len(stamp) == 24 and stamp[-1] == "Z" and stamp[19] == "." and stamp[4] == stamp[7] == "-"


def type_of(record: dict[str, Any]) -> str:
    """Return the record's type; ``legacy`` for a flat trace line, ``(none)`` when it does not say."""
    kind = record.get("type")
    if kind and isinstance(kind, str):
        return kind[:TYPE_CHARS]
    return "legacy" if legacy.is_legacy(record) else "(none)"


BRANCH_CHARS = 255
"""Characters kept of a branch's name, more than git takes."""


def id_of(record: dict[str, Any], piece: Piece, context: Context) -> str:
    """Return a record's uuid, or one that follows from its bytes where it has none."""
    own_id = text_field(record, "uuid")
    return own_id or derived_id(session_of(record, context), digest(piece.raw.strip()))


def _envelope(record: dict[str, Any], kind: str, piece: Piece, context: Context) -> dict[str, Any]:
    """Return the fields every entry of this record shares."""
    own_id = text_field(record, "uuid")
    at, source = time_of(record, kind, context)
    return {
        "offset": piece.offset,
        "length": piece.length,
        "type": kind,
        "uuid": id_of(record, piece, context),
        "parent_uuid": text_field(record, "parentUuid") or _before_compaction(record),
        "session_id": session_of(record, context),
        "at": at,
        "at_source": source,
        "cwd": directory_of(record),
        "entrypoint": text_field(record, "entrypoint"),
        "branch": (text_field(record, "gitBranch") or "")[:BRANCH_CHARS],
        "sidechain": record.get("isSidechain") is True,
        "chained": own_id is not None and kind in CHAINED,
        "origin": speech.origin_of(record) or "",
        "forked_from": _forked_from(record),
    }


def _forked_from(record: dict[str, Any]) -> str:
    """Return the session that a fork copied the record from, "" for a record of its own."""
    source = record.get("forkedFrom")
    if not source:
        return ""
    return (text_field(source, "sessionId") if isinstance(source, dict) else None) or UNKNOWN_SESSION


def directory_of(record: dict[str, Any]) -> str | None:
    """Return the directory a record was written in; a name with a zero byte is no directory's."""
    cwd = text_field(record, "cwd")
    return None if cwd and "\0" in cwd else cwd


def _before_compaction(record: dict[str, Any]) -> str | None:
    """Return what a compaction boundary continues: without it a rewind before the compaction is not seen."""
    return text_field(record, "logicalParentUuid") if record.get("subtype") == "compact_boundary" else None


def _spoken(shared: dict[str, Any], speech_pieces: list[Said], worked_at: str = "") -> list[Entry]:
    """Return one entry per piece of speech in a row of the person's, or one silent entry."""
    if not speech_pieces:
        return [Entry(block=0, **shared)]
    tools_before = shared.pop("tool_names", ())
    # Told once, whatever else the record holds.
    written = shared.pop("written", ())
    return [
        Entry(
            block=number,
            text=words,
            speaker="assistant" if channel == "prose" else "person",
            channel=channel,
            worked_at=worked_at or None if channel in PROMPTS else None,
            tool_names=(PLAN_TOOL,) if channel == "prose" else tools_before,
            written=() if number else written,
            **shared,
        )
        for number, (channel, words) in enumerate(speech_pieces)
    ]


def token_count(value: object) -> int:
    """Return a token count, 0 when it can't be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_TOKENS:
        return 0
    return int(value)


def _assistant(record: dict[str, Any], shared: dict[str, Any], context: Context) -> list[Entry]:
    blocks = speech.content_of(record, "assistant")
    note_work(shared["at"], shared["at_source"], context)
    context.dialogs.begin(blocks, shared["offset"], shared["length"])
    text = speech.from_assistant(record, blocks, context.dialogs.draft)
    raw = record.get("message")
    message: dict[str, Any] = raw if isinstance(raw, dict) else {}
    raw_usage = message.get("usage")
    usage: dict[str, Any] = raw_usage if isinstance(raw_usage, dict) else {}
    did = tools.used(blocks, shared["cwd"])
    if not TOUCHING.isdisjoint(did.names):
        context.writes.begin(blocks, shared["uuid"], shared["at"])
    entry = Entry(
        block=0,
        text=text,
        speaker="assistant" if text else None,
        channel="prose" if text else None,
        tool_names=did.names,
        files=did.files,
        message_id=text_field(message, "id"),
        memory_writes=did.memory_writes,
        memory_reads=did.memory_reads,
        input_tokens=token_count(usage.get("input_tokens")),
        output_tokens=token_count(usage.get("output_tokens")),
        **shared,
    )
    return [entry]


def called(record: dict[str, Any], piece: Piece, context: Context) -> tuple[str, str | None]:
    """Return uuid and time of a record that is read again for the calls in it."""
    moment = parse_time(record.get("timestamp"))
    return id_of(record, piece, context), iso(
        moment
    ) if moment is not None and moment <= context.latest else None


def note_work(at: str | None, source: AtSource, context: Context) -> None:
    """Note that the assistant or a tool was at work when a record of that time was written."""
    if source == "own" and at is not None and at > context.worked_at:
        context.worked_at = at


def _user(record: dict[str, Any], shared: dict[str, Any], context: Context) -> list[Entry]:
    before = context.worked_at
    if "toolUseResult" in record or _carries_result(record):
        note_work(shared["at"], shared["at_source"], context)
        if context.writes.any_open:
            shared["written"] = context.writes.end(record, speech.content_of(record, "user"), shared["at"])
    pieces = speech.from_user(record, context.dialogs)
    if any(piece.channel in PROMPTS for piece in pieces):
        context.dialogs.forget()
    return _spoken(shared, pieces, before)


def _carries_result(record: dict[str, Any]) -> bool:
    blocks = speech.content_of(record, "user")
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _system(record: dict[str, Any], shared: dict[str, Any]) -> list[Entry]:
    paths = record.get("writtenPaths") if record.get("subtype") == "memory_saved" else None
    saved = tuple(path for path in paths if isinstance(path, str)) if isinstance(paths, list) else ()
    at, uuid = shared["at"], shared["uuid"]
    written = tuple(MemoryWrite(path, uuid, SAVED, at, at) for path in saved if "\0" not in path)
    return [Entry(block=0, memory_writes=saved, written=written, **shared)]


def _legacy(record: dict[str, Any], shared: dict[str, Any]) -> list[Entry]:
    words = speech.clean(legacy.words(record)).text
    tool = text_field(record, "tool")
    shared["tool_names"] = (tool,) if tool else ()
    return _spoken(shared, [Said("typed", words)] if words else [])


def _unknown(piece: Piece, shared: dict[str, Any]) -> list[Entry]:
    note = piece.raw[: 4 * NOTE_CHARS].decode("utf-8", "replace").replace("\0", "").strip()
    shared["note"] = note[:NOTE_CHARS]
    return [Entry(block=0, **shared)]


def entries_of(record: dict[str, Any], piece: Piece, context: Context) -> list[Entry]:
    """Return the entries of one record: several when it holds several pieces of speech, none for metadata.

    `piece` says where the record stands. Queue operations are not looked at here (see ``queued``).
    """
    kind = type_of(record)
    if kind in SILENT or kind.startswith(SILENT_PREFIXES):
        return []
    if kind == "progress" and "uuid" not in record:
        return []
    shared = _envelope(record, kind, piece, context)
    if kind == "assistant":
        return _assistant(record, shared, context)
    if kind == "user":
        return _user(record, shared, context)
    if kind == "attachment":
        return _spoken(shared, speech.from_attachment(record))
    if kind == "system":
        return _system(record, shared)
    if kind == "legacy":
        return _legacy(record, shared)
    return [Entry(block=0, **shared)] if kind in CHAINED else _unknown(piece, shared)


def usage_totals(entries: Iterable[Entry]) -> tuple[int, int]:
    """Return input and output tokens over `entries`, each API message counted once.

    The lines of one message repeat its usage and early ones hold an intermediate count, so the largest
    counts. Lines without a message id count on their own, by record.
    """
    seen: dict[str, tuple[int, int]] = {}
    for entry in entries:
        key = entry.message_id or f"\0{entry.session_id}\0{entry.offset}\0{entry.uuid}"
        before = seen.get(key, (0, 0))
        seen[key] = (max(before[0], entry.input_tokens), max(before[1], entry.output_tokens))
    return sum(pair[0] for pair in seen.values()), sum(pair[1] for pair in seen.values())
