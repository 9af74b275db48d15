"""Names and ids of merged memories go on meaning something."""

from dataclasses import replace

import pytest

from pipeline.store import Store
from pipeline.store.files import document
from tests.support.stores import apply, memory, save

GONE = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


def survivor(**values):
    return memory("survivor", aliases=("old_name", GONE), **values)


@pytest.mark.parametrize("name", ["old_name", "old-name", "[[old-name]]", "OLD-NAME", GONE, GONE[:8]])
@pytest.mark.parametrize("cached", [False, True])
def test_every_former_name_leads_to_the_survivor(store, name, cached):
    save(store, survivor())
    if cached:
        store.reindex(now=memory().created)
        store = Store.open(store.path)
    assert store.read(name).name == "survivor"


def test_a_real_name_goes_before_an_alias(store):
    save(store, survivor())
    (store.root / "old_name.md").write_text("---\nname: old_name\n---\ntheirs\n")
    assert store.read("old_name").path == "old_name.md"


def test_an_id_prefix_that_fits_a_living_memory_means_that_one(store):
    save(store, survivor(), memory("other", id=GONE[:6] + "ff-0000"))
    assert store.read(GONE[:6]).name == "other"
    assert store.read(GONE[:9]).name == "survivor"


def test_a_new_memory_does_not_take_a_merged_name(store):
    save(store, memory("survivor", aliases=("old-name",)))
    assert save(store, memory("old-name"), id="run-2")[0].memory.name == "old-name-2"


def test_aliases_survive_a_rewrite_that_does_not_know_them(store):
    save(store, survivor())
    old = store.read("survivor")
    put = store.put(memory("survivor", description="New."), existing=old)
    assert put.memory.aliases == ("old_name", GONE)
    more = store.put(replace(old.memory, aliases=("another", GONE)), existing=old)
    assert more.memory.aliases == ("old_name", GONE, "another")
    apply(store, more, id="run-2")
    assert store.read("another").id == old.id


@pytest.mark.parametrize(
    "front",
    [
        "aliases: [old-name]",
        "aliases: old-name",
        "metadata: {type: user, aliases: [old-name]}",
        'aliases: ""\nmetadata: {aliases: [old-name]}',
    ],
)
def test_aliases_are_read_wherever_the_host_moves_them(store, front):
    (store.root / "a.md").write_text(f"---\nname: a\n{front}\n---\nx\n")
    assert store.read("old-name").path == "a.md"
    assert store.read("a").head.aliases == ("old-name",)


@pytest.mark.parametrize("front", ["aliases: {a: b}", "aliases: [[x]]", "aliases:"])
def test_odd_aliases_are_none_and_stay_in_the_file(front):
    raw = f"---\nname: a\n{front}\n---\nx\n".encode()
    found = document.parse(raw, "a.md")
    assert found.aliases == ()
    assert front.encode() in document.compose(replace(found, description="New."), raw)


def test_a_memory_without_aliases_has_no_such_line():
    assert b"aliases" not in document.compose(memory())
    assert b"aliases: [old_name, " in document.compose(survivor())
