from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pipeline.core.errors import LeaseLostError, LedgerError
from pipeline.domain.action import RunSummary
from pipeline.domain.job import Job
from pipeline.ledger.connection import Ledger
from pipeline.ledger.jobs import (
    Unclaimed,
    claim,
    enqueue,
    fail,
    finish,
    heartbeat,
    job,
    list_jobs,
    next_due,
    postpone,
    release_leases,
    settle_clock,
    unpark,
)
from pipeline.ledger.runs import commit_reply, extend_reply, finish_run, start_run


def put(
    led: Ledger, key: str = "a", *, kind: str = "extract_turn", now: float = 0, run_after: float = 0
) -> bool:
    return enqueue(led, kind, key, now=now, run_after=run_after)


def answer(led: Ledger, now: float = 0, **more: Any) -> Job | Unclaimed:
    values: dict[str, Any] = {"owner": "me", "lease_seconds": 300, "now": now}
    return claim(led, **(values | more))


def take(led: Ledger, now: float = 0, **more: Any) -> Job | None:
    found = answer(led, now, **more)
    return found if isinstance(found, Job) else None


def taken(led: Ledger, now: float = 0, **more: Any) -> Job:
    found = take(led, now, **more)
    assert found is not None
    return found


def only(led: Ledger) -> Job:
    (found,) = list_jobs(led)
    return found


def test_a_job_is_claimed_once_and_finished(led: Ledger) -> None:
    assert put(led)
    mine = taken(led, 10)
    assert (mine.kind, mine.key, mine.state, mine.attempts, mine.lease_until) == (
        "extract_turn",
        "a",
        "leased",
        0,
        310,
    )
    assert take(led, 11) is None
    finish(led, mine, now=12)
    assert (only(led).state, only(led).token) == ("done", None)
    assert take(led, 9_999) is None


@pytest.mark.parametrize(
    ("now", "more", "expected"),
    [
        (99, {}, None),
        (100, {}, "b"),
        (250, {}, "b"),
        (0, {"ignore_schedule": True}, "b"),
        (250, {"kinds": ["dream"]}, "a"),
        (250, {"kinds": ["dream", "extract_turn"]}, "b"),
        (250, {"kinds": []}, None),
    ],
)
def test_what_is_due_longest_comes_first(led: Ledger, now: float, more: dict[str, Any], expected) -> None:
    put(led, "a", kind="dream", run_after=200)
    put(led, "b", run_after=100)
    found = take(led, now, **more)
    assert (found and found.key) == expected


def test_where_no_job_can_be_had_the_answer_says_why(led: Ledger) -> None:
    assert answer(led) is Unclaimed.NOTHING
    put(led, "a", run_after=100)
    assert answer(led, 50) is Unclaimed.NOT_DUE
    assert answer(led, 50, kinds=["dream"]) is Unclaimed.NOTHING
    mine = taken(led, 100)
    assert answer(led, 101) is Unclaimed.LEASED
    assert answer(led, 101, leave_out=[mine.id]) is Unclaimed.NOTHING
    fail(led, mine, "broke", now=102, retry_at=None)
    assert answer(led, 103) is Unclaimed.PARKED
    unpark(led, None, now=104)
    finish(led, taken(led, 104), now=105)
    assert answer(led, 106) is Unclaimed.NOTHING


def test_waiting_again_moves_the_time_only_forward(led: Ledger) -> None:
    put(led, run_after=100)
    assert put(led, run_after=200)
    assert only(led).run_after == 100
    put(led, run_after=50)
    assert only(led).run_after == 50


def test_asked_for_while_it_runs_it_runs_once_more(led: Ledger) -> None:
    put(led)
    mine = taken(led)
    assert put(led, now=5, run_after=5)
    assert put(led, now=6, run_after=6)
    finish(led, mine, now=10, again_after=120)
    assert (only(led).state, only(led).run_after, only(led).again) == ("waiting", 130, False)
    finish(led, taken(led, 130), now=131)
    assert only(led).state == "done"


def test_a_done_job_can_be_asked_for_again(led: Ledger) -> None:
    put(led)
    finish(led, taken(led), now=1)
    assert put(led, now=2, run_after=50)
    assert (only(led).state, only(led).run_after) == ("waiting", 50)


def test_bug_049_a_dead_owners_job_is_taken_over(led: Ledger) -> None:
    put(led)
    first = taken(led, 0)
    assert take(led, 299.9) is None
    second = taken(led, 300)
    assert second.token != first.token
    with pytest.raises(LeaseLostError):
        finish(led, first, now=301)
    finish(led, second, now=302)


