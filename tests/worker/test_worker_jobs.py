"""One job's fault is that job's alone; what waits is never lost and always to be seen."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.clock import FixedClock
from pipeline.domain.job import Job
from pipeline.hooklib import places
from pipeline.ledger import inbox, jobs, open_ledger, runs
from pipeline.worker import Pass
from tests.support.hooks import HOOKS, note_home, note_python
from tests.support.loopback import (
    Limited,
    LoopbackApi,
    Refusal,
    keep_each_line,
    keep_nothing,
    person_lines,
    well,
)
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop, at

NOW = "2026-03-02T09:05:00+00:00"


def talk(shop: Workshop, number: int = 1, text: str = "", **values: Any) -> Transcript:
    """Play a turn of session `number` up to its Stop hook."""
    session = shop.session(number, **values)
    session.user(text or f"Shelf {number:02d} holds {number * 17} boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    return session


def work(shop: Workshop, now: str = NOW, *, later: float = 0.0, now_too: bool = False) -> Pass:
    """Run one pass at `now`, or `later` seconds after it."""
    with shop.worker(FixedClock(at(now) + timedelta(seconds=later))) as worker:
        return worker.run(now_too=now_too)


def queue(shop: Workshop, state: str | None = None) -> list[Job]:
    with shop.ledger() as ledger:
        return [job for job in jobs.list_jobs(ledger, state=state) if job.kind not in ("reindex", "dream")]


def status(shop: Workshop) -> dict[str, Any]:
    done = shop.reverie("status", "--json", REVERIE_NOW=NOW)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_an_unexpected_fault_fails_its_job_only(shop: Workshop) -> None:
    talk(shop)
    with shop.ledger() as ledger:
        jobs.enqueue(ledger, "extract_conversation", "no number", now=0.0, run_after=0.0)
    done = work(shop)
    assert [outcome.word for outcome in done.outcomes] == ["applied"] and len(done.failures) == 1
    (broken,) = queue(shop, "waiting")
    assert broken.key == "no number" and broken.attempts == 1 and "a fault in Reverie" in broken.last_error


def test_bug_052_a_job_that_can_not_write_waits_unpaid_and_is_never_given_up(
    shop: Workshop, api: LoopbackApi
) -> None:
    session = talk(shop)
    shop.store.write_text("a file where the folder should be")
    for later in (0, 100, 1000, 5000, 10_000):
        shop.fire(session)
        work(shop, later=later)
    (waiting,) = [job for job in queue(shop, "waiting") if job.kind == "extract_turn"]
    assert api.prompts == [] and waiting.attempts == 0
    assert waiting.last_error.startswith(f"{shop.store}: ")
    assert waiting.run_after == at(NOW).timestamp() + 10_000 + 900, "and no Stop makes it come sooner"
    assert any(waiting.last_error == held["cause"] for held in status(shop)["obstacles"])
    assert str(shop.store) in shop.reverie("doctor").stdout
    shop.store.unlink()
    work(shop, later=10_900)
    assert shop.memories() == ["shelf-01-holds"] and {job.state for job in queue(shop)} == {"done"}


def test_bug_049_claimed_and_forgotten_jobs_are_done(shop: Workshop, api: LoopbackApi) -> None:
    for number in (1, 2, 3, 4):
        talk(shop, number)
    api.answer = lambda prompt: "this is no JSON"
    api.ping = well
    work(shop)
    with shop.ledger() as ledger:
        for key, change in {
            "1": "state = 'leased', owner = 'dead', token = 't', lease_until = 9e12",
            "2": "state = 'waiting', run_after = NULL, lease_until = NULL",
            "4": "state = 'parked'",
        }.items():
            ledger.execute(f"UPDATE jobs SET {change} WHERE id = ?", (key,))
    api.answer = keep_each_line
    work(shop, later=61)
    assert [(job.id, job.state) for job in sorted(queue(shop), key=lambda job: job.id)] == [
        (1, "done"), (2, "done"), (3, "done"), (4, "parked")
    ]  # fmt: skip
    assert "JSON" in queue(shop, "parked")[0].last_error
    with shop.ledger() as ledger:
        assert jobs.unpark(ledger, 4, now=0.0) == 1
    work(shop, later=62)
    assert len(shop.memories()) == 4


def test_a_job_taken_over_meanwhile_is_left_to_its_new_owner(shop: Workshop, api: LoopbackApi) -> None:
    talk(shop, 1)
    talk(shop, 2)

    def steal(prompt: str) -> Any:
        if "Shelf 01" in prompt.rpartition("<new_dialogue>")[2]:
            with open_ledger(shop.home / "ledger.sqlite") as other:
                other.execute("UPDATE jobs SET token = 'theirs' WHERE state = 'leased'", ())
        return keep_each_line(prompt)

    api.answer = steal
    work(shop)
    assert [job.state for job in queue(shop)] == ["leased", "done"]
    assert queue(shop, "leased")[0].token == "theirs"


def test_a_long_job_renews_its_lease(shop: Workshop, api: LoopbackApi, monkeypatch: Any) -> None:
    monkeypatch.setenv("REVERIE_EXTRACTION__WINDOW_CHARS", "200")
    session = talk(shop)
    session.user("Shelf 02 holds 34 boxes, and " + "so on, " * 20)
    shop.fire(session)
    clock = FixedClock(at(NOW))
    leases: list[float] = []

    def look(prompt: str) -> Any:
        leases.append(queue(shop, "leased")[0].lease_until or 0.0)
        clock.at += timedelta(seconds=250)
        return keep_nothing(prompt)

    api.answer = look
    with shop.worker(clock) as worker:
        worker.run()
    assert len(leases) == 2 and round(leases[1] - leases[0]) == 250


def test_over_a_cap_the_work_waits_and_says_so(shop: Workshop, api: LoopbackApi, monkeypatch: Any) -> None:
    monkeypatch.setenv("REVERIE_SPEND__CALLS_PER_HOUR", "2")
    for number in (1, 2, 3):
        talk(shop, number)
    done = work(shop)
    assert len(api.prompts) == 1 and "spend.calls_per_hour" in done.waiting and done.failures == []
    assert [(job.state, job.attempts) for job in queue(shop)][1:] == [("waiting", 0)] * 2
    waiting = [job for job in status(shop)["jobs"] if job["kind"] == "extract_turn"]
    assert len(waiting) == 2 and all("spend.calls_per_hour" in job["last_error"] for job in waiting)
    for hour in (1, 2):
        work(shop, later=hour * 3700)
    assert len(shop.memories()) == 3


def test_the_cap_of_one_run_is_not_the_cap_of_one_worker(shop: Workshop, monkeypatch: Any) -> None:
    monkeypatch.setenv("REVERIE_SPEND__CALLS_PER_RUN", "2")
    for number in (1, 2, 3):
        talk(shop, number)
    assert work(shop).waiting == "" and len(shop.memories()) == 3


WORDS = (
    "claude has no login of its own here. ANTHROPIC_API_KEY is set here, but Reverie uses no key unasked."
    " To use it, write under [model] in /home/me/.claude/reverie/config.toml: the line"
    ' api_key_env = "ANTHROPIC_API_KEY". Or run `claude` and log in with /login.'
)


@pytest.mark.parametrize(
    ("reason", "told"), [(WORDS, WORDS), (f"{WORDS} {'on ' * 99}", WORDS), ("on " * 300, f"{'on ' * 143}…")]
)
def test_the_hooks_are_told_what_mends_a_login(shop: Workshop, reason: str, told: str) -> None:
    talk(shop)
    work(shop)
    with shop.ledger() as ledger:
        jobs.enqueue(ledger, "dream", str(shop.store), now=0, run_after=0)
        job = jobs.claim(ledger, owner="test", lease_seconds=9, now=at(NOW), kinds=["dream"])
        assert isinstance(job, Job)
        jobs.postpone(ledger, job, run_after=at(NOW) + timedelta(hours=2), reason=reason, now=at(NOW))
    work(shop)
    board = json.loads((shop.home / "recall" / "board.json").read_text("utf-8"))
    held = board["stores"][str(shop.store)]["held"]
    assert held.replace(" …", "…") == told.replace(" …", "…")


def _line_in_config(shop: Workshop, monkeypatch: Any) -> None:
    monkeypatch.setenv("REVERIE_MODEL__MODEL", "claude-haiku-4-5-20251001")


def _login_of_the_client(shop: Workshop, monkeypatch: Any) -> None:
    file = Path(places.config_dir()) / ".credentials.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}", "utf-8")


@pytest.mark.parametrize("mend", [_line_in_config, _login_of_the_client])
def test_a_turn_held_for_a_login_is_read_once_the_settings_or_the_login_change(
    shop: Workshop, api: LoopbackApi, monkeypatch: Any, mend: Callable[[Workshop, Any], None]
) -> None:
    for number in (1, 2):
        talk(shop, number)
    api.answer = lambda prompt: Refusal(401, "invalid x-api-key")
    work(shop)
    api.answer = keep_each_line
    mend(shop, monkeypatch)
    work(shop, later=60)
    assert len(shop.memories()) == 2


def test_a_finished_conversation_keeps_the_time_it_was_put_off_to(shop: Workshop, monkeypatch: Any) -> None:
    session = talk(shop)
    for number in (2, 3):
        session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
        session.assistant("Noted.")
    shop.fire(session)
    key = shop.env["REVERIE_MODEL__API_KEY_ENV"]
    monkeypatch.delenv(key)
    for later in (7200, 7300, 7400):
        work(shop, later=later)
    (job,) = [job for job in queue(shop) if job.kind == "extract_conversation"]
    assert job.run_after == at(NOW).timestamp() + 7200 and job.attempts == 0
    monkeypatch.setenv(key, "made-up")
    work(shop, later=10_800)
    assert len(shop.memories()) == 3


def test_bug_116_without_a_key_nothing_leaves(shop: Workshop, api: LoopbackApi, monkeypatch: Any) -> None:
    """A key and an address found in the environment are nobody's consent."""
    monkeypatch.delenv("REVERIE_MODEL__API_KEY_ENV")
    monkeypatch.delenv("REVERIE_MODEL__BASE_URL")
    found = {"ANTHROPIC_API_KEY": "sk-made-up", "ANTHROPIC_BASE_URL": api.url}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    del shop.env["REVERIE_MODEL__API_KEY_ENV"], shop.env["REVERIE_MODEL__BASE_URL"]
    shop.env.update(found)
    talk(shop)
    assert "model.api_key_env" in work(shop).waiting and api.prompts == []
    assert "model.api_key_env" in status(shop)["provider"]["why"]


