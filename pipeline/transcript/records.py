"""From one record to entries: the envelope, the words in it, its time, its tools and its token counts.

The format is internal to Claude Code and changes, so every field may be missing or of another type, and
unknown kinds of record are kept as a note (contract §3.2-3.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pipeline.core.clock import iso, parse_time
from pipeline.core.ids import derived_id, digest
from pipeline.domain.speech import Entry
from pipeline.transcript import legacy, speech
from pipeline.transcript.lines import Piece

NOTE_CHARS = 2000
TYPE_CHARS = 4096
"""Characters of a record's type that are kept: enough to see a secret in it, which the caller takes out."""
MAX_TOKENS = 2**40

CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress", "result"})
"""Types that take part in the parentUuid tree when they have a uuid."""

_SILENT = frozenset(
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
_SILENT_PREFIXES = ("api-request", "artifact-", "marble-origami-")
"""Known types in which nobody speaks and nothing hangs on anything: counted, but no entry."""

_WRITERS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_IN_MEMORY = re.compile(r"(?:\A|/)projects/[^/]+/memory/(?!(?:.*/)?\.\.(?:/|\Z)).+", re.DOTALL)

_MAY_BE_MEMORY = re.compile(r"\A[^\0]{0,4000}/memory/[^\0]{1,1000}\.md\Z")

AtSource = Literal["own", "inherited", "unknown"]


@dataclass(slots=True)
class Context:
    """What a record takes from its surroundings.

    `session` stands in for a missing sessionId; `at` is the last usable time seen, ISO 8601 or empty;
    stamps after `latest` are no time, since a clock that runs ahead must not date a memory.
    """

    session: str
    latest: datetime
    at: str = ""


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
    stamp = record.get("ts" if kind == "legacy" else "timestamp")
    if stamp is None:
        return (context.at, "inherited") if context.at else (None, "unknown")
    moment = legacy.moment(record) if kind == "legacy" else parse_time(stamp)
    if moment is None or moment > context.latest:
        return None, "unknown"
    # Nearly all stamps have the form ``2026-03-02T09:00:00.000Z``, which need not be put together anew.
    plain = isinstance(stamp, str) and len(stamp) == 24 and stamp[-1] == "Z" and stamp[4] == stamp[7] == "-"
    context.at = stamp[:19] + "+00:00" if plain else iso(moment)
    return context.at, "own"


def type_of(record: dict[str, Any]) -> str:
    """Return the record's type; ``legacy`` for a flat trace line, ``(none)`` when it does not say."""
    kind = record.get("type")
    if kind and isinstance(kind, str):
        return kind[:TYPE_CHARS]
    return "legacy" if legacy.is_legacy(record) else "(none)"


def is_memory_path(path: object) -> bool:
    """Say whether `path` lies inside the memory folder of a project, whichever way its slashes lean."""
    return isinstance(path, str) and bool(_IN_MEMORY.search(path.replace("\\", "/")))


def _envelope(record: dict[str, Any], kind: str, piece: Piece, context: Context) -> dict[str, Any]:
    """Return the fields every entry of this record shares."""
    session = session_of(record, context)
    own_id = text_field(record, "uuid")
    at, source = time_of(record, kind, context)
    return {
        "offset": piece.offset,
        "length": piece.length,
        "type": kind,
        "uuid": own_id or derived_id(session, digest(piece.raw.strip())),
        "parent_uuid": text_field(record, "parentUuid") or _before_compaction(record),
        "session_id": session,
        "at": at,
        "at_source": source,
        "cwd": _directory(record),
        "entrypoint": text_field(record, "entrypoint"),
        "sidechain": record.get("isSidechain") is True,
        "chained": own_id is not None and kind in CHAINED,
        "note": "forked" if record.get("forkedFrom") else "",
    }


def _directory(record: dict[str, Any]) -> str | None:
    """Return the directory a record was written in; a name with a zero byte is no directory's."""
    cwd = text_field(record, "cwd")
    return None if cwd and "\0" in cwd else cwd


def _before_compaction(record: dict[str, Any]) -> str | None:
    """Return what a compaction boundary continues: without it a rewind before the compaction is not seen."""
    return text_field(record, "logicalParentUuid") if record.get("subtype") == "compact_boundary" else None


def _spoken(shared: dict[str, Any], speech_pieces: list[speech.Said]) -> list[Entry]:
    """Return one entry per piece of a person's speech, or one silent entry."""
    if not speech_pieces:
        return [Entry(block=0, **shared)]
    return [
        Entry(block=number, text=words, speaker="person", channel=channel, **shared)
        for number, (channel, words) in enumerate(speech_pieces)
    ]


def _count(value: object) -> int:
    """Return a token count, 0 when it can't be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_TOKENS:
        return 0
    return int(value)


def _assistant(record: dict[str, Any], shared: dict[str, Any]) -> list[Entry]:
    blocks = speech.content_of(record, "assistant")
    text = speech.from_assistant(record, blocks)
    raw = record.get("message")
    message: dict[str, Any] = raw if isinstance(raw, dict) else {}
    raw_usage = message.get("usage")
    usage: dict[str, Any] = raw_usage if isinstance(raw_usage, dict) else {}
    tools = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    names = [name for tool in tools if (name := text_field(tool, "name"))] if tools else ()
    writes = [path for tool in tools for path in _written(tool)] if tools else ()
    reads = [path for tool in tools for path in _read(tool)] if tools else ()
    entry = Entry(
        block=0,
        text=text,
        speaker="assistant" if text else None,
        channel="prose" if text else None,
        tool_names=tuple(names),
        message_id=text_field(message, "id"),
        memory_writes=tuple(writes),
        memory_reads=tuple(reads),
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        **shared,
    )
    return [entry]


def _written(tool: dict[str, Any]) -> list[str]:
    """Return the memory file that one tool use writes, if it does."""
    given = tool.get("input")
    if text_field(tool, "name") not in _WRITERS or not isinstance(given, dict):
        return []
    path = text_field(given, "file_path") or text_field(given, "notebook_path") or text_field(given, "path")
    return [path] if path and is_memory_path(path) else []


def _read(tool: dict[str, Any]) -> list[str]:
    """Return the file that one tool use reads, if it may be a memory: who knows the stores decides."""
    given = tool.get("input")
    path = text_field(given, "file_path") if isinstance(given, dict) else None
    if path is None or text_field(tool, "name") != "Read":
        return []
    return [path] if _MAY_BE_MEMORY.search(path.replace("\\", "/")) else []


def _system(record: dict[str, Any], shared: dict[str, Any]) -> list[Entry]:
    paths = record.get("writtenPaths") if record.get("subtype") == "memory_saved" else None
    written = tuple(path for path in paths if isinstance(path, str)) if isinstance(paths, list) else ()
    return [Entry(block=0, memory_writes=written, **shared)]


def _legacy(record: dict[str, Any], shared: dict[str, Any]) -> list[Entry]:
    words = speech.clean(legacy.words(record))[1]
    tool = text_field(record, "tool")
    shared["tool_names"] = (tool,) if tool else ()
    return _spoken(shared, [("typed", words)] if words else [])


def _unknown(piece: Piece, shared: dict[str, Any]) -> list[Entry]:
    note = piece.raw[: 4 * NOTE_CHARS].decode("utf-8", "replace").replace("\0", "").strip()
    shared["note"] = note[:NOTE_CHARS]
    return [Entry(block=0, **shared)]


def entries_of(record: dict[str, Any], piece: Piece, context: Context) -> list[Entry]:
    """Return the entries of one record: several when it holds several pieces of speech, none for metadata.

    `piece` says where the record stands. Queue operations are not looked at here (see ``queued``).
    """
    kind = type_of(record)
    if kind in _SILENT or kind.startswith(_SILENT_PREFIXES):
        return []
    if kind == "progress" and "uuid" not in record:
        return []
    shared = _envelope(record, kind, piece, context)
    if kind == "assistant":
        return _assistant(record, shared)
    if kind == "user":
        return _spoken(shared, speech.from_user(record))
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
