"""Generations: what a change set touched is kept, shown, and brought back byte for byte."""

import json
import os
import re
from dataclasses import replace
from datetime import timedelta

import pytest

from pipeline.core.clock import iso
from pipeline.core.errors import ConflictError, StoreError
from pipeline.store import ChangeSet, Episode, Store, WriteFile, fsck, short_ids, turns_of
from pipeline.store.history import undo
from pipeline.store.history.generations import undo_id
from tests.support.stores import NOW, die_at, forked, index, memory, save, tree

LOG = Episode("2026-11-27", "10:00", "Merged", "dream")


def log(store, run):
    """The page of the diary with an entry of `run`."""
    return store.append_episodes([replace(LOG, title=f"Merged by {run}")])


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "memory", create=True)
    save(store, memory("old-one"), memory("gone-one"), memory("pinned-one"))
    return store


def dream(store, id="run-2", at=NOW):
    """Change, retire, pin and add a memory, and log it: one change set with a generation."""
    old = store.read("old-one")
    changed = store.put(replace(old.memory, description=f"Changed by {id}."), existing=old)
    gone = store.retire(store.read("gone-one"), year=2026, reason="outdated", superseded_by=old.id)
    operations = [store.put(memory("new-one")), changed, gone, *store.pin(store.read("pinned-one"))]
    return store.apply(ChangeSet(id, "a dream", [*operations, log(store, id)], at), generation=True)


def change(store, id, description, reason="test", **more):
    old = store.read("old-one")
    put = store.put(replace(old.memory, description=description), existing=old)
    return store.apply(ChangeSet(id, reason, [put]), **more)


def test_history_tells_what_a_run_did(store):
    assert store.history() == []
    dream(store)
    (only,) = store.history()
    assert (only.run, only.at, only.reason, only.undone) == ("run-2", NOW, "a dream", False)
    changes = {item.path: (item.before is None, item.after is None) for item in only.files}
    assert changes == {
        "new-one.md": (True, False),
        "old-one.md": (False, False),
        "gone-one.md": (False, True),
        "archive/2026/gone-one.md": (True, False),
        "pinned-one.md": (False, True),
        "vault/pinned-one.md": (True, False),
        "episodes/2026-11-27.md": (True, False),
        "MEMORY.md": (False, False),
    }


def test_diff_gives_the_bytes_before_and_after_even_when_they_changed_again(store):
    before = tree(store.root)
    dream(store)
    after = tree(store.root)
    (store.root / "old-one.md").write_text("edited\n")
    shown = {item.path: item for item in store.diff("run-2")}
    assert [shown[path].before for path in shown] == [before.get(path) for path in shown]
    assert [shown[path].after for path in shown] == [after.get(path) for path in shown]


def test_undo_restores_every_byte_mode_and_time(store):
    (store.root / "gone-one.md").chmod(0o640)
    before = tree(store.root)
    stats = {path: (store.root / path).stat() for path in before}
    dream(store)
    undone = store.undo("run-2")
    assert tree(store.root) == before
    for path, was in stats.items():
        now = (store.root / path).stat()
        assert (path, now.st_mode, now.st_mtime_ns) == (path, was.st_mode, was.st_mtime_ns)
    assert (undone.run, undone.already, len(undone.paths)) == ("run-2", False, 8)
    assert all(store.is_ours(item) for item in store.scan().documents)
    assert fsck(store) == []


def test_undone_twice_is_undone_once(store):
    dream(store)
    store.undo("run-2")
    before = tree(store.root)
    assert store.undo("run-2").already
    assert tree(store.root) == before
    assert [(item.run, item.undone) for item in store.history()] == [("undo-run-2", False), ("run-2", True)]


def test_an_undo_can_be_undone_and_the_run_undone_again(store):
    before = tree(store.root)
    dream(store)
    after = tree(store.root)
    store.undo("run-2")
    store.undo("undo-run-2")
    assert tree(store.root) == after
    assert [item.undone for item in store.history()] == [False, True, False]
    assert not store.undo("run-2").already
    assert tree(store.root) == before
    assert store.undo("run-2").already


TURNS = ["undo-run-2", "redo-run-2", "undo2-run-2", "redo2-run-2", "undo3-run-2"]


def test_an_id_does_not_grow_with_the_turns(store):
    before = tree(store.root)
    dream(store)
    after = tree(store.root)
    run = "run-2"
    for number, by in enumerate(TURNS):
        undone = store.undo(run)
        assert (undone.by, undone.again) == (by, number % 2 == 1)
        assert tree(store.root) == (after if undone.again else before)
        run = undone.by
    assert [item.run for item in store.history()] == [*reversed(TURNS), "run-2"]
    assert [item.undone for item in store.history()] == [False, True, False, True, False, True]


