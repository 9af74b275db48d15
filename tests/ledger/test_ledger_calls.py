from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.config import SpendSettings
from pipeline.core.clock import FixedClock
from pipeline.core.errors import LedgerError, SpendError
from pipeline.ledger.calls import LedgerMeter, last_outcome, list_calls, paused, spent
from pipeline.ledger.connection import Ledger, open_ledger
from pipeline.llm.budget import Usage
from tests.ledger.build import START, later

ROOMY: dict[str, Any] = {
    "calls_per_run": 100,
    "calls_per_hour": 100,
    "tokens_per_hour": 1_000_000,
    "dollars_per_day": 100.0,
}
HAIKU = "claude-haiku-4-5"


def meter(led: Ledger, clock: FixedClock | None = None, *, run_id: str = "run", **caps: Any) -> LedgerMeter:
    return LedgerMeter(led, SpendSettings(**(ROOMY | caps)), clock or FixedClock(START), run_id=run_id)


def begin(it: LedgerMeter, tokens: int = 1_000, model: str = HAIKU) -> int:
    return it.begin(
        purpose="extract",
        provider="replay",
        model=model,
        prompt_digest="d",
        estimate=Usage(input_tokens=tokens, estimated=True),
    )


def test_a_call_counts_at_its_estimate_until_it_ends(led: Ledger) -> None:
    it = meter(led)
    call = begin(it, 1_000)
    assert spent(led, now=START, run_id="run").hour_tokens == 1_000
    it.end(call, outcome="ok", usage=Usage(200, 30, 4, 1), dollars=0.5)
    assert spent(led, now=START, run_id="run").hour_tokens == 235
    (row,) = list_calls(led)
    assert (row.outcome, row.purpose, row.provider, row.model, row.run_id) == (
        "ok",
        "extract",
        "replay",
        HAIKU,
        "run",
    )
    assert (row.input_tokens, row.output_tokens, row.cache_write_tokens, row.cache_read_tokens) == (
        200,
        30,
        4,
        1,
    )
    assert (row.dollars, row.estimated, row.started_at) == (0.5, False, START.timestamp())


def test_a_call_that_never_ended_is_shown_as_started(led: Ledger) -> None:
    begin(meter(led))
    (row,) = list_calls(led)
    assert (row.outcome, row.estimated, row.ended_at, row.dollars) == ("started", True, None, 0.001)


@pytest.mark.parametrize(
    ("caps", "word", "wait_minutes"),
    [
        ({"calls_per_hour": 2}, "calls_per_hour", 60),
        ({"tokens_per_hour": 2_500}, "tokens_per_hour", 60),
        ({"dollars_per_day": 0.0025}, "dollars_per_day", 24 * 60),
    ],
)
def test_a_cap_stops_the_third_call_also_after_a_restart(
    led: Ledger, caps, word: str, wait_minutes: int
) -> None:
    clock = FixedClock(START)
    for number in range(2):
        begin(meter(led, clock, run_id=f"run-{number}", **caps))
    with open_ledger(led.path) as restarted:
        with pytest.raises(SpendError, match=word) as caught:
            begin(meter(restarted, clock, run_id="run-3", **caps))
        assert "waits" in caught.value.fix
        assert len(list_calls(restarted)) == 2
        clock.at = later(wait_minutes, -1)
        with pytest.raises(SpendError, match=word):
            begin(meter(restarted, clock, run_id="run-4", **caps))
        clock.at = later(wait_minutes)
        assert begin(meter(restarted, clock, run_id="run-5", **caps)) == 3


@pytest.mark.parametrize("run_id", ["run", ""])
def test_a_run_has_a_cap_of_its_own(led: Ledger, run_id: str) -> None:
    it = meter(led, run_id=run_id, calls_per_run=2)
    begin(it)
    begin(it)
    with pytest.raises(SpendError, match="calls_per_run"):
        begin(it)
    assert begin(meter(led, run_id=run_id and "next", calls_per_run=2)) == 3


def test_the_cap_of_a_run_survives_a_restart(led: Ledger) -> None:
    begin(meter(led, calls_per_run=1))
    with pytest.raises(SpendError, match="calls_per_run"):
        begin(meter(led, calls_per_run=1))


def test_exactly_at_a_cap_is_allowed(led: Ledger) -> None:
    it = meter(led, tokens_per_hour=2_000, calls_per_hour=2)
    begin(it)
    assert begin(it) == 2