@pytest.mark.parametrize(
    "damage",
    [
        "state = 'waiting', run_after = NULL",
        "state = 'leased', lease_until = NULL, token = NULL, run_after = NULL",
    ],
)
def test_bug_049_rows_without_times_are_still_picked_up(led: Ledger, damage: str) -> None:
    put(led, run_after=10_000)
    led.execute(f"UPDATE jobs SET {damage}")
    mine = taken(led, 5)
    assert (mine.run_after, mine.lease_until) == (5, 305)
    finish(led, mine, now=6)
    assert only(led).state == "done"


def test_a_heartbeat_keeps_a_job_and_tells_when_it_is_lost(led: Ledger) -> None:
    put(led)
    mine = taken(led, 0)
    assert heartbeat(led, mine, lease_seconds=300, now=250)
    assert take(led, 301) is None
    taken(led, 550)
    assert not heartbeat(led, mine, lease_seconds=300, now=551)
    assert only(led).lease_until == 850


@pytest.mark.parametrize(
    "change",
    [
        lambda led, lost: finish(led, lost, now=400),
        lambda led, lost: fail(led, lost, "late", now=400, retry_at=460),
        lambda led, lost: postpone(led, lost, run_after=900, reason="late", now=400),
    ],
    ids=["finish", "fail", "postpone"],
)
def test_who_lost_the_lease_changes_nothing(led: Ledger, change) -> None:
    put(led)
    lost = taken(led, 0)
    taken(led, 300)
    before = only(led)
    with pytest.raises(LeaseLostError, match="no longer ours"):
        change(led, lost)
    assert only(led) == before


def test_who_finished_can_not_finish_twice(led: Ledger) -> None:
    put(led)
    mine = taken(led)
    finish(led, mine, now=1)
    with pytest.raises(LeaseLostError):
        fail(led, mine, "after all", now=2, retry_at=62)
    assert only(led).state == "done"


def test_failures_wait_longer_and_then_park(led: Ledger) -> None:
    put(led)
    seen = []
    for now, retry_at in ((0, 60), (100, 700), (1000, None)):
        failed = fail(led, taken(led, now), f"broke at {now}", now=now, retry_at=retry_at)
        seen.append((failed.state, failed.attempts, failed.run_after - now, failed.last_error))
    assert seen[:2] == [("waiting", 1, 60, "broke at 0"), ("waiting", 2, 600, "broke at 100")]
    assert (seen[2][0], seen[2][1], seen[2][3]) == ("parked", 3, "broke at 1000")
    assert take(led, 99_999, ignore_schedule=True) is None


def test_success_resets_the_count(led: Ledger) -> None:
    put(led)
    for now in (0, 1000):
        assert fail(led, taken(led, now), "x", now=now, retry_at=now + 7).run_after == now + 7
    finish(led, taken(led, 2000), now=2001)
    assert (only(led).attempts, only(led).last_error) == (0, "")


def parked(led: Ledger, key: str) -> Job:
    put(led, key)
    return fail(led, taken(led), f"{key} broke", now=0, retry_at=None)


def test_bug_049_parked_jobs_are_shown_and_can_be_put_back(led: Ledger) -> None:
    first, second = parked(led, "a"), parked(led, "b")
    assert [(each.key, each.last_error) for each in list_jobs(led, state="parked")] == [
        ("a", "a broke"),
        ("b", "b broke"),
    ]
    assert not put(led, "a")
    assert job(led, first.id).state == "parked"
    assert unpark(led, first.id, now=5) == 1
    assert unpark(led, first.id, now=5) == 0
    again = taken(led, 5)
    assert (again.id, again.attempts) == (first.id, 0)
    assert unpark(led, None, now=6) == 1
    assert job(led, second.id).state == "waiting"


def test_a_cap_postpones_without_an_attempt(led: Ledger) -> None:
    put(led)
    postpone(led, taken(led), run_after=500, reason="60 of 60 calls", now=1)
    waiting = only(led)
    assert (waiting.state, waiting.run_after, waiting.attempts, waiting.last_error) == (
        "waiting",
        500,
        0,
        "60 of 60 calls",
    )


def test_a_job_that_kills_its_workers_is_parked(led: Ledger) -> None:
    put(led)
    for death in range(3):
        assert take(led, death * 300, max_crashes=3) is not None
    assert take(led, 900, max_crashes=3) is None
    assert only(led).state == "parked"
    assert "died 3 times" in only(led).last_error
    unpark(led, None, now=900)
    assert taken(led, 900, max_crashes=3).state == "leased"


def test_deaths_count_only_where_a_job_comes_no_further(led: Ledger) -> None:
    put(led)
    start_run(
        led, id="r", kind="extract", key="a", store="s", strategy="turn", from_row=1, through_row=1, now=0
    )
    steps = [
        lambda: commit_reply(led, "r", "{}", prompt_digest="", model="", provider="p", now=0),
        lambda: extend_reply(led, "r", "{}", now=0),
        lambda: finish_run(led, "r", outcome="applied", summary=RunSummary(""), now=0),
    ]
    for number, step in enumerate(steps):
        for death in range(2):
            taken(led, (number * 2 + death) * 300, max_crashes=3)
        step()
    for death in range(2):
        taken(led, 1_800 + death * 300, max_crashes=3)
    assert take(led, 2_400, max_crashes=3) is None and "died 3 times" in only(led).last_error


