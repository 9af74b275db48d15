"""A backlog that a team's workers read: each transcript once, by one machine, within the caps of all."""

import json
import time
from decimal import Decimal

import pytest

from pipeline.core.errors import TeamError
from pipeline.recall.live import person
from pipeline.recall.live.announced import Seen
from pipeline.team import heard, leases, looking, queue, spending
from tests.support.loopback import serving, well
from tests.support.team_machines import Machine, keep_facts, said_in, talk, telling

pytestmark = pytest.mark.postgres


@pytest.fixture
def api():
    with serving(keep_facts) as api:
        api.ping = well
        yield api


@pytest.fixture
def laptop(work, tmp_path, api):
    """Ann's laptop, whose project is in the team; six old sessions of three projects are on it."""
    machine = Machine(tmp_path / "laptop", api.environment)
    machine.folder.mkdir(parents=True)
    for number in range(6):
        talk(machine.projects, f"project-{number % 3}", number)
    assert machine.reverie("ingest", "--dir", str(machine.projects)).returncode == 0
    done = machine.reverie("team", "join", work.name, "--database", work.server.url("ann"))
    assert done.returncode == 0, done.stderr
    return machine


def give(laptop):
    found = laptop.told("process", "--all", "--team", "--yes")
    assert found["given"] == 6
    return found


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_what_is_given_is_read_by_whoever_has_it_and_by_nobody_else(work, laptop, tmp_path, api):
    give(laptop)
    assert laptop.told("process", "--all", "--team", "--yes")["given"] == 0
    # Nothing of it is read here any more.
    assert laptop.reverie("process", "--all").returncode == 0
    assert api.prompts == []
    boxes = [Machine(tmp_path / name, api.environment, laptop.projects) for name in ("one", "two")]
    running = [box.begin(work.name, work.server.url("ann"), "--until-empty", "--json") for box in boxes]
    done = [ended(process) for process in running]
    assert [code for code, *_ in done] == [0, 0], done
    assert sum(json.loads(out)["read"] for _, out, _ in done) == 6
    wanted = {telling(number): 1 for number in range(6)}
    assert boxes[0].facts() + boxes[1].facts() == wanted
    assert said_in(api.prompts) == wanted
    assert laptop.facts() == {}
    (mine,) = [row for row in work.as_("ann", queue.progress, work.team) if row.login == "ann"]
    assert (mine.waiting, mine.doing, mine.failed, mine.read) == (0, 0, 0, 6)
    # What one folder tells came into one store.
    for project in range(3):
        both = {telling(project), telling(project + 3)}
        assert [box for box in boxes if both <= box.facts().keys()]


def at_start(laptop, now):
    """What a person reads at the start of a session of theirs."""
    home = laptop.env["REVERIE_HOME"]
    return person.at_start(home, {}, Seen(home, str(laptop.store)), now, since=0, problems=[], plugin=False)


def test_who_gave_it_is_told_once_that_all_is_read(work, laptop, tmp_path, api):
    give(laptop)
    status = " ".join(laptop.reverie("status").stdout.split())
    assert "of the 6 sessions that you gave to its workers, 6 are still to be read" in status
    assert "that you gave" not in at_start(laptop, time.time())
    box = Machine(tmp_path / "box", api.environment, laptop.projects)
    assert ended(box.begin(work.name, work.server.url("ann"), "--until-empty"))[0] == 0
    assert laptop.reverie("team", "sync").returncode == 0
    read = f"the workers of {work.name} have read the 6 sessions that you gave them"
    assert read in " ".join(laptop.reverie("status").stdout.split())
    now = time.time()
    assert f"Reverie: {read}." in at_start(laptop, now)
    assert laptop.reverie("team", "sync").returncode == 0
    assert "that you gave" not in at_start(laptop, now + 60) + at_start(laptop, now + 2 * 86_400)
    # It is no news for ever.
    assert "that you gave" not in laptop.reverie("status", REVERIE_NOW="2099-01-01T00:00:00Z").stdout
    assert "that you gave" not in box.reverie("status").stdout


def test_what_is_given_in_two_steps_and_taken_back_is_counted(tmp_path):
    heard.note_given(tmp_path, "ours", 4, 0, 100.0)
    heard.note_given(tmp_path, "ours", 2, 0, 200.0)
    assert "of the 6 sessions that you gave to its workers, 6 are" in heard.read(tmp_path).backlog(200.0)
    heard.note_taken_back(tmp_path, 5)
    assert "of the 1 session that" in heard.read(tmp_path).backlog(200.0)
    heard.note_taken_back(tmp_path, 1)
    assert heard.read(tmp_path).backlog(200.0) == ""
    (tmp_path / heard.FILE).write_text('{"odd": 1}')
    assert heard.read(tmp_path) == heard.Heard()


