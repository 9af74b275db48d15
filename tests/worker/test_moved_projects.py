"""P31: a project that was moved or renamed keeps its memories; a stranger of the same name gets none."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pipeline.hooklib import ownership
from pipeline.hooklib.places import sanitise
from pipeline.store.ownership import moves
from tests.support.loopback import keep_each_line, serving
from tests.support.workshop import Workshop

RULE = "Always keep the anchor list sorted."


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "place", {"REVERIE_NOW": "2026-03-02T09:05:00+00:00"})


def learn(shop: Workshop, text: str = RULE, *, number: int = 1, start: str = "2026-03-02T09:00:00Z") -> None:
    session = shop.session(number, start)
    session.user(text)
    session.assistant("Noted.")
    with serving(keep_each_line) as api:
        shop.fire(session)
        assert shop.work(**api.environment) == 0


def begin(shop: Workshop, number: int, start: str) -> None:
    """Tell of a session's start, with nothing said yet."""
    shop.fire(shop.session(number, start), "SessionStart", source="startup")
    shop.work(REVERIE_MODEL__PROVIDER="offline")


def move(shop: Workshop, name: str, *, folder: bool) -> None:
    """Rename the project; with `folder`, the host's folder as well."""
    new = shop.place / name
    new.parent.mkdir(exist_ok=True)
    old_folder = shop.folder
    shop.project.rename(new)
    shop.project = new
    shop.folder = shop.projects / sanitise(os.path.realpath(new))
    shop.store = shop.folder / "memory"
    if folder:
        old_folder.rename(shop.folder)


def says(shop: Workshop, *arguments: str) -> str:
    done = shop.reverie(*arguments, REVERIE_MODEL__PROVIDER="offline")
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.fixture
def known(shop: Workshop) -> Workshop:
    """A project that has learned something and holds a few files."""
    for name in ("README", "src", "Makefile"):
        (shop.project / name).touch()
    learn(shop)
    assert shop.memories() == ["always-keep-the"]
    return shop


@pytest.mark.parametrize("name", ["yard", "deeper/shop"])
def test_p31_a_folder_renamed_with_its_project_goes_on(known: Workshop, name: str) -> None:
    old = str(known.project)
    move(known, name, folder=True)
    assert "always-keep-the" in says(known, "list"), "at once, before any session"
    assert f"these memories were made at {old}".split("/")[-1] in says(known, "status")
    learn(known, "Never paint the mast.", number=2, start="2026-03-02T10:00:00Z")
    assert known.memories() == ["always-keep-the", "never-paint-the"]
    assert ownership.owner(str(known.store)) == str(known.project)
    (moved,) = ownership.moves(str(known.store))
    assert (moved["from"], moved["to"]) == (old, str(known.project))
    with known.ledger() as ledger:
        assert (
            ledger.value("SELECT count(*) FROM runs WHERE store LIKE ?", (f"%{sanitise(old)}/memory",)) == 0
        )
        assert ledger.value("SELECT count(*) FROM runs WHERE store = ?", (str(known.store),)) >= 2


def test_p31_a_project_renamed_alone_is_known_again(known: Workshop) -> None:
    old_store, old = known.store, str(known.project)
    move(known, "yard", folder=False)
    begin(known, 2, "2026-03-02T10:00:00Z")
    assert known.memories() == ["always-keep-the"] and not old_store.exists()
    assert ownership.moved_from(str(known.store), str(known.project)) == old
    assert "always-keep-the" in says(known, "list")
    assert says(known, "why", "always-keep-the").count("source 1") == 1
    move(known, "quay", folder=False)
    begin(known, 3, "2026-03-02T11:00:00Z")
    assert known.memories() == ["always-keep-the"]
    assert [one["from"] for one in ownership.moves(str(known.store))] == [old, str(known.place / "yard")]


def test_p31_it_is_said_once(known: Workshop) -> None:
    from pipeline.recall.live import hook

    move(known, "yard", folder=True)
    told = []
    for session in ("a", "b"):
        event = {"session_id": session, "cwd": str(known.project), "source": "startup"}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in known.env.items():
                patch.setenv(name, value)
            told.append(hook.run("SessionStart", json.dumps(event).encode(), str(known.home)))
    first = json.loads(told[0])
    assert f"while this project was at {known.place / 'shop'}" in json.dumps(first["hookSpecificOutput"])
    assert first["systemMessage"].startswith(f"Reverie: this project was at {known.place / 'shop'} before;")
    assert "was at" not in told[1]


def test_another_project_in_the_old_name_is_no_move(known: Workshop) -> None:
    """The old one was deleted; what is elsewhere now is other files."""
    shutil.rmtree(known.project)
    other = known.place / "yard"
    other.mkdir()
    for name in ("README", "src", "Makefile"):
        (other / name).write_text("other")
    old_store = known.store
    known.project, known.folder = other, known.projects / sanitise(os.path.realpath(other))
    known.store = known.folder / "memory"
    begin(known, 2, "2026-03-02T10:00:00Z")
    assert old_store.is_dir() and not known.store.exists()


def test_p31_while_both_are_there_the_memories_are_the_owners(known: Workshop) -> None:
    copy = known.place / "yard"
    shutil.copytree(known.project, copy)
    shutil.copytree(known.folder, known.projects / sanitise(os.path.realpath(copy)))
    known.project = copy
    done = known.reverie("list", REVERIE_MODEL__PROVIDER="offline")
    assert done.returncode == 1 and "holds the memories of" in done.stderr
    begin(known, 2, "2026-03-02T10:00:00Z")
    assert ownership.owner(str(known.store)) == str(known.place / "shop")


