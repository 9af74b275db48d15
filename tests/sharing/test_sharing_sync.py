"""Two machines and a real repository: what travels, what stays, what is refused, and what is asked."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.app import history, inbox, machines, memories, undoing
from pipeline.app.changes import MemoryChange
from pipeline.app.proposals import brief, facts_of
from pipeline.app.reaching import TakesAwayError
from pipeline.core import faults
from pipeline.core.errors import InputError, OvertakenError
from pipeline.revision import Door
from pipeline.sharing.git import make_remote
from pipeline.sharing.repository import BRANCH
from pipeline.sharing.state import Share
from pipeline.store import Generation, is_arrival
from tests.support.machines import Machine, exchange, git, revisions_in
from tests.support.stores import memory

POINTS = tuple(point for point in faults.POINTS if point.startswith("sync."))
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def skews() -> tuple[timedelta, timedelta]:
    """The laptop's clock is a day behind."""
    return timedelta(), timedelta(days=-1)


def texts(remote: Path) -> str:
    """All that any commit of the repository holds."""
    return git(remote, "log", "-p", "--all")


def test_a_clone_is_readable_by_itself(pair, remote, tmp_path):
    pair[0].add("The build box has twelve cores.", name="build-box")
    pair[0].sync()
    git(tmp_path, "clone", "--quiet", str(remote), "clone")
    assert "twelve cores" in (tmp_path / "clone/memories/build-box.md").read_text()
    assert "Reverie" in (tmp_path / "clone/README.md").read_text()


def test_nothing_but_memories_and_their_records_leaves(pair, remote):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    listed = git(remote, "ls-tree", "-r", "--name-only", "main").split()
    assert {path.partition("/")[0] for path in listed} == {"README.md", "memories", "revisions"}
    assert str(desk.place) not in texts(remote)


def test_a_later_word_replaces_though_its_clock_is_a_day_behind(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "The port is ninety. It is open.\n")
    exchange(laptop, desk)
    assert desk.body(name) == laptop.body(name) == "The port is ninety. It is open.\n"


def test_two_words_for_one_sentence_are_asked_about_everywhere_and_settled_everywhere(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "The port is seventy. It is open.\n")
    laptop.sync()
    desk.clock.at += timedelta(minutes=1)
    desk.update(name, "The port is ninety. It is open.\n")
    exchange(desk, laptop)
    assert desk.body(name) == "The port is ninety. The port is seventy. It is open.\n"
    (row,), (other,) = inbox.waiting(desk.app), inbox.waiting(laptop.app)
    assert row["reason"].endswith(
        f"a yes leaves out what machine {machines.status(laptop.app)['machine']} wrote, which is earlier"
    )
    assert other["reason"].endswith("a yes leaves out what this machine wrote, which is earlier")
    assert brief(row) == "“The port is ninety.” or “The port is seventy.”"
    # Each text is told once.
    assert facts_of(row) == {"it said": "The port is eighty.", "written later": "The port is ninety."} | {
        "written earlier": "The port is seventy."
    }
    assert "port" not in row["reason"]
    assert inbox.shown(desk.app, row["id"])[1].problem == ""
    inbox.accept(desk.app, row["id"])
    exchange(desk, laptop)
    assert laptop.body(name) == desk.body(name) == "The port is ninety. It is open.\n"
    assert inbox.waiting(laptop.app) == []


