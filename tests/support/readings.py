"""The recorded sessions, each read at most once in a process: several tests ask what came of a reading."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from pipeline.evaluation.reading import Reading, read_session
from pipeline.evaluation.suite import Session
from pipeline.llm import cassette
from pipeline.llm.cassette import ReplayProvider

ALWAYS = frozenset(
    [
        "compaction",
        "demo",
        "injection",
        "japanese",
        "longmess",
        "menus",
        "mindchange",
        "nothing",
        "overruled",
        "pastedreview",
        "queued",
        "refusal",
        "workday",
    ]
)
"""The sessions that `make test` reads, of each language and trouble one; the sweeps read all."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a reading, and the recordings that it left unplayed, a list for each opening of them."""

    reading: Reading
    unplayed: list[list[str]]


@cache
def played(session: Session, *, manner: str = "", pieces: int = 1) -> Played:
    """Read `session` with its recordings as `read_session` does; what comes back is only looked at."""
    opened: list[ReplayProvider] = []

    class Watched(ReplayProvider):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            opened.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cassette, "ReplayProvider", Watched)
        reading = read_session(session, manner=manner, pieces=pieces)
    return Played(reading, [provider.unplayed() for provider in opened])


def recorded(session: Session, *, llm: str = "", pieces: int = 1, manner: str = "") -> Reading:
    """Return the reading of `session`, in place of `read_session` where its recordings are played."""
    assert not llm
    return played(session, manner=manner, pieces=pieces).reading