def test_another_login_sees_nothing_of_it_and_gets_nothing_done(work, laptop):
    work.enter("bob")
    give(laptop)
    assert work.as_("bob", looking.look, work.team, "box").singly == ()
    count = "SELECT count(*) FROM procrastinate_jobs"
    assert work.as_("bob", lambda connection: connection.execute(count).fetchone()) == (0,)
    count += f" WHERE queue_name LIKE left(backlog_queue('{work.team}', ''), 14) || '/%'"
    assert work.as_("ann", lambda connection: connection.execute(count).fetchone()) == (6,)
    assert work.as_("bob", queue.cancel, work.team) == ()
    (mine,) = [row for row in work.as_("bob", queue.progress, work.team) if row.login == "ann"]
    assert mine.waiting == 6


def test_what_nobody_has_begun_is_taken_back(work, laptop, api):
    give(laptop)
    assert laptop.told("process", "--team", "--cancel") == {"taken_back": 6, "requests_in_batches": 0}
    assert work.as_("ann", queue.left_of_mine, work.team).open == 0
    assert laptop.reverie("process", "--all").returncode == 0
    assert said_in(api.prompts) == {telling(number): 1 for number in range(6)}


@pytest.mark.parametrize("point", ["team.reserved", "team.settled", "team.read", "extract.after_store"])
def test_a_worker_that_dies_anywhere_is_followed_by_itself_and_nothing_is_asked_twice(
    work, laptop, tmp_path, api, point
):
    give(laptop)
    box = Machine(tmp_path / "box", api.environment, laptop.projects)
    url = work.server.url("ann")
    code, _, err = ended(box.begin(work.name, url, "--until-empty", REVERIE_CRASH_AT=f"{point}#2"))
    assert code == -9, err
    code, _, err = ended(box.begin(work.name, url, "--until-empty"))
    assert code == 0, err
    wanted = {telling(number): 1 for number in range(6)}
    assert box.facts() == wanted
    assert said_in(api.prompts) == wanted
    assert len(api.second) == 6


def test_a_reply_that_came_while_the_database_went_away_is_kept_and_not_paid_again(
    work, laptop, tmp_path, api
):
    give(laptop)
    box = Machine(tmp_path / "box", api.environment, laptop.projects)

    def cut(prompt):
        api.answer = keep_facts
        work.server.stop()
        return keep_facts(prompt)

    api.answer = cut
    try:
        code, _, err = ended(box.begin(work.name, work.server.url("ann"), "--once"))
    finally:
        work.server.start()
    assert code == 0, err
    assert "waiting: the team's database can't be reached" in err
    assert (len(api.prompts), box.facts()) == (1, {})
    assert len([*box.home.glob("unsettled/*/*.json")]) == 1
    code, _, err = ended(box.begin(work.name, work.server.url("ann"), "--until-empty"))
    assert code == 0, err
    wanted = {telling(number): 1 for number in range(6)}
    assert (box.facts(), said_in(api.prompts)) == (wanted, wanted)
    assert [*box.home.glob("unsettled/*/*")] == []


def test_another_machine_takes_over_when_the_lease_has_run_out_and_pays_nothing_twice(
    work, laptop, tmp_path, api
):
    give(laptop)
    url = work.server.url("ann")
    first, second = (Machine(tmp_path / name, api.environment, laptop.projects) for name in ("one", "two"))
    assert ended(first.begin(work.name, url, "--until-empty", REVERIE_CRASH_AT="team.settled"))[0] == -9
    assert first.facts() == {}
    work.server.sql("UPDATE reverie_team.lease SET until = now() - interval '1 second'")
    code, _, err = ended(second.begin(work.name, url, "--until-empty"))
    assert code == 0, err
    assert second.facts() == {telling(number): 1 for number in range(6)}
    assert said_in(api.prompts) == {telling(number): 1 for number in range(6)}


def test_no_cap_of_the_teams_is_passed_and_the_work_waits_for_it(work, laptop, tmp_path, api):
    give(laptop)
    url = work.server.url("ann")
    assert laptop.reverie("team", "cap", "day", "0.01").returncode == 0
    box = Machine(tmp_path / "box", api.environment, laptop.projects)
    process = box.begin(work.name, url)
    seen = next(line for line in process.stderr if "cap is reached" in line)
    assert seen.startswith("waiting: ")
    process.terminate()
    code, _, err = ended(process)
    assert code == 0, err
    assert (box.facts(), api.prompts) == ({}, [])
    assert work.as_("ann", spending.spent, work.team, "day") <= Decimal("0.01")
    assert laptop.reverie("team", "cap", "day", "none").returncode == 0
    assert ended(box.begin(work.name, url, "--until-empty"))[0] == 0
    assert box.facts() == {telling(number): 1 for number in range(6)}
    assert said_in(api.prompts) == {telling(number): 1 for number in range(6)}


def test_a_transcript_that_is_not_here_is_told_and_stays_for_others(work, laptop, tmp_path, api):
    give(laptop)
    box = Machine(tmp_path / "box", api.environment)
    code, out, _ = ended(box.begin(work.name, work.server.url("ann"), "--until-empty", "--json"))
    assert code == 0
    assert json.loads(out)["read"] == 0
    assert len(json.loads(out)["absent"]) == 6
    assert work.as_("ann", queue.left_of_mine, work.team).open == 6


