"""What was said in a session, from the end of its transcript: as much as a hook can read in passing."""

import os

from pipeline.hooklib import jsonish, places, settings, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAIL = 48 << 10
"""Bytes of the end of a transcript in which the words before the prompt are looked for."""
_UNREAD = 256 << 10
"""The same for what the worker has not read."""
_MOST_SAID = 1_200
_MOST_PROMPTS = 50
_NOT_TYPED = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "agentId")


def before(transcript: str) -> str:
    """Return what was said last in the file `transcript`: the end of the last prose by either side, or ""."""
    last_texts: dict[str, str] = {}
    for line in reversed(_end_of(transcript, _TAIL).split(b"\n")):
        speaker, text = _prose(_entry(line))
        if text and speaker not in last_texts:
            last_texts[speaker] = text[-_MOST_SAID:]
        if len(last_texts) == 2:
            break
    return "\n".join(last_texts.values())


def unread(home: str, session: str, transcript: str) -> "list[tuple[float, str]]":
    """Return what the person typed in `session` that the worker has not read: (epoch seconds, text) in order.

    As far as the end of the file `transcript` tells; `home` is where the worker leaves how far it has read.
    """
    lines = _lines_with(_end_of(transcript, _UNREAD), b'"user"', b'"queued_command"')
    read = settings.board(home).get("read") if lines else None
    through = read.get(session) if isinstance(read, dict) else None
    found: list[tuple[float, str]] = []
    for line in reversed(lines):
        entry = _entry(line)
        moment, text = times.parse(entry.get("timestamp")), _typed(entry)
        if moment is None or not text:
            continue
        if isinstance(through, int | float) and moment <= through:
            break
        found.append((moment, text))
        if len(found) == _MOST_PROMPTS:
            break
    return found[::-1]


def _end_of(transcript: str, most: int) -> bytes:
    """Return the whole lines in the last `most` bytes of a file, nothing of one that can't be read."""
    try:
        size = os.stat(transcript).st_size
        handle = os.open(transcript, os.O_RDONLY | places.OPEN)
    except (OSError, ValueError):
        return b""
    try:
        os.lseek(handle, max(0, size - most), os.SEEK_SET)
        raw = os.read(handle, most)
    except OSError:
        return b""
    finally:
        os.close(handle)
    return raw if size <= most else raw[raw.find(b"\n") + 1 or len(raw) :]


def _lines_with(raw: bytes, *needles: bytes) -> "list[bytes]":
    """Return the lines of `raw` that hold one of `needles` and are no result of a tool, in their order.

    Most of a transcript is neither; to take it apart would cost more than to look through it.
    """
    found: dict[int, bytes] = {}
    for needle in needles:
        at = raw.find(needle)
        while at >= 0:
            start, end = raw.rfind(b"\n", 0, at) + 1, raw.find(b"\n", at)
            end = len(raw) if end < 0 else end
            if raw.find(b'"tool_result"', start, end) < 0:
                found[start] = raw[start:end]
            at = raw.find(needle, end)
    return [found[start] for start in sorted(found)]


def _entry(line: bytes) -> "dict[str, Any]":
    if b'"text"' not in line and b'"content"' not in line and b'"prompt"' not in line:
        return {}
    try:
        entry = jsonish.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _typed(entry: "dict[str, Any]") -> str:
    """Return what a person typed in `entry`, a prompt or one given while the assistant worked; else ""."""
    held = entry.get("attachment")
    if entry.get("type") == "attachment" and isinstance(held, dict) and held.get("type") == "queued_command":
        text = held.get("prompt")
    else:
        held = {}
        speaker, text = _prose(entry)
        text = text if speaker == "user" else ""
    origins = (entry.get("origin"), held.get("origin"))
    by_others = any(isinstance(origin, dict) and origin.get("kind", "human") != "human" for origin in origins)
    by_others = by_others or held.get("commandMode", "prompt") != "prompt"
    if by_others or any(entry.get(flag) for flag in _NOT_TYPED) or not isinstance(text, str):
        return ""
    return text.strip()


def _prose(entry: "dict[str, Any]") -> "tuple[str, str]":
    speaker = entry.get("type")
    if speaker not in ("user", "assistant") or entry.get("isMeta") or entry.get("isSidechain"):
        return "", ""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return speaker, content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return speaker, "\n".join([text for text in texts if isinstance(text, str)]).strip()