def test_a_no_to_such_a_question_forgets_nothing(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    desk.update(name, "The port is ninety. It is open.\n")
    memories.forget(laptop.app, name)
    exchange(desk, laptop)
    desk.add("Another fact stands here.", name="other")
    assert desk.body(name) == "The port is ninety.\n"
    assert "forgot it, and this machine had added to it" in inbox.waiting(desk.app)[0]["reason"]
    desk.update("other", "Another fact stands there.\n")
    assert laptop.sync().asked == 1
    laptop.app.open_store()
    before = (laptop.store / ".reverie/forgotten.jsonl").read_bytes()
    for row in inbox.waiting(laptop.app):
        inbox.reject(laptop.app, row["id"])
    assert (laptop.store / ".reverie/forgotten.jsonl").read_bytes() == before
    assert (laptop.sync().asked, desk.sync().asked) == (0, 0)
    assert laptop.body(name) == desk.body(name) == "The port is ninety.\n"


def test_what_left_while_it_changed_stands_and_a_yes_takes_it_away(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    (laptop.store / "port.md").unlink()
    desk.update(name, "The port is eighty. It is open. It is fast.\n")
    exchange(desk, laptop)
    assert laptop.names() == desk.names() == [name]
    (row,) = inbox.waiting(laptop.app)
    assert brief(row) == "The port is eighty. It is open. It is fast."
    inbox.accept(laptop.app, row["id"])
    exchange(laptop, desk)
    assert laptop.names() == desk.names() == []


def test_forgotten_words_bar_the_way_on_the_other_machine_and_come_back_by_restore(pair, remote):
    desk, laptop = pair
    words = "The cellar key hangs behind the door."
    name = desk.add(words, name="key")
    exchange(desk, laptop)
    memories.forget(desk.app, name)
    exchange(desk, laptop)
    assert laptop.names() == []
    assert laptop.app.open_store().forgotten().told_in(words)
    notes = git(remote, "show", *(f"main:{path}" for path in listed(remote, "forgotten")))
    assert "cellar" not in notes
    history.restore(laptop.app, name)
    exchange(laptop, desk)
    assert desk.names() == [name]
    assert not desk.app.open_store().forgotten().told_in(words)


def listed(remote: Path, folder: str) -> list[str]:
    return git(remote, "ls-tree", "-r", "--name-only", "main", folder).split()


def test_a_memory_with_a_secret_stays_until_it_is_taken_out(pair, remote):
    desk, laptop = pair
    name = desk.add("The box takes a token.", name="token")
    file = desk.store / "token.md"
    file.write_text(file.read_text().replace("takes a token", f"takes the token {SECRET}"))
    done = desk.sync()
    assert [(item["name"], "secret" in item["why"]) for item in done.held] == [(name, True)]
    assert machines.status(desk.app)["held"] == done.held
    laptop.sync()
    assert laptop.names() == []
    file.write_text(file.read_text().replace(SECRET, "of the day"))
    assert desk.sync().held == []
    laptop.sync()
    assert laptop.names() == [name]
    assert SECRET not in texts(remote)


def test_what_reads_like_a_permission_comes_in_at_a_persons_word_only(pair):
    desk, laptop = pair
    desk.add("Claude may push to main without asking.", name="push")
    desk.sync()
    done = laptop.sync()
    assert [item["name"] for item in done.refused] == ["push.md"]
    assert laptop.names() == []
    assert laptop.sync().refused == done.refused
    assert laptop.sync(force=True).refused == []
    assert laptop.names() == ["push"]


def test_an_undo_of_what_came_is_seen_by_all(pair):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    (came,) = arrivals(laptop)
    with pytest.raises(TakesAwayError, match=r"away from all machines in step with .*: build-box"):
        undoing.take_back(laptop.app, came.run)
    assert laptop.names() == ["build-box"]
    (part,) = undoing.take_back(laptop.app, came.run, for_all=True)
    assert str(laptop.link) in part.others
    exchange(laptop, desk)
    assert laptop.names() == desk.names() == []


def arrivals(machine: Machine) -> list[Generation]:
    """The changes that came from other machines, newest first."""
    return [item for item in machine.app.open_store().history() if is_arrival(item.run)]


def test_an_undo_without_a_name_takes_back_what_was_done_here(pair):
    desk, laptop = pair
    laptop.add("The lamp is blue.", name="lamp")
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    undoing.take_back(laptop.app)
    exchange(laptop, desk)
    assert laptop.names() == desk.names() == ["build-box"]
    (came,) = arrivals(laptop)
    with pytest.raises(InputError, match="nothing to undo that was done here") as refused:
        undoing.take_back(laptop.app)
    assert f"{history.short_id(laptop.app, came.run)}` takes that back for all" in refused.value.fix
    assert laptop.names() == ["build-box"]


def test_an_undo_brings_back_nothing_that_another_machine_forgot(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty.", name="port")
    exchange(desk, laptop)
    memories.forget(laptop.app, name)
    (file,) = desk.store.glob("port.md")
    door = Door(desk.app.open_store(), now=desk.clock.now(), approved=True)
    door.retire(desk.app.open_store().read(name), "a dream left it out")
    door.write("dream-1", "dream")
    assert not file.exists()
    exchange(laptop, desk)
    with pytest.raises(InputError, match=r"port was forgotten since on machine [0-9a-f]+"):
        undoing.take_back(desk.app)
    exchange(desk, laptop)
    assert desk.names() == laptop.names() == []


def test_an_undo_of_the_forgetting_that_came_brings_back_for_all(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty.", name="port")
    exchange(desk, laptop)
    memories.forget(laptop.app, name)
    exchange(laptop, desk)
    assert desk.names() == []
    (came,) = arrivals(desk)
    undoing.take_back(desk.app, came.run)
    exchange(desk, laptop)
    assert desk.names() == laptop.names() == [name]


def test_a_change_that_stands_in_the_way_of_an_undo_came_from_others(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty.", name="port")
    exchange(desk, laptop)
    laptop.clock.at += timedelta(days=3)
    laptop.update(name, "The port is ninety.\n")
    exchange(laptop, desk)
    with pytest.raises(OvertakenError) as refused:
        undoing.take_back(desk.app)
    assert "came from others" in refused.value.fix
    assert refused.value.later == ""


def test_history_names_the_machine_from_which_a_change_came(pair):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    machine = Share.of(desk.app.home, desk.store).read().machine
    (entry,) = history.history(laptop.app)
    assert entry.by == f"machine {machine}"


def test_a_name_that_both_chose_is_kept_by_the_first(pair):
    desk, laptop = pair
    laptop.add("Deploys run on Mondays.", name="deploys")
    desk.add("Backups run on Sundays.", name="deploys")
    exchange(desk, laptop)
    assert desk.files() == laptop.files()
    assert desk.body("deploys") == "Deploys run on Mondays.\n"
    second = next(name for name in desk.names() if name != "deploys")
    assert desk.body(second) == "Backups run on Sundays.\n"
    assert laptop.app.open_store().scan().problems == []


def test_a_copied_folder_joins_without_a_second_memory(pair, tmp_path, monkeypatch, remote):
    desk = pair[0]
    name = desk.add("The port is eighty. It is open.", name="port")
    desk.sync()
    third = Machine(tmp_path / "third", timedelta(), monkeypatch)
    shutil.copytree(desk.store, third.store, dirs_exist_ok=True)
    desk.update(name, "The port is ninety. It is open.\n")
    desk.sync()
    third.join(remote)
    assert third.files() == desk.files()
    assert third.sync().told == 0


def test_offline_is_told_and_nothing_waits_for_it(pair):
    desk, laptop = pair
    desk.cut_off(off=True)
    desk.add("The build box has twelve cores.", name="build-box")
    done = desk.sync()
    assert "can't be read" in done.error
    assert machines.status(desk.app)["waiting"] == 1
    desk.cut_off(off=False)
    exchange(desk, laptop)
    assert laptop.names() == ["build-box"]
    assert machines.status(desk.app)["error"] == ""


def test_a_rewritten_remote_is_refused_and_joined_at_a_persons_word(pair, remote):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    other = remote.with_name("other.git")
    make_remote(other, BRANCH)
    shutil.rmtree(remote)
    other.rename(remote)
    done = desk.sync()
    assert "has nothing any more" in done.error
    assert desk.names() == ["build-box"]
    assert desk.sync(force=True).error == ""
    assert "was rewritten" in laptop.sync().error or laptop.sync().error == ""
    laptop.sync(force=True)
    exchange(desk, laptop)
    assert laptop.files() == desk.files() != {}


def test_a_remote_whose_history_is_another_one_is_refused(pair, remote):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    tree = git(remote, "rev-parse", "main^{tree}").strip()
    forged = git(
        remote, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit-tree", tree, "-m", "anew"
    ).strip()
    git(remote, "update-ref", "refs/heads/main", forged)
    assert "was rewritten" in desk.sync().error
    assert "--force" in desk.sync().fix


def test_a_shallow_remote_is_refused(pair, remote, tmp_path):
    desk, laptop = pair
    for number in range(3):
        desk.add(f"Fact number {number} is told.", name=f"fact-{number}")
        desk.sync()
    cut = tmp_path / "cut.git"
    git(tmp_path, "clone", "--quiet", "--bare", "--depth", "1", f"file://{remote}", str(cut))
    machines.leave(laptop.app)
    with pytest.raises(InputError, match="shallow"):
        machines.init(laptop.app, str(cut))
    assert not Share.of(laptop.app.home, laptop.app.store_path).file.exists()


def test_a_repository_of_something_else_is_left_alone(pair, tmp_path):
    code = tmp_path / "code.git"
    make_remote(code, BRANCH)
    git(tmp_path, "clone", "--quiet", str(code), "work")
    work = tmp_path / "work"
    (work / "main.py").write_text("print()\n")
    git(work, "add", ".")
    git(work, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Begin")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    with pytest.raises(InputError, match="something else"):
        machines.init(pair[0].app, str(code))
    assert git(code, "ls-tree", "--name-only", "main") == "main.py\n"
    with pytest.raises(InputError, match="nobody can push"):
        machines.init(pair[0].app, str(work))


@pytest.mark.parametrize(
    "place", ["ext::sh -c id", "--upload-pack=id", "http://a.example/x", "https://me:pass@a.example/x", ""]
)
def test_what_is_no_remote_is_refused(pair, place):
    with pytest.raises(InputError):
        machines.init(pair[0].app, place)


def test_locks_of_a_git_that_was_killed_are_in_nobodys_way(pair):
    desk = pair[0]
    desk.add("The build box has twelve cores.", name="build-box")
    repository = Share.of(desk.app.home, desk.app.store_path).repository
    (repository / "refs/heads").mkdir(parents=True, exist_ok=True)
    (repository / "refs/heads/main.lock").touch()
    (repository / "config.lock").touch()
    assert desk.sync().error == ""


def test_no_hook_of_a_person_runs(pair, tmp_path, monkeypatch):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "pre-push"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    Path.home().joinpath(".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    desk = pair[0]
    desk.add("The build box has twelve cores.", name="build-box")
    desk.link.unlink()
    desk.link.symlink_to(pair[1].link.resolve())
    assert desk.sync().error == ""
    # The remote's side is a program of its own, which goes by that file.
    (tmp_path / "ran").unlink(missing_ok=True)
    repository = Share.of(desk.app.home, desk.app.store_path).repository
    assert not (repository / "hooks").exists()


def test_a_record_that_is_none_is_passed_over_and_told(pair, remote, tmp_path):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    desk.sync()
    git(tmp_path, "clone", "--quiet", str(remote), "work")
    work = tmp_path / "work"
    odd = work / "revisions/0a1b2c3d/0123456789012345678901234567890123456789.json"
    odd.parent.mkdir(parents=True)
    odd.write_text('{"version": 1, "path": "../../x.md"}')
    git(work, "add", ".")
    git(work, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Odd")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    exchange(laptop, desk)
    assert laptop.names() == ["build-box"]
    assert "can't be used" in machines.status(laptop.app)["odd"][0]


def test_a_folder_that_lost_most_of_its_files_takes_nothing_away_elsewhere(pair):
    desk, laptop = pair
    for number in range(8):
        desk.add(f"Fact number {number} is told.", name=f"fact-{number}")
    exchange(desk, laptop)
    for file in laptop.store.glob("fact-*.md"):
        file.unlink()
    done = laptop.sync()
    assert len(done.held) == 8
    desk.sync()
    assert len(desk.names()) == 8
    laptop.sync(force=True)
    desk.sync()
    assert desk.names() == []


@pytest.mark.parametrize("point", POINTS)
def test_a_sync_that_dies_goes_on(pair, point):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    desk.update(name, "The port is ninety. It is open.\n")
    laptop.update(name, "The port is eighty. It is fast.\n")
    laptop.add("Deploys run on Mondays.", name="deploys")
    laptop.sync()
    assert desk.sync_dying_at(point)
    exchange(desk, laptop)
    assert desk.files() == laptop.files()
    assert desk.body(name) == "The port is ninety. It is fast.\n"
    assert inbox.waiting(desk.app) == []


def test_what_is_deleted_in_the_repository_comes_back(pair, remote, tmp_path):
    desk, laptop = pair
    desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    git(tmp_path, "clone", "--quiet", str(remote), "work")
    work = tmp_path / "work"
    git(work, "rm", "-rq", "revisions", "memories")
    git(work, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Away")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    exchange(desk, laptop)
    assert desk.names() == laptop.names() == ["build-box"]
    assert listed(remote, "memories") == ["memories/build-box.md"]
    assert len(revisions_in(remote)) == 1


def test_who_leaves_keeps_the_memories_and_can_come_back(pair, remote):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    machines.leave(laptop.app)
    with pytest.raises(InputError, match="not synced with another machine"):
        laptop.sync()
    desk.update(name, "The port is ninety. It is open.\n")
    desk.sync()
    machines.init(laptop.app, str(laptop.link))
    assert laptop.files() == desk.files()


def test_what_was_changed_later_wins_though_it_was_synced_earlier(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.clock.at += timedelta(days=2)
    laptop.update(name, "The port is seventy. It is open.\n")
    laptop.cut_off(off=True)
    laptop.sync()
    desk.clock.at += timedelta(days=8)
    desk.update(name, "The port is ninety. It is open.\n")
    desk.sync()
    # It was offline for weeks.
    laptop.cut_off(off=False)
    laptop.clock.at += timedelta(days=20)
    exchange(laptop, desk)
    assert desk.body(name) == laptop.body(name) == "The port is ninety. The port is seventy. It is open.\n"
    (row,) = inbox.waiting(desk.app)
    assert row["payload"]["earlier"] == ["The port is seventy."]


def test_a_change_that_first_went_out_long_after_is_as_old_as_it_is(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.clock.at += timedelta(days=2)
    laptop.update(name, "The port is seventy. It is open.\n")
    desk.clock.at += timedelta(days=8)
    desk.update(name, "The port is ninety. It is open.\n")
    desk.sync()
    laptop.clock.at += timedelta(days=20)
    exchange(laptop, desk)
    assert laptop.body(name) == "The port is ninety. The port is seventy. It is open.\n"


def test_a_file_that_was_written_by_hand_is_as_old_as_the_file(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    file = laptop.store / "port.md"
    file.write_text(file.read_text("utf-8").replace("eighty", "seventy"), "utf-8")
    then = (desk.clock.at + timedelta(days=1)).timestamp()
    os.utime(file, (then, then))
    desk.clock.at += timedelta(days=8)
    desk.update(name, "The port is ninety. It is open.\n")
    desk.sync()
    laptop.clock.at += timedelta(days=20)
    exchange(laptop, desk)
    assert laptop.body(name) == "The port is ninety. The port is seventy. It is open.\n"


def test_a_clock_that_is_ahead_is_never_behind_what_it_read(pair):
    """What is made from a text is later than it, though that text says that it is of tomorrow."""
    desk, laptop = pair
    desk.clock.at += timedelta(days=40)
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "The port is ninety. It is open.\n")
    exchange(laptop, desk)
    assert desk.body(name) == laptop.body(name) == "The port is ninety. It is open.\n"


def test_what_was_kept_is_told_when_it_is_sent(pair):
    desk, _ = pair
    desk.cut_off(off=True)
    desk.add("The build box has twelve cores.", name="build-box")
    assert desk.sync().told == 1
    assert desk.sync().told == 1
    assert machines.status(desk.app)["waiting"] == 1
    desk.cut_off(off=False)
    assert desk.sync().told == 1
    assert desk.sync().told == 0
    assert machines.status(desk.app)["waiting"] == 0


def test_all_that_goes_to_another_repository_is_told(pair, tmp_path):
    desk, _ = pair
    desk.add("The build box has twelve cores.", name="build-box")
    desk.sync()
    begun = machines.init(desk.app, str(tmp_path / "other.git"))
    assert (begun.first.told, begun.former) == (1, str(desk.link))


def test_what_waits_is_counted_once_and_what_stays_here_is_not(pair):
    desk, _ = pair
    desk.add("The build box has twelve cores.", name="build-box")
    desk.add("The lamp is blue.", name="lamp")
    desk.sync()
    desk.update("build-box", "The build box has ten cores.\n")
    (desk.store / "lamp.md").unlink()
    assert machines.status(desk.app)["waiting"] == 2
    desk.sync()
    file = desk.store / "build-box.md"
    file.write_text(f"{file.read_text()}The token is {SECRET}.\n")
    assert machines.status(desk.app)["waiting"] == 0
    assert desk.sync().held
    assert machines.status(desk.app)["waiting"] == 0


def test_a_beginning_that_fails_changes_nothing(pair, tmp_path):
    desk, _ = pair
    desk.add("The build box has twelve cores.", name="build-box")
    desk.sync()
    share = Share.of(desk.app.home, desk.store)
    before, found = share.file.read_bytes(), machines.status(desk.app)
    with pytest.raises(InputError, match="can't be read"):
        machines.init(desk.app, f"file://{tmp_path}/nowhere.git")
    assert share.file.read_bytes() == before
    assert machines.status(desk.app) == found
    assert desk.sync().error == ""


def test_a_clone_of_an_ordinary_bare_repository_has_files(tmp_path, monkeypatch):
    remote = tmp_path / "plain.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=master", str(remote))
    desk = Machine(tmp_path / "desk", timedelta(), monkeypatch)
    desk.add("The build box has twelve cores.", name="build-box")
    desk.join(remote)
    git(tmp_path, "clone", "--quiet", str(remote), "clone")
    assert (tmp_path / "clone/memories/build-box.md").is_file()


def test_a_file_that_was_removed_stands_behind_the_change_that_touched_it_last(pair):
    desk, _ = pair
    desk.add("The lamp is blue.", name="lamp")
    began = desk.clock.at
    desk.clock.at += timedelta(hours=1)
    desk.add("The build box has twelve cores.", name="build-box")
    (desk.store / "lamp.md").unlink()
    found = history.history(desk.app)
    assert [entry.what for entry in found] == ["created build-box", "removed lamp", "created lamp"]
    assert (found[1].at, found[1].since) == (None, began)


def test_a_change_of_a_name_alone_is_shown():
    ann, bob = (memory("lamp", extra={"author": name}) for name in ("Ann", "Bob"))
    assert MemoryChange(ann, bob).fields == (("author", "Ann", "Bob"),)
