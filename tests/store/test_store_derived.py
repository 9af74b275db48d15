"""Files made from the memories, the daily log, the checker, and the host's own lock."""

import datetime as dt
import json
import os
import re
from dataclasses import replace

import pytest

from pipeline.core.errors import StoreError
from pipeline.store import Episode, Store, diary_day, foreign_dream_running, fsck
from pipeline.store.derived.core_page import band, decay_score
from tests.support.stores import NOW, apply, memory, run, save, settled


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


def load(store, name="_index.json"):
    return json.loads((store.root / name).read_bytes())


def test_the_index_mirrors_the_front_matter(store):
    relation = {"target": "x", "type": "SOLVES", "direction": "outgoing", "strength": 0.8}
    made = memory("a", type="fix", title="A", body="b" * 300, relations=(relation,), steps=("one",))
    save(store, made)
    store.reindex(now=NOW)
    index = load(store)
    entry = index["entries"][made.id]
    assert (index["version"], index["count"], index["updated"]) == (2, 1, "2026-11-27T10:00:00+00:00")
    assert (entry["title"], entry["type"], entry["relations"], entry["steps"]) == (
        "A",
        "fix",
        [relation],
        ["one"],
    )
    assert entry["path"] == f"graph/fixes/a-{made.id[:6]}.md" and entry["content_preview"] == "b" * 200


EDGE = "---\nid: e1\ntype: SOLVES\nfrom_id: a\nto_id: b\nstrength: 0.8\n---\nwhy\n"


def test_edges_are_indexed_and_are_no_memories(store):
    (store.root / "graph/edges").mkdir(parents=True)
    (store.root / "graph/edges/a--SOLVES--b-e1.md").write_text(EDGE)
    (store.root / "graph/edges/broken.md").write_text("---\na: 'b' c\n---\n")
    store.reindex(now=NOW)
    assert load(store)["edges"] == {
        "e1": {"type": "SOLVES", "from_id": "a", "to_id": "b", "strength": 0.8,
               "path": "graph/edges/a--SOLVES--b-e1.md"}
    }  # fmt: skip
    assert load(store)["entries"] == {}


def test_memories_without_an_id_or_with_the_same_one_are_all_indexed(store):
    for name, front in (("a", "id: x"), ("b", "id: x"), ("c", "name: c")):
        (store.root / f"{name}.md").write_text(f"---\n{front}\n---\n{name}\n")
    store.reindex(now=NOW)
    assert sorted(entry["path"] for entry in load(store)["entries"].values()) == ["a.md", "b.md", "c.md"]


@pytest.mark.parametrize("change", ["edit", "delete", "rename", "add"])
def test_bug_111_the_cache_never_hides_a_change(store, change):
    save(store, memory("a"), memory("b"))
    store.reindex(now=NOW)
    settled(store.root)
    file = store.root / "b.md"
    old, raw = file.stat(), file.read_bytes()
    if change == "edit":
        file.write_bytes(raw.replace(b"never spaces", b"never SPACES"))
    elif change == "delete":
        file.unlink()
    elif change == "rename":
        file.rename(file.with_name("d.md"))
    else:
        (store.root / "c.md").write_bytes(b"new\n")
    for left in store.root.glob("[bcd].md"):
        os.utime(left, ns=(old.st_atime_ns, old.st_mtime_ns))
    found = {item.path: item.head.description for item in Store.open(store.path).scan().documents}
    wanted = {"edit": "a.md b.md", "delete": "a.md", "rename": "a.md d.md", "add": "a.md b.md c.md"}
    assert sorted(found) == wanted[change].split()
    assert change != "edit" or "SPACES" in found["b.md"]


def test_what_the_cache_gives_is_what_the_files_give(store):
    (store.root / "untyped.md").write_text("# T\n\nprose\n")
    (store.root / "titled.md").write_text("---\nname: A title\nx: {y: [1]}\nmetadata: {z: 1}\n---\n\nprose\n")
    save(store, memory("a", type="fix", title="A", pinned=True), memory("b", tags=("x",)))
    store.reindex(now=NOW)
    settled(store.root)
    cached = [item.memory for item in Store.open(store.path).scan().documents]
    (store.root / "_index.json").unlink()
    assert cached == [item.memory for item in Store.open(store.path).scan().documents]
    assert len(cached) == 4


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"entries": {"a": {"_file2": 1}}}', b'{"entries": 3}'])
def test_a_damaged_index_is_no_obstacle(store, junk):
    save(store, memory())
    (store.root / "_index.json").write_bytes(junk)
    assert [item.path for item in Store.open(store.path).scan().documents] == ["prefers-tabs.md"]
    assert "_index.json" in store.reindex(now=NOW)