@pytest.mark.parametrize(
    ("run", "base", "turns"),
    [
        ("run-2", "run-2", 0),
        ("undo-run-2", "run-2", 1),
        ("redo-run-2", "run-2", 2),
        ("undo2-run-2", "run-2", 3),
        ("redo12-run-2", "run-2", 24),
        ("undo-undo-run-2", "run-2", 2),
        ("undo-undo-undo-run-2", "run-2", 3),
        ("undo-12345678-9abc", "12345678-9abc", 1),
        ("undoing", "undoing", 0),
        ("undo0-run-2", "undo0-run-2", 0),
    ],
)
def test_an_id_says_how_often_a_change_was_turned_round(run, base, turns):
    assert turns_of(run) == (base, turns)
    assert turns_of(undo_id(run)) == (base, turns + 1)


def test_ids_of_an_earlier_version_mean_what_they_did(store):
    """They put one ``undo-`` before another."""
    dream(store)
    store.undo("run-2")
    restores = undo.plan(store.root, "undo-run-2", store.history(), lambda path: None)
    store.apply(ChangeSet("undo-undo-run-2", "undo of undo-run-2", restores), generation=True)
    assert [item.undone for item in store.history()] == [False, True, False]
    assert store.undo("run-2").by == "undo2-run-2"
    assert [item.undone for item in store.history()] == [False, True, False, True]


def follow(store, run):
    """Undo `run` by doing what each refusal advises; return what was undone on the way."""
    done = []
    for _ in range(6):
        short = {key: full for full, key in short_ids(store.history()).items()}
        try:
            store.undo(run)
        except ConflictError as refused:
            (advised,) = re.findall(r"`reverie undo (\S+)`", refused.fix)
            done.append(short[advised])
            store.undo(short[advised])
        else:
            return done
    raise AssertionError(f"the advice leads nowhere: {done}")


ADVISED = {
    "the one before it": ("bc", [], ["run-3"]),
    "not an undo that takes back what came later still": ("bcd", ["run-4"], ["run-3"]),
    "each in turn": ("bcd", [], ["run-4", "run-3"]),
    "what was done again, by its first id": ("bc", ["run-3", "undo-run-3"], ["run-3"]),
    "turned round four times": ("bc", ["run-3", "undo-run-3", "redo-run-3", "undo2-run-3"], ["run-3"]),
}


@pytest.mark.parametrize("case", ADVISED)
def test_the_advice_of_a_refused_undo_leads_there(store, case):
    texts, turned, advised = ADVISED[case]
    before = tree(store.root)
    for number, text in enumerate(texts, start=2):
        change(store, f"run-{number}", f"Text {text}.", reason=f"change {text}", generation=True)
    for run in turned:
        store.undo(run)
    with pytest.raises(ConflictError, match=r"“change \w” \(run-\d\)"):
        store.undo("run-2")
    assert follow(store, "run-2") == advised
    assert tree(store.root) == before


def test_a_run_with_a_generation_is_applied_once(store):
    dream(store)
    before = tree(store.root)
    again = store.apply(ChangeSet("run-2", "a dream", []), generation=True)
    assert again.already and tree(store.root) == before
    assert len(store.history()) == 1


def _edit(store):
    (store.root / "old-one.md").write_text("mine\n")


def _remove(store):
    (store.root / "old-one.md").unlink()


def _reuse(store):
    (store.root / "gone-one.md").write_text("another\n")


LATER = {
    "edited": (_edit, "old-one.md was edited since"),
    "removed": (_remove, "old-one.md was removed since"),
    "name used again": (_reuse, "gone-one.md is a new file"),
    "changed by a later run": (
        lambda store: change(store, "run-3", "Again.", generation=True),
        r"old-one.md was changed again by “test” \(run-3\)",
    ),
}


@pytest.mark.parametrize("case", LATER)
def test_undo_refuses_where_a_later_edit_would_be_lost(store, case):
    edit, reason = LATER[case]
    dream(store)
    edit(store)
    before = tree(store.root)
    with pytest.raises(ConflictError, match=reason):
        store.undo("run-2")
    assert tree(store.root) == before
    assert not store.history()[-1].undone


