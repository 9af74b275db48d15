"""What a team's worker asks of the database: one question for each look and each call, and odd rows in it."""

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from threading import Event

import psycopg
import pytest

from pipeline.config import Settings
from pipeline.core.clock import FixedClock
from pipeline.core.errors import LeaseLostError, TeamError
from pipeline.ledger import calls, open_ledger
from pipeline.llm.budget import Usage
from pipeline.team import batches, leases, looking, queue, spending
from pipeline.team.connecting import parse
from pipeline.worker.team_calls import TeamCalls, reply_of
from pipeline.worker.team_table import Pulse, Served, Table
from pipeline.worker.team_worker import TeamWorker
from tests.support.batch_api import serving_batches
from tests.support.loopback import well
from tests.support.team_machines import Machine, keep_facts, talk, telling

pytestmark = pytest.mark.postgres
ODD_ARGS = (
    "null",
    "[]",
    '"text"',
    '{"key": null, "project": "p"}',
    '{"key": 7, "project": "p"}',
    '{"key": "", "project": "p"}',
    '{"key": "p/a.jsonl"}',
    '{"key": "p/a.jsonl", "project": {}}',
    '{"key": "other/a.jsonl", "project": "p"}',
    '{"key": "p/a.jsonl", "project": "p", "most": "much"}',
    '{"key": "p/a.jsonl", "project": "p", "most": 1e400}',
    '{"key": "p/a.jsonl", "project": "p", "most": null}',
    json.dumps({"key": "k" * 2000, "project": "p"}),
)
ODD_COLUMNS = (
    {"attempts": "2147483647"},
    {"attempts": "-1"},
    {"task_name": "'other'"},
    {"queue_name": "backlog_queue(%(team)s, 'another')"},
    {"queue_name": "backlog_queue(%(team)s, 'p') || '/batch/batch'"},
)
SOUND = '{"key": "p/a.jsonl", "project": "p"}'
ODD_REPLY = json.dumps(
    {"text": 1, "stop_reason": "end_turn", "provider": "anthropic", "model": "claude-haiku-4-5"}
)
NOW = datetime(2026, 3, 9, tzinfo=UTC)


@pytest.fixture
def api():
    with serving_batches(keep_facts) as api:
        api.ping = well
        yield api


