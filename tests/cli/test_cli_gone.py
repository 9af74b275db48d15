"""What became of a memory that is no longer there: when, why, where its text is, and how it comes back."""

import re

import pytest

from pipeline.core.ids import new_id
from pipeline.revision import Door
from pipeline.store import Store
from tests.support.stores import NOW, memory

TODAY = f"{NOW:%Y-%m-%d}"


@pytest.fixture
def shelf(desk):
    """A desk whose store holds three memories of an extraction, and one added by hand."""
    desk.env["REVERIE_NOW"] = NOW.isoformat()
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    door = Door(Store.open(desk.store), now=NOW)
    for name in ("two-cores", "cores", "all-cores"):
        door.create(memory(name, body=f"Tests run on {name}.\n", type="project"))
    door.write(new_id(), "extraction of a.jsonl")
    return desk


def leave(desk, name, reason, into=""):
    """Let a dream retire `name`, or merge it `into` another."""
    store = Store.open(desk.store)
    door = Door(store, now=NOW, approved=True)
    if into and reason.startswith("merge"):
        door.merge(store.read(into), [store.read(name)], {}, reason)
    elif into:
        door.supersede(store.read(into), [store.read(name)], reason)
    else:
        door.retire(store.read(name), reason)
    door.write(new_id(), "dream")


def follow(desk, text):
    """Run every command that stands in backticks in `text`, in its order."""
    for command in re.findall(r"`reverie ([^`]+)`", text):
        desk.here(*command.split())


COMMANDS = ["show", "why", "pin", "unpin", "forget"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_forgotten_memory_is_told_of_with_its_way_back(shelf, command):
    shelf.here("forget", "ship")
    said = shelf.here(command, "ship", code=1)
    assert said.out == "" and f"“ship” was forgotten on {TODAY}" in said.err
    assert "Its text is in archive/2026/ship.md;" in said.err
    follow(shelf, said.err)
    assert "Ship on Mondays." in shelf.here("show", "ship").out


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("retire: it held until Easter", "was retired (it held until Easter)"),
        ("withdrawn", "was retired (withdrawn)"),
        ("", "was retired"),
    ],
)
def test_a_retired_memory_is_told_of_with_its_reason(shelf, reason, told):
    leave(shelf, "cores", reason)
    said = shelf.here("show", "cores", code=1).err
    assert f"“cores” {told} on {TODAY}" in said
    follow(shelf, said)
    assert "Tests run on cores." in shelf.here("show", "cores").out


@pytest.mark.parametrize(
    ("reason", "told"), [("merge: the same", "merged into"), ("supersede: newer", "superseded by")]
)
def test_a_former_name_shows_the_heir_and_says_so(shelf, reason, told):
    leave(shelf, "cores", reason, into="two-cores")
    for command in ("show", "why"):
        said = shelf.here(command, "cores")
        assert "two-cores" in said.out
        assert (
            f"“cores” was {told} “two-cores” on {TODAY}; its own text is in archive/2026/cores.md" in said.err
        )
    assert shelf.here("show", "two-cores").err == ""
    assert shelf.here("why", "cores", "--json").json["note"]


def test_an_heir_that_left_as_well_is_followed_to_the_last(shelf):
    leave(shelf, "cores", "merge: the same", into="two-cores")
    leave(shelf, "two-cores", "supersede: newer", into="all-cores")
    assert "was merged into “all-cores”" in shelf.here("show", "cores").err
    shelf.here("forget", "all-cores")
    said = shelf.here("show", "cores", code=1).err
    assert "was merged into another memory, which left as well" in said
    assert "`reverie restore cores`" in said and "`reverie show" not in said
    assert "was superseded by another memory" in shelf.here("show", "two-cores", code=1).err


def test_an_heir_under_no_alias_is_named(shelf):
    store = Store.open(shelf.store)
    door = Door(store, now=NOW)
    door.retire(store.read("cores"), "supersede: newer", superseded_by=store.read("two-cores").id)
    door.write(new_id(), "dream")
    said = shelf.here("show", "cores", code=1).err
    assert "was superseded by “two-cores”" in said and "See `reverie show two-cores`." in said


def test_what_went_with_an_undo_is_told_of(shelf):
    (add,) = [row for row in shelf.here("history", "--json").json if row["what"] == "created ship"]
    shelf.here("undo", add["short"])
    said = shelf.here("show", "ship", code=1).err
    assert f"“ship” went when the change that made it was undone on {TODAY}" in said
    follow(shelf, said)
    assert "Ship on Mondays." in shelf.here("show", "ship").out


def test_what_somebody_removed_is_told_of_and_what_it_said(shelf):
    (shelf.store / "ship.md").unlink()
    said = shelf.here("why", "ship", code=1).err
    assert "the file of “ship” was removed by hand" in said
    (command,) = re.findall(r"`reverie ([^`]+)`", said)
    assert "gone  Ship on Mondays." in shelf.here(*command.split()).out


def test_where_another_took_its_place_the_advice_of_restore_works(shelf):
    shelf.here("forget", "ship")
    shelf.here("add", "Ship on Fridays.", "--name", "ship")
    said = shelf.here("restore", "ship", code=1).err
    assert "a memory is in its place" in said and "Rename" not in said
    follow(shelf, said)
    assert "Ship on Mondays." in shelf.here("show", "ship").out
    # And back again, by the same advice.
    follow(shelf, shelf.here("restore", "ship", code=1).err)
    assert "Ship on Fridays." in shelf.here("show", "ship").out


def test_both_can_be_kept_as_restore_says(shelf):
    shelf.here("forget", "ship")
    shelf.here("add", "Ship on Fridays.", "--name", "ship")
    assert (
        "give that file another name, also in the line `name:` in it"
        in shelf.here("restore", "ship", code=1).err
    )
    file = shelf.store / "ship.md"
    file.with_name("friday.md").write_text(file.read_text().replace("name: ship\n", "name: friday\n"))
    file.unlink()
    shelf.here("restore", "ship")
    assert "Mondays" in shelf.here("show", "ship").out and "Fridays" in shelf.here("show", "friday").out


def test_where_it_lives_on_elsewhere_the_advice_of_restore_works(shelf):
    raw = (shelf.store / "ship.md").read_bytes()
    shelf.here("forget", "ship")
    (shelf.store / "by-hand.md").write_bytes(raw.replace(b"Mondays", b"Tuesdays"))
    said = shelf.here("restore", "ship", code=1).err
    assert "it lives on in another file" in said
    follow(shelf, said)
    assert "Ship on Mondays." in shelf.here("show", "ship").out


def test_a_file_in_its_place_that_is_no_memory_is_to_be_moved(shelf):
    shelf.here("forget", "ship")
    (shelf.store / "ship.md").write_text('---\na: "\n---\n')
    said = shelf.here("restore", "ship", code=1).err
    assert "Move that file away, then `reverie restore archive/2026/ship.md`" in said


def test_a_name_that_never_was_is_only_unknown(shelf):
    said = shelf.here("show", "nobody", code=1).err
    assert "no memory is called 'nobody'" in said and "`reverie list`" in said
