"""``_state.json``: what was asked for and what was put before prompts, counted once and never younger."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest

from pipeline.core.errors import StoreError
from pipeline.store import Store, Use, counted_since, last_uses
from tests.support.stores import memory, save, tree

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store", create=True)


def state(store):
    return orjson.loads((store.root / "_state.json").read_bytes())


def counts(store):
    """The entries without what the passing of time makes of them."""
    entries = state(store)["entries"].items()
    return {
        key: {name: value for name, value in entry.items() if name != "decay_score"}
        if isinstance(entry, dict)
        else entry
        for key, entry in entries
    }


def write(store, value):
    (store.root / "_state.json").write_bytes(value if isinstance(value, bytes) else orjson.dumps(value))


def count(store, *uses, ledger="L", now=NOW):
    made = [Use(number, name, now - days * DAY, asked) for number, name, days, asked in uses]
    return store.count_uses(made, ledger, now=now)


def test_asked_for_and_put_before_a_prompt_are_counted_apart(store):
    assert count(store, (1, "a", 3, True), (2, "a", 1, False), (3, "a", 2, False), (4, "b", 0, True)) == 4
    assert state(store)["entries"] == {
        "a": {
            "access_count": 1, "last_accessed": "2026-11-24T10:00:00+00:00",
            "injected_count": 2, "last_injected": "2026-11-26T10:00:00+00:00",
        },
        "b": {"access_count": 1, "last_accessed": "2026-11-27T10:00:00+00:00"},
    }  # fmt: skip


def test_told_again_after_a_crash_a_use_is_not_counted_again(store):
    count(store, (1, "a", 0, True), (2, "a", 0, True))
    before = state(store)
    assert count(store, (1, "a", 0, True), (2, "a", 0, True)) == 0
    assert state(store) == before
    assert count(store, (2, "a", 0, True), (3, "a", 0, True)) == 1
    assert count(store, (1, "a", 0, True), ledger="another") == 1
    assert state(store)["entries"]["a"]["access_count"] == 4


def test_what_others_keep_there_stays(store):
    entry = {"access_count": 2, "last_accessed": "2026-11-27T09:00:00+00:00", "decay_score": 0.7}
    write(store, {"version": 1, "entries": {"a": entry, "odd": 7}, "theirs": [1]})
    count(store, (1, "a", 5, True))
    after = state(store)
    assert after["entries"] == {"a": {**entry, "access_count": 3}, "odd": 7}
    assert after["theirs"] == [1]


@pytest.mark.parametrize(
    ("known", "count_after"), [({"access_count": "many"}, 1), ({"access_count": -4}, 1), (["x"], 1), ({}, 1)]
)
def test_a_count_that_is_none_begins_anew(store, known, count_after):
    write(store, {"entries": {"a": known}})
    count(store, (1, "a", 0, True))
    assert state(store)["entries"]["a"]["access_count"] == count_after


def test_a_time_ahead_counts_as_now(store):
    count(store, (1, "a", -9, True), (2, "b", -9, False))
    assert state(store)["entries"]["a"]["last_accessed"] == "2026-11-27T10:00:00+00:00"
    assert state(store)["last_counted"] == "2026-11-27T10:00:00+00:00"


@pytest.mark.parametrize("damaged", [b"", b"{", b"\xff"])
def test_what_is_no_json_is_set_aside_and_counting_begins_anew(store, damaged):
    write(store, damaged)
    count(store, (1, "a", 0, True))
    assert set(state(store)["entries"]) == {"a"}
    kept = [file.read_bytes() for file in (store.root / ".reverie" / "damaged").iterdir()]
    assert kept == [damaged]


@pytest.mark.parametrize("damaged", [b"[]", b'{"version": 1}', b'{"entries": []}'])
def test_a_damaged_file_is_named_and_left(store, damaged):
    write(store, damaged)
    with pytest.raises(StoreError, match=r"_state\.json"):
        count(store, (1, "a", 0, True))
    assert (store.root / "_state.json").read_bytes() == damaged


def test_counting_touches_no_memory(store):
    put = save(store, memory())[0]
    store.reindex(now=NOW)
    before = tree(store.root)
    count(store, (1, put.memory.id, 0, True))
    after = tree(store.root)
    assert {path for path in before | after if before.get(path) != after.get(path)} == {"_state.json"}


STRETCHES = [
    ("nothing", [], None),
    ("only asked for by hand", [(5, True), (1, True)], None),
    ("from the first on", [(70, False), (45, False), (20, False)], 70),
    ("anew after a pause", [(70, False), (35, False), (20, False)], 35),
    ("asking bridges no pause", [(70, False), (50, True), (35, False), (20, False)], 35),
    ("a pause up to now", [(60, False), (31, False)], None),
]


@pytest.mark.parametrize(("days", "since"), [s[1:] for s in STRETCHES], ids=[s[0] for s in STRETCHES])
@pytest.mark.parametrize("together", [True, False])
def test_since_when_uses_are_counted_without_a_pause(store, days, since, together):
    uses = [(number, "a", past, asked) for number, (past, asked) in enumerate(days, start=1)]
    for part in [uses] if together else [[use] for use in uses]:
        count(store, *part)
    assert counted_since(store.root, NOW) == (None if since is None else NOW - since * DAY)


def test_last_use_is_the_later_of_both(store):
    count(store, (1, "a", 3, True), (2, "a", 1, False), (3, "b", 2, True), (4, "b", 8, False))
    assert last_uses(store.root) == {"a": NOW - DAY, "b": NOW - 2 * DAY}


def test_what_was_counted_by_path_is_carried_over_once(store):
    """A file of others had no id when it was used; by now it has one, in the file or beside it."""
    (store.root / "theirs.md").write_text("---\nname: theirs\n---\n\nSays theirs.\n")
    (put,) = save(store, memory("ours"))
    theirs = store.read("theirs").id
    early, late = "2026-11-02T10:00:00+00:00", "2026-11-20T10:00:00+00:00"
    entries = {
        "path:theirs.md": {"access_count": 2, "last_accessed": late, "more": 1},
        f"path:{put.path}": {"injected_count": 4, "last_injected": early},
        put.memory.id: {
            "injected_count": 3,
            "last_injected": late,
            "access_count": 1,
            "last_accessed": early,
        },
        "path:gone.md": {"access_count": 7},
        "path:odd.md": 5,
    }
    write(store, {"version": 1, "updated": early, "entries": entries})
    assert count(store, (1, theirs, 0, True)) == 1
    expected = {
        theirs: {"access_count": 3, "last_accessed": "2026-11-27T10:00:00+00:00", "more": 1},
        put.memory.id: {
            "injected_count": 7, "last_injected": late, "access_count": 1, "last_accessed": early,
        },
        "path:gone.md": {"access_count": 7},
        "path:odd.md": 5,
    }  # fmt: skip
    assert state(store)["entries"] == expected
    store.reindex(now=NOW)
    assert counts(store) == expected, "once"


def test_a_rebuild_carries_uses_over_too(store):
    (store.root / "theirs.md").write_text("---\nname: theirs\n---\n\nSays theirs.\n")
    write(store, {"version": 1, "entries": {"path:theirs.md": {"access_count": 2}}})
    assert "_state.json" in store.reindex(now=NOW)
    assert counts(store) == {store.read("theirs").id: {"access_count": 2}}
    assert "_state.json" not in store.reindex(now=NOW)