def test_every_file_with_a_later_edit_is_named(store):
    dream(store)
    _edit(store)
    _reuse(store)
    with pytest.raises(ConflictError, match=r"old-one\.md .*; gone-one\.md"):
        store.undo("run-2")


def test_later_run_first_then_the_earlier_one(store):
    before = tree(store.root)
    dream(store)
    change(store, "run-3", "Again.", generation=True)
    store.undo("run-3")
    store.undo("run-2")
    assert tree(store.root) == before


def test_a_change_that_a_later_one_took_back_leaves_nothing_to_undo(store):
    old = store.read("old-one").memory
    change(store, "run-2", "Changed.", generation=True)
    change(store, "run-3", old.description, generation=True)
    before = tree(store.root)
    with pytest.raises(ConflictError, match=r"old-one\.md was changed again by .*run-3") as refused:
        store.undo("run-2")
    assert "reverie undo run-3" in refused.value.fix and tree(store.root) == before
    assert [item.undone for item in store.history()] == [False, False]


def test_a_memory_archived_since_holds_up_no_undo_of_its_neighbour(store):
    made = [store.put(memory(name)) for name in ("first", "second")]
    store.apply(ChangeSet("run-2", "an extraction", made), generation=True)
    gone = store.retire(store.read("first"), year=2026, reason="outdated")
    later = [gone, store.put(memory("first-of-all"))]
    store.apply(ChangeSet("run-3", "a dream", later), generation=True)
    store.undo("run-2")
    names = {document.name for document in store.scan().documents}
    assert names & {"first", "second", "first-of-all"} == {"first-of-all"}
    assert (store.root / "archive/2026/first.md").exists()


def test_index_lines_that_come_back_are_ours_again(store):
    before = tree(store.root)
    dream(store)
    store.apply(ChangeSet("run-3", "nothing", []), generation=True)
    change(store, "run-4", "Once more.", generation=True)
    for run_id in ("run-4", "run-3", "run-2"):
        store.undo(run_id)
    assert tree(store.root) == before
    store.reindex(now=NOW)
    assert index(store) == before["MEMORY.md"].decode()


def test_other_memories_written_since_stay(store):
    dream(store)
    save(store, memory("later-one"), id="run-3")
    (store.root / "MEMORY.md").write_text("- a line of mine\n" + index(store))
    store.undo("run-2")
    assert index(store).startswith("- a line of mine\n")
    assert "](later-one.md)" in index(store) and "](gone-one.md)" in index(store)
    assert "new-one" not in index(store) and "vault/" not in index(store)
    assert fsck(store) == []


def test_a_log_that_grew_since_keeps_what_was_added(store):
    dream(store)
    store.apply(ChangeSet("run-3", "test", [log(store, "run-3")]))
    store.undo("run-2")
    text = (store.root / "episodes/2026-11-27.md").read_text()
    assert "Merged by run-3" in text and "Merged by run-2" not in text


def test_a_file_that_is_as_before_already_needs_nothing(store):
    before = tree(store.root)
    dream(store)
    (store.root / "archive/2026/gone-one.md").rename(store.root / "gone-one.md")
    (store.root / "old-one.md").write_bytes(before["old-one.md"])
    store.undo("run-2")
    assert tree(store.root) == before


def test_where_someone_was_faster_undo_leaves_theirs_alone(store):
    assert die_at("store.intent_written", lambda: dream(store)) == -9
    (store.root / "old-one.md").write_text("theirs\n")
    again = Store.open(store.path)
    assert (again.root / "old-one.md").read_text() == "theirs\n"
    again.undo("run-2")
    assert (again.root / "old-one.md").read_text() == "theirs\n"
    assert again.is_ours(again.read("gone-one"))


def test_hand_edited_stays_hand_edited_through_pin_and_undo(store):
    file = store.root / "pinned-one.md"
    file.write_bytes(file.read_bytes() + b"edited\n")
    dream(store)
    moved = store.read("pinned-one")
    assert moved.path == "vault/pinned-one.md" and not store.is_ours(moved) and not moved.foreign
    store.undo("run-2")
    back = store.read("pinned-one")
    assert back.path == "pinned-one.md" and not store.is_ours(back) and not back.foreign


@pytest.mark.parametrize("count", [1, 3])
def test_the_last_generations_are_kept(tmp_path, count):
    store = Store.open(tmp_path, create=True, generations=count)
    save(store, memory("old-one"))
    for number in range(2, 7):
        change(store, f"run-{number}", f"Text {number}.", generation=True)
    assert [item.run for item in store.history()] == [f"run-{number}" for number in range(6, 6 - count, -1)]
    assert len(list((store.root / ".reverie/generations").iterdir())) == count
    with pytest.raises(StoreError, match="no run 'run-2' is kept"):
        store.undo("run-2")


