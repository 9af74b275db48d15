"""After a pass the worker looks whether a dream is due: where it is, and what becomes of one that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from pipeline.core.clock import FixedClock
from pipeline.domain.job import Job
from pipeline.install.schedule import units
from pipeline.ledger import dreams, jobs
from pipeline.ledger.jobs import Unclaimed
from pipeline.llm.retry import LEAST_SHARE
from pipeline.worker import Pass
from tests.support.loopback import LoopbackApi, Refusal, keep_each_line, well
from tests.support.stores import tree
from tests.support.workshop import ROOT, Workshop, at

NOW = "2026-03-02T09:05:00+00:00"
HOUR = 3600.0
DAY = 24 * HOUR


def answer(prompt: str) -> Any:
    """Keep each line of a dialogue; leave every group of memories as it is."""
    return keep_each_line(prompt) if "dialogue>" in prompt else {"operations": []}


def broken(prompt: str) -> Any:
    return answer(prompt) if "dialogue>" in prompt else Refusal(400)


@pytest.fixture
def dreamy(shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop in which dreams are on, with a model that keeps every memory as it is."""
    api.answer, api.ping = answer, well
    monkeypatch.setenv("REVERIE_DREAM__ENABLED", "true")
    shop.env["REVERIE_DREAM__ENABLED"] = "true"
    return shop


def talk(shop: Workshop, *numbers: int) -> None:
    for number in numbers:
        session = shop.session(number)
        session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
        session.assistant("Noted.")
        shop.fire(session)


def work(shop: Workshop, later: float = 0.0) -> Pass:
    with shop.worker(FixedClock(at(NOW) + timedelta(seconds=later))) as worker:
        return worker.run()


def asked(api: LoopbackApi) -> int:
    """How often the model was asked about memories."""
    return sum("dialogue>" not in prompt for prompt in api.prompts)


def state(shop: Workshop) -> dreams.DreamState:
    with shop.ledger() as ledger:
        return dreams.state(ledger, str(shop.store))


def closed(shop: Workshop) -> dict[str, str]:
    with shop.ledger() as ledger:
        return {g.name: g.reason for g in dreams.last_gates(ledger, str(shop.store)) if not g.open}


def dream_of(shop: Workshop) -> Job:
    with shop.ledger() as ledger:
        (job,) = (job for job in jobs.list_jobs(ledger) if job.kind == "dream")
    return job


def test_bug_095_the_reason_is_kept_and_shown_until_the_gates_open(
    dreamy: Workshop, api: LoopbackApi
) -> None:
    talk(dreamy, 1, 2, 3, 4)
    assert work(dreamy).dreams == [] and asked(api) == 0
    assert list(closed(dreamy)) == ["sessions"]
    shown = dreamy.reverie("status", REVERIE_NOW=NOW).stdout
    assert "1 more session needed" in shown and "none yet" in shown
    told = json.loads(dreamy.reverie("status", "--json", REVERIE_NOW=NOW).stdout)["dream"]
    assert [(r["name"], r["at"]) for r in told["refusals"]] == [("sessions", at(NOW).timestamp())]
    talk(dreamy, 5)
    (done,) = work(dreamy, later=700).dreams
    assert done["store"] == str(dreamy.store) and asked(api) == 1
    assert state(dreamy).last_success == at(NOW).timestamp() + 700
    assert dream_of(dreamy).state == "done"


def test_bug_095_switched_off_is_a_reason_too(shop: Workshop) -> None:
    talk(shop, 1)
    work(shop)
    assert "switched off" in closed(shop)["enabled"]
    assert "switched off" in shop.reverie("status", REVERIE_NOW=NOW).stdout


def test_bug_058_what_a_dream_writes_is_no_activity(dreamy: Workshop, api: LoopbackApi) -> None:
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    before = {file: file.stat() for file in dreamy.store.rglob("*.md")}
    for again in (1, 2):
        with dreamy.worker(FixedClock(at(NOW) + timedelta(days=again))) as worker:
            assert worker.dreams.dream_over(dreamy.store).word == "closed"
    assert {"changed", "sessions"} <= set(closed(dreamy)) and asked(api) == 1
    after = {file: file.stat() for file in dreamy.store.rglob("*.md")}
    assert [(s.st_mtime_ns, s.st_ino) for s in after.values()] == [
        (s.st_mtime_ns, s.st_ino) for s in before.values()
    ]
    assert after.keys() == before.keys() and before


def test_bug_057_a_day_later_five_sessions_bring_one_dream(dreamy: Workshop, api: LoopbackApi) -> None:
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    for number in range(6, 12):
        session = dreamy.session(number, "2026-03-03T11:00:00Z")
        session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
        session.assistant("Noted.")
        dreamy.fire(session)
    for later in (0, 2, 4):
        work(dreamy, later=26 * HOUR + later)
    assert asked(api) == 2
    assert state(dreamy).last_success == at(NOW).timestamp() + 26 * HOUR


