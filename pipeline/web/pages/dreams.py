"""Dreams: what each did, old beside new, what it left out and refused, what it cost, and its undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from pipeline.app import dream_reports
from pipeline.app.changes import MemoryChange
from pipeline.app.dream_reports import Dream, Listed, Turned
from pipeline.app.waiting import put_by
from pipeline.core.clock import parse_time
from pipeline.core.errors import OvertakenError, UsageError
from pipeline.core.zone import local
from pipeline.domain.action import DreamAction
from pipeline.domain.operations import is_doubted
from pipeline.text.humanize import ago, count
from pipeline.web.listed import ROWS
from pipeline.web.visit import Visit

if TYPE_CHECKING:
    from pipeline.app.undoing import Part

_WILL = {
    "created": "will be taken away",
    "restored": "will be put away",
    "retired": "will come back",
    "removed": "will come back",
}
"""What becomes of memories when what was done to them is undone."""
_THEN = {
    "created": "came back",
    "restored": "came back",
    "retired": "were put away",
    "removed": "were taken away",
}
"""What became of them by an undo, or a second doing, that did this to them."""
_EVENING = timedelta(hours=6)
"""How long before midnight a night begins."""
_MORNING = 6
"""The hour at which it ends."""
_OF_ONE = {"are": "is", "were": "was"}
_MOST_NAMED = 3
_DIARIES = "episodes/"
"""Where the diary lies: that a day has later lines than the dream's is no surprise."""


def shelf(visit: Visit) -> Response:
    """Return the newest dream, or the one that was asked for, beside the list of all."""
    return _page(visit, visit.asked("run"))


def _page(visit: Visit, run: str, wrong: OvertakenError | None = None) -> Response:
    start = visit.number("from", 0, most=1_000_000)
    rows, total = dream_reports.newest(visit.app, start, ROWS)
    passed_over = 0
    if rows and not run:
        # Whoever comes to see what a dream did is not shown first that the last one did nothing.
        first = next((at for at, row in enumerate(rows) if row.changed_something), 0)
        run, passed_over = rows[first].report.run_id, first
    found = dream_reports.dream(visit.app, run) if run else None
    return visit.page(
        "dreams.html",
        "dreams",
        "Dreams",
        status=400 if wrong else 200,
        wrong=wrong,
        way=_in_the_way(visit, wrong) if wrong else None,
        rows=rows,
        start=start,
        most=ROWS,
        total=total,
        dream=found,
        passed_over=passed_over,
        line=_line,
        last_night=partial(_was_last_night, visit.app.clock.now()),
        age=partial(_age, visit.app.clock.now()),
        **(_told_of(visit, found) if found else {}),
    )


def _line(dream: Dream | Listed, *, is_short: bool = False) -> str:
    """Return in a sentence or two what came of a dream, and of what failed in it that nothing is lost."""
    report = dream.report
    if report.word not in ("done", "partial") or not (report.actions or report.failed):
        return dream.headline
    parts = [f"{_came_of(report.actions) or 'Nothing was changed'}."]
    if report.failed and is_short:
        parts.append("About a part no answer came.")
    elif report.failed:
        about = _named([text.partition(": ")[0] for text in report.failed])
        them = "it" if len(report.failed) == 1 else "them"
        parts.append(f"About {about} the model gave no usable answer.")
        parts.append(f"Nothing is lost: the next dream begins with {them}.")
    return " ".join([*parts, report.reason]).strip()


def _came_of(actions: Iterable[DreamAction]) -> str:
    merged = [action for action in actions if action.op == "merge"]
    away = sum(len(action.memories) for action in actions if action.op == "retire")
    others = sum(action.op not in ("merge", "retire") for action in actions)
    of = sum(len(action.memories) for action in merged)
    shown = (
        (of, f"{count(of, 'memory', 'memories')} became {len(merged)}"),
        (away, f"{count(away, 'memory', 'memories')} {'was' if away == 1 else 'were'} put away"),
        (others, count(others, "other change" if merged or away else "change")),
    )
    return ", ".join(text for number, text in shown if number)