def test_the_order_of_generations_does_not_follow_the_clock(store):
    change(store, "run-2", "Two.", generation=True)
    change(store, "run-3", "Three.", generation=True)
    old = store.read("old-one")
    put = store.put(replace(old.memory, description="Back in time."), existing=old)
    store.apply(ChangeSet("run-4", "test", [put], NOW - timedelta(days=900)), generation=True)
    assert [item.run for item in store.history()] == ["run-4", "run-3", "run-2"]


def test_a_refused_change_set_leaves_no_generation(store):
    old = store.read("old-one")
    put = store.put(replace(old.memory, description="Mine."), existing=old)
    (store.root / "old-one.md").write_text("theirs\n")
    with pytest.raises(ConflictError):
        store.apply(ChangeSet("run-2", "test", [put]), generation=True)
    assert store.history() == []


@pytest.mark.parametrize("identifier", ["../../evil", "日本", "x" * 300])
def test_odd_run_ids_stay_inside_and_can_be_undone(store, identifier):
    before = tree(store.root)
    dream(store, id=identifier)
    assert [item.run for item in store.history()] == [identifier]
    store.undo(identifier)
    assert tree(store.root) == before
    assert not list(store.root.parent.glob("evil*"))


def test_damaged_bytes_are_never_restored(store):
    dream(store)
    before = tree(store.root)
    for blob in (store.root / ".reverie/generations/run-2").iterdir():
        if blob.suffix != ".json":
            blob.write_bytes(b"damaged")
    with pytest.raises(StoreError, match="not the bytes that were kept"):
        store.undo("run-2")
    assert tree(store.root) == before


WRONG = [
    ("manifest.json", b"\0"),
    ("manifest.json", b"[5]"),
    ("manifest.json", b'{"run": "run-9", "number": 9, "at": "", "reason": "r", "files": []}'),
    ("manifest.json", b'{"run": 5, "number": "a", "at": 7, "reason": null, "files": []}'),
    ("manifest.json", b'{"run": "run-2", "number": 1, "at": "x", "reason": "r", "files": [{"path": 5}]}'),
    (
        "manifest.json",
        b'{"run": "run-2", "number": 1, "at": "", "reason": "r",'
        b' "files": [{"path": "../../esc", "before": null, "after": null}]}',
    ),
    ("sealed.json", b'{"conflicts": 5}'),
    ("sealed.json", b"5"),
]


@pytest.mark.parametrize(("name", "raw"), WRONG, ids=lambda value: str(value)[:30])
def test_a_damaged_manifest_is_named_and_stops_nothing_else(store, name, raw):
    dream(store)
    (store.root / ".reverie/generations/run-2" / name).write_bytes(raw)
    assert [(item.run, item.reason, item.files) for item in store.history()] == [
        ("run-2", "can't be read", ())
    ]
    with pytest.raises(StoreError, match=r"run-2/manifest\.json"):
        store.undo("run-2")
    change(store, "run-3", "Three.", generation=True)
    assert store.undo("run-3").paths and store.history()[-1].run == "run-2"
    assert ("generation", ".reverie/generations/run-2") in [(f.code, f.path) for f in fsck(store)]


def test_a_file_that_is_no_generation_is_left_alone(store):
    dream(store)
    stray = store.root / ".reverie/generations/.DS_Store"
    stray.write_bytes(b"x")
    change(store, "run-3", "Three.", generation=True)
    assert [item.run for item in store.history()] == ["run-3", "run-2"] and stray.exists()


def test_pins_push_no_dream_out(tmp_path):
    store = Store.open(tmp_path, create=True, generations=1)
    save(store, memory("old-one"))
    for number in range(3):
        change(store, f"dream-{number}", f"Text {number}.", "dream", generation=True)
    for number in range(9):
        how = store.unpin if number % 2 else store.pin
        store.apply(ChangeSet(f"pin-{number}", "pin x", how(store.read("old-one")), NOW), generation=True)
    runs = [item.run for item in store.history()]
    assert runs == ["pin-8", "dream-2", "dream-1", "dream-0"]


def test_a_dream_older_than_ninety_days_gives_way_to_later_ones(tmp_path):
    store = Store.open(tmp_path, create=True, generations=2)
    save(store, memory("old-one"))
    for number, days in enumerate((0, 1, 89, 95)):
        put = store.put(replace(memory("old-one"), description=f"{number}."), existing=store.read("old-one"))
        store.apply(ChangeSet(f"d-{number}", "dream", [put], NOW + timedelta(days=days)), generation=True)
    assert [item.run for item in store.history()] == ["d-3", "d-2"]


