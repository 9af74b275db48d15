"""The spool: one file per hook event, written by ``hooks/spooling.py``, drained by the worker.

A file's life: *pending* until its event is in the ledger, then *retired* (removed); *left*, which is still
pending with the reason beside it, when it could not be taken this time; *quarantined*, with the reason beside
it, when no session can be told from it. Hooks write whatever the host gave them, unparsed,
so everything here expects the worst: cut JSON, other encodings, fields of the wrong type.

File names are ``<epoch ms, 13 digits>-<pid>-<6 hex>-<hook>.json``, so that names sort by time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pipeline.core.atomic import TEMP_MARK, ensure_dir, write_atomic
from pipeline.core.errors import SpoolError
from pipeline.core.home import Home
from pipeline.intake.payload import PAYLOAD_LIMIT as PAYLOAD_LIMIT
from pipeline.intake.payload import decode_text, fields_of, payload_of, text_field
from pipeline.ledger import Ledger, events
from pipeline.record import field, record
from pipeline.safety.late import late

READ_LIMIT = 16 << 20
"""Bytes of one file that are looked at; the hook keeps no more."""
QUARANTINE_LIMIT = 64_000
"""Characters of an unreadable event that are kept, redacted."""
STALE_SECONDS = 86_400.0

_NAME = late(r"(\d{13})-\d+-[0-9a-f]{6}-([A-Za-z0-9]{1,40})\.json")
_SESSION = late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@record
class SpoolFile:
    """One pending file. `id` is its name without ``.json``; `received_at` is in epoch seconds."""

    path: Path
    id: str
    hook: str
    received_at: float


@record
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
    return Home(home).spool


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


def last_event(home: Path, ledger: Ledger | None) -> tuple[str, float] | None:
    """Return hook and time (epoch seconds) of the last event, pending or in `ledger`; None when none came.

    Raises SpoolError when the spool can't be listed, LedgerError as the ledger does.
    """
    found = [(file.received_at, file.hook) for file in pending(home)]
    if ledger is not None:
        found += [(event.received_at, event.hook) for event in events.list_events(ledger, limit=1)]
    at, hook = max(found, default=(0.0, ""))
    return (hook, at) if found else None


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
    fields = fields_of(raw)
    transcript_path = text_field(fields, "transcript_path")
    session_id = text_field(fields, "session_id") or ""
    if not _SESSION.fullmatch(session_id):
        stem = Path(transcript_path or "").stem
        session_id = stem if _SESSION.fullmatch(stem) else ""
    if not session_id and not transcript_path:
        return None
    hook = file.hook if file.hook != "Unknown" else text_field(fields, "hook_event_name") or "Unknown"
    return Event(
        id=file.id,
        hook=hook,
        session_id=session_id,
        transcript_path=transcript_path,
        cwd=text_field(fields, "cwd"),
        payload_json=payload_of(fields),
        received_at=file.received_at,
        last_assistant_message=text_field(fields, "last_assistant_message") or "",
        reason=text_field(fields, "reason") or text_field(fields, "trigger") or "",
        agent_id=str(fields.get("agent_id") or ""),
    )


def retire(file: SpoolFile) -> None:
    """Remove `file`, whose event is in the ledger. Raises SpoolError when it can't be removed."""
    try:
        file.path.unlink(missing_ok=True)
        _reason_file(file.path).unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(file.path, error) from error


def quarantine(file: SpoolFile, reason: str) -> Path:
    """Move `file` out of the way and return where it is now, with `reason` in a ``.reason`` file beside it.

    What is kept is redacted and cut, since it may stay for long. Raises SpoolError.
    """
    target = Home(file.path.parent.parent).quarantine / file.path.name
    try:
        with file.path.open("rb") as source:
            raw = source.read(QUARANTINE_LIMIT * 2)
        text = _redacted(decode_text(raw)[:QUARANTINE_LIMIT])
        ensure_dir(target.parent)
        write_atomic(target, text.encode("utf-8", "replace"))
        write_atomic(target.with_suffix(".reason"), (_redacted(reason) + "\n").encode("utf-8", "replace"))
        file.path.unlink()
        _reason_file(file.path).unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(file.path, error) from error
    return target


def leave(file: SpoolFile, reason: str) -> None:
    """Note why `file` could not be taken, for `left`; it stays pending. Raises SpoolError."""
    text = (_redacted(reason) + "\n").encode("utf-8", "replace")
    reason_file = _reason_file(file.path)
    try:
        if not (reason_file.is_file() and reason_file.read_bytes() == text):
            write_atomic(reason_file, text)
    except OSError as error:
        raise _unusable(reason_file, error) from error


def left(home: Path) -> list[tuple[str, str]]:
    """Return (id, reason) of every pending event that could not be taken so far, oldest first."""
    return [
        (file.id, _reason(_reason_file(file.path)))
        for file in pending(home)
        if _reason_file(file.path).is_file()
    ]


def _reason_file(path: Path) -> Path:
    """Return where the reason stands for the event at `path`."""
    return path.with_suffix(".reason")


def _reason(path: Path) -> str:
    """Return the reason in the file `path`; nothing when it went away meanwhile."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"the reason can't be read: {error.strerror or error}"


def quarantined(home: Path) -> list[tuple[str, str]]:
    """Return (id, reason) of every quarantined event, oldest first."""
    folder = Home(home).quarantine
    return [(path.stem, _reason(_reason_file(path))) for path in sorted(folder.glob("*.json"))]


def sweep(home: Path, *, now: float) -> int:
    """Remove temp files of hooks that died over a day before `now` (epoch seconds); return how many.

    Raises SpoolError when the spool can't be listed or a file in it can't be removed.
    """
    removed = 0
    folder = directory(home)
    try:
        listed = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise _unusable(folder, error) from error
    for path in listed:
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


def _redacted(text: str) -> str:
    # Deferred: it is for what failed, and whoever looks at the spool imports this module.
    from pipeline.safety.redaction import redact

    return redact(text).text
