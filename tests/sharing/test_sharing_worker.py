"""The background worker keeps a store in step, every few minutes at most; its trouble stops no other work."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

from pipeline import config
from pipeline.app import machines, memories
from pipeline.hooklib import news
from pipeline.hooklib.settings import board
from pipeline.ledger import jobs, open_ledger
from pipeline.ledger.files import begin_ingest, remember_store
from pipeline.worker import Worker, WorkerContext, process
from tests.support.machines import Machine, exchange
from tests.support.stores import run

FIVE = timedelta(minutes=5)


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


def event(machine: Machine, hook: str) -> None:
    """Leave what a hook leaves where a session of `machine` begins or ends."""
    spool = machine.app.home / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    at = int(machine.clock.at.timestamp() * 1000)
    about = {"session_id": "s-1", "hook_event_name": hook, "cwd": str(machine.place), "transcript_path": ""}
    (spool / f"{at}-1-{hook}.json").write_text(json.dumps(about), "utf-8")


def due_in(machine: Machine) -> float | None:
    """Return in how many seconds a sync of `machine` is due for which its worker stays; None for none."""
    home = machine.app.home
    with open_ledger(home / "ledger.sqlite") as ledger:
        worker = Worker(WorkerContext(home, config.load(home), machine.clock, ledger, llm="offline"))
        due = worker.next_due()
        return due if due is not None and due <= worker.in_step.longest_wait else None


def stays(machine: Machine, **settings: object) -> bool:
    """Whether a worker of `machine` that has done its work waits for what is due."""
    home, found = machine.app.home, config.load(machine.app.home)
    found = found.model_copy(update={"worker": found.worker.model_copy(update=settings)})
    with open_ledger(home / "ledger.sqlite") as ledger:
        worker = Worker(WorkerContext(home, found, machine.clock, ledger, llm="offline"))
        try:
            return process._linger(home, worker, set(), is_heavy=True)
        except process._BeginAnew:
            return True


def test_a_session_that_begins_finds_what_another_machine_sent_a_minute_ago(pair):
    desk, laptop = pair
    laptop.add("The build box has twelve cores.", name="build-box")
    laptop.sync()
    desk.clock.at += timedelta(minutes=2)
    work(desk)
    assert desk.names() == []
    event(desk, "SessionStart")
    work(desk)
    assert desk.names() == ["build-box"]


def test_what_was_learned_last_leaves_when_the_session_ends(pair):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    with open_ledger(desk.app.home / "ledger.sqlite") as ledger:
        jobs.enqueue(ledger, "sync", str(desk.store), now=desk.clock.at, run_after=desk.clock.at + FIVE)
    desk.clock.at += timedelta(seconds=10)
    assert work(desk) == ["waiting"]
    assert due_in(desk) == 290
    assert stays(desk), "or it would wait for the next session"
    assert not stays(desk, linger_seconds=0), "unless nobody wants that"
    event(desk, "SessionEnd")
    assert work(desk) == ["done"] and due_in(desk) is None
    laptop.sync()
    assert laptop.names() == ["build-box"]


def test_sessions_that_follow_each_other_at_once_ask_the_remote_once(pair):
    desk, laptop = pair
    desk.clock.at += timedelta(minutes=2)
    event(desk, "SessionStart")
    work(desk)
    laptop.add("The build box has twelve cores.", name="build-box")
    laptop.sync()
    desk.clock.at += timedelta(seconds=20)
    event(desk, "SessionStart")
    assert work(desk) == ["waiting"] and desk.names() == [] and due_in(desk) == 40
    desk.clock.at += timedelta(seconds=40)
    assert work(desk) == ["done"] and desk.names() == ["build-box"]


def test_a_remote_that_is_away_is_not_asked_at_each_sessions_start(pair):
    desk = pair[0]
    desk.cut_off(off=True)
    assert desk.sync().error
    for _ in range(2):
        desk.clock.at += timedelta(minutes=2)
        event(desk, "SessionStart")
        assert work(desk) == [] and due_in(desk) is None


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


def test_what_comes_is_left_for_the_hooks_with_its_name_and_line(pair):
    desk, laptop = pair
    name = laptop.add("The build box has twelve cores.", name="build-box")
    laptop.add("The port is eighty.", name="port")
    exchange(laptop, desk)
    laptop.clock.at += timedelta(minutes=1)
    desk.clock.at += timedelta(minutes=1)
    memories.forget(laptop.app, name)
    laptop.update("port", "The port is ninety.\n")
    laptop.sync()
    done = desk.sync()
    assert sorted(done.names) == ["build-box (taken out)", "port"], "as `list` and `show` name them"
    rows = news.since(str(desk.app.home), str(desk.store), 0.0)
    assert sorted(rows_of(rows)) == [("changed", "port", "The port is ninety."), ("left", "build-box", "")]
    assert all(row[0] == desk.clock.at.timestamp() for row in rows)
    first = news.rows_in(news.file_of(str(desk.app.home), str(desk.store)))[:2]
    assert sorted(rows_of(first))[0] == ("came", "build-box", "The build box has twelve cores.")


def rows_of(rows: list[news.Row]) -> list[tuple[str, str, str]]:
    return [(row[1], row[2], row[3].partition("](")[0].removeprefix("- [")) for row in rows]


def test_a_question_that_a_sync_by_hand_asks_is_known_to_the_next_session(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty.", name="port")
    exchange(desk, laptop)
    with open_ledger(desk.app.home / "ledger.sqlite") as ledger:
        begin_ingest(ledger, "a.jsonl", "/a.jsonl", size=1, mtime_ms=1)
        remember_store(ledger, "a.jsonl", str(desk.store))
    laptop.update(name, "The port is seventy.\n")
    desk.update(name, "The port is ninety.\n")
    laptop.sync()
    assert desk.sync().asked == 1
    assert board(str(desk.app.home))["stores"][str(desk.store)]["inbox"] == 1
