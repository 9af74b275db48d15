"""``reverie eval``: every session of a suite read and scored; what can't be is named, and stops no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pipeline.core.errors import ModelError, SpendError, UsageError
from pipeline.evaluation.reading import Reading, read_session
from pipeline.evaluation.scoring import Score, score
from pipeline.evaluation.suite import MANNERS, Session, sessions


@dataclass(frozen=True, slots=True)
class Choice:
    """What to read: one session, one half, replies in one manner; by which model, and in how many pieces.

    `llm` is empty to replay each session's own recordings, ``record`` to record them, else a provider's spec.
    Without a manner recorded replies of every manner are played.
    """

    only: str = ""
    half: str = ""
    manner: str = ""
    llm: str = ""
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class Unscored:
    """A session that has no score, and why. `failed` when it should have one."""

    session: str
    manner: str
    reason: str
    failed: bool = False


class Reader(Protocol):
    """What reads a session, as `read_session` does."""

    def __call__(self, session: Session, *, llm: str, pieces: int, manner: str) -> Reading:
        """Return what came of reading `session`."""
        ...


def evaluate(suite: Path, choice: Choice, read: Reader = read_session) -> Iterator[Score | Unscored]:
    """Read the chosen sessions of `suite`, each in a scratch home, and yield how they came out."""
    _check(choice)
    manners = [choice.manner]
    if not (choice.manner or choice.llm or choice.pieces > 1):
        manners += MANNERS
    for session in sessions(suite, only=choice.only, half=choice.half):
        for manner in manners:
            found = _evaluate(session, manner, choice, read)
            if found is not None:
                yield found


def _check(choice: Choice) -> None:
    if choice.manner and choice.manner not in MANNERS:
        raise UsageError(f"there is no manner {choice.manner!r}", fix=f"Manners: {', '.join(MANNERS)}.")
    if choice.manner and (choice.pieces > 1 or choice.llm == "offline"):
        raise UsageError(
            "a manner is asked of a model that reads a whole session",
            fix="Leave out --pieces and --llm offline.",
        )


def _evaluate(session: Session, manner: str, choice: Choice, read: Reader) -> Score | Unscored | None:
    """Return how one session came out; None where nobody asked for what is not recorded."""
    asked = not manner or bool(choice.manner)
    if not session.transcript.exists():
        return Unscored(session.name, manner, "there is no transcript") if asked else None
    if not choice.llm and not session.recordings(pieces=choice.pieces, manner=manner).is_dir():
        # In pieces and in a manner some sessions only were recorded.
        named = asked and (choice.pieces == 1 or bool(choice.only))
        return Unscored(session.name, manner, "there are no recorded replies") if named else None
    gold = session.gold
    if gold is None and choice.llm != "record":
        return Unscored(session.name, manner, "there is no gold list") if asked else None
    try:
        reading = read(session, llm=choice.llm, pieces=choice.pieces, manner=manner)
    except (ModelError, SpendError) as error:
        return Unscored(session.name, manner, str(error.args[0]), failed=True)
    if gold is None:
        return Unscored(session.name, manner, "it was recorded; there is no gold list to score it by")
    return replace(score(reading, gold), half=session.half, manner=manner)