def _was_last_night(now: datetime, at: str) -> bool:
    """Whether `at` is between yesterday's evening and this morning, by the clocks here.

    Before it is morning the night is under way, and none of it is the last one.
    """
    moment = parse_time(at)
    today = local(now).replace(hour=0, minute=0, second=0, microsecond=0)
    morning = today.replace(hour=_MORNING)
    return moment is not None and today - _EVENING <= local(moment) < morning <= local(now)


def _age(now: datetime, at: str) -> str:
    moment = parse_time(at)
    return ago(moment.timestamp(), now) if moment else ""


def _in_the_way(visit: Visit, wrong: OvertakenError) -> Any:
    from pipeline.app import undoing

    return undoing.in_the_way(visit.app, wrong)


def undo(visit: Visit) -> Response:
    """Undo a dream, or put back what it did where it was undone."""
    from pipeline.app import undoing

    run, base = visit.given("run"), visit.given("dream")
    if not run or not base:
        raise UsageError("which dream?", fix="Use the button of the page.")
    found = dream_reports.dream(visit.app, base)
    try:
        parts = undoing.take_back(visit.app, run)
    except OvertakenError as error:
        return _page(visit, base, error)
    first = parts[0].undone
    if found and not dream_reports.is_of(found, parts[0]):
        # What stood in the way of the dream's undo.
        verb = "Put back" if first.again else "Undone"
        return visit.go("dreams", f"{verb}: {first.reason}. The dream can be undone now.", run=base)
    turned = dream_reports.turned(visit.app, found, parts)
    diaries = [name for name in turned.kept if name.startswith(_DIARIES)]
    return visit.go("dreams", _message(parts, turned), run=base, diary="yes" if diaries else "")


def _told_of(visit: Visit, dream: Dream) -> dict[str, Any]:
    report = dream.report
    others = [
        {**item, "is_doubted": is_doubted(item["why"])} for item in report.refused if not item.get("later")
    ]
    return {
        "report": report,
        "later": [item for item in report.refused if item.get("later")],
        "waiting": [item for item in others if item["to_inbox"]],
        "put": put_by(visit.app, report.run_id),
        "refused": [item for item in others if not item["to_inbox"]],
        "yours": [name for name in report.left_alone if name not in report.nobodys],
        "effect": _effect(dream_reports.still_to_turn(visit.app, dream), _WILL, "will be as before"),
    }


def _effect(changes: Iterable[MemoryChange], words: Mapping[str, str], otherwise: str) -> str:
    """Return how many of `changes` are what by `words`; those that they don't name are `otherwise`."""
    # What comes and goes is said before what stays.
    numbers: dict[str, int] = {}
    for change in sorted(changes, key=lambda change: change.word not in words):
        word = words.get(change.word, otherwise)
        numbers[word] = numbers.get(word, 0) + 1
    parts = []
    for word, number in numbers.items():
        first, _, rest = word.partition(" ")
        shown = f"{_OF_ONE.get(first, first)} {rest}" if number == 1 else word
        parts.append(f"{count(number, 'memory', 'memories')} {shown}")
    return ", ".join(parts)


def _message(parts: Iterable[Part], turned: Turned) -> str:
    """Return what came of an undo."""
    undone = [part.undone for part in parts]
    again = any(item.again for item in undone)
    if all(item.already for item in undone):
        return f"It was {'put back' if again else 'undone'} before."
    later = ""
    if turned.already:
        alone = len(turned.already) == 1
        words = "stays as it is: it" if alone else "stay as they are: they"
        later += f" {_named(turned.already)} {words} changed by another way in between."
    kept = [name for name in turned.kept if not name.startswith(_DIARIES)]
    if kept:
        words = "keeps what was added to it" if len(kept) == 1 else "keep what was added to them"
        later += f" {_named(kept)} {words} later."
    effect = _effect(turned.changes, _THEN, "are as the dream left them" if again else "are as before")
    effect = effect.replace("is as the dream left them", "is as the dream left it")
    return f"{'Put back' if again else 'Undone'}: {effect or 'no memory had to change'}.{later}"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return " and ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)