def test_bug_105_a_dream_that_fails_comes_again_and_is_never_parked(
    dreamy: Workshop, api: LoopbackApi
) -> None:
    api.answer = broken
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    files = tree(dreamy.store, (".reverie", "_state.json"))
    waits = []
    for tries in range(1, 6):
        job = dream_of(dreamy)
        assert (job.state, job.attempts) == ("waiting", tries) and job.last_error
        waits.append(round((job.run_after - at(NOW).timestamp()) / HOUR))
        work(dreamy, later=waits[-1] * HOUR)
    assert waits == [1, 5, 29, 53, 77] and asked(api) == 6
    assert tree(dreamy.store, (".reverie", "_state.json")) == files and state(dreamy).last_success is None
    api.answer = answer
    work(dreamy, later=101 * HOUR)
    assert state(dreamy).last_success == at(NOW).timestamp() + 101 * HOUR
    assert dream_of(dreamy).last_error == ""


def test_a_dream_that_waits_is_not_brought_forward_by_the_next_session(
    dreamy: Workshop, api: LoopbackApi
) -> None:
    api.answer = broken
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    talk(dreamy, 6)
    work(dreamy, later=900)
    assert dream_of(dreamy).run_after == at(NOW).timestamp() + HOUR
    assert asked(api) == 1


def test_a_fault_in_a_dream_is_that_dreams_alone(dreamy: Workshop) -> None:
    talk(dreamy, 1)
    with dreamy.ledger() as ledger:
        jobs.enqueue(ledger, "dream", "/dev/null/no/folder", now=0.0, run_after=0.0)
    done = work(dreamy)
    assert [outcome.word for outcome in done.outcomes] == ["applied"]
    (failure,) = done.failures
    assert failure.startswith("/dev/null/no/folder: ") and list(closed(dreamy)) == ["sessions"]
    with dreamy.ledger() as ledger:
        (waits,) = (job for job in jobs.list_jobs(ledger, state="waiting") if job.kind == "dream")
    assert (waits.attempts, waits.run_after) == (0, at(NOW).timestamp() + HOUR), "it is the folder's fault"
    assert waits.last_error.startswith("/dev/null/no/folder: ")


def test_with_the_provider_down_dreams_wait_and_nothing_spins(dreamy: Workshop, api: LoopbackApi) -> None:
    api.answer = lambda prompt: Refusal(401)
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    job = dream_of(dreamy)
    assert (job.state, job.attempts, job.run_after) == ("waiting", 0, at(NOW).timestamp())
    assert asked(api) == 0 and closed(dreamy) == {}
    with dreamy.worker(NOW) as worker:
        due = worker.next_due()
        assert due is not None and LEAST_SHARE * HOUR <= due <= HOUR


def test_the_look_for_a_dream_outlives_a_crash(dreamy: Workshop) -> None:
    """Whoever finds that a store's derived files are still owed queues its dream too, once."""
    talk(dreamy, 1)
    with dreamy.worker(NOW) as worker:
        jobs.enqueue(worker.context.ledger, "reindex", str(dreamy.store), now=0.0, run_after=0.0)
        assert worker.dreams.claim(leave_out=()) is Unclaimed.NOTHING
        jobs.claim(worker.context.ledger, owner="dead", lease_seconds=9, now=1.0, kinds=("reindex",))
        worker.dreams.queue()
        claimed = worker.dreams.claim(leave_out=())
        assert isinstance(claimed, Job) and claimed.key == str(dreamy.store)
        worker.dreams.queue()
        jobs.finish(worker.context.ledger, claimed, now=1.0)
        assert worker.dreams.claim(leave_out=()) is Unclaimed.NOTHING


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_where_nothing_is_written_nothing_is_dreamt(
    dreamy: Workshop, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_STORE__MODE", mode)
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    with dreamy.ledger() as ledger:
        assert [job for job in jobs.list_jobs(ledger) if job.kind == "dream"] == []


def test_bug_097_of_all_who_start_at_once_one_dreams(
    dreamy: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_DREAM__SESSIONS", "6")
    talk(dreamy, 1, 2, 3, 4, 5)
    work(dreamy)
    assert asked(api) == 0
    env = {**dreamy.env, "REVERIE_NOW": "2026-03-02T09:30:00+00:00", "REVERIE_DREAM__SESSIONS": "5",
           "PYTHONPATH": str(ROOT)}  # fmt: skip
    cli = [sys.executable, "-m", "pipeline.cli.main", "dream", "--all"]
    for many in (2, 1):
        racing = [
            subprocess.Popen(
                cli, env=env, cwd=dreamy.project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for _ in range(many)
        ]
        racing.append(subprocess.Popen([sys.executable, "-m", "pipeline.worker"], env=env, cwd=ROOT))
        assert racing.pop().wait() == 0
        assert 0 in [process.wait() for process in racing]
    assert asked(api) == 1
    assert state(dreamy).last_success == at("2026-03-02T09:30:00+00:00").timestamp()


def test_bug_032_what_the_scheduler_runs_does_its_work(dreamy: Workshop, api: LoopbackApi) -> None:
    talk(dreamy, 1, 2, 3, 4)
    work(dreamy)
    settings = {
        name: value for name, value in dreamy.env.items() if name.startswith("REVERIE_") or "KEY" in name
    }
    plan = units.plan(dreamy.home)
    env = {**settings, **dict(plan.environment), "REVERIE_NOW": "2026-03-02T09:30:00+00:00",
           "REVERIE_DREAM__SESSIONS": "4"}  # fmt: skip
    done = subprocess.run(plan.command, env=env, cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, asked(api)) == (0, 1), done.stderr
    assert state(dreamy).last_success == at("2026-03-02T09:30:00+00:00").timestamp()