@pytest.fixture
def statements(monkeypatch):
    """What is asked of PostgreSQL from here on, in SQL."""
    seen, execute = [], psycopg.Connection.execute

    def noted(self, query, *given, **named):
        seen.append(query)
        return execute(self, query, *given, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", noted)
    return seen


def put(work, args=SOUND, ending="", **columns):
    """Write a job as some other client of Ann's may."""
    values = {
        "queue_name": "backlog_queue(%(team)s, 'p') || %(ending)s",
        "task_name": "'read'",
        "args": "%(args)s::jsonb",
        **columns,
    }
    sql = f"INSERT INTO procrastinate_jobs ({', '.join(values)}) SELECT {', '.join(values.values())}"
    given = {"team": work.team, "args": args, "ending": ending}
    work.as_("ann", lambda connection: connection.execute(sql, given))


def meter(work, stack, tmp_path, token, project="p"):
    """Return the meter of a worker on Ann's box that holds the lease of `token`."""
    address = parse(work.server.url("ann"))
    served = Served(address, work.team, work.name)
    pulse = stack.enter_context(Pulse(served))
    pulse.add(token)
    table = stack.enter_context(Table(served, pulse, home=tmp_path, attempts=3))
    made = TeamCalls(table, "box", pulse.held(token), project)
    ledger = stack.enter_context(open_ledger(tmp_path / "ledger.sqlite"))
    return made.meter(calls.LedgerMeter(ledger, Settings().spend, FixedClock(NOW), run_id="r"))


def idle(work, folder):
    """Let a worker look that finds nothing it can do."""
    served = Served(parse(work.server.url("ann")), work.team, work.name, folder)
    stop, tell = Event(), print
    worker = TeamWorker(
        [served], "box", [folder], never, home=folder, settings=Settings(), stop=stop, tell=tell
    )
    worker.run(once=True)


def never(calls):
    raise AssertionError("it has nothing to do")


def begin(meter, digest="d"):
    given = {"purpose": "extract", "provider": "anthropic", "model": "claude-haiku-4-5"}
    return meter.begin(**given, prompt_digest=digest, estimate=Usage(1000, 100))


def asked(statements):
    return [sql for sql in statements if "SELECT" in sql]


def test_a_look_for_work_is_one_question(work, tmp_path, statements):
    idle(work, tmp_path)
    assert len(asked(statements)) == 1
    put(work)
    put(work, ending=queue.BATCH)
    del statements[:]
    idle(work, tmp_path / "mount")
    # And once what of it is on no machine here.
    assert len(asked(statements)) == 2
    found = work.as_("ann", looking.look, work.team, "box")
    assert [len(each) for each in (found.singly, found.in_batches)] == [1, 1]


def test_a_call_is_begun_by_one_question_under_the_lease(work, tmp_path, statements):
    token = work.as_("ann", leases.take, work.team, "dream", "box", seconds=300)
    with ExitStack() as stack:
        asking = meter(work, stack, tmp_path, token, project="p" * 400)
        del statements[:]
        begin(asking)
        assert len(asked(statements)) == 1
        assert work.as_("ann", spending.spent, work.team, "day") > 0
        # It was suspended since, and does not know it yet.
        work.server.sql("UPDATE reverie_team.lease SET until = now() - interval '1 second'")
        assert work.as_("ann", leases.take, work.team, "dream", "other", seconds=300)
        with pytest.raises(LeaseLostError):
            begin(asking, "another")
    (cost,) = work.as_("ann", spending.costs, work.team)
    assert cost.calls == 1


@pytest.mark.parametrize("text", ["5", "no JSON", "{}", ODD_REPLY])
def test_a_kept_reply_that_is_none_is_asked_anew(work, tmp_path, text):
    assert reply_of(text) is None
    given = {"machine": "box", "project": "p", "purpose": "extract", "work": "d"}
    kept = spending.Call("00000000-0000-4000-8000-000000000001", **given)
    assert work.as_("ann", spending.reserve, work.team, kept, 1)
    work.as_("ann", spending.settle, work.team, kept, text, dollars=0, read_tokens=0, written_tokens=0)
    token = work.as_("ann", leases.take, work.team, "dream", "box", seconds=300)
    with ExitStack() as stack:
        assert begin(meter(work, stack, tmp_path, token))
    assert work.as_("ann", spending.spent, work.team, "day") > 0


def test_jobs_that_nobody_can_do_fail_with_a_reason_and_the_worker_goes_on(work, tmp_path, api):
    box = Machine(tmp_path / "box", api.environment)
    keys = [talk(box.projects, "project", number).relative_to(box.projects) for number in range(2)]
    for args in ODD_ARGS:
        put(work, args)
        put(work, args, queue.BATCH, status="'doing'")
    for columns in ODD_COLUMNS:
        put(work, **columns)
    wide = {"project": "p" * 400, "key": f"{'p' * 400}/a.jsonl"}
    put(work, json.dumps(wide), queue_name=f"backlog_queue(%(team)s, '{wide['project']}')")
    wanted = [
        queue.Wanted(str(key), str(key.parent), in_batches=bool(n), most=1) for n, key in enumerate(keys)
    ]
    work.as_("ann", queue.defer, work.team, wanted)
    odd = 2 * len(ODD_ARGS) + len(ODD_COLUMNS)
    found = once(work, box)
    assert (found["read"], found["failed"], found["absent"]) == (1, odd, [wide["key"]])
    err = found["err"]
    assert (err.count("can't be done: "), err.count("its key is no text")) == (odd, 4)
    assert work.as_("ann", batches.flying, work.team).requests == 1
    assert box.facts() == {telling(0): 1}
    (mine,) = work.as_("ann", queue.progress, work.team)
    assert (mine.waiting, mine.doing, mine.failed) == (1, 1, odd)
    # Nobody tries them again, and who takes back takes them away.
    assert work.as_("ann", queue.retry_failed, work.team) == 0
    assert work.as_("ann", queue.cancel, work.team) == (wide["key"],)
    (mine,) = work.as_("ann", queue.progress, work.team)
    assert (mine.waiting, mine.doing, mine.failed) == (0, 1, 0)


def test_jobs_that_an_earlier_version_gave_a_lock_are_done_at_the_same_time(work):
    for number in range(2):
        args = json.dumps({"key": f"p/{number}.jsonl", "project": "p"})
        put(work, args, lock="backlog_queue(%(team)s, 'p')")
    (found,) = work.as_("ann", looking.look, work.team, "box").singly
    for item in work.as_("ann", queue.in_hand, found.name):
        work.as_("ann", queue.begin, item, tries=0)
    (mine,) = work.as_("ann", queue.progress, work.team)
    assert (mine.waiting, mine.doing) == (0, 2)


def test_a_batch_gets_no_reply_that_is_none_and_asks_singly(work, tmp_path, api):
    box = Machine(tmp_path / "box", api.environment)
    key = talk(box.projects, "project", 0).relative_to(box.projects)
    api.at_once = False
    wanted = queue.Wanted(str(key), str(key.parent), in_batches=True, most=1)
    work.as_("ann", queue.defer, work.team, [wanted])
    once(work, box)
    # Another client of hers has settled it with what is no reply, and let it go.
    work.server.sql(
        f"UPDATE reverie_team.call SET state = 'settled', reply = '5' WHERE team = '{work.team}';"
        f" DELETE FROM reverie_team.batch_item WHERE team = '{work.team}';"
        f" DELETE FROM reverie_team.batch WHERE team = '{work.team}';"
        " UPDATE reverie_team.lease SET until = now() - interval '1 second'"
    )
    other = Machine(tmp_path / "other", api.environment, box.projects)
    assert once(work, other)["read"] == 1
    assert other.facts() == {telling(0): 1}
    assert len(api.single) == 2


def once(work, machine):
    """Let a machine do what can be done now; return what it did."""
    process = machine.begin(work.name, work.server.url("ann"), "--once", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return {**json.loads(out), "err": err}


def test_a_lease_stays_with_its_machine_where_work_ended_by_an_error(work, tmp_path):
    served = Served(parse(work.server.url("ann")), work.team, work.name)

    def take(machine):
        return work.as_("ann", leases.take, work.team, "dream", machine, seconds=60)

    with Pulse(served) as pulse, Table(served, pulse, home=tmp_path, attempts=3) as table:
        with pytest.raises(TeamError), table.holding(take("box")) as held:
            raise TeamError("the database is away")
        assert not held.is_ours()
        # What was at hand may be written there, and not settled.
        assert take("other") is None
        with table.holding(take("box")):
            pass
    assert take("other")


def test_who_died_at_a_folder_goes_on_there_first(work):
    for project in ("a", "b", "c"):
        put(
            work,
            f'{{"key": "{project}/k.jsonl", "project": "{project}"}}',
            queue_name=f"backlog_queue(%(team)s, '{project}')",
        )

    def projects(machine):
        return [each.project for each in work.as_("ann", looking.look, work.team, machine).singly]

    (name,) = [
        each.name for each in work.as_("ann", looking.look, work.team, "box").singly if each.project == "b"
    ]
    assert work.as_("ann", queue.take, work.team, name, "box")
    assert (projects("box"), projects("other")) == (["b", "a", "c"], ["a", "c"])
