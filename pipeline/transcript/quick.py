"""The quick way through a transcript: lines decoded by type, without what nobody reads of them.

Most of a transcript's bytes are tools' output, pictures and progress. Here a line is decoded into the few
fields that matter, and the rest is passed over; a record in which nobody speaks becomes a bare link. Whatever
is unusual in any way (another type of field, a person's words, a plan, a form, a memory file, a line that
`orjson` would refuse) is left to the usual way: `glance` then returns None and has changed nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pipeline.domain.speech import FORMS, TOUCHING, BareLink, Entry
from pipeline.transcript import tools
from pipeline.transcript.records import (
    BRANCH_CHARS,
    CHAINED,
    SILENT,
    SILENT_PREFIXES,
    TYPE_CHARS,
    Context,
    note_work,
    time_at,
    token_count,
)

_SYNTHETIC = "<synthetic>"
_EMPTY = "(no content)"
_LATER = "queue-operation"
_SHORTEST = 3


class _Input(msgspec.Struct):
    file_path: str = ""
    notebook_path: str = ""
    path: str = ""


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: _Input | None = None
    tool_use_id: str = ""
    is_error: bool | None = None


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Message(msgspec.Struct):
    content: list[_Block]
    role: str | msgspec.UnsetType = msgspec.UNSET
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Origin(msgspec.Struct):
    kind: str = ""


class _Attachment(msgspec.Struct):
    type: str = ""


class _Fork(msgspec.Struct):
    """An object of which only its being there counts."""


class _Line(msgspec.Struct):
    type: str
    uuid: str | msgspec.UnsetType = msgspec.UNSET
    parent: str | None = msgspec.field(name="parentUuid", default=None)
    before_compaction: str | None = msgspec.field(name="logicalParentUuid", default=None)
    subtype: str | None = None
    session: str | None = msgspec.field(name="sessionId", default=None)
    session_of_old: str | None = msgspec.field(name="session_id", default=None)
    timestamp: str | None = None
    cwd: str | None = None
    entrypoint: str | None = None
    branch: str | None = msgspec.field(name="gitBranch", default=None)
    sidechain: bool = msgspec.field(name="isSidechain", default=False)
    meta: bool | None = msgspec.field(name="isMeta", default=None)
    api_error: bool | None = msgspec.field(name="isApiErrorMessage", default=None)
    agent: str | None = msgspec.field(name="agentId", default=None)
    origin: _Origin | None = None
    fork: _Fork | None = msgspec.field(name="forkedFrom", default=None)
    message: _Message | None = None
    attachment: _Attachment | None = None


_NO_USAGE = _Usage()
_decode = msgspec.json.Decoder(_Line).decode
_BEGIN, _END = ord("{"), ord("}")

Glance = tuple[str, Entry | BareLink | None, bool]
"""What a line holds: its record's type, what is kept of it, None for a record without a place, and whether
the assistant went on with the main chain. A plain tuple, since there is one for each line."""


def glance(raw: bytes, offset: int, context: Context) -> Glance | None:
    """Return what the complete line `raw` at `offset` holds, None where only the usual way can tell."""
    # White space around a record, or a byte-order mark, would move its place in the file.
    if len(raw) < _SHORTEST or raw[0] != _BEGIN or raw[-2] != _END:
        return None
    try:
        line = _decode(raw)
        if not raw.isascii():
            # What is passed over is not looked at: it may hold what is no UTF-8.
            raw.decode()
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    kind = line.type
    if kind == "assistant":
        return _assistant(line, offset, len(raw) - 1, context)
    if kind == "user":
        return _results(line, offset, context)
    if kind in CHAINED:
        return _bystander(line, offset, context)
    if (kind in SILENT or kind.startswith(SILENT_PREFIXES)) and kind != _LATER:
        return kind[:TYPE_CHARS], None, False
    return None


def _link(line: _Line, offset: int) -> BareLink:
    parent = line.parent
    if not parent:
        parent = line.before_compaction if line.subtype == "compact_boundary" else None
    return BareLink(offset, line.uuid or "", parent or None, line.sidechain)


def _bystander(line: _Line, offset: int, context: Context) -> Glance | None:
    """Look at a system line, an attachment or a report of progress: usually nothing is said in it."""
    if line.subtype == "memory_saved":
        return None
    if line.attachment is not None and line.attachment.type == "queued_command":
        return None
    if line.type == "progress" and line.uuid is msgspec.UNSET:
        return line.type, None, False
    time_at(line.timestamp, context)
    return line.type, _link(line, offset), False


def _results(line: _Line, offset: int, context: Context) -> Glance | None:
    """Look at a user line: it is quick only if it holds nothing but results of tools that went well."""
    blocks = _blocks(line.message, "user")
    if not blocks:
        return None
    dialogs, writes = context.dialogs, context.writes
    for block in blocks:
        used = block.tool_use_id
        if block.type != "tool_result" or block.is_error or not used:
            return None
        if dialogs.asks(used) or writes.waits_for(used):
            return None
    note_work(*time_at(line.timestamp, context), context)
    for block in blocks:
        dialogs.end(block.tool_use_id)
    return "user", _link(line, offset), False


def _blocks(message: _Message | None, role: str) -> list[_Block]:
    """Return the content blocks of a message, none if its role is another."""
    if message is None or (message.role is not msgspec.UNSET and message.role != role):
        return []
    return message.content


def _assistant(line: _Line, offset: int, length: int, context: Context) -> Glance | None:
    blocks = _blocks(line.message, "assistant")
    used = [block for block in blocks if block.type == "tool_use" or block.name]
    text = _text(line, blocks)
    if not blocks or ((text or used) and (not line.uuid or line.fork)):
        return None
    for block in used:
        if not _is_plain(block):
            return None
    at, source = time_at(line.timestamp, context)
    note_work(at, source, context)
    context.dialogs.working = False
    for block in used:
        context.dialogs.ask(block.id, block.name, "", offset, length)
    did = _did(used, _directory(line)) if used else tools.NONE
    link, goes_on = _link(line, offset), not line.sidechain
    if not (text or did.names):
        return "assistant", link, goes_on
    message = line.message
    usage = (message.usage if message else None) or _NO_USAGE
    entry = Entry(
        offset,
        length,
        0,
        "assistant",
        link.uuid,
        link.parent_uuid,
        line.session or line.session_of_old or context.session,
        text,
        "assistant" if text else None,
        "prose" if text else None,
        did.names,
        did.files,
        (message.id if message else None) or None,
        at,
        source,
        _directory(line),
        line.entrypoint or None,
        line.sidechain,
        memory_writes=did.memory_writes,
        memory_reads=did.memory_reads,
        branch=(line.branch or "")[:BRANCH_CHARS],
        origin=line.origin.kind if line.origin else "",
        input_tokens=token_count(usage.input_tokens),
        output_tokens=token_count(usage.output_tokens),
    )
    return "assistant", entry, goes_on


def _is_plain(block: _Block) -> bool:
    """Say whether a tool use asks the person nothing and writes no markdown file, of which more is kept."""
    if block.type != "tool_use" or not block.id or not block.name or block.input is None:
        return False
    if block.name in FORMS:
        return False
    return block.name not in TOUCHING or block.input.file_path[-3:].lower() != ".md"


def _did(used: list[_Block], cwd: str | None) -> tools.Used:
    if len(used) == 1 and used[0].name not in TOUCHING:
        # Most tools, which run a program or look for something, have no path that says more than their name.
        given = used[0].input or _Input()
        if not (given.file_path or given.notebook_path or given.path):
            return tools.Used((used[0].name,))
    return tools.used([_as_record(block) for block in used], cwd)


def _as_record(block: _Block) -> dict[str, Any]:
    given = block.input or _Input()
    paths = {"file_path": given.file_path, "notebook_path": given.notebook_path, "path": given.path}
    return {"type": "tool_use", "name": block.name, "input": paths}


def _text(line: _Line, blocks: list[_Block]) -> str:
    """Return what the assistant said to the person, as `speech.from_assistant` does."""
    if line.sidechain or line.meta or line.api_error or line.agent:
        return ""
    if line.message is not None and line.message.model == _SYNTHETIC:
        return ""
    text = "\n".join([block.text for block in blocks if block.type == "text" and block.text])
    text = text.replace("\0", "").strip()
    return "" if text == _EMPTY else text


def _directory(line: _Line) -> str | None:
    cwd = line.cwd
    return None if not cwd or "\0" in cwd else cwd
