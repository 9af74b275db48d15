"""The tables of ``reverie eval``, as rows of cells, and in words what was missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.evaluation.reading import Spent
from pipeline.evaluation.scoring import Score, total
from pipeline.evaluation.suite import HALVES, MANNERS

_WORDS = {"looked_at": "looked at", "held_back": "held back", "": "as asked"}
_ALL = "all"
_TEXT_CHARS = 220
_MOST_ALTERNATIVES = 4


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its title."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def tables(scores: Sequence[Score]) -> Iterator[Table]:
    """Yield a table for each half and one for all, then what the checks took out of replies, by manner."""
    plain = [each for each in scores if not each.manner]
    halves = {half: [each for each in plain if each.half == half] for half in HALVES}
    halves = {half: held for half, held in halves.items() if held}
    sums = [total(_WORDS[half], held) for half, held in halves.items()]
    for half, held in halves.items():
        yield _results(f"sessions {_WORDS[half]}", [*held, total(_WORDS[half], held)])
    others = [each for each in plain if not each.half]
    if others:
        yield _results("sessions in no half" if halves else "sessions", [*others, total(_ALL, others)])
        sums.append(total("in no half" if halves else _ALL, others))
    if len(sums) > 1:
        sums.append(total(_ALL, plain))
        yield _results("all sessions", sums)
    if plain:
        yield _checks("what the checks took out", sums)
    for manner in MANNERS:
        if held := [each for each in scores if each.manner == manner]:
            yield _checks(f"what the checks took out of {manner} replies", [*held, total(_ALL, held)])


def _results(title: str, scores: Sequence[Score]) -> Table:
    rows = [_result(each) for each in scores]
    return Table(title, list(rows[0]), [list(row.values()) for row in rows])


def _result(score: Score) -> dict[str, str]:
    number = len(score.memories)
    both = Spent()
    both.add(score.first)
    both.add(score.second)
    return {
        "session": score.session,
        "kept": f"{len(score.strict)}/{score.must}",
        "without reason": f"{len(score.lenient)}/{score.must}",
        "right": f"{len(score.right)}/{number}",
        "clean": f"{len(score.clean)}/{number}",
        "never": str(len(score.never)),
        "outdated": str(len(score.outdated)),
        "doubled": str(len(score.doubled)),
        "sourced": f"{score.sourced}/{number}",
        "calls": str(score.first.calls),
        "tokens": _estimate(score.first, f"{score.first.tokens:,}"),
        "again: calls": str(score.second.calls),
        "again: tokens": _estimate(score.second, f"{score.second.tokens:,}"),
        "USD": _estimate(both, f"{both.dollars:.4f}"),
    }


def _estimate(spent: Spent, figure: str) -> str:
    return f"~{figure}" if spent.estimated else figure


def _checks(title: str, scores: Sequence[Score]) -> Table:
    """Return a table with one column a score: what came, what became of it, and how much of it was wrong."""
    rows = [
        ["came", *(str(each.came) for each in scores)],
        ["  of them wrong", *(str(each.came_wrong) for each in scores)],
    ]
    for lead, counts in (
        ("screened: ", [each.screened for each in scores]),
        ("sent back: ", [each.sent_back for each in scores]),
        ("turned down: ", [each.turned_down for each in scores]),
    ):
        kinds = sorted({kind for count in counts for kind in count}, key=lambda k: (-counts[-1][k], k))
        rows += [[lead + kind, *(str(count[kind]) for count in counts)] for kind in kinds]
    rows += [
        ["left to a person", *(str(each.inbox) for each in scores)],
        ["known already", *(str(each.known) for each in scores)],
        ["written", *(str(len(each.memories)) for each in scores)],
        ["  of them wrong", *(str(len(each.wrong)) for each in scores)],
    ]
    return Table(title, ["", *(each.session for each in scores)], rows)


def misses(score: Score) -> Iterator[str]:
    """Yield in words what was missed in one session: the fact, what came nearest, and what that lacks."""
    for miss in score.misses:
        what = "kept without its reason" if miss.reason_only else "missed"
        yield f"{score.session}: {miss.id} {what}: {miss.fact}"
        if miss.nearest:
            text = miss.text if len(miss.text) <= _TEXT_CHARS else miss.text[:_TEXT_CHARS].rstrip() + "…"
            yield f"  nearest: {miss.nearest} ({miss.fate}): {text}"
        else:
            yield "  nothing came near it"
        yield from (f"  lacks: {_alternatives(group)}" for group in miss.lacks)


def _alternatives(group: Sequence[str]) -> str:
    more = len(group) - _MOST_ALTERNATIVES
    shown = " or ".join(f"“{each}”" for each in group[:_MOST_ALTERNATIVES])
    return f"{shown} or {more} more" if more > 0 else shown


def doubtful(score: Score) -> Iterator[str]:
    """Yield each memory that counts against a session, and each candidate that was turned down."""
    for name in ("unmatched", "never", "outdated", "doubled", "dropped"):
        yield from (f"{score.session}: {name}: {item}" for item in getattr(score, name))
