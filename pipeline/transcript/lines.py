"""From bytes to records: every complete JSON object in a growing file, and what is wrong with the rest.

Lines are split at ``\\n`` only. The quick way is `orjson`; a line it refuses is looked at again by hand,
since real files hold records glued together, runs of zero bytes, halves of surrogate pairs, invalid
UTF-8, a byte-order mark, and a torn record with a whole one behind it (real-material §4).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import orjson

from pipeline.hooklib.plain import well_formed
from pipeline.safety.late import late

MAX_LINE = 64 * 1024 * 1024
"""Longer lines are skipped and reported, so that memory stays bounded; the longest real one is 1.4 MB."""

_GLUE = " \t\r\n\0\ufeff"
_STARTS = late(
    r'\{"(?:type|parentUuid|logicalParentUuid|uuid|sessionId|isSidechain|messageId|ts|cwd|timestamp|userType)"'
)
_MOST_STARTS = 64
_UNCHAINED = frozenset({"summary", "file-history-snapshot", "queue-operation", "custom-title", "ai-title"})


class Piece(NamedTuple):
    """One record (or one thing that is none) and where it stands.

    `record` is None exactly when `reason` says why; `raw` is the record's own bytes.
    """

    offset: int
    length: int
    line: int
    record: dict[str, Any] | None
    raw: bytes
    reason: str


def _int(digits: str) -> int | float:
    """Read an integer, or infinity where Python would refuse its length."""
    return int(digits) if len(digits) < 4000 else float("inf")


_DECODER = json.JSONDecoder(strict=False, parse_int=_int)


def _scrub(value: Any) -> Any:
    """Return `value` with all its texts as UTF-8 can carry them."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    if isinstance(value, dict):
        return {_scrub(key): _scrub(item) for key, item in value.items()}
    return value


def _decode(text: str, start: int) -> tuple[Any, int] | str:
    """Return the JSON value at `start` and where it ends, or the reason why there is none."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return _scrub(value), end
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return f"not JSON: {error}"


def _skip(text: str, start: int) -> int:
    """Return the first position from `start` on that is no white space, zero byte or byte-order mark."""
    while start < len(text) and text[start] in _GLUE:
        start += 1
    return start


def _is_whole(value: Any) -> bool:
    """Say whether `value`, found behind a torn record, is a record and no part of the torn one.

    A message nested inside another record has a type and a uuid as well, but no session of its own.
    """
    if not isinstance(value, dict):
        return False
    if "sessionId" in value or "session_id" in value:
        return True
    kind = value.get("type")
    return (isinstance(kind, str) and kind in _UNCHAINED) or ("ts" in value and "kind" in value)


def _resume(text: str, start: int) -> int:
    """Return where whole records begin that run from behind a torn one to the end, or ``len(text)``."""
    for count, found in enumerate(_STARTS.finditer(text, start)):
        if count == _MOST_STARTS:
            break
        position = found.start()
        while position < len(text):
            answer = _decode(text, position)
            if isinstance(answer, str) or not _is_whole(answer[0]):
                break
            position = _skip(text, answer[1])
        else:
            return found.start()
    return len(text)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def mend(raw: bytes, offset: int, line: int, *, whole: bool = True) -> Iterator[Piece]:
    """Yield what a line holds that is not simply one record.

    With `whole` unset the line has no newline yet: only the complete records at its beginning are
    yielded, and nothing is called bad.
    """
    text = raw.decode("utf-8", "surrogateescape")
    position, at = _skip(text, 0), offset
    at += _size(text[:position])
    if whole and position == len(text) and "\0" in text:
        yield Piece(offset, len(raw), line, None, raw, "only zero bytes")
    while position < len(text):
        answer = _decode(text, position)
        if isinstance(answer, str):
            if not whole:
                return
            end, record, reason = _resume(text, position + 1), None, answer
        else:
            end, record, reason = answer[1], answer[0], ""
            if not isinstance(record, dict):
                record, reason = None, "not an object"
        if not whole and record is None:
            return
        size = _size(text[position:end])
        piece = raw[at - offset : at - offset + size]
        yield Piece(at, size, line, record, piece, reason)
        after = _skip(text, end)
        at += size + _size(text[end:after])
        position = after


def parse(raw: bytes, offset: int, line: int) -> Iterable[Piece]:
    """Return the pieces of one complete line, its newline included in `raw`."""
    try:
        value = orjson.loads(raw)
    except ValueError:
        return mend(raw, offset, line)
    size = len(raw) - raw.endswith(b"\n")
    if isinstance(value, dict):
        return (Piece(offset, size, line, value, raw, ""),)
    return (Piece(offset, size, line, None, raw, "not an object"),)


def rest(raw: bytes, handle: BinaryIO, limit: int = MAX_LINE) -> tuple[bytes, int]:
    """Return the line that begins with `raw`, as read up to `limit`, and how many bytes it took.

    One that is longer comes back cut to its first bytes. The bytes end in a newline exactly when the line is
    complete in the file.
    """
    size = len(raw)
    if size < limit or raw.endswith(b"\n"):
        return raw, size
    head = raw[:200]
    while raw and not raw.endswith(b"\n"):
        raw = handle.readline(1 << 20)
        size += len(raw)
    return (head + b"\n" if raw else head), size