ANOTHERS = {
    "a manifest": b'{"name": "site", "files": ["a.md"]}',
    "with a version": b'{"version": 2, "packages": {"a": 1}}',
    "a list": b'["a.md"]',
}


@pytest.mark.parametrize("name", ANOTHERS)
def test_an_index_of_another_program_stays_and_is_named(store, name):
    file = store.root / "_index.json"
    file.write_bytes(ANOTHERS[name])
    save(store, memory())
    assert "_index.json" not in store.reindex(now=NOW)
    assert file.read_bytes() == ANOTHERS[name]
    (found,) = [item for item in fsck(store) if item.code == "derived-file"]
    assert (found.level, found.path) == ("note", "_index.json")
    file.unlink()
    assert "_index.json" in store.reindex(now=NOW)
    assert not [item for item in fsck(store) if item.code == "derived-file"]


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_one_of_ours_that_was_cut_off_is_made_anew(store, cut):
    save(store, memory())
    store.reindex(now=NOW)
    file = store.root / "_index.json"
    file.write_bytes(file.read_bytes()[:cut])
    store.reindex(now=NOW)
    assert load(store)["count"] == 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<<<<<<< ours\n{}\n", "can't be read"),
        (b"{", "is damaged"),
        (b"[1]", "no entries"),
        (b'{"version": 9, "entries": {}}', "of version 9"),
    ],
)
def test_counts_that_cant_be_read_are_named(store, data, words):
    save(store, memory())
    (store.root / "_state.json").write_bytes(data)
    (found,) = [item for item in fsck(store) if item.code == "derived-file"]
    assert (found.level, found.path) == ("error", "_state.json") and words in found.message and found.fix


def test_a_derived_file_that_was_deleted_comes_back_the_same(store):
    save(store, memory("a"), memory("b", type="fix"))
    store.reindex(now=NOW)
    names = ["MEMORY.md", "_index.json", "CORE.md", ".gitignore"]
    before = [(store.root / name).read_bytes() for name in names]
    for name in names:
        (store.root / name).unlink()
    assert sorted(store.reindex(now=NOW)) == sorted(names)
    assert [(store.root / name).read_bytes() for name in names] == before


def test_the_gitignore_names_the_four_and_keeps_other_lines(store):
    (store.root / ".gitignore").write_text("mine")
    store.reindex(now=NOW)
    text = (store.root / ".gitignore").read_text()
    assert text == "mine\n_index.json\n_state.json\n_embeddings.json\n_config.json\n"


def test_the_state_is_created_and_never_reset(store):
    store.reindex(now=NOW)
    assert load(store, "_state.json") == {"version": 1, "updated": "2026-11-27T10:00:00+00:00", "entries": {}}
    (store.root / "_state.json").write_bytes(b'{"version":1,"entries":{"a":{"access_count":2}}}')
    store.reindex(now=NOW)
    assert load(store, "_state.json")["entries"] == {"a": {"access_count": 2}}


def test_a_torn_state_is_kept_aside_and_counting_begins_anew(store):
    save(store, memory())
    torn = b'{"version":1,"entries":{"a":{"acc'
    (store.root / "_state.json").write_bytes(torn)
    (store.root / "_index.json").unlink(missing_ok=True)
    store.reindex(now=NOW)
    store.decay(now=NOW)
    assert load(store, "_state.json")["version"] == 1 and load(store)["count"] == 1
    (note,) = [item for item in fsck(store) if item.code == "derived-file"]
    assert note.level == "note" and (store.root / note.path).read_bytes() == torn


@pytest.mark.parametrize("data", [b"\0" * 500, b"garbage", b"<<<<<<< ours\n{}\n"])
def test_an_index_that_is_no_json_is_made_anew_and_words_are_kept(store, data):
    save(store, memory())
    (store.root / "_index.json").write_bytes(data)
    store.reindex(now=NOW)
    assert load(store)["count"] == 1
    kept = [store.root / item.path for item in fsck(store) if item.code == "derived-file"]
    assert [file.read_bytes() for file in kept] == ([data] if data.strip(b"\0") else [])


