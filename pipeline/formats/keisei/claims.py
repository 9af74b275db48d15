"""The journal of numeric claims: sentences with a figure, how well it is founded, and on what.

The assistant marks a claim in its answer, ``took 18 min [REAL: tasks.jsonl#wave5]``; what stands before the
mark on its line, at most 60 characters, is the claim.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.core.errors import UsageError
from pipeline.formats.keisei import journals
from pipeline.formats.keisei.journals import CLAIMS, SESSIONS, TASKS, TIERS, Fault, Line, stamp
from pipeline.formats.keisei.tasks import name_of
from pipeline.ledger.session_times import Spoken
from pipeline.record import record
from pipeline.safety.late import late
from pipeline.safety.redaction import redact

MARKS = tuple(f"[{tier}:" for tier in TIERS)
BEFORE = 60
"""Characters before a mark that count as its claim."""
_MARK = late(rf"\[({'|'.join(TIERS)}):\s*([^\]\n]*)\]")
_POINTER = late(rf"({'|'.join(name.replace('.', '[.]') for name in (SESSIONS, TASKS, CLAIMS))})#(.+)")


@record
class Claim:
    """One claim of the journal; `leads` is False where what it points to is in no journal here.

    None where the pointer names no journal.
    """

    value: str
    evidence_tier: str
    pointer: str
    ts: str
    session_id: str
    leads: bool | None


def claim_line(value: str, tier: str, pointer: str, epoch: float, session_id: str = "") -> Line:
    """Return the record of a claim, without secrets.

    Raises UsageError for a tier that is none, and for an empty claim.
    """
    if tier not in TIERS:
        raise UsageError(f"{tier!r} is no tier", fix=f"Tiers: {', '.join(TIERS)}.")
    if not value.strip() or not value.isprintable():
        raise UsageError("a claim is one line of text", fix="Give the sentence with the figure.")
    clean = {"value": redact(value).text, "evidence_tier": tier, "pointer": redact(pointer).text}
    line = {"kind": "claim"} | clean | {"ts": stamp(epoch)}
    return line | ({"session_id": session_id} if session_id else {})


def marked(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield claim, tier and pointer of each mark in a text."""
    for line in text.split("\n"):
        passed = 0
        for found in _MARK.finditer(line):
            value = line[max(passed, found.start() - BEFORE) : found.start()].strip()
            passed = found.end()
            if value.isprintable() and value:
                yield value, found.group(1), found.group(2).strip()


def claimed(spoken: Iterable[Spoken]) -> Iterator[Line]:
    """Yield the record of each claim that the assistant marked; without a time it is left out.

    Secrets and private parts go before a text is cut: a part of one can't be told.
    """
    for item in spoken:
        moment = parse_time(item.at)
        if moment is not None:
            for value, tier, pointer in marked(redact(item.text).text):
                yield claim_line(value, tier, pointer, moment.timestamp(), item.session_id)


def new_lines(lines: Iterable[Line], journal: Iterable[Line]) -> list[Line]:
    """Return those of `lines` that the journal does not have, each once."""
    known = {_identity(line) for line in journal}
    found = []
    for line in lines:
        if _identity(line) not in known:
            known.add(_identity(line))
            found.append(line)
    return found


def _identity(line: Line) -> tuple[Any, ...]:
    return tuple(
        str(line.get(key) or "") for key in ("value", "evidence_tier", "pointer", "ts", "session_id")
    )


def take_out(folder: Path, sessions: Collection[str]) -> int:
    """Take the claims of `sessions` out of the journal in `folder` and return how many."""
    return journals.take_out(
        folder / CLAIMS,
        lambda line: line.get("kind") == "claim" and _text(line, "session_id") in sessions,
    )


def of_deleted(sessions: Collection[str]) -> int:
    """Take the claims of `sessions`, whose dialogue is about to be deleted, out of the journal."""
    return take_out(journals.default_folder(), sessions)


def claims(folder: Path, faults: list[Fault]) -> list[Claim]:
    """Return the claims of the journal in `folder` in its order, and whether what they point to is there."""
    lines = list(journals.read(folder / CLAIMS, faults, kinds=("claim",)))
    named = {match.group(1) for line in lines if (match := _POINTER.fullmatch(_text(line, "pointer")))}
    known = {name: _ids(folder / name) for name in named}
    found = []
    for line in lines:
        match = _POINTER.fullmatch(_text(line, "pointer"))
        found.append(
            Claim(
                value=_text(line, "value"),
                evidence_tier=_text(line, "evidence_tier"),
                pointer=_text(line, "pointer"),
                ts=_text(line, "ts"),
                session_id=_text(line, "session_id"),
                leads=match.group(2) in known[match.group(1)] if match else None,
            )
        )
    return found


def pointed_at(pointer: str) -> str:
    """Return what a `pointer` names in a journal, "" where it names none."""
    match = _POINTER.fullmatch(pointer)
    return match.group(2) if match else ""


def _ids(file: Path) -> set[str]:
    """Return by what a pointer may name a record of a journal: its id, its name, and that with its day."""
    found: set[str] = set()
    for line in journals.read(file):
        name = name_of(line)
        found |= {name, _text(line, "id"), f"{name}-{_text(line, 'ts')[:10]}"}
    return found - {""}


def _text(line: Line, key: str) -> str:
    return str(line.get(key) or "")
