"""The dream over a team's memories: one machine has it, and what it would do is a person's to say yes to."""

import re
import subprocess

import pytest

from pipeline.team import dreams, leases
from tests.support.loopback import keep_nothing, serving, well
from tests.support.team_machines import REVERIE, Machine

pytestmark = pytest.mark.postgres
_SHOWN = re.compile(r"^\[(m\d+)\] (\S+) \(", re.MULTILINE)
TABS = ("Indent with tabs in the shop.", "In the shop, indent with tabs.")


def merge_tabs(prompt):
    """Play the model of a dream: it merges what says twice that tabs are used."""
    shown = {name: handle for handle, name in _SHOWN.findall(prompt)}
    if "<new_dialogue>" in prompt or not shown:
        return keep_nothing(prompt)
    if not {"tabs-one", "tabs-two"} <= shown.keys():
        return {"operations": []}
    first, second = shown["tabs-one"], shown["tabs-two"]
    covered = [{"sentence": f"{second}.1", "by": f"{first}.1"}]
    merge = {"op": "merge", "ids": [first, second], "into": first, "covered": covered, "reason": "the same"}
    return {"operations": [merge]}


@pytest.fixture
def api():
    with serving(merge_tabs) as api:
        api.ping = well
        yield api


@pytest.fixture
def both(work, tmp_path, api):
    """Ann's and Bob's machines, whose project is in the team, with what they shared."""
    work.enter("bob")
    found = {}
    for login in ("ann", "bob"):
        machine = Machine(tmp_path / login, api.environment)
        machine.folder.mkdir(parents=True)
        done = machine.reverie("team", "join", work.name, "--database", work.server.url(login))
        assert done.returncode == 0, done.stderr
        found[login] = machine
    texts = {
        "ann": {"tabs-one": TABS[0], "port": "The port is 8080.", "queue": "The queue is called red."},
        "bob": {"tabs-two": TABS[1], "host": "The host is heron.", "disk": "The disk has 2 TB."},
    }
    for login, memories in texts.items():
        for name, text in memories.items():
            assert found[login].reverie("add", text, "--name", name, "--type", "project").returncode == 0
            assert found[login].reverie("share", name).returncode == 0
    return found


def bodies(machine):
    found = (file.read_text("utf-8").split("\n---\n", 1)[1].strip() for file in team_files(machine))
    return sorted(found)


def team_files(machine):
    return [file for file in (machine.store / "team").glob("*.md") if file.name != "MEMORY.md"]


def serve(machine):
    """Run a worker for the teams of this home until there is nothing to do."""
    command = [*REVERIE, "worker", "--team", "--until-empty"]
    done = subprocess.run(
        command,
        env={**machine.env, "REVERIE_DREAM__ENABLED": "true"},
        cwd=machine.project,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_one_machine_dreams_and_a_yes_makes_it_so_for_all(both):
    ann, bob = both["ann"], both["bob"]
    assert "dream      none yet" in ann.reverie("status").stdout
    assert "1 proposal for the inbox" in serve(ann)
    assert "; the team's was just now, by you" in " ".join(ann.reverie("status").stdout.split())
    assert "dreamt        just now, by Ann" in bob.reverie("team", "status").stdout
    assert bob.reverie("team", "sync").returncode == 0
    assert "; the team's was just now, by Ann" in " ".join(bob.reverie("status").stdout.split())
    # It is Ann's turn that was; nothing new came since.
    assert "dream" not in serve(bob)
    assert len(bodies(ann)) == 6
    (waiting,) = [row for row in ann.told("inbox", "list") if "dream" in row["kind"]]
    assert ann.reverie("inbox", "accept", str(waiting["id"])).returncode == 0
    assert ann.reverie("team", "sync").returncode == 0
    assert bob.reverie("team", "sync").returncode == 0
    assert bodies(bob) == bodies(ann)
    assert len(bodies(bob)) == 5
    # Seen by all, and taken back by all.
    short = next(word for word in ann.reverie("history").stdout.split() if word.startswith("inbox-"))
    assert ann.reverie("undo", short).returncode == 0
    assert ann.reverie("team", "sync").returncode == 0
    assert bob.reverie("team", "sync").returncode == 0
    assert sorted(bodies(bob)) == sorted(bodies(ann))
    assert {*TABS} <= {*bodies(bob)}


def test_nobody_dreams_while_another_machine_does(work, both):
    token = work.as_("bob", leases.take, work.team, dreams.LEASE, "bobs", seconds=600)
    assert "dream" not in serve(both["ann"])
    found = work.as_("ann", dreams.since_last, work.team)
    assert (found.hours, found.revisions) == (None, 6)
    assert not work.as_("ann", dreams.note, work.team, token, "anns", 6)
    work.as_("bob", leases.give_back, work.team, token)
    assert "dream" in serve(both["ann"])
    assert work.as_("bob", dreams.since_last, work.team).revisions == 0