DAY = dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("values", "access", "score"),
    [
        ({"type": "general", "importance": 0.5}, {}, 0.2),
        ({"type": "procedure", "importance": 1.0}, {"access_count": 1}, 1.4),
        ({"type": "fix", "importance": 0.8}, {"access_count": 3}, 1.6),
        ({"type": "fix", "importance": 1.0, "created": NOW - 10 * DAY}, {"access_count": 1}, 0.7408),
        (
            {"type": "fix", "importance": 1.0, "created": NOW - 99 * DAY},
            {"access_count": 1, "last_accessed": "2026-11-27T10:00:00+00:00"},
            1.0,
        ),
        ({"type": "fix", "importance": 1.0, "created": NOW + 9 * DAY}, {"access_count": 1}, 1.0),
        ({"type": "fix", "importance": 0.1, "pinned": True}, {}, 999.0),
        ({"type": "fix", "importance": 1.0}, {"access_count": "many"}, 0.5),
    ],
)
def test_the_decay_score(values, access, score):
    assert decay_score(memory(**values), access, NOW) == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (0.5, "active"),
        (0.49, "fading"),
        (0.2 - 1e-12, "fading"),
        (0.19, "dormant"),
        (0.05, "dormant"),
        (0.04, "archived"),
    ],
)
def test_the_bands_include_their_lower_end(score, name):
    assert band(score) == name


def test_the_counts_of_core_follow_and_its_day_does_not(store):
    save(store, memory("a"), memory("b", pinned=True))
    store.reindex(now=NOW)
    core = store.root / "CORE.md"
    (before,) = re.findall(r"(?m)^> Last updated: .*", core.read_text())
    (store.root / "a.md").unlink()
    later = NOW + dt.timedelta(days=1)
    assert core.name in Store.open(store.path).reindex(now=later)
    (after,) = re.findall(r"(?m)^> Last updated: .*", core.read_text())
    assert "memories: 2/2" in before and "memories: 1/1" in after
    assert core.name not in Store.open(store.path).reindex(now=later + dt.timedelta(days=1))


EPISODE = Episode(
    "2026-11-27", "10:30", "Chose\ntabs", "decision", ("a", "b"), ("one", "two"),
    "graph/decisions/x-a1b2c3.md",
)  # fmt: skip
SEEDS_PAGE = """# 2025-12-13

## 10:30 - Fixed Discord bot reconnection
- **Type:** fix
- **Tags:** major-domo, discord, python
- **Memory:** [discord-bot-reconnection](../graph/fixes/discord-bot-reconnection-a1b2c3.md)
- **Summary:** Implemented exponential backoff for reconnections

## 11:15 - Chose websocket over polling
- **Type:** decision
- **Tags:** major-domo, architecture
- **Memory:** [websocket-over-polling](../graph/decisions/websocket-over-polling-d4e5f6.md)
- **Summary:** WebSocket provides lower latency for real-time game state updates
"""
WANTED = """# 2026-11-27

## 10:30 - Chose tabs
- **Type:** decision
- **Tags:** a, b
- **Memory:** [x](../graph/decisions/x-a1b2c3.md)
- **Summary:** one
- **Summary:** two
"""


def test_an_episode_is_appended_once(store):
    apply(store, store.append_episodes([EPISODE]))
    file = store.root / "episodes/2026-11-27.md"
    assert file.read_text() == WANTED
    assert store.append_episodes([EPISODE]) is None and store.append_episodes([]) is None
    file.write_text(WANTED + "by hand")
    more = [replace(EPISODE, title="Again"), replace(EPISODE, title="Chose")]
    apply(store, store.append_episodes(more), id="run-2")
    assert file.read_text().startswith(WANTED + "by hand\n\n## 10:30 - Again\n")
    assert file.read_text().count("## 10:30") == 3


def test_the_seed_s_page_is_written_and_read(store):
    entries = [
        Episode(
            "2025-12-13", "10:30", "Fixed Discord bot reconnection", "fix",
            ("major-domo", "discord", "python"),
            ("Implemented exponential backoff for reconnections",),
            "graph/fixes/discord-bot-reconnection-a1b2c3.md",
        ),
        Episode(
            "2025-12-13", "11:15", "Chose websocket over polling", "decision", ("major-domo", "architecture"),
            ("WebSocket provides lower latency for real-time game state updates",),
            "graph/decisions/websocket-over-polling-d4e5f6.md",
        ),
    ]  # fmt: skip
    apply(store, store.append_episodes(entries))
    assert (store.root / "episodes/2025-12-13.md").read_text() == SEEDS_PAGE
    assert diary_day(store.root, "2025-12-13") == entries