def test_who_leaves_the_team_has_the_backlog_back(work, laptop, api):
    work.enter("bob")
    give(laptop)
    done = laptop.reverie("team", "leave", "--yes")
    assert done.returncode == 0, done.stderr
    assert "reads the 6 transcripts that its workers had not read" in done.stderr
    assert laptop.reverie("process", "--all").returncode == 0
    assert laptop.facts() == {telling(number): 1 for number in range(6)}


def test_a_colleague_can_not_hold_up_anothers_queue(work, laptop):
    work.enter("bob")
    give(laptop)
    (found, *_) = work.as_("ann", looking.look, work.team, "box").singly
    jobs = "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status) "
    own = f"{jobs} SELECT backlog_queue('{work.team}', 'x'), 'read', '{found.name}', 'doing'"
    refused = [
        own,
        f"SELECT take_lease('{work.team}', 'store/{found.name}', 'box', 60)",
        f"SELECT reserve('{work.team}', gen_random_uuid(), 'box', 'p', 'q', 'w', 'NaN')",
        "DELETE FROM procrastinate_workers",
    ]
    for sql in refused:
        with pytest.raises(TeamError):
            work.as_("bob", lambda connection, sql=sql: connection.execute(sql))
    work.as_("bob", leases.take, work.team, "dream", "box", seconds=1e12)
    work.server.sql("UPDATE reverie_team.lease SET until = until - interval '61 minutes'")
    assert work.as_("ann", leases.take, work.team, "dream", "other", seconds=60)


def test_a_transcript_that_is_gone_holds_up_none_behind_it(work, laptop, tmp_path, api):
    give(laptop)
    first = next(file for file in laptop.projects.glob("*/*.jsonl") if file.name.startswith("00000000"))
    first.rename(tmp_path / first.name)
    box = Machine(tmp_path / "box", api.environment, laptop.projects)
    code, out, err = ended(box.begin(work.name, work.server.url("ann"), "--until-empty", "--json"))
    assert (code, json.loads(out)["read"]) == (0, 5), err
    assert box.facts() == {telling(number): 1 for number in range(1, 6)}
    assert json.loads(out)["absent"] == [str(first.relative_to(laptop.projects))]
    assert work.as_("ann", queue.left_of_mine, work.team).open == 1


def test_what_worker_after_worker_dies_of_has_failed(work):
    work.as_("ann", queue.defer, work.team, [queue.Wanted("p/s.jsonl", "p")])
    (found,) = work.as_("ann", looking.look, work.team, "box").singly
    for deaths in range(queue.MOST_DEATHS):
        assert work.as_("ann", queue.take, work.team, found.name, "box")
        (item,) = work.as_("ann", queue.in_hand, found.name)
        assert item.attempts == deaths
        work.as_("ann", queue.begin, item, tries=item.attempts)
    assert work.as_("ann", queue.take, work.team, found.name, "box")
    assert work.as_("ann", queue.in_hand, found.name) == ()
    (mine,) = work.as_("ann", queue.progress, work.team)
    assert (mine.waiting, mine.doing, mine.failed) == (0, 0, 1)
    assert work.as_("ann", queue.retry_failed, work.team) == 1
    assert work.as_("ann", queue.left_of_mine, work.team).open == 1


def test_a_worker_says_what_it_lacks(work, laptop, tmp_path, api):
    box = Machine(tmp_path / "box", api.environment)

    def refused(*words):
        done = box.reverie("worker", *words)
        assert done.returncode, done.stdout
        return done.stderr

    assert "reverie worker --team" in refused()
    assert "no project here is in a team" in refused("--team")
    assert "go together" in refused("--team", "--name", work.name)
    assert "no team nobody" in refused("--team", "--name", "nobody", "--database", work.server.url("ann"))
    assert "no such folder" in refused("--team", "--transcripts", str(tmp_path / "nowhere"))


def test_claude_can_not_give_in_a_persons_place(work, laptop):
    done = laptop.reverie("process", "--all", "--team", "--yes", CLAUDECODE="1")
    assert done.returncode
    assert "person" in done.stderr
    assert work.as_("ann", queue.left_of_mine, work.team).open == 0


def test_the_queue_stands_in_the_status(work, laptop):
    give(laptop)
    (mine,) = [row for row in laptop.told("team", "status")["queue"] if row["person"] == "Ann"]
    assert (mine["waiting"], mine["read"]) == (6, 0)
    assert "Ann 6 0 0 0" in " ".join(laptop.reverie("team", "status").stdout.split())


def test_a_transcript_that_became_a_loop_of_links_ends_no_worker(work, laptop, tmp_path, api):
    give(laptop)
    lost = next(laptop.projects.glob("*project-0/00000000*.jsonl"))
    lost.unlink()
    lost.symlink_to(lost.name)
    box = Machine(tmp_path / "box", api.environment, laptop.projects)
    code, out, err = ended(box.begin(work.name, work.server.url("ann"), "--until-empty", "--json"))
    assert code == 0, err
    assert json.loads(out)["read"] == 5
    assert json.loads(out)["absent"]