def test_a_run_that_failed_is_no_step_further(led: Ledger) -> None:
    put(led)
    start_run(
        led, id="r", kind="extract", key="a", store="s", strategy="turn", from_row=1, through_row=1, now=0
    )
    for death in range(3):
        taken(led, death * 300, max_crashes=3)
    finish_run(led, "r", outcome="failed:timeout", summary=RunSummary(""), now=0)
    assert take(led, 900, max_crashes=3) is None and only(led).state == "parked"


def test_leases_of_the_dead_can_be_released_at_once(led: Ledger) -> None:
    put(led)
    taken(led, 0)
    assert release_leases(led, now=1) == 1
    assert taken(led, 1).key == "a"


@pytest.mark.parametrize(
    ("times", "now", "expected"), [([], 0, None), ([50, 80], 20, 30), ([50], 60, 0), ([0], 0, 0)]
)
def test_the_next_job_is_due_in(led: Ledger, times: list[float], now: float, expected: float | None) -> None:
    for number, time in enumerate(times):
        put(led, str(number), run_after=time)
    assert next_due(led, now=now) == expected


def test_what_runs_is_not_waiting(led: Ledger) -> None:
    put(led)
    taken(led)
    assert next_due(led, now=0) is None


def test_an_unknown_job_is_an_error(led: Ledger) -> None:
    with pytest.raises(LedgerError, match="no job 7"):
        job(led, 7)


_WORKER = """
import sys
from pathlib import Path
from pipeline.ledger.connection import open_ledger
from pipeline.ledger.jobs import claim, finish
with open_ledger(Path(sys.argv[1])) as led:
    print("up", flush=True)
    sys.stdin.readline()
    while job := claim(led, owner=sys.argv[2], lease_seconds=300, now=100):
        print(job.key, flush=True)
        finish(led, job, now=100)
"""


def test_two_processes_never_claim_the_same_job(led: Ledger) -> None:
    keys = {f"key-{number}" for number in range(100)}
    for key in keys:
        put(led, key)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(led.path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for worker in workers:
        assert worker.stdout and worker.stdout.readline() == "up\n"
    for worker in workers:
        assert worker.stdin
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = [line for worker in workers for line in worker.communicate()[0].split()]
    assert sorted(done) == sorted(keys)
    assert {each.state for each in list_jobs(led)} == {"done"}


def test_bug_i3_no_event_shortens_a_wait_that_something_made(led: Ledger) -> None:
    put(led)
    postpone(led, taken(led, 1), run_after=3_600, reason="a cap", now=1)
    put(led, now=5, run_after=5)
    assert only(led).run_after == 3_600
    fail(led, taken(led, 3_600), "odd", now=3_600, retry_at=4_200)
    put(led, now=3_700, run_after=3_700)
    assert only(led).run_after == 4_200
    finish(led, taken(led, 4_200), now=4_200)
    put(led, now=4_300, run_after=4_400)
    put(led, now=4_310, run_after=4_350)
    assert only(led).run_after == 4_350, "its turn may come sooner"


def test_one_in_which_a_provider_failed_comes_after_all_others(led: Ledger) -> None:
    for key in "abc":
        put(led, key)
    postpone(led, taken(led), run_after=0, reason="", now=1, failed_call=7)
    put(led, "d", now=5, run_after=5)
    order = []
    while (mine := take(led, 10)) is not None:
        order.append(mine.key)
        finish(led, mine, now=10)
    assert order == ["b", "c", "d", "a"]


DAY = 86_400


@pytest.mark.parametrize(
    ("changed", "due", "settled"),
    [
        (0, 3_600, 3_600),
        (0, 8 * DAY, 8 * DAY),
        (30 * DAY, 30 * DAY + 600, 100),
        (30 * DAY, 3_600, 100),
        (0, 72 * 365 * DAY, 100),
        (0, 50, 50),
    ],
)
def test_bug_i6_what_a_clock_ahead_put_off_is_due(led: Ledger, changed: int, due: int, settled: int) -> None:
    put(led, now=changed, run_after=due)
    settle_clock(led, now=100)
    assert only(led).run_after == settled


def test_what_asks_a_model_is_due_when_one_may_be_asked(led: Ledger) -> None:
    assert next_due(led, now=0, model_in=50) is None
    put(led, run_after=10)
    assert (next_due(led, now=0), next_due(led, now=0, model_in=50)) == (10, 50)
    put(led, "s", kind="reindex", run_after=20)
    assert next_due(led, now=0, model_in=50) == 20
