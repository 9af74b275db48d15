"""The spool: one file per hook event, written by ``hooks/capture.py``, drained by the worker.

A file's life: *pending* until its event is in the ledger, then *retired* (removed); *quarantined*, with the
reason beside it, when no session can be told from it. Hooks write whatever the host gave them, unparsed,
so everything here expects the worst: cut JSON, other encodings, fields of the wrong type.

File names are ``<epoch ms, 13 digits>-<pid>-<6 hex>-<hook>.json``, so that names sort by time.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.atomic import TEMP_MARK, ensure_dir, write_atomic
from pipeline.errors import SpoolError
from pipeline.redact import redact

READ_LIMIT = 16 << 20
"""Bytes of one file that are looked at; the hook keeps no more."""
PAYLOAD_LIMIT = 20_000
"""Bytes of redacted JSON kept in the ledger for one event."""
QUARANTINE_LIMIT = 64_000
"""Characters of an unreadable event that are kept, redacted."""
STALE_SECONDS = 86_400.0

_NAME = re.compile(r"(\d{13})-\d+-[0-9a-f]{6}-([A-Za-z0-9]{1,40})\.json")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SALVAGE = {
    name: re.compile(rf'"{name}"\s{{0,20}}:\s{{0,20}}("(?:[^"\\\n]|\\.){{1,4096}}")')
    for name in ("session_id", "transcript_path", "cwd", "hook_event_name", "agent_id", "reason", "trigger")
}


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """One pending file. `id` is its name without ``.json``; `received_at` is in epoch seconds."""

    path: Path
    id: str
    hook: str
    received_at: float


@dataclass(frozen=True, slots=True)
class Event:
    """What one hook event says; the first seven fields are what the ledger keeps.

    `payload_json` is redacted and at most PAYLOAD_LIMIT bytes. `last_assistant_message` is as the host
    gave it, to be compared with the transcript and never kept. `reason` is why the session ended or what
    triggered the compaction. With an `agent_id` the event is a subagent's and not ours to follow.
    """

    id: str
    hook: str
    session_id: str
    transcript_path: str | None
    cwd: str | None
    payload_json: str
    received_at: float
    last_assistant_message: str = field(default="", repr=False)
    reason: str = ""
    agent_id: str = ""


def directory(home: Path) -> Path:
    """Return the spool of the Reverie whose home is `home`."""
    return home / "spool"


def pending(home: Path) -> Iterator[SpoolFile]:
    """Yield the files that wait, oldest first. Raises SpoolError when the spool can't be listed."""
    try:
        with os.scandir(directory(home)) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.name.endswith(".json")
                and not entry.name.startswith(".")
                and entry.is_file(follow_symlinks=False)
            )
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unusable(directory(home), error) from error
    for name in names:
        file = _spool_file(directory(home) / name)
        if file is not None:
            yield file