@pytest.mark.parametrize("ahead", [20 * 60, 900 * 24 * 60], ids=["20 hours", "900 days"])
@pytest.mark.parametrize(
    ("caps", "minutes"), [({"calls_per_hour": 1}, 60), ({"dollars_per_day": 0.0015}, 24 * 60)]
)
def test_bug_i6_calls_entered_by_a_clock_that_was_ahead_count_for_one_window(
    led: Ledger, ahead: int, caps: Any, minutes: int
) -> None:
    """They were just made, as far as anyone can tell, and so count from now on."""
    clock = FixedClock(later(ahead))
    begin(meter(led, clock, **caps))
    clock.at = START
    assert spent(led, now=START).hour_calls == 1
    with pytest.raises(SpendError):
        begin(meter(led, clock, **caps))
    clock.at = later(minutes, -1)
    with pytest.raises(SpendError):
        begin(meter(led, clock, **caps))
    clock.at = later(minutes)
    assert begin(meter(led, clock, **caps)) == 2


@pytest.mark.parametrize(
    ("noted", "resets"),
    [
        (START, datetime(2098, 1, 1, tzinfo=UTC)),
        (later(5 * 24 * 60), later(5 * 24 * 60 + 30)),
        (later(5 * 24 * 60), None),
    ],
    ids=["reset in 2098", "noted by a clock ahead", "noted by a clock ahead, reset unknown"],
)
def test_bug_i6_a_limit_pauses_for_no_moment_that_cannot_be(led: Ledger, noted: Any, resets: Any) -> None:
    meter(led, FixedClock(noted)).note_limit(0.1, resets_at=resets and resets.timestamp())
    assert (paused(led, now=later(60, -1)) is None) == (noted != START), (
        "an hour, where nothing else is known"
    )
    assert paused(led, now=later(60)) is None


@pytest.mark.parametrize("run_id", ["run", ""])
def test_a_call_that_went_nowhere_counts_no_more(led: Ledger, run_id: str) -> None:
    it = meter(led, run_id=run_id, calls_per_hour=1, calls_per_run=1)
    for _ in range(3):
        it.end(begin(it), outcome="unauthorised", usage=Usage(), dollars=0, sent=False)
    assert last_outcome(led, "replay") == "unauthorised" and spent(led, now=START).hour_calls == 0
    begin(it)
    with pytest.raises(SpendError, match="calls_per_"):
        begin(it)


@pytest.mark.parametrize("twice", [True, False])
def test_only_a_running_call_can_end(led: Ledger, twice: bool) -> None:
    it = meter(led)
    call = begin(it)
    it.end(call, outcome="ok", usage=Usage(), dollars=0)
    with pytest.raises(LedgerError, match="not running"):
        it.end(call if twice else 99, outcome="late", usage=Usage(), dollars=1)
    assert list_calls(led)[0].outcome == "ok"


def test_calls_are_listed_newest_first(led: Ledger) -> None:
    it = meter(led)
    for _ in range(3):
        begin(it)
    assert [call.id for call in list_calls(led, 2)] == [3, 2]


@pytest.mark.parametrize(
    ("resets", "still", "over"),
    [(None, later(60, -1), later(60)), (later(300), later(300, -1), later(300))],
    ids=["reset unknown", "reset known"],
)
def test_bug_119_a_nearly_used_up_limit_pauses_calls(led: Ledger, resets, still, over) -> None:
    clock = FixedClock(START)
    meter(led, clock).note_limit(0.1, resets_at=resets and resets.timestamp())
    for clock.at in (START, still):
        with (
            pytest.raises(SpendError, match="10% of the account's limit"),
            open_ledger(led.path) as restarted,
        ):
            begin(meter(restarted, clock))
    clock.at = over
    assert paused(led, now=over) is None
    assert begin(meter(led, clock)) == 1


@pytest.mark.parametrize(("remaining", "open_again"), [(0.6, True), (0.2, True), (0.19, False)])
def test_bug_119_a_better_limit_resumes_by_itself(led: Ledger, remaining: float, open_again: bool) -> None:
    it = meter(led)
    it.note_limit(0.1, resets_at=later(600).timestamp())
    it.note_limit(remaining, resets_at=later(600).timestamp())
    assert (paused(led, now=START) is None) is open_again


def test_bug_119_without_information_only_the_caps_apply(led: Ledger) -> None:
    assert paused(led, now=START) is None
    assert begin(meter(led)) == 1
