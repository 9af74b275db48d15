"""Planning, naming and finding memories; what is ours and what is not; links and odd files."""

import os
from dataclasses import replace

import pytest

from pipeline.core.errors import ConflictError, StoreError, UnknownMemoryError
from pipeline.store import Store, fsck
from tests.support.stores import apply, index, memory, save, settled, tree


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"type": "user"}, "prefers-tabs.md"),
        ({"type": "code_pattern", "id": "a1b2c3d4"}, "graph/code-patterns/prefers-tabs-a1b2c3.md"),
        ({"type": "task", "id": "a1b2c3d4"}, "graph/tasks/prefers-tabs-a1b2c3.md"),
        ({"type": "user", "pinned": True}, "vault/prefers-tabs.md"),
        ({"type": "fix", "pinned": True, "id": "a1b2c3d4"}, "vault/prefers-tabs-a1b2c3.md"),
        ({"type": "no such type"}, "prefers-tabs.md"),
    ],
)
def test_the_type_decides_the_place(store, values, path):
    put = store.put(memory(**values))
    assert put.path == path
    apply(store, put)
    assert store.read("prefers-tabs").path == path


TITLES = [
    "構成メモ",
    "評価表",
    "🌵",
    "🐙",
    "   ",
    "",
    "!!!",
    "Überprüfung",
    "naïve",
    "Build notes",
    "Build notes",
]


def test_bug_081_titles_in_any_script_get_a_file_each(tmp_path):
    paths = []
    for run in ("first", "second"):
        store = Store.open(tmp_path / run, create=True)
        made = [memory(name, body=f"body {n}\n", id=f"{n:08}") for n, name in enumerate(TITLES)]
        puts = save(store, *made)
        paths.append([put.path for put in puts])
        assert [
            (store.root / put.path).read_text().endswith(f"body {n}\n") for n, put in enumerate(puts)
        ] == [True] * len(TITLES)
    assert paths[0] == paths[1]
    assert len({path.lower() for path in paths[0]}) == len(TITLES)
    assert paths[0][-2:] == ["build-notes.md", "build-notes-2.md"]


def test_names_that_differ_in_case_only_get_two_files(store):
    (store.root / "README-Me.md").write_text("theirs\n")
    assert save(store, memory("readme-me"))[0].path == "readme-me-2.md"
    assert (store.root / "README-Me.md").read_text() == "theirs\n"


def test_a_name_is_unique_in_the_whole_store(store):
    puts = save(store, memory("a", type="fix", id="a1b2c3d4"), memory("a"))
    assert [put.memory.name for put in puts] == ["a", "a-2"]
    assert save(store, memory("a", id="x"), id="run-2")[0].path == "a-3.md"


LONG = ["n" * 299 + "a", "n" * 299 + "b", "構" * 120]


def test_bug_083_long_names_become_different_short_files(store):
    puts = save(store, *[memory(name) for name in LONG])
    assert len({put.path for put in puts}) == 3
    assert all(len(put.path) <= 64 and (store.root / put.path).is_file() for put in puts)


NAMES = [
    "../x",
    "..%2Fx",
    "/etc/x",
    "a/../../x",
    "C:\\x",
    "x\0y",
    "~root/x",
    ".git/hooks/x",
    ".hidden",
    "MEMORY",
    "con",
]


@pytest.mark.parametrize("name", NAMES)
def test_bug_084_any_name_becomes_a_flat_visible_file(store, tmp_path, name):
    (put,) = save(store, memory(name))
    assert "/" not in put.path and not put.path.startswith(".")
    assert put.path.lower() not in ("memory.md", "con.md")
    assert sorted(tree(store.root)) == sorted(["MEMORY.md", put.path])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["memory"]


@pytest.mark.parametrize("name", ["../secret", "../secret.md", "sub/../../secret", "/etc/passwd", ""])
def test_bug_084_reading_finds_memories_only(store, tmp_path, name):
    (tmp_path / "secret.md").write_text("secret\n")
    save(store, memory())
    with pytest.raises(UnknownMemoryError):
        store.read(name)