def test_bug_119_near_the_accounts_limit_the_work_pauses_and_resumes(
    shop: Workshop, api: LoopbackApi
) -> None:
    for number in (1, 2, 3):
        talk(shop, number)
    api.answer = lambda prompt: Limited(keep_each_line(prompt), left=10)
    done = work(shop)
    assert len(api.prompts) == 1 and "limit" in done.waiting
    assert "10%" in status(shop)["spend"]["held"]
    api.answer = lambda prompt: Limited(keep_each_line(prompt), left=60)
    work(shop, later=3700)
    assert len(shop.memories()) == 3


def test_dialogue_no_model_reads_is_passed_over_after_the_last_try(shop: Workshop, api: LoopbackApi) -> None:
    talk(shop)
    api.answer, api.ping = (lambda prompt: "this is no JSON"), well
    for later in (0, 100, 1000):
        work(shop, later=later)
    assert len(api.prompts) == 6, "three tries, each with one repair round"
    assert len(api.pings) == 3, "and each time the provider was seen to be well"
    (job,) = queue(shop)
    assert job.state == "done"
    assert runs.GIVEN_UP in [run[3] for run in shop.books()["runs"]]
    work(shop, later=9000)
    assert len(api.prompts) == 6


@pytest.mark.parametrize("command", [("work", "--retry"), ("process", "--all")], ids=" ".join)
@pytest.mark.parametrize("whole", [False, True], ids=["turn", "conversation"])
def test_bug_i4_what_was_passed_over_is_read_on_request(
    shop: Workshop, api: LoopbackApi, command: tuple[str, ...], whole: bool
) -> None:
    session = talk(shop)
    for number in (2, 3):
        session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
        session.assistant("Noted.")
    shop.fire(session)
    api.answer, api.ping = (lambda prompt: "this is no JSON"), well
    for later in (0, 100, 1000, *((7200, 7300, 8000) if whole else ())):
        work(shop, later=later)
    with shop.ledger() as ledger:
        assert len(runs.given_up(ledger)) == 1 + whole
    told = shop.reverie("doctor").stdout
    assert "no reply was usable" in told and "reverie work --retry" in told
    soon = at(NOW) + timedelta(seconds=9000)
    done = shop.reverie(*command, REVERIE_NOW=soon.isoformat())
    assert done.returncode == 0 and shop.memories() == [], "it can't be read yet"
    with shop.ledger() as ledger:
        assert len(runs.given_up(ledger)) == 1 + whole, "and so stays to be read"
    api.answer = keep_each_line
    asked = len(api.prompts)
    done = shop.reverie(*command, REVERIE_NOW=soon.isoformat())
    assert done.returncode == 0, done.stderr
    assert len(shop.memories()) == 3 and len(api.prompts) == asked + 1, "once, though both had passed it over"
    with shop.ledger() as ledger:
        assert runs.given_up(ledger) == []
    shop.reverie(*command, REVERIE_NOW=soon.isoformat())
    assert len(api.prompts) == asked + 1
    if whole:
        assert [row[1] for row in shop.books()["conversations"]] == ["archived"], "not at work for ever"


