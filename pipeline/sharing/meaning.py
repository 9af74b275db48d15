"""What a memory says now, by all its revisions together, and what only a person can say of it."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.sharing.revisions import Moment


@dataclass(frozen=True, slots=True)
class Question:
    """What two machines did that both stands: of one sentence, or of the whole memory (`sentence` is "").

    `kept` are the words that were said later, `other` those that a yes leaves out; where the whole memory is
    meant a yes takes it away, and `forgotten` says that it was forgotten on one of them; `back` that both had
    taken it away by then, and one brought back what it said before.
    """

    sentence: str
    kept: tuple[str, ...]
    other: tuple[str, ...]
    forgotten: bool = False
    back: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What a memory says now: `file` at `path`, or that it left (None), and the revisions that say so.

    `first` is when it was first recorded; `reason`, `heir` and `forgotten` tell of one that left.
    """

    memory: str
    heads: tuple[str, ...]
    first: Moment
    path: str
    file: bytes | None
    written: bool
    questions: tuple[Question, ...] = ()
    reason: str = ""
    heir: str = ""
    forgotten: bool = False
