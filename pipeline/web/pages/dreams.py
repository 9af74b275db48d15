"""Dreams: what each did, old beside new, what it left out and refused, what it cost, and its undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import Response

from pipeline.app import dream_reports, undoing
from pipeline.app.changes import MemoryChange
from pipeline.app.dream_reports import Dream
from pipeline.core.errors import UsageError
from pipeline.text.humanize import count
from pipeline.web.listed import ROWS
from pipeline.web.visit import Visit

_WILL = {
    "created": "will leave",
    "restored": "will leave",
    "retired": "will come back",
    "removed": "will come back",
}
_THEN = {"created": "left", "restored": "left", "retired": "came back", "removed": "came back"}
"""What becomes of memories when what was done to them is undone, before it and after it."""


def shelf(visit: Visit) -> Response:
    """Return the newest dream, or the one that was asked for, beside the list of all."""
    start = visit.number("from", 0, most=1_000_000)
    rows, total = dream_reports.newest(visit.app, start, ROWS)
    run = visit.asked("run") or (rows[0].report.run_id if rows else "")
    found = dream_reports.dream(visit.app, run) if run else None
    return visit.page(
        "dreams.html",
        "dreams",
        "Dreams",
        rows=rows,
        start=start,
        most=ROWS,
        total=total,
        dream=found,
        **(_told_of(found) if found else {}),
    )


def undo(visit: Visit) -> Response:
    """Undo a dream, or do it again where it was undone."""
    run, base = visit.given("run"), visit.given("dream")
    if not run or not base:
        raise UsageError("which dream?", fix="Use the button of the page.")
    found = dream_reports.dream(visit.app, base)
    parts = undoing.take_back(visit.app, run)
    return visit.go("dreams", _message(parts, _effect(found.every, _THEN) if found else ""), run=base)


def _told_of(dream: Dream) -> dict[str, Any]:
    report = dream.report
    others = [item for item in report.refused if not item.get("later")]
    return {
        "report": report,
        "later": [item for item in report.refused if item.get("later")],
        "waiting": [item for item in others if item["to_inbox"]],
        "refused": [item for item in others if not item["to_inbox"]],
        "yours": [name for name in report.left_alone if name not in report.nobodys],
        "effect": _effect(dream.every, _WILL),
    }


def _effect(changes: Iterable[MemoryChange], words: Mapping[str, str]) -> str:
    """Return by `words` what an undo of `changes` does; what only changed is as before."""
    otherwise = "will be as before" if words is _WILL else "as before"
    numbers: dict[str, int] = {}
    for change in changes:
        word = words.get(change.word, otherwise)
        numbers[word] = numbers.get(word, 0) + 1
    return ", ".join(f"{count(number, 'memory', 'memories')} {word}" for word, number in numbers.items())


def _message(parts: Iterable[undoing.Part], effect: str) -> str:
    """Return what came of an undo whose effect on memories is `effect`."""
    undone = [part.undone for part in parts]
    again = any(item.again for item in undone)
    if all(item.already for item in undone):
        return f"It was {'done again' if again else 'undone'} before."
    partly = sum(len(item.partly) for item in undone)
    later = (
        f" {count(partly, 'file')} kept what came into {'it' if partly == 1 else 'them'} since."
        if partly
        else ""
    )
    if again:
        return f"Done again: it is as the dream left it.{later}"
    return f"Undone: {effect or 'no memory had to change'}.{later}"


PAGES = (("dreams", shelf, ("GET",)), ("dreams/undo", undo, ("POST",)))