def test_doing_everything_now_tries_each_job_once(shop: Workshop, api: LoopbackApi) -> None:
    talk(shop, 1)
    talk(shop, 2)
    api.answer, api.ping = (lambda prompt: "this is no JSON"), well
    done = work(shop, now_too=True)
    assert len(done.failures) == 2 and [job.attempts for job in queue(shop)] == [1, 1]


# -- what is read at all --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "entries", "calls", "memories"),
    [("off", 0, 0, 0), ("observe", 2, 0, 0), ("propose", 2, 1, 0), ("auto", 2, 1, 1)],
)
def test_the_modes(
    shop: Workshop, api: LoopbackApi, monkeypatch: Any, mode: str, entries: int, calls: int, memories: int
) -> None:
    talk(shop)
    monkeypatch.setenv("REVERIE_STORE__MODE", mode)
    work(shop)
    assert (len(shop.books()["entries"]), len(api.prompts)) == (entries, calls)
    assert len(shop.memories() if shop.store.exists() else []) == memories
    with shop.ledger() as ledger:
        assert inbox.count_inbox(ledger, str(shop.store)) == (mode == "propose")
    assert list((shop.home / "spool").glob("*.json")) == []


def test_in_observe_mode_the_process_ends_though_a_job_waits(shop: Workshop, api: LoopbackApi) -> None:
    talk(shop)
    assert shop.work(REVERIE_STORE__MODE="observe", REVERIE_WORKER__LINGER_SECONDS="5") == 0
    assert len(queue(shop, "waiting")) == 1 and api.prompts == []


