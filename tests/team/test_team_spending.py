"""Caps that hold for all workers together, replies paid for once, leases that one alone holds."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from uuid import uuid4

import pytest
from psycopg import errors

from pipeline.app import team
from pipeline.core.errors import TeamError, UnreachableTeamError
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.llm.budget import Usage
from pipeline.llm.fakes import MemoryMeter
from pipeline.llm.request import RawReply
from pipeline.team import connecting, leases, outages, spending
from pipeline.worker.team_calls import TeamCalls, _Made, reply_of
from pipeline.worker.team_table import Pulse, Served, Table
from pipeline.worker.unsettled import Unsettled

pytestmark = pytest.mark.postgres

CENT = Decimal("0.01")


def call(work="conversation-1", project="shop"):
    return spending.Call(str(uuid4()), "box", project, "extract", work)


def paid(work, login, made, reply="{}", cost=CENT):
    assert work.as_(login, spending.reserve, work.team, made, 2 * CENT)
    work.as_(login, spending.settle, work.team, made, reply, dollars=cost, read_tokens=900, written_tokens=90)


def begun(work, login, made, most=2 * CENT, holding=()):
    return work.as_(login, spending.begin, work.team, made, most, provider="anthropic", holding=holding)


def test_workers_at_once_never_pass_the_cap_together(work):
    work.enter("bob")
    work.as_("ann", spending.set_cap, work.team, "day", Decimal("0.25"))

    def try_one(number):
        made = call(f"conversation-{number}")
        login = "ann" if number % 2 else "bob"
        if not begun(work, login, made).is_reserved:
            return False
        work.as_(
            login, spending.settle, work.team, made, "{}", dollars=2 * CENT, read_tokens=1, written_tokens=1
        )
        return True

    with ThreadPoolExecutor(8) as pool:
        went = list(pool.map(try_one, range(40)))
    assert went.count(True) == 12
    assert work.as_("bob", spending.spent, work.team, "day") == Decimal("0.24")


def test_what_was_reserved_and_never_settled_goes_on_counting(work):
    work.as_("ann", spending.set_cap, work.team, "month", 3 * CENT)
    first, second = call("a"), call("b")
    assert work.as_("ann", spending.reserve, work.team, first, 2 * CENT)
    assert work.as_("ann", spending.reserve, work.team, first, 2 * CENT)
    assert not work.as_("ann", spending.reserve, work.team, second, 2 * CENT)
    work.as_("ann", spending.release, work.team, first)
    assert work.as_("ann", spending.reserve, work.team, second, 2 * CENT)


def test_a_reply_is_found_by_the_work_it_was_for_and_by_its_own_login_alone(work):
    work.enter("bob")
    paid(work, "ann", call(), "the first reply")
    paid(work, "ann", call(), "paid for twice")
    found = begun(work, "ann", call())
    assert (found.reply, found.is_reserved) == ("the first reply", False)
    theirs = f"SELECT reply FROM call WHERE team = '{work.team}'"
    assert not work.as_("bob", lambda connection: connection.execute(theirs).fetchall())
    (cost,) = work.as_("bob", spending.costs, work.team)
    assert (cost.login, cost.project, cost.calls, cost.dollars) == ("ann", "shop", 2, 2 * CENT)
    assert (cost.read_tokens, cost.written_tokens) == (1800, 180)
    found = begun(work, "bob", call())
    assert (found.reply, found.is_reserved) == (None, True)


def test_nothing_is_reserved_while_a_provider_is_down_or_by_who_lost_the_lease(work):
    work.as_("ann", outages.note, work.team, "anthropic", "it is overloaded", seconds=60)
    found = begun(work, "ann", call())
    assert (found.why, found.is_reserved) == ("it is overloaded", False)
    assert 0 < found.wait <= 60
    work.as_("ann", outages.end, work.team, "anthropic")
    token = work.as_("ann", leases.take, work.team, "dream", "box", seconds=60)
    assert begun(work, "ann", call("a"), holding=[token]).is_reserved
    work.server.sql("UPDATE reverie_team.lease SET until = now() - interval '1 second'")
    found = begun(work, "ann", call("b"), holding=[token])
    assert (found.is_ours, found.is_reserved) == (False, False)
    assert work.as_("ann", leases.take, work.team, "dream", "other", seconds=60)
    assert not begun(work, "ann", call("b"), holding=[token]).is_ours
    assert work.as_("ann", spending.spent, work.team, "day") == 2 * CENT


def test_settling_twice_is_as_once(work):
    made = call()
    paid(work, "ann", made)
    work.as_("ann", spending.settle, work.team, made, "x", dollars=CENT * 9, read_tokens=1, written_tokens=1)
    assert work.as_("ann", spending.spent, work.team, "day") == CENT


@pytest.mark.parametrize(
    "attempt",
    [
        lambda work: work.as_("eve", spending.reserve, work.team, call(), CENT),
        lambda work: work.as_("eve", spending.spent, work.team, "day"),
        lambda work: work.as_("eve", spending.costs, work.team),
        lambda work: work.as_("eve", leases.take, work.team, "dream", "box", seconds=60),
        lambda work: work.as_("bob", spending.set_cap, work.team, "day", Decimal(1_000_000)),
    ],
)
def test_who_may_not_is_refused(work, attempt):
    work.enter("bob")
    with pytest.raises(TeamError):
        attempt(work)


def test_another_login_can_neither_settle_nor_release_a_call(work):
    work.enter("bob")
    made = call()
    assert work.as_("ann", spending.reserve, work.team, made, 2 * CENT)
    work.as_(
        "bob", spending.settle, work.team, made, "x", dollars=Decimal(0), read_tokens=0, written_tokens=0
    )
    work.as_("bob", spending.release, work.team, made)
    assert work.as_("ann", spending.spent, work.team, "day") == 2 * CENT


def test_one_of_many_gets_a_lease_and_the_next_when_it_ran_out(work):
    work.enter("bob")

    def take(number):
        return work.as_(
            "ann" if number % 2 else "bob", leases.take, work.team, "dream", f"box-{number}", seconds=600
        )

    with ThreadPoolExecutor(8) as pool:
        tokens = [token for token in pool.map(take, range(8)) if token]
    assert len(tokens) == 1
    (lease,) = work.as_("bob", leases.held, work.team)
    assert lease.name == "dream"
    # Its time is over: somebody else takes it, and its holder learns so.
    assert work.as_(lease.login, leases.keep, work.team, tokens[0], seconds=-1)
    assert not work.as_("ann", leases.held, work.team)
    fresh = take(1)
    assert fresh
    assert not work.as_(lease.login, leases.keep, work.team, tokens[0], seconds=600)
    work.as_(lease.login, leases.give_back, work.team, tokens[0])
    assert work.as_("ann", leases.keep, work.team, fresh, seconds=600)
    work.as_("ann", leases.give_back, work.team, fresh)
    assert not work.as_("ann", leases.held, work.team)


def test_a_reply_that_was_paid_for_while_the_database_was_away_is_settled_later(work, tmp_path):
    address = connecting.parse(work.server.url("ann"))
    away = connecting.parse("postgresql://ann@127.0.0.1:1/team")
    entry = call("conversation-9")
    assert begun(work, "ann", entry).is_reserved

    def table(address):
        served = Served(address, work.team, work.name)
        return Table(served, Pulse(served), home=tmp_path, attempts=3)

    books = MemoryMeter()
    number = books.begin(
        purpose="extract", provider="anthropic", model="haiku", prompt_digest="d", estimate=Usage()
    )
    with table(away) as cut_off:
        calls = TeamCalls(cut_off, "box", cut_off.pulse.held(), "shop")
        calls.made[number] = _Made(entry, "d", "extract", "anthropic")
        calls.paid["d"] = RawReply("found", "end_turn", Usage(100, 10), "anthropic", "haiku")
        with pytest.raises(UnreachableTeamError):
            calls.meter(books).end(number, outcome="ok", usage=Usage(100, 10), dollars=0.01)
        # In the home's own books it is paid, and what is cut off can't be settled yet.
        assert (books.calls[number].outcome, books.calls[number].dollars) == ("ok", 0.01)
        with pytest.raises(UnreachableTeamError):
            cut_off.unsettled.settle(cut_off.ask)
    with table(address) as there:
        there.unsettled.settle(there.ask)
        assert list(there.unsettled.folder.iterdir()) == []
    assert work.as_("ann", spending.spent, work.team, "day") == CENT
    known = begun(work, "ann", call("conversation-9"))
    assert reply_of(known.reply).text == "found"
    assert not known.is_reserved


def test_what_can_not_be_settled_is_set_aside_and_told(work, tmp_path, caplog):
    kept = Unsettled.of(tmp_path, work.team)
    kept.keep(call("a"), None, CENT, {"read_tokens": 1, "written_tokens": 1})
    (file,) = kept.folder.iterdir()
    file.write_text("{", "utf-8")
    kept.settle(print)
    assert [item.suffix for item in kept.folder.iterdir()] == [".odd"]
    assert "can't be settled with the team" in caplog.text


@pytest.mark.parametrize(
    ("state", "ending"),
    [
        (errors.ReadOnlySqlTransaction, ".json"),
        (errors.DiskFull, ".json"),
        (errors.QueryCanceled, ".json"),
        (errors.CheckViolation, ".odd"),
        (errors.InsufficientPrivilege, ".odd"),
    ],
)
def test_what_is_refused_for_a_while_is_kept_for_later(tmp_path, state, ending):
    def ask(*_, **__):
        raise TeamError("the team's database refused it") from state("no")

    kept = Unsettled.of(tmp_path, new_id())
    for name in ("a", "b"):
        kept.keep(call(name), None, CENT, {"read_tokens": 1, "written_tokens": 1})
    (kept.folder / "folder.json").mkdir()
    kept.settle(ask)
    assert {item.suffix for item in kept.folder.iterdir() if item.is_file()} == {ending}
    assert len([*kept.folder.iterdir()]) == 3


@pytest.mark.parametrize("ident", ["../ledger", "..", "", "a/b", "../../x"])
def test_a_team_whose_id_is_none_has_a_folder_among_the_others(tmp_path, ident):
    found = Unsettled.of(tmp_path, ident).folder
    assert found.resolve().parent == Home(tmp_path).unsettled.resolve()


def test_who_leaves_settles_what_is_kept_first_and_keeps_nothing(pair, work):
    _, bob = pair
    entry = call("conversation-7")
    assert begun(work, "bob", entry).is_reserved
    kept = Unsettled.of(bob.app.home, work.team)
    kept.keep(entry, None, CENT, {"read_tokens": 1, "written_tokens": 1})
    team.leave(bob.app)
    assert not kept.folder.exists()
    assert work.as_("ann", spending.spent, work.team, "day") == CENT
