"""The background worker keeps a store in step, every few minutes at most; its trouble stops no other work."""

from __future__ import annotations

import sys
from datetime import timedelta

from pipeline import config
from pipeline.app import machines
from pipeline.ledger import jobs, open_ledger
from pipeline.worker import Worker, WorkerContext
from tests.support.machines import Machine
from tests.support.stores import run


def work(machine: Machine, **settings: object) -> list[str]:
    """Let a worker of `machine` make a pass; return the states of its syncs."""
    found = config.load(machine.app.home)
    if settings:
        found = found.model_copy(update={"sync": found.sync.model_copy(update=settings)})
    with open_ledger(machine.app.home / "ledger.sqlite") as ledger:
        Worker(WorkerContext(machine.app.home, found, machine.clock, ledger, llm="offline")).run()
        return [job.state for job in jobs.list_jobs(ledger) if job.kind == "sync"]


def test_a_pass_takes_and_tells_once_in_five_minutes(pair):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    assert work(desk) == []
    desk.clock.at += timedelta(minutes=6)
    assert work(desk) == ["done"]
    laptop.clock.at += timedelta(minutes=6)
    work(laptop)
    assert laptop.names() == ["build-box"]
    assert "build-box" in (laptop.store / "MEMORY.md").read_text()


def test_it_does_not_where_a_person_wants_none_or_left(pair):
    desk = pair[0]
    desk.clock.at += timedelta(minutes=6)
    assert work(desk, minutes=0) == []
    machines.leave(desk.app)
    assert work(desk) == []


def test_a_remote_that_is_away_is_told_and_the_work_goes_on(pair):
    desk = pair[0]
    desk.cut_off(off=True)
    desk.add("The build box has twelve cores.", name="build-box")
    desk.clock.at += timedelta(minutes=6)
    assert work(desk) == ["done"]
    assert "can't be read" in desk.app.status()["sync"]["error"]
    desk.cut_off(off=False)
    desk.clock.at += timedelta(minutes=6)
    work(desk)
    assert desk.app.status()["sync"]["error"] == ""


def test_a_sync_that_fails_waits_and_holds_up_nothing(pair):
    desk = pair[0]
    state = next(desk.app.home.glob("sharing/*/state.json"))
    state.write_text("{")
    desk.clock.at += timedelta(minutes=6)
    assert work(desk) == ["waiting"]


def test_who_never_began_pays_nothing_for_it(tmp_path):
    code = (
        "import sys; from pathlib import Path; from pipeline import config; from pipeline.core import clock;"
        "from pipeline.ledger import open_ledger; from pipeline.worker import Worker, WorkerContext;"
        "home = Path(sys.argv[1]);"
        "ledger = open_ledger(home / 'ledger.sqlite').__enter__();"
        "Worker(WorkerContext(home, config.load(home), clock.SystemClock(), ledger, llm='offline')).run();"
        "print([name for name in sys.modules if name.startswith('pipeline.sharing')])"
    )
    done = run(code, str(tmp_path / "reverie"))
    assert done.stdout.strip() == "[]", done.stderr
    assert sys.version_info