def test_what_was_observed_is_read_once_the_mode_allows(shop: Workshop, monkeypatch: Any) -> None:
    talk(shop)
    monkeypatch.setenv("REVERIE_STORE__MODE", "observe")
    work(shop)
    monkeypatch.setenv("REVERIE_STORE__MODE", "auto")
    work(shop)
    assert shop.memories() == ["shelf-01-holds"]


@pytest.mark.parametrize(("include", "calls"), [("false", 0), ("true", 1)])
def test_print_sessions_are_skipped_unless_asked_for(
    shop: Workshop, api: LoopbackApi, monkeypatch: Any, include: str, calls: int
) -> None:
    monkeypatch.setenv("REVERIE_EXTRACTION__INCLUDE_PRINT_SESSIONS", include)
    talk(shop, entrypoint="sdk-cli")
    work(shop)
    work(shop, later=7200)  # its conversation is over by then
    assert len(api.prompts) == calls


def test_an_sdk_program_into_which_a_person_types_is_read(shop: Workshop, api: LoopbackApi) -> None:
    session = shop.session(entrypoint="sdk-ts")
    session.user("Shelf 01 holds 17 boxes.", origin={"kind": "human"})
    session.assistant("Noted.")
    shop.fire(session)
    work(shop)
    assert len(api.prompts) == 1


def test_a_subagents_events_are_dropped(shop: Workshop, api: LoopbackApi) -> None:
    session = shop.session()
    session.user("Shelf 01 holds 17 boxes.")
    shop.fire(session, agent_id="a1")
    assert work(shop).events == 1 and api.prompts == [] and queue(shop) == []


def test_a_second_turn_waits_its_turn(shop: Workshop, api: LoopbackApi) -> None:
    session = talk(shop)
    work(shop)
    session.user("Shelf 02 holds 34 boxes.")
    shop.fire(session)
    work(shop, later=30)
    assert len(api.prompts) == 1
    work(shop, later=121)
    assert [text for _, text in person_lines(api.prompts[-1])] == ["Shelf 02 holds 34 boxes."]


