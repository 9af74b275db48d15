"""What `process --estimate` says, against what reading the recorded sessions took."""

from pathlib import Path

import pytest

from pipeline.app.estimates import estimate
from pipeline.config import Settings
from pipeline.core.clock import SystemClock
from pipeline.evaluation.suite import HALVES, Session, sessions
from pipeline.intake.ingest import ingest_file
from pipeline.ledger import conversations
from tests.support.ledgers import new_ledger
from tests.support.readings import ALWAYS, recorded

SUITE = Path(__file__).resolve().parents[2] / "fixtures" / "eval"


def estimated(session: Session, home: Path) -> tuple[int, int]:
    """Calls and tokens that reading all conversations of `session` would take."""
    with new_ledger(home) as ledger:
        key = f"p/{session.transcript.name}"
        ingest_file(ledger, session.transcript, key=key, settings=Settings(), clock=SystemClock(), quiet=True)
        found = conversations.list_conversations(ledger, key=key)
        rows = [estimate(ledger, Settings(), item, offline=False) for item in found]
    return sum(row["calls"] for row in rows), sum(row["tokens"] for row in rows)


@pytest.mark.parametrize(
    "named",
    [ALWAYS, *(pytest.param(half, marks=pytest.mark.whole) for half in HALVES)],
    ids=["share", *HALVES],
)
def test_an_estimate_is_right_to_a_fifth_over_a_backlog(named: str | frozenset[str], tmp_path: Path) -> None:
    found = sessions(SUITE, half=named) if isinstance(named, str) else sessions(SUITE)
    suite = [each for each in found if list(each.recordings().glob("*.json"))]
    if not isinstance(named, str):
        suite = [each for each in suite if each.name in named]
    readings = [recorded(each) for each in suite]
    calls = sum(reading.first.calls + reading.second.calls for reading in readings)
    tokens = sum(reading.first.tokens + reading.second.tokens for reading in readings)
    told = [estimated(each, tmp_path / each.name) for each in suite]
    assert abs(sum(count for count, _ in told) / calls - 1) <= 0.2
    assert abs(sum(count for _, count in told) / tokens - 1) <= 0.2


def test_a_short_conversation_costs_what_its_turns_do(tmp_path: Path) -> None:
    """It is not read as a whole, but `process` reads it all the same."""
    session = sessions(SUITE, half=HALVES[0])[0]
    with new_ledger(tmp_path / "home") as ledger:
        ingest_file(
            ledger, session.transcript, key="p/a", settings=Settings(), clock=SystemClock(), quiet=True
        )
        (item, *_) = conversations.list_conversations(ledger, key="p/a")
        long = estimate(ledger, Settings(), item, offline=False)
        limits = Settings().extraction.model_copy(update={"min_conversation_messages": 10_000})
        short = estimate(ledger, Settings().model_copy(update={"extraction": limits}), item, offline=False)
    assert (long["note"], short["note"]) == ("", "short: read by its turns")
    assert (long["calls"], long["dollars"]) == (short["calls"], short["dollars"]) and short["calls"]