def test_memories_of_both_are_never_mixed(known: Workshop) -> None:
    move(known, "yard", folder=False)
    known.store.mkdir(parents=True)
    (known.store / "MEMORY.md").write_text("- own\n")
    begin(known, 2, "2026-03-02T10:00:00Z")
    assert (known.store / "MEMORY.md").read_text() == "- own\n" and known.memories() == []
    done = known.reverie("adopt", str(known.place / "shop"), REVERIE_MODEL__PROVIDER="offline")
    assert done.returncode == 1 and "has memories of its own" in done.stderr
    # It is not only logged: whoever misses them finds where they are.
    still = f"the memories of when this project was at {known.place / 'shop'} are still in "
    assert still in says(known, "status")
    doctor = known.reverie("doctor", REVERIE_MODEL__PROVIDER="offline").stdout
    assert still in doctor and "Move the files you want from one to the other" in doctor
    shutil.rmtree(known.store)
    begin(known, 3, "2026-03-02T11:00:00Z")
    assert known.memories() == ["always-keep-the"] and "are still in" not in says(known, "status")


def test_adopt_brings_what_could_not_be_known_again(known: Workshop) -> None:
    old = known.project
    new = known.place / "yard"
    shutil.copytree(old, new)
    known.project, known.folder = new, known.projects / sanitise(os.path.realpath(new))
    known.store = known.folder / "memory"
    done = known.reverie("adopt", str(old), REVERIE_MODEL__PROVIDER="offline")
    assert done.returncode == 1 and "still there" in done.stderr
    shutil.rmtree(old)
    done = known.reverie("list", REVERIE_MODEL__PROVIDER="offline")
    assert "reverie adopt OLD-PATH" in " ".join((done.stdout + done.stderr).split()) or done.returncode == 0
    assert "are this project's now" in says(known, "adopt", str(old))
    assert known.memories() == ["always-keep-the"] and "always-keep-the" in says(known, "list")
    done = known.reverie("adopt", str(known.place / "nowhere"), REVERIE_MODEL__PROVIDER="offline")
    assert done.returncode == 1 and "no memories of a project that was there" in done.stderr


def test_adopt_takes_nothing_from_a_project_that_is_there(known: Workshop) -> None:
    """`shop-yard` and `shop/yard` have one folder name; nothing is moved before that is looked at."""
    there = known.place / "shop-yard"
    store = known.projects / sanitise(str(there))
    known.project.rename(there)
    known.folder.rename(store)
    known.project, known.folder, known.store = there, store, store / "memory"
    learn(known, "Never paint the mast.", number=2, start="2026-03-02T10:00:00Z")
    known.project = known.place / "quay"
    known.project.mkdir()
    done = known.reverie("adopt", str(known.place / "shop" / "yard"), REVERIE_MODEL__PROVIDER="offline")
    assert done.returncode == 1 and f"those of {there}, which is there still" in done.stderr
    assert "no memories yet" in says(known, "list")
    known.project = there
    assert "always-keep-the" in says(known, "list")


def test_adopt_takes_a_path_from_where_one_is(known: Workshop) -> None:
    new = known.place / "yard"
    shutil.copytree(known.project, new)
    shutil.rmtree(known.project)
    known.project = new
    assert "are this project's now" in says(known, "adopt", "../shop")
    assert "always-keep-the" in says(known, "list")


def test_a_folder_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    project, store = tmp_path / "shop", tmp_path / "memory"
    project.mkdir()
    for name in "abcd":
        (project / name).touch()
    (store / ".reverie").mkdir(parents=True)
    moves.remember(store, project)
    (store / ownership.OWNER).write_text(str(project))
    assert moves.find([str(store)], project) is None, "it is still there"
    new = project.rename(tmp_path / "yard")
    assert moves.find([str(store)], new) == store
    (new / "a").unlink()
    assert moves.find([str(store)], new) == store, "files come and go"
    for name in "bcd":
        os.utime(new / name, (1, 1))
    assert moves.find([str(store)], new) is None, "numbers may be given again: no file is untouched"
    moves.remember(store, new)
    for name in "cd":
        (new / name).rename(tmp_path / name)
        (new / name).touch()
    (new / "b").unlink()
    assert moves.find([str(store)], new) is None, "the folder is the same, what is in it is not"
    assert moves.find([str(store)], tmp_path / "nowhere") is None


def test_of_two_that_may_be_it_none_is(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (project / "a").touch()
    stores = [tmp_path / "one", tmp_path / "two"]
    for store in stores:
        (store / ".reverie").mkdir(parents=True)
        moves.remember(store, project)
        (store / ownership.OWNER).write_text(str(tmp_path / "gone"))
    assert moves.find([str(store) for store in stores], project) is None
    assert moves.find([str(stores[0])], project) == stores[0]


@pytest.mark.parametrize(
    "root", ["", "relative", "/no-such-volume/x", "/mnt/no-such/x", "/media/no-such/disk/x", "\0"]
)
def test_a_disk_that_may_be_missing_is_not_gone(root: str) -> None:
    assert not ownership.is_gone(root)


def test_what_is_there_in_either_form_of_its_name_is_not_gone(tmp_path: Path) -> None:
    import unicodedata

    folder = tmp_path / unicodedata.normalize("NFD", "über")
    folder.mkdir()
    assert not ownership.is_gone(str(tmp_path / "über"))
    folder.rmdir()
    assert ownership.is_gone(str(tmp_path / "über"))