def parse(file: SpoolFile) -> Event | None:
    """Return the event in `file`, or None when no session can be told from it and it was quarantined.

    A file that vanished meanwhile gives None too. Raises SpoolError when it can't be read or moved.
    """
    try:
        with file.path.open("rb") as source:
            raw = source.read(READ_LIMIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(file.path, error) from error
    event = decode(raw, file)
    if event is None:
        quarantine(file, "names neither a session nor a transcript")
    return event


def decode(raw: bytes, file: SpoolFile) -> Event | None:
    """Return the event that `raw` (one JSON object, whole or cut, in any Unicode encoding) describes.

    Missing fields are None or empty; a session id is taken from the transcript's name when it has none
    of its own. None when neither a session nor a transcript can be told.
    """
    fields = _fields(raw)
    transcript_path = _text(fields, "transcript_path")
    session_id = _text(fields, "session_id") or ""
    if not _SESSION.fullmatch(session_id):
        stem = Path(transcript_path or "").stem
        session_id = stem if _SESSION.fullmatch(stem) else ""
    if not session_id and not transcript_path:
        return None
    hook = file.hook if file.hook != "Unknown" else _text(fields, "hook_event_name") or "Unknown"
    return Event(
        id=file.id,
        hook=hook,
        session_id=session_id,
        transcript_path=transcript_path,
        cwd=_text(fields, "cwd"),
        payload_json=_payload(fields),
        received_at=file.received_at,
        last_assistant_message=_text(fields, "last_assistant_message") or "",
        reason=_text(fields, "reason") or _text(fields, "trigger") or "",
        agent_id=str(fields.get("agent_id") or ""),
    )


def retire(file: SpoolFile) -> None:
    """Remove `file`, whose event is in the ledger. Raises SpoolError when it can't be removed."""
    try:
        file.path.unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(file.path, error) from error


def quarantine(file: SpoolFile, reason: str) -> Path:
    """Move `file` out of the way and return where it is now, with `reason` in a ``.reason`` file beside it.

    What is kept is redacted and cut, since it may stay for long. Raises SpoolError.
    """
    place = directory(file.path.parent.parent) / "quarantine" / file.path.name
    try:
        with file.path.open("rb") as source:
            raw = source.read(QUARANTINE_LIMIT * 2)
        text = redact(_decode(raw)[:QUARANTINE_LIMIT]).text
        ensure_dir(place.parent)
        write_atomic(place, text.encode("utf-8", "replace"))
        write_atomic(place.with_suffix(".reason"), (redact(reason).text + "\n").encode("utf-8", "replace"))
        file.path.unlink()
    except OSError as error:
        raise _unusable(file.path, error) from error
    return place


def quarantined(home: Path) -> list[tuple[str, str]]:
    """Return (id, reason) of every quarantined event, oldest first."""
    place = directory(home) / "quarantine"
    found = []
    for path in sorted(place.glob("*.json")):
        why = path.with_suffix(".reason")
        found.append((path.stem, why.read_text("utf-8", "replace").strip() if why.is_file() else ""))
    return found


def sweep(home: Path, *, now: float) -> int:
    """Remove temp files of hooks that died over a day before `now` (epoch seconds); return how many."""
    removed = 0
    place = directory(home)
    if not place.is_dir():
        return 0
    for path in place.iterdir():
        if not (path.name.startswith(".") and TEMP_MARK in path.name):
            continue
        try:
            if now - path.stat().st_mtime > STALE_SECONDS:
                path.unlink()
                removed += 1
        except FileNotFoundError:
            # Its hook has just renamed it.
            continue
        except OSError as error:
            raise _unusable(path, error) from error
    return removed


def _spool_file(path: Path) -> SpoolFile | None:
    known = _NAME.fullmatch(path.name)
    if known:
        return SpoolFile(path, path.stem, known[2], int(known[1]) / 1000)
    try:
        return SpoolFile(path, path.stem, "Unknown", path.stat().st_mtime)
    except FileNotFoundError:
        return None


def _unusable(path: Path, error: OSError) -> SpoolError:
    return SpoolError(
        error.strerror or str(error),
        file=str(path),
        fix="Make the spool folder readable and writable for yourself, and see that the disk is not full.",
    )


def _decode(raw: bytes) -> str:
    """Decode UTF-8, UTF-16 or UTF-32, with or without a mark; what can't be decoded becomes U+FFFD."""
    return raw.decode(json.detect_encoding(raw), "replace")


def _fields(raw: bytes) -> dict[str, Any]:
    """Return the JSON object at the start of `raw`, or what can be picked out of a broken one."""
    text = _decode(raw).lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    picked = {}
    for name, pattern in _SALVAGE.items():
        found = pattern.search(text)
        if found:
            try:
                picked[name] = json.loads(found[1], strict=False)
            except ValueError:
                # A broken escape inside this one value; the others may still do.
                continue
    return picked


def _text(fields: dict[str, Any], name: str) -> str | None:
    """Return the field `name` if it is text that says something; lone surrogates become U+FFFD."""
    value = fields.get(name)
    return _clean(value) if isinstance(value, str) and value.strip() else None


def _clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _payload(fields: dict[str, Any]) -> str:
    """Return `fields` as redacted JSON within PAYLOAD_LIMIT, long strings cut first."""
    for longest in (PAYLOAD_LIMIT, 4000, 500, 100):
        text = json.dumps(_safe(fields, longest, 0), ensure_ascii=False)
        if len(text.encode()) <= PAYLOAD_LIMIT:
            return text
    few = {name: value for name, value in fields.items() if name in _SALVAGE and isinstance(value, str)}
    return json.dumps(_safe(few, 1000, 0), ensure_ascii=False)


def _safe(value: Any, longest: int, depth: int) -> Any:
    """Return `value` with its strings redacted and at most `longest` characters, and no deep nesting."""
    if isinstance(value, str):
        # Redacted with some text to spare, so that the cut does not hide half a secret from the rules.
        text = redact(_clean(value[: longest + 4096])).text
        return text if len(text) <= longest else text[:longest] + "…"
    if isinstance(value, dict):
        if depth > 8:
            return "…"
        return {str(_safe(name, 200, depth)): _safe(item, longest, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_safe(item, longest, depth + 1) for item in value[:200]] if depth <= 8 else "…"
    return value
