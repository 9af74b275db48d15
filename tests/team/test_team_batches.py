"""A team's backlog in batches: at half the price, within all caps, and once, whichever machine dies."""

import json
import os
import signal
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from pipeline.team import batches, leases, queue, spending
from pipeline.text.humanize import money
from tests.support.batch_api import serving_batches
from tests.support.loopback import well
from tests.support.model import is_second
from tests.support.team_machines import Machine, keep_facts, said_in, talk, telling

pytestmark = pytest.mark.postgres
NUMBER = 4
CAP = "0.06"
"""Dollars a day that leave room for some of these requests."""
SELDOM = ("batch.written", "batch.result_kept#3", "batch.taken", "store.files_replaced", "team.read#2")
"""Where it dies besides, in the long run alone."""
ALL = {telling(number): 1 for number in range(NUMBER)}


@pytest.fixture
def api():
    with serving_batches(keep_facts) as api:
        api.ping = well
        api.at_once = False
        api.now = lambda: datetime.now(UTC)
        yield api


@pytest.fixture
def laptop(work, tmp_path, api):
    """Ann's laptop, whose project is in the team; four old sessions of two projects are on it."""
    machine = Machine(tmp_path / "laptop", api.environment)
    machine.folder.mkdir(parents=True)
    for number in range(NUMBER):
        talk(machine.projects, f"project-{number % 2}", number)
    assert machine.reverie("ingest", "--dir", str(machine.projects)).returncode == 0
    done = machine.reverie("team", "join", work.name, "--database", work.server.url("ann"))
    assert done.returncode == 0, done.stderr
    return machine


@pytest.fixture
def box(work, laptop, tmp_path, api):
    """A machine of Ann's that has her laptop's transcripts."""
    return Machine(tmp_path / "box", api.environment, laptop.projects)


def give(laptop):
    found = laptop.told("process", "--all", "--team", "--batch", "--yes")
    assert found["given"] == NUMBER
    return found


def look(work, box, *words, **env):
    """Let a machine do what can be done now; return how its worker ended and what it said."""
    process = box.begin(work.name, work.server.url("ann"), "--once", "--json", *words, **env)
    out, err = process.communicate(timeout=120)
    return process.returncode, json.loads(out) if out else {}, err


def finish(work, box, api, looks=6):
    """Let batches end and look again until nothing is left; return what was read meanwhile."""
    read = 0
    for _ in range(looks):
        code, found, err = look(work, box)
        assert code == 0, err
        read += found["read"]
        if not work.as_("ann", queue.left_of_mine, work.team).open:
            return read
        api.end()
    raise AssertionError(f"no end: {err}")


def asked(api):
    """Return how often first readers were charged about each fact, and how often second ones were at all."""
    first = [prompt for prompt, times in api.charged.items() for _ in range(times) if not is_second(prompt)]
    return said_in(first), sum(times for prompt, times in api.charged.items() if is_second(prompt))


