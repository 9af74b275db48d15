"""Sequences of steps that come again and again: what a session's tools do by habit.

Only what worked and stood in one go counts: a failed step, a person's word and a long pause end a sequence.
The same step several times in a row is one. The answer depends on the events alone, and so does the memory it
takes: no more than MOST_STEPS steps are held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.formats.keisei.events import Event
from pipeline.formats.keisei.steps import Step, steps
from pipeline.record import changing, record

MOST_STEPS = 200_000
LONGEST = 8
"""Steps of the longest sequence that is looked for."""
PAUSE_MS = 30 * 60 * 1000
MOST_EVIDENCE = 50
"""Occurrences that are named of a sequence; `times` counts all."""
ALMOST = 0.8
"""Share of its times from which a longer sequence stands for one within it."""
_END = -1


@record
class Occurrence:
    """Where a sequence stood: the session, the ids of its events (uuid and block), and when it began."""

    session: str
    events: tuple[str, ...]
    at_ms: int | None


@record
class RepeatedSequence:
    """A sequence of steps: how often and in how many sessions it came, and where."""

    steps: tuple[str, ...]
    times: int
    sessions: int
    first_ms: int | None
    last_ms: int | None
    occurrences: tuple[Occurrence, ...]


class _Held(NamedTuple):
    """A step as it is held: the numbers of its word and its session; and its event."""

    word: int
    session: int
    id: str
    at_ms: int | None


@changing
class _Line:
    """All steps in a row, with an _END wherever a sequence must not go on, and the words by number."""

    held: list[_Held]
    words: list[str]
    sessions: list[str]


def repeated_sequences(
    events: Iterable[Event],
    *,
    times: int = 2,
    sessions: int = 1,
    shortest: int = 2,
    longest: int = LONGEST,
    only_successful: bool = True,
    commands_only: bool = False,
    most: int = 100,
    clean: Callable[[str], str] | None = None,
) -> list[RepeatedSequence]:
    """Return the sequences of steps that came at least so many `times` in so many `sessions`.

    Occurrences do not overlap. Of a sequence within a longer one that came almost as often, and of the turns
    of a circle, one is given. With `commands_only` what is no command neither counts nor ends a sequence.
    First those of the most sessions, then those that say most. `clean` takes secrets out of a text.
    """
    line = _laid_out(steps(events, clean), only_successful=only_successful, commands_only=commands_only)
    found: dict[tuple[int, ...], list[int]] = {}
    level = {
        words: starts
        for words, starts in _pairs(line.held).items()
        if len(_apart(starts, 2)) >= times  # Nothing longer can come more often.
    }
    length = 2
    while level:
        if length >= shortest:
            found |= level
        length += 1
        level = _longer(line.held, level, length, times) if length <= longest else {}
    kept = [
        _sequence_of(line, words, _apart(starts, len(words)))
        for words, starts in found.items()
        if not _returns(words)
    ]
    return _without_parts([item for item in kept if item.sessions >= sessions])[:most]


def _laid_out(found: Iterable[Step], *, only_successful: bool, commands_only: bool) -> _Line:
    line = _Line([], [], [])
    numbers: dict[str, int] = {}
    last: Step | None = None
    ends = False
    for step in found:
        if len(line.held) >= MOST_STEPS:
            break
        ends = ends or _ends(last, step)
        last = step
        if commands_only and not step.command:
            continue
        if not line.sessions or line.sessions[-1] != step.session:
            line.sessions.append(step.session)
        if ends:
            _end(line)
        ends = False
        if only_successful and not step.well:
            _end(line)
            continue
        number = numbers.setdefault(step.what, len(numbers))
        if number == len(line.words):
            line.words.append(step.what)
        if not line.held or line.held[-1].word != number:
            line.held.append(_Held(number, len(line.sessions) - 1, step.id, step.at_ms))
    return line


def _end(line: _Line) -> None:
    if line.held and line.held[-1].word != _END:
        line.held.append(_Held(_END, 0, "", None))


def _ends(last: Step | None, step: Step) -> bool:
    """Whether no sequence goes from `last` to `step`."""
    if last is None or step.breaks or last.session != step.session:
        return True
    return last.at_ms is not None and step.at_ms is not None and step.at_ms - last.at_ms > PAUSE_MS


def _pairs(held: Sequence[_Held]) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for at in range(len(held) - 1):
        pair = held[at].word, held[at + 1].word
        if _END not in pair:
            found.setdefault(pair, []).append(at)
    return found


def _longer(
    held: Sequence[_Held], level: dict[tuple[int, ...], list[int]], length: int, times: int
) -> dict[tuple[int, ...], list[int]]:
    """Return the sequences of `length` steps that begin with one of `level` and came often enough."""
    found: dict[tuple[int, ...], list[int]] = {}
    for words, starts in level.items():
        for at in starts:
            end = at + length - 1
            if end < len(held) and held[end].word != _END:
                found.setdefault((*words, held[end].word), []).append(at)
    return {words: starts for words, starts in found.items() if len(_apart(starts, length)) >= times}


def _apart(starts: Sequence[int], length: int) -> list[int]:
    """Return those of `starts` at which sequences of `length` steps do not overlap, from the first on."""
    found: list[int] = []
    for at in starts:
        if not found or at >= found[-1] + length:
            found.append(at)
    return found


def _returns(words: tuple[int, ...]) -> bool:
    """Whether a sequence ends as it begins, so that it is part of a circle told by a shorter one."""
    return any(words[:size] == words[-size:] for size in range(1, len(words)))


def _sequence_of(line: _Line, words: tuple[int, ...], starts: Sequence[int]) -> RepeatedSequence:
    moments = [moment for at in starts if (moment := line.held[at].at_ms) is not None]
    return RepeatedSequence(
        steps=tuple(line.words[word] for word in words),
        times=len(starts),
        sessions=len({line.sessions[line.held[at].session] for at in starts}),
        first_ms=min(moments, default=None),
        last_ms=max(moments, default=None),
        occurrences=tuple(_occurrence(line, at, len(words)) for at in starts[:MOST_EVIDENCE]),
    )


def _occurrence(line: _Line, at: int, length: int) -> Occurrence:
    held = line.held[at : at + length]
    # A command line of several commands is one event.
    ids = tuple(dict.fromkeys(step.id for step in held))
    return Occurrence(line.sessions[held[0].session], ids, held[0].at_ms)


def _without_parts(found: list[RepeatedSequence]) -> list[RepeatedSequence]:
    """Return `found` in its order, without parts of longer ones and second turns of one circle."""
    covered: dict[tuple[str, ...], int] = {}
    turns: set[tuple[str, ...]] = set()
    kept = []
    for item in sorted(found, key=lambda item: (-len(item.steps), -item.times, item.steps)):
        if covered.get(item.steps, 0) >= item.times * ALMOST:
            continue
        kept.append(item)
        for part in _parts(item.steps):
            covered[part] = max(covered.get(part, 0), item.times)
    ranked = []
    for item in sorted(kept, key=_rank):
        circle = min(item.steps[at:] + item.steps[:at] for at in range(len(item.steps)))
        if circle not in turns:
            turns.add(circle)
            ranked.append(item)
    return ranked


def _parts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for size in range(2, len(words)):
        for at in range(len(words) - size + 1):
            yield words[at : at + size]


def _rank(item: RepeatedSequence) -> tuple[object, ...]:
    return -item.sessions, -item.times * (len(item.steps) - 1), -len(item.steps), item.steps
