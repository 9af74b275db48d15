"""When a job that failed is done again: the times, by job and error."""

from __future__ import annotations

import pytest

from pipeline.core.errors import (
    BusyError,
    BusyStoreError,
    ConflictError,
    InvalidReplyError,
    LeaseLostError,
    LedgerError,
    ModelError,
    RefusedError,
    SpendError,
    StoreError,
    TooLongError,
    TruncatedError,
    UnwritableError,
)
from pipeline.worker import retry
from pipeline.worker.retry import RetryPolicy, Stop, Wait

EXTRACTION = retry.extraction(3)
DERIVED = retry.derived_files(3)
HOPELESS = [RefusedError(), InvalidReplyError(), TooLongError(), TruncatedError()]
OTHER = [ModelError("odd"), KeyError("x"), LedgerError("no conversation 7")]
NO_ROOM = [StoreError("x"), ConflictError("x"), UnwritableError("full"), OSError(28, "full")]

OBSTACLES = [
    *[(EXTRACTION, error, 900.0) for error in NO_ROOM],
    *[(retry.DREAM, error, 3600.0) for error in NO_ROOM],
    *[(policy, BusyError("x"), 120.0) for policy in (EXTRACTION, retry.DREAM)],
    (EXTRACTION, SpendError("a cap"), 900.0),
    (EXTRACTION, BusyStoreError(), 120.0),
    (retry.DREAM, SpendError("a cap"), 900.0),
    (retry.DREAM, BusyStoreError(), 900.0),
    (retry.DREAM, LeaseLostError(), 900.0),
    *[(DERIVED, error, 900.0) for error in (StoreError("x"), ConflictError("x"), BusyStoreError())],
    (DERIVED, OSError(28, "full"), 900.0),
]


@pytest.mark.parametrize(("policy", "error", "seconds"), OBSTACLES)
@pytest.mark.parametrize("attempts", [0, 2, 99])
def test_an_obstacle_lets_the_job_wait_and_counts_no_attempt(
    policy: RetryPolicy, error: Exception, seconds: float, attempts: int
) -> None:
    assert policy.retry_after(error, attempts) == Wait(seconds, counted=False)


@pytest.mark.parametrize("error", [*OTHER, *HOPELESS], ids=lambda error: type(error).__name__)
def test_a_failed_extraction_comes_again_after_a_minute_then_after_ten(error: Exception) -> None:
    assert [EXTRACTION.retry_after(error, n) for n in (0, 1)] == [Wait(60, True), Wait(600, True)]


@pytest.mark.parametrize("error", OTHER, ids=lambda error: type(error).__name__)
def test_after_its_last_attempt_an_extraction_is_parked(error: Exception) -> None:
    assert {EXTRACTION.retry_after(error, n) for n in (2, 3, 99)} == {Stop.PARK}


@pytest.mark.parametrize("error", HOPELESS, ids=lambda error: type(error).__name__)
def test_dialogue_that_no_model_takes_is_given_up_after_the_last_attempt(error: Exception) -> None:
    assert {EXTRACTION.retry_after(error, n) for n in (2, 3, 99)} == {Stop.GIVE_UP}


def test_the_limit_is_the_one_that_is_set_and_the_last_wait_repeats() -> None:
    decisions = [retry.extraction(5).retry_after(KeyError("x"), n) for n in range(5)]
    assert decisions == [Wait(60, True), *[Wait(600, True)] * 3, Stop.PARK]
    assert retry.extraction(1).retry_after(KeyError("x"), 0) is Stop.PARK


@pytest.mark.parametrize("error", [TypeError("x"), ValueError("x")])
def test_derived_files_are_parked_after_their_last_attempt(error: Exception) -> None:
    decisions = [DERIVED.retry_after(error, n) for n in range(3)]
    assert decisions == [Wait(60, True), Wait(600, True), Stop.PARK]


@pytest.mark.parametrize("error", [*OTHER, *HOPELESS], ids=lambda error: type(error).__name__)
def test_bug_105_a_dream_that_fails_is_never_parked(error: Exception) -> None:
    hours = [1, 4, 24, 24, 24]
    assert [retry.DREAM.retry_after(error, n) for n in range(5)] == [Wait(h * 3600, True) for h in hours]
    assert [retry.DREAM.after_failure(n) for n in range(5)] == [Wait(h * 3600, True) for h in hours]
