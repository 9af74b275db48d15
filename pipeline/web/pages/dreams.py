"""Dreams: what each did, old beside new, what it left out and refused, what it cost, and its undo."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import Response

from pipeline.app import dream_reports, undoing
from pipeline.app.changes import MemoryChange
from pipeline.app.dream_reports import Dream
from pipeline.consolidation.commit.report import headline
from pipeline.core.errors import UsageError
from pipeline.text.humanize import count
from pipeline.web.visit import Visit

_SHOWN = 100
_UNDONE = {
    "created": "taken away",
    "restored": "retired again",
    "retired": "brought back",
    "removed": "brought back",
}
"""What an undo does to what was done; anything else is as it was."""


def shelf(visit: Visit) -> Response:
    """Return the newest dream, or the one that was asked for, beside the list of all."""
    start = visit.number("from", 0, most=1_000_000)
    rows, total = dream_reports.newest(visit.app, start, _SHOWN)
    run = visit.asked("run") or (rows[0].report.run_id if rows else "")
    found = dream_reports.dream(visit.app, run) if run else None
    return visit.page(
        "dreams.html",
        "dreams",
        "Dreams",
        rows=[(row, headline(row.report)) for row in rows],
        start=start,
        most=_SHOWN,
        total=total,
        dream=found,
        **(_told_of(found) if found else {}),
    )


def undo(visit: Visit) -> Response:
    """Undo a dream, or do it again where it was undone."""
    run = visit.given("run")
    if not run:
        raise UsageError("which dream?", fix="Use the button of the page.")
    parts = undoing.take_back(visit.app, run)
    said = "; ".join(map(_said, parts))
    return visit.go("dreams", f"{said[:1].upper()}{said[1:]}.", run=visit.given("dream"))


def _told_of(dream: Dream) -> dict[str, object]:
    report = dream.report
    others = [item for item in report.refused if not item.get("later")]
    return {
        "report": report,
        "headline": headline(report),
        "later": [item for item in report.refused if item.get("later")],
        "waiting": [item for item in others if item["to_inbox"]],
        "refused": [item for item in others if not item["to_inbox"]],
        "yours": [name for name in report.left_alone if name not in report.nobodys],
        "effect": _effect(dream.every),
    }


def _effect(changes: Iterable[MemoryChange]) -> str:
    """Return in words what an undo of `changes` does."""
    numbers: dict[str, int] = {}
    for change in changes:
        word = _UNDONE.get(change.word, "as before")
        numbers[word] = numbers.get(word, 0) + 1
    return ", ".join(f"{count(number, 'memory', 'memories')} {word}" for word, number in numbers.items())


def _said(part: undoing.Part) -> str:
    undone = part.undone
    past = "done again" if undone.again else "undone"
    where = " for all projects" if part.scope == "user" else ""
    if undone.already:
        return f"it was {past} before{where}"
    numbers = {
        "removed": len(undone.removed),
        "brought back": len(undone.restored),
        "as the dream left it" if undone.again else "as before": len(undone.paths)
        - len(undone.removed)
        - len(undone.restored),
        "as before but for what came into it since": len(undone.partly),
    }
    files = ", ".join(f"{count(number, 'file')} {word}" for word, number in numbers.items() if number > 0)
    return f"{past}{where}: {files or 'no file had to change'}"


PAGES = (("dreams", shelf, ("GET",)), ("dreams/undo", undo, ("POST",)))