def test_an_entry_of_an_earlier_version_tells_its_run(store):
    (store.root / "episodes").mkdir()
    page = WANTED.replace("- **Type:**", "<!-- run:r1 -->\n- **Type:**", 1)
    (store.root / "episodes/2026-11-27.md").write_text(page)
    assert diary_day(store.root, "2026-11-27") == [replace(EPISODE, title="Chose tabs", run="r1")]
    apply(store, store.append_episodes([replace(EPISODE, title="More")]))
    assert (
        (store.root / "episodes/2026-11-27.md").read_text().startswith(page + "\n## 10:30 - More\n- **Type")
    )


@pytest.mark.parametrize("values", [{"day": "../../x"}, {"day": "2026-1-1"}, {"time": "10:30:00"}])
def test_an_episode_needs_a_date_and_a_time(store, values):
    with pytest.raises(StoreError):
        store.append_episodes([replace(EPISODE, **values)])


def test_a_sound_store_has_no_findings(store):
    save(store, memory("a"), memory("b", type="fix"))
    store.reindex(now=NOW)
    assert fsck(store) == []


def test_every_kind_of_fault_is_found(store):
    save(store, memory("a"))
    for path, text in {
        "twin.md": "---\nname: a\nid: same\n---\n",
        "b.md": "---\nid: same\n---\n",
        "broken.md": "---\na: 'b' c\n---\n",
        ".note.md.reverie-tmp-1-abc": "x",
        ".note.md.reverie-tmp-1-0123456789ab": "x",
    }.items():
        (store.root / path).write_text(text)
    os.utime(store.root / "b.md", (1, 1))  # The older one of the two keeps the id.
    (store.root / "b.md").chmod(0o666)
    os.symlink("/etc/hostname", store.root / "link.md")
    lines = "- [Gone](gone.md)\n[web](https://example.org/x)\n" + "x\n" * 200
    (store.root / "MEMORY.md").write_text(lines)
    (store.root / ".reverie/staged/left-0").write_text("x")
    before = {file: file.lstat().st_mtime_ns for file in store.root.rglob("*")}
    assert [(item.path, item.code) for item in fsck(store)] == [
        (".note.md.reverie-tmp-1-0123456789ab", "temp-file"),
        (".note.md.reverie-tmp-1-abc", "temp-file"),
        (".reverie/staged/left-0", "temp-file"),
        ("MEMORY.md", "dangling-link"),
        ("MEMORY.md", "index-size"),
        ("b.md", "mode"),
        ("broken.md", "front-matter"),
        ("link.md", "link"),
        ("twin.md", "duplicate-id"),
        ("twin.md", "duplicate-name"),
    ]
    assert {file: file.lstat().st_mtime_ns for file in store.root.rglob("*")} == before
    # What is swept is none of the person's business; what is only called like that may be theirs.
    left = {item.path: item for item in fsck(store) if item.code == "temp-file"}
    assert [item.level for item in left.values()] == ["note", "error", "note"]
    assert ["reindex" in item.fix for item in left.values()] == [True, False, True]


def test_an_interrupted_change_set_is_found(store):
    save(store, memory("a"))
    (store.root / ".reverie/intent.json").write_text("{}")
    assert [item.code for item in fsck(store)] == ["interrupted"]


@pytest.mark.parametrize(
    ("pid", "age", "running"),
    [
        ("parent", 0, True),
        ("parent", 3_599, True),
        ("parent", 3_601, False),
        *[(pid, 0, False) for pid in ("own", "dead", "", "x" * 999, "0", "-1", "9" * 30)],
    ],
)
def test_the_hosts_lock_counts_while_its_owner_lives(tmp_path, pid, age, running):
    dead = run("import os; print(os.getpid())").stdout.strip() if pid == "dead" else ""
    text = {"parent": str(os.getppid()), "own": str(os.getpid()), "dead": dead}.get(pid, pid)
    (tmp_path / ".consolidate-lock").write_text(text)
    os.utime(tmp_path / ".consolidate-lock", (NOW.timestamp() - age,) * 2)
    assert foreign_dream_running(tmp_path, NOW) is running


def test_no_lock_no_dream(tmp_path):
    assert not foreign_dream_running(tmp_path, NOW)


def test_a_store_without_a_memory_has_no_page_that_claude_code_would_list(store):
    store.reindex(now=NOW, begin=False)
    assert not (store.root / "CORE.md").exists() and not (store.root / "MEMORY.md").exists()