def test_bug_085_links_are_skipped_and_reported(store, tmp_path):
    victim, folder = tmp_path / "victim.txt", tmp_path / "victimdir"
    victim.write_text("victim\n")
    folder.mkdir()
    (folder / "inside.md").write_text("victim\n")
    os.symlink(victim, store.root / "evil.md")
    os.symlink(folder, store.root / "sub")
    os.symlink(folder, store.root / "vault")
    (store.root / "graph").mkdir()
    os.symlink(folder, store.root / "graph/fixes")
    snapshot = store.scan()
    assert snapshot.documents == []
    assert {"evil.md", "sub", "vault", "graph/fixes"} <= {problem.path for problem in snapshot.problems}
    assert {item.path for item in fsck(store) if item.code == "link"} >= {"evil.md", "vault", "graph/fixes"}


@pytest.mark.parametrize("values", [{"name": "evil"}, {"pinned": True}, {"type": "fix"}])
def test_bug_085_nothing_is_written_through_a_link(store, tmp_path, values):
    folder = tmp_path / "victimdir"
    folder.mkdir()
    for place in ("vault", "graph"):
        os.symlink(folder, store.root / place)
    os.symlink(folder / "made.txt", store.root / "evil.md")
    try:
        save(store, memory(**{"name": "x", **values}))
    except StoreError:
        assert values != {"name": "evil"}
    assert list(folder.iterdir()) == []