def test_generations_are_private(store):
    dream(store)
    folder = store.root / ".reverie/generations/run-2"
    assert {os.stat(file).st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_bug_102_what_is_retired_tells_its_successor(store):
    ident = store.read("gone-one").id
    dream(store)
    (item,) = store.retired()
    assert (item.path, item.target, item.id) == ("gone-one.md", "archive/2026/gone-one.md", ident)
    assert (item.superseded_by, item.reason) == (store.read("old-one").id, "outdated")
    assert (item.run, iso(item.at)) == ("run-2", iso(NOW))
    store.undo("run-2")
    assert store.retired() == []


def test_a_torn_note_of_a_retired_memory_hides_no_other(store):
    dream(store)
    with (store.root / ".reverie/retired.jsonl").open("ab") as file:
        file.write(b'{"path": "torn')
    store.apply(ChangeSet("run-3", "test", [store.retire(store.read("new-one"), year=2026, reason="x")]))
    assert [item.path for item in store.retired()] == ["gone-one.md", "new-one.md"]


def test_bug_098_one_file_a_run_for_twenty_runs_can_be_told_and_brought_back(tmp_path):
    store = Store.open(tmp_path, create=True, generations=20)
    save(store, *(memory(f"m-{number}") for number in range(20)))
    before = tree(store.root)
    for number in range(20):
        gone = store.retire(store.read(f"m-{number}"), year=2026, reason=f"reason {number}")
        store.apply(ChangeSet(f"dream-{number}", "dream", [gone], NOW), generation=True)
        assert store.root.joinpath(gone.target).read_bytes() == before[gone.path]
    told = {(item.run, item.reason, item.at) for item in store.retired()}
    assert told == {(f"dream-{number}", f"reason {number}", NOW) for number in range(20)}
    for number in range(20):
        store.undo(f"dream-{19 - number}") if number < 10 else None
    assert {path for path in tree(store.root) if path.startswith("m-")} == {
        f"m-{number}.md" for number in range(10, 20)
    }


def test_the_manifest_holds_digests_and_no_text(store):
    dream(store)
    manifest = json.loads((store.root / ".reverie/generations/run-2/manifest.json").read_bytes())
    assert set(manifest) == {"run", "number", "at", "reason", "files"}
    assert all(set(row) >= {"path", "before", "after"} for row in manifest["files"])


@pytest.mark.parametrize("path", ["graph/edges/a.md", "README.md"])
def test_other_files_are_kept_and_undone_and_never_listed(store, path):
    before = tree(store.root)
    store.apply(ChangeSet("run-2", "test", [WriteFile(path, b"x\n", None)]), generation=True)
    assert path not in index(store)
    store.undo("run-2")
    assert tree(store.root) == before


def test_runs_at_the_same_moment_are_all_kept_and_each_can_be_undone(store):
    before = tree(store.root)
    names = [f"m-{number}" for number in range(4)]
    children = [forked(lambda n=name: add(Store.open(store.path), n)) for name in names]  # type: ignore[misc]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    again = Store.open(store.path)
    assert sorted(item.number for item in again.history()) == [1, 2, 3, 4]
    assert {item.name for item in again.scan().documents} >= set(names)
    for name in names:
        again.undo(f"run-{name}")
    assert tree(again.root) == before


def add(store, name):
    store.apply(ChangeSet(f"run-{name}", "test", [store.put(memory(name))]), generation=True)


def test_what_lives_on_elsewhere_does_not_come_back_beside_itself(tmp_path):
    store = Store.open(tmp_path, create=True, generations=1)
    save(store, memory("old-one"), memory("other"))
    old = store.read("old-one")
    plan = store.rename(replace(old.memory, name="new-one"), old)
    store.apply(ChangeSet("run-2", "extraction of x", [plan], NOW), generation=True)
    for name in ("new-one", "other"):
        # The second pin pushes the first out of the history, which would have told of the move.
        store.apply(ChangeSet(name, f"pin {name}", list(store.pin(store.read(name))), NOW), generation=True)
    before = tree(store.root)
    with pytest.raises(ConflictError, match=r"would bring “new-one” back beside itself"):
        store.undo("run-2")
    assert tree(store.root) == before
    assert len({item.id for item in store.scan().documents}) == 2