def at(minutes):
    """Return the environment of so many minutes later."""
    return {"REVERIE_NOW": (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()}


def die_at(work, box, api, point):
    """Let a machine look until its worker dies at `point`."""
    for _ in range(4):
        code, _, err = look(work, box, REVERIE_CRASH_AT=point)
        if code == -9:
            return
        assert code == 0, err
        api.end()
    raise AssertionError(f"{point} was not reached")


def run_out(work):
    work.server.sql("UPDATE reverie_team.lease SET until = now() - interval '1 second'")


def spent(work):
    return work.as_("ann", spending.spent, work.team, "day")


def test_a_backlog_is_read_in_batches_at_half_the_price(work, laptop, box, api, tmp_path):
    estimate = laptop.told("process", "--all", "--team", "--batch", "--estimate")
    singly = laptop.told("process", "--all", "--team", "--estimate")
    assert estimate["conversations"] == NUMBER
    assert estimate["dollars"] == pytest.approx(singly["dollars"] / 2, rel=0.01)
    give(laptop)
    code, found, err = look(work, box)
    assert (code, found["read"]) == (0, 0), err
    assert [len(batch.requests) for batch in api.batches] == [NUMBER]
    flying = work.as_("ann", batches.flying, work.team)
    assert (flying.batches, flying.requests) == (1, NUMBER)
    assert flying.dollars == spent(work) > 0
    assert f"{NUMBER} requests in 1 batch, {money(float(flying.dollars))} at most" in " ".join(
        laptop.reverie("team", "status").stdout.split()
    )
    # Nothing came yet, so a second look asks nothing.
    assert look(work, box)[0] == 0
    assert len(api.batches) == 1
    assert finish(work, box, api) == NUMBER
    assert (box.facts(), laptop.facts()) == (ALL, {})
    assert asked(api) == (ALL, NUMBER)
    assert (api.single, len(api.batches)) == ([], 2)
    assert work.as_("ann", batches.flying, work.team).requests == 0
    (mine,) = [row for row in work.as_("ann", queue.progress, work.team) if row.login == "ann"]
    assert (mine.waiting, mine.doing, mine.failed, mine.read) == (0, 0, 0, NUMBER)
    # The same singly, by another member's box of the same size, costs twice that.
    with box.ledger() as ledger:
        booked = ledger.value("SELECT sum(dollars) FROM model_calls")
    assert float(spent(work)) == pytest.approx(booked)


@pytest.mark.parametrize(
    "point",
    [
        "batch.entered",
        "batch.sent",
        "batch.result_settled",
        *(pytest.param(point, marks=pytest.mark.whole) for point in SELDOM),
    ],
)
def test_a_machine_that_dies_anywhere_goes_on_and_nothing_is_paid_twice(work, laptop, box, api, point):
    give(laptop)
    die_at(work, box, api, point)
    api.end()
    for turn in range(1, 7):
        # Of a batch that may have been sent nobody is sure before some minutes have passed.
        code, _, err = look(work, box, **at(15 * turn))
        assert code == 0, err
        api.end()
        if not work.as_("ann", queue.left_of_mine, work.team).open:
            break
    assert work.as_("ann", queue.left_of_mine, work.team).open == 0
    assert box.facts() == ALL
    assert asked(api) == (ALL, NUMBER)
    assert api.single == []


@pytest.mark.parametrize("point", ["batch.sent", "batch.result_settled#3", "batch.taken"])
def test_another_machine_takes_over_what_is_under_way_and_pays_nothing_twice(
    work, laptop, box, api, tmp_path, point
):
    give(laptop)
    other = Machine(tmp_path / "other", api.environment, laptop.projects)
    die_at(work, box, api, point)
    assert (box.facts(), api.single) == ({}, [])
    # Its lease holds yet: nobody else touches what it is at.
    assert look(work, other)[1]["read"] == 0
    assert len(api.batches) == 1
    run_out(work)
    api.end()
    assert finish(work, other, api) == NUMBER
    assert (other.facts(), box.facts()) == (ALL, {})
    assert asked(api) == (ALL, NUMBER)
    # The first one comes back: what it was at is not its any more.
    code, found, err = look(work, box)
    assert (code, found["read"], box.facts()) == (0, 0, {}), err
    assert asked(api) == (ALL, NUMBER)


def look_and_stop(work, box, point):
    """Let a machine begin to look, and return its process, which has stopped at `point` as if suspended."""
    process = box.begin(
        work.name, work.server.url("ann"), "--once", "--json", REVERIE_CRASH_AT=f"stop:{point}"
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), process.communicate()
    return process


def go_on(process):
    """Wake a machine that was suspended; return how its worker ended and what it said."""
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def test_who_was_suspended_before_it_sent_a_batch_does_not_send_what_another_has_dropped(
    work, laptop, box, api, tmp_path
):
    give(laptop)
    other = Machine(tmp_path / "other", api.environment, laptop.projects)
    process = look_and_stop(work, box, "batch.written")
    run_out(work)
    # Nobody knows whether it was sent, so nothing is for ten minutes; then it was not.
    assert look(work, other)[0] == 0
    assert api.batches == []
    assert look(work, other, **at(11))[0] == 0
    assert [len(batch.requests) for batch in api.batches] == [NUMBER]
    code, err = go_on(process)
    assert (code, len(api.batches)) == (0, 1), err
    assert "another machine goes on with it" in err
    api.end()
    assert finish(work, other, api) == NUMBER
    assert asked(api) == (ALL, NUMBER)
    code, found, err = look(work, box)
    assert (code, found["read"], box.facts()) == (0, 0, {}), err
    assert asked(api) == (ALL, NUMBER)


def test_who_was_suspended_while_nobody_came_sends_what_it_was_about_to(work, laptop, box, api):
    give(laptop)
    process = look_and_stop(work, box, "batch.written")
    run_out(work)
    code, err = go_on(process)
    assert (code, [len(batch.requests) for batch in api.batches]) == (0, [NUMBER]), err
    # From before it was sent nobody else may take it over.
    assert len(work.as_("ann", leases.held, work.team)) == 2


def test_a_batch_that_is_too_large_goes_in_halves_within_the_caps(work, laptop, box, api):
    api.is_too_large = lambda prompts: len(prompts) > 1
    give(laptop)
    code, _, err = look(work, box)
    assert code == 0, err
    assert (api.refused, [len(batch.requests) for batch in api.batches]) == ([4, 2, 2], [1] * NUMBER)
    flying = work.as_("ann", batches.flying, work.team)
    assert (flying.requests, flying.dollars) == (NUMBER, spent(work))


def test_a_batch_is_as_large_as_the_teams_cap_leaves_room_for(work, laptop, box, api):
    give(laptop)
    assert laptop.reverie("team", "cap", "day", CAP).returncode == 0
    code, _, err = look(work, box)
    assert code == 0, err
    first = len(api.batches[0].requests)
    assert 0 < first < NUMBER
    assert spent(work) <= Decimal(CAP)
    assert "cap is reached" in err
    assert laptop.reverie("team", "cap", "day", "none").returncode == 0
    api.end()
    finish(work, box, api, looks=10)
    assert box.facts() == ALL
    assert asked(api) == (ALL, NUMBER)


def test_what_expires_or_fails_is_asked_singly(work, laptop, box, api):
    api.fate = lambda prompt: (
        "expired" if telling(0) in prompt else "errored" if telling(1) in prompt else "succeeded"
    )
    give(laptop)
    assert finish(work, box, api) == NUMBER
    assert box.facts() == ALL
    assert asked(api) == (ALL, NUMBER)
    # Both readers of the two.
    assert len(api.single) == 4


def test_canceled_ones_are_taken_back_and_what_was_answered_is_kept(work, laptop, box, api):
    give(laptop)
    look(work, box)
    found = laptop.told("process", "--team", "--cancel")
    assert found == {"taken_back": 0, "requests_in_batches": NUMBER}
    again = laptop.told("process", "--all", "--team", "--batch", "--yes")
    assert (again["given"], again["waiting"], again["canceling"]) == (0, 0, NUMBER)
    told = laptop.reverie("process", "--all", "--team", "--batch", "--yes").stderr
    assert f"{NUMBER} transcripts that you canceled are still in batches under way" in " ".join(told.split())
    code, _, err = look(work, box)
    assert code == 0, err
    assert api.batches[0].canceling
    api.end()
    code, _, err = look(work, box)
    assert code == 0, err
    assert len(api.batches) == 1
    assert (asked(api), api.single) == (({}, 0), [])
    assert spent(work) == 0
    assert laptop.reverie("team", "sync").returncode == 0
    assert "sessions that you gave" not in laptop.reverie("status").stdout
    assert laptop.told("process", "--team", "--cancel")["taken_back"] == NUMBER
    assert work.as_("ann", queue.left_of_mine, work.team).open == 0
    # They are the laptop's again.
    assert laptop.reverie("process", "--all").returncode == 0
    assert laptop.facts() == ALL


def test_who_is_in_the_team_no_more_ends_an_order_here(work, laptop, box, api):
    work.enter("bob")
    give(laptop)
    assert look(work, box)[0] == 0
    assert laptop.reverie("team", "leave", "--yes").returncode == 0
    refused = box.reverie("process", "--batch", "--cancel")
    assert refused.returncode and "--batch --cancel --yes" in refused.stderr
    assert box.told("process", "--batch", "--cancel", "--yes")["state"] == "canceling"
    api.end()
    assert box.told("process", "--batch", "--cancel", "--yes")["state"] == "canceled"
    assert api.single == []


def test_what_was_answered_is_kept_of_a_transcript_that_is_gone_since(work, laptop, box, api, tmp_path):
    give(laptop)
    assert look(work, box)[0] == 0
    for file in laptop.projects.glob("*/*.jsonl"):
        file.rename(tmp_path / file.name)
    assert finish(work, box, api) == NUMBER
    assert box.facts() == ALL


def test_a_worker_whose_provider_takes_no_batches_leaves_them(work, laptop, box, api):
    give(laptop)
    code, found, err = look(work, box, REVERIE_MODEL__PROVIDER="offline")
    assert code == 0, err
    assert "takes no batches" in found["waiting"]
    assert work.as_("ann", queue.left_of_mine, work.team).open == NUMBER
    assert finish(work, box, api) == NUMBER


def test_a_transcript_that_is_gone_holds_up_none_behind_it(work, laptop, box, api, tmp_path):
    give(laptop)
    first = next(file for file in laptop.projects.glob("*/*.jsonl") if file.name.startswith("00000000"))
    first.rename(tmp_path / first.name)
    for _ in range(3):
        code, _, err = look(work, box)
        assert code == 0, err
        api.end()
    assert box.facts() == {telling(number): 1 for number in range(1, NUMBER)}
    assert work.as_("ann", queue.left_of_mine, work.team).open == 1
    # Another machine that has it may read it: no lease is held for it here.
    assert work.as_("ann", leases.held, work.team) == ()


def test_another_login_sees_no_batch(work, laptop, box):
    work.enter("bob")
    give(laptop)
    look(work, box)
    assert seen_by(work, "bob") == []
    names = seen_by(work, "ann")
    assert len(names) == NUMBER
    given = {"dollars": Decimal(0), "read_tokens": 0, "written_tokens": 0}
    work.as_("bob", batches.settle, work.team, names[0], "{}", **given)
    work.as_("bob", batches.drop, work.team, names[0].split("-")[1], None)
    assert work.as_("ann", batches.flying, work.team).requests == NUMBER


def seen_by(work, login):
    """Return the requests of the team that a login can read."""
    sql = "SELECT custom_id FROM batch_item JOIN batch USING (team) WHERE team = %s"
    return [name for (name,) in work.as_(login, lambda connection: connection.execute(sql, [work.team]))]


def test_nothing_that_was_said_is_in_what_tells_a_question(work, laptop, box):
    give(laptop)
    look(work, box)
    sql = "SELECT batch::text || batch_item::text FROM batch JOIN batch_item USING (team) WHERE team = %s"
    rows = work.as_("ann", lambda connection: connection.execute(sql, [work.team]).fetchall())
    text = " ".join(row for (row,) in rows)
    assert len(rows) == NUMBER
    assert "port" not in text and "project" not in text


def test_what_is_paid_for_is_taken_though_a_cap_is_reached_by_then(work, laptop, box, api):
    give(laptop)
    look(work, box)
    api.end()
    assert laptop.reverie("team", "cap", "day", "0.01").returncode == 0
    code, found, err = look(work, box)
    assert code == 0, err
    assert "cap of $0.01 a day is reached" in found["waiting"]
    assert asked(api) == (ALL, 0)
    # What was reserved for it is free again, and the rest fits below the cap.
    assert spent(work) < Decimal("0.01")
    assert laptop.reverie("team", "cap", "day", "none").returncode == 0
    assert finish(work, box, api) == NUMBER
    assert asked(api) == (ALL, NUMBER)


def test_the_provider_is_asked_to_end_a_batch_though_a_cap_is_reached(work, laptop, box, api):
    give(laptop)
    look(work, box)
    assert laptop.reverie("team", "cap", "day", "0").returncode == 0
    laptop.told("process", "--team", "--cancel")
    code, _, err = look(work, box)
    assert code == 0, err
    assert api.batches[0].canceling


def test_what_was_canceled_is_read_when_it_is_given_again(work, laptop, box, api):
    give(laptop)
    look(work, box)
    laptop.told("process", "--team", "--cancel")
    look(work, box)
    api.end()
    look(work, box)
    give(laptop)
    assert finish(work, box, api) == NUMBER
    assert box.facts() == ALL


def test_who_can_ask_in_no_batches_keeps_no_folder_from_others(work, laptop, box, tmp_path, api):
    give(laptop)
    other = Machine(tmp_path / "other", api.environment, laptop.projects)
    process = other.begin(work.name, work.server.url("ann"), REVERIE_MODEL__PROVIDER="offline")
    assert next(line for line in process.stderr if line.startswith("waiting: "))
    look(work, box)
    process.terminate()
    process.communicate(timeout=120)
    assert [len(batch.requests) for batch in api.batches] == [NUMBER]