def test_bug_085_the_store_itself_may_be_a_link(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    os.symlink(tmp_path / "dotfiles", tmp_path / "memory")
    store = Store.open(tmp_path / "memory")
    save(store, memory())
    assert (tmp_path / "memory").is_symlink()
    assert (tmp_path / "dotfiles/prefers-tabs.md").is_file()


def test_an_absent_store_is_an_error_and_is_not_made(tmp_path):
    with pytest.raises(StoreError, match="no such directory"):
        Store.open(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_pipes_and_giants_are_reported_not_read(store):
    os.mkfifo(store.root / "pipe.md")
    (store.root / "giant.md").write_bytes(b"x" * 2_000_001)
    snapshot = store.scan()
    assert snapshot.documents == []
    assert [(problem.path, "over" in problem.message) for problem in snapshot.problems] == [
        ("giant.md", True),
        ("pipe.md", False),
    ]


def test_bug_074_one_broken_foreign_file_does_not_stop_the_others(store):
    broken = b"---\nname: x\ndescription: 'one' two\n---\nbody\n"
    (store.root / "broken.md").write_bytes(broken)
    save(store, memory())
    snapshot = store.scan()
    assert [item.path for item in snapshot.documents] == ["prefers-tabs.md"]
    assert [(problem.path, problem.line) for problem in snapshot.problems] == [("broken.md", 3)]
    assert (store.root / "broken.md").read_bytes() == broken


def test_only_memories_are_scanned(store):
    for name in ("README.md", "CORE.md", "REFLECTION.md", ".hidden.md", "note.txt", "memory.md"):
        (store.root / name).write_text("x\n")
    for folder in ("archive/2026", "episodes", "team", "logs", "graph/edges", "graph/fixes", "vault"):
        (store.root / folder).mkdir(parents=True, exist_ok=True)
        (store.root / folder / "x.md").write_text("x\n")
    assert [item.path for item in store.scan().documents] == ["vault/x.md", "graph/fixes/x.md"]


def test_a_memory_is_found_by_every_name_it_has(store):
    (store.root / "feedback_use_tabs.md").write_text("---\nname: Use tabs, please\ntype: feedback\n---\nx\n")
    save(store, memory("a-decision", type="decision", title="SQLite it is", id="a1b2c3d4-0000"))
    wanted = {
        "feedback_use_tabs.md": [
            "feedback_use_tabs",
            "feedback-use-tabs",
            "Use tabs, please",
            "[[use-tabs-please]]",
        ],
        "graph/decisions/a-decision-a1b2c3.md": [
            "a-decision",
            "a_decision",
            "a-decision-a1b2c3",
            "a1b2c3",
            "SQLite it is",
        ],
    }
    found = {path: [store.read(name).path for name in names] for path, names in wanted.items()}
    assert found == {path: [path] * len(names) for path, names in wanted.items()}


@pytest.mark.parametrize("name", ["a1b2c", "abcdef", "no-such"])
def test_short_ambiguous_and_unknown_names_find_nothing(store, name):
    save(store, memory("one", id="abcdef-1"), memory("two", id="abcdef-2"), memory("three", id="a1b2c3d4"))
    assert store.scan().by_name(name) is None


def test_an_update_keeps_path_name_id_and_unknown_keys(store):
    save(store, memory(extra={"team": "x", "metadata": {"node_type": "memory"}}))
    old = store.read("prefers-tabs")
    put = store.put(memory("other-name", description="New.", id="zzz"), existing=old)
    apply(store, put, id="run-2")
    new = store.read("prefers-tabs")
    assert (new.path, new.head.id, new.head.description) == (old.path, old.head.id, "New.")
    assert new.head.extra == {"team": "x", "metadata": {"node_type": "memory"}}
    assert store.is_ours(new) and "New." in index(store)


def test_bug_080_hand_edited_and_foreign_files_are_never_rewritten(store):
    save(store, memory())
    file = store.root / "prefers-tabs.md"
    file.write_bytes(file.read_bytes().replace(b"never spaces", b"never, ever spaces"))
    (store.root / "theirs.md").write_text("theirs\n")
    for name, foreign in (("prefers-tabs", False), ("theirs", True)):
        found = store.read(name)
        assert (store.is_ours(found), found.foreign) == (False, foreign)
        with pytest.raises(ConflictError):
            store.put(memory(description="Mine."), existing=found)
        assert store.put(found.memory, existing=found).data == found.raw


def test_ours_again_after_the_edit_is_undone(store):
    save(store, memory())
    file = store.root / "prefers-tabs.md"
    ours = file.read_bytes()
    file.write_bytes(ours + b"x")
    assert not store.is_ours(store.read("prefers-tabs"))
    file.write_bytes(ours)
    assert store.is_ours(store.read("prefers-tabs"))


def test_a_torn_record_of_our_files_costs_one_file_only(store):
    save(store, memory("one"))
    record = store.root / ".reverie/written.jsonl"
    record.write_bytes(record.read_bytes()[:-10])
    save(store, memory("two"), id="run-2")
    again = Store.open(store.path)
    assert [again.is_ours(again.read(name)) for name in ("one", "two")] == [False, True]


def test_the_record_of_our_files_is_compacted(store):
    save(store, memory())
    for number in range(60):
        old = store.read("prefers-tabs")
        apply(store, store.put(replace(old.memory, description=f"d{number}"), existing=old), id=f"u{number}")
    store.reindex(now=memory().created)
    assert (store.root / ".reverie/written.jsonl").read_bytes().count(b"\n") == 1
    assert Store.open(store.path).is_ours(store.read("prefers-tabs"))


def test_a_document_changed_after_the_scan_says_so(store):
    save(store, memory())
    store.reindex(now=memory().created)
    settled(store.root)
    found = Store.open(store.path).read("prefers-tabs")
    (store.root / "prefers-tabs.md").write_text("theirs\n")
    with pytest.raises(ConflictError):
        found.raw.decode()


def test_what_others_did_between_two_changes_is_seen(store):
    save(store, memory("a"), memory("b"))
    (store.root / "a.md").unlink()
    (store.root / "c.md").write_text("theirs\n")
    (put,) = save(store, memory("c"), id="run-2")
    assert put.path == "c-2.md"
    assert [f"]({name}.md)" in index(store) for name in ("a", "b", "c", "c-2")] == [False, True, True, True]


def test_our_own_change_shows_in_the_index_and_its_name_is_taken(store):
    save(store, memory("a"))
    apply(store, store.put(memory("a", description="New."), existing=store.read("a")), id="run-2")
    (put,) = save(store, memory("a", id="other"), id="run-3")
    assert put.path == "a-2.md"
    assert "[New.](a.md)" in index(store)


def test_planning_the_same_memory_again_gives_the_same_file(store):
    first = store.put(memory("a", id="1"))
    assert store.put(memory("a", id="1")) == first
    assert store.put(memory("a", id="2")).path == "a-2.md"


def test_the_mirror_for_others_is_written_once_at_the_end(store):
    save(store, *[memory(f"m-{n}") for n in range(40)])
    save(store, memory("one-more"), id="run-2")
    assert not (store.root / "_index.json").exists()
    assert "_index.json" in store.reindex(now=memory().created)
