"""Workers are killed while they read a backlog: each transcript is read once all the same."""

from decimal import Decimal

import pytest

from pipeline.team import queue, spending
from tests.support.loopback import serving, well
from tests.support.team_machines import Machine, keep_facts, said_in, storm, talk, telling

pytestmark = pytest.mark.postgres
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'reverie'"


@pytest.mark.parametrize(
    ("conversations", "projects", "count", "kill_every"),
    [(12, 4, 2, 6), pytest.param(2_000, 40, 8, 60, marks=pytest.mark.whole)],
    ids=["a-share", "the-whole"],
)
def test_each_conversation_is_read_once_by_workers_that_are_killed(
    work, tmp_path, conversations, projects, count, kill_every
):
    url = work.server.url("ann")
    with serving(keep_facts) as api:
        api.ping = well
        laptop = Machine(tmp_path / "laptop", api.environment)
        laptop.folder.mkdir(parents=True)
        for number in range(conversations):
            talk(laptop.projects, f"project-{number % projects}", number)
        assert laptop.reverie("ingest", "--dir", str(laptop.projects)).returncode == 0
        assert laptop.reverie("team", "join", work.name, "--database", url).returncode == 0
        assert laptop.told("process", "--all", "--team", "--yes")["given"] == conversations
        cap = Decimal(conversations) / 10
        work.as_("ann", spending.set_cap, work.team, "day", cap)
        boxes = [
            Machine(tmp_path / f"box-{number}", api.environment, laptop.projects) for number in range(count)
        ]
        seen = storm(
            boxes,
            lambda box: box.begin(work.name, url, "--until-empty", "--json"),
            kill_every=kill_every,
            calls=lambda: len(api.prompts) + len(api.second),
            connections=lambda: int(work.server.sql(CONNECTIONS)),
        )
    wanted = {telling(number): 1 for number in range(conversations)}
    assert seen.kills
    assert sum((box.facts() for box in boxes), start=laptop.facts()) == wanted
    # A kill between a reply and its commit is the one that costs a call again.
    asked = said_in(api.prompts)
    assert asked.keys() == wanted.keys()
    assert sum(asked.values()) - conversations <= seen.kills
    (mine,) = [row for row in work.as_("ann", queue.progress, work.team) if row.login == "ann"]
    assert (mine.waiting, mine.doing, mine.failed, mine.read) == (0, 0, 0, conversations)
    assert work.as_("ann", spending.spent, work.team, "day") <= cap
    # A worker has a connection for its questions and one for its signs of life.
    assert seen.connections <= 2 * count + seen.kills