def test_at_the_sessions_end_nothing_waits(shop: Workshop, api: LoopbackApi) -> None:
    session = talk(shop)
    work(shop)
    session.user("Shelf 02 holds 34 boxes.")
    shop.fire(session, "SessionEnd")
    work(shop, later=30)
    assert len(api.prompts) == 2


def test_bug_058_a_pass_without_news_rewrites_nothing(shop: Workshop) -> None:
    session = talk(shop)
    work(shop)

    def stamps() -> dict[str, tuple[int, int]]:
        files = [file for file in shop.store.rglob("*") if ".reverie" not in file.parts]
        return {str(file): (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}

    before = stamps()
    for later in (300, 600, 900):
        shop.fire(session)
        work(shop, later=later)
    assert stamps() == before and len(before) > 2


Damage = Callable[[Workshop, Transcript], object]


def _missing(shop: Workshop, session: Transcript) -> None:
    (shop.folder / f"{session.session_id}.jsonl").unlink()


def _directory(shop: Workshop, session: Transcript) -> None:
    _missing(shop, session)
    (shop.folder / f"{session.session_id}.jsonl").mkdir()


def _empty(shop: Workshop, session: Transcript) -> None:
    (shop.folder / f"{session.session_id}.jsonl").write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "quarantined"), [(_missing, 0), (_directory, 0), (_empty, 0)], ids=["missing", "dir", "empty"]
)
def test_bug_026_an_odd_transcript_disturbs_nobody(
    shop: Workshop, api: LoopbackApi, damage: Damage, quarantined: int
) -> None:
    odd = talk(shop, 1)
    damage(shop, odd)
    talk(shop, 2)
    done = work(shop)
    assert done.events == 2 and done.failures == [] and done.quarantined == quarantined
    assert shop.memories() == ["shelf-02-holds"] and len(api.prompts) == 1


def test_bug_026_a_ledger_of_garbage_is_named_once_and_no_event_lost(shop: Workshop) -> None:
    talk(shop)
    (shop.home / "ledger.sqlite").write_bytes(b"garbage " * 1000)
    for _ in range(2):
        assert shop.work(REVERIE_NOW=NOW, REVERIE_MODEL__PROVIDER="offline") == 0
    (line,) = [line for line in shop.log() if " ERROR " in line]
    assert "ledger.sqlite" in line and not list((shop.home / "spool").glob("*.json"))
    assert len(shop.books()["entries"]) == 2 and len(list(shop.home.glob("ledger.sqlite.damaged-*"))) == 1


def test_bug_050_while_someone_holds_the_ledger_nothing_is_lost(shop: Workshop, api: LoopbackApi) -> None:
    """Longer than anyone waits: the worker gives up and says so; the next one finds everything."""
    session = talk(shop)
    with shop.ledger() as ledger, ledger.transaction():
        command = ["sh", str(HOOKS / "run"), "Stop"]
        note_python(shop.home)
        note_home(shop.projects.parent, shop.home)
        hook = subprocess.run(command, input=shop.payload(session), env=shop.env, capture_output=True)
        assert (hook.returncode, hook.stdout, hook.stderr) == (0, b"", b"")
        assert shop.work(REVERIE_NOW=NOW) == 0
    (line,) = [line for line in shop.log() if " ERROR " in line]
    assert "ledger.sqlite" in line and len(list((shop.home / "spool").glob("*.json"))) == 2
    work(shop)
    assert shop.memories() == ["shelf-01-holds"] and len(shop.books()["events"]) == 2


def test_bug_045_a_directory_in_place_of_the_lock_is_named(shop: Workshop) -> None:
    (shop.home / "worker.lock").mkdir(parents=True)
    done = shop.reverie("status")
    assert done.returncode == 1 and "worker.lock" in done.stderr and "Traceback" not in done.stderr


def test_bug_045_what_the_lock_file_says_does_not_matter(shop: Workshop) -> None:
    talk(shop)
    (shop.home / "worker.lock").write_bytes(b"\x00\xff\x01")
    assert shop.work(REVERIE_NOW=NOW, REVERIE_MODEL__PROVIDER="offline") == 0
    assert [run[3] for run in shop.books()["runs"]] == ["nothing"]
