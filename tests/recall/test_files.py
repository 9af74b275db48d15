"""Looking at files: the store's own rules about which, and its own reading of what, as far as a hook goes."""

import os
from pathlib import Path

import pytest

from pipeline.core.ids import digest
from pipeline.domain.memory import Evidence
from pipeline.hooklib.memory_format import MAX_FILE, decoded
from pipeline.recall.live import store_files
from pipeline.store import is_retired
from pipeline.store.files import document
from pipeline.store.files.layout import memory_files
from tests.support.stores import memory

PLAIN = b"Just a note.\n"


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(PLAIN)


@pytest.fixture
def odd_store(tmp_path):
    """A store with everything in it that is no memory."""
    root = tmp_path / "store"
    make(root, "a.md", "B c.md", "日本.md", "vault/v.md", "graph/fixes/f.md", "vault/readme.md")
    make(root, "MEMORY.md", "Readme.MD", "readme.md", "x.txt", ".hidden.md", "notes/n.md", "graph/g.md")
    make(root, "graph/edges/e.md", "graph/.x/y.md", "archive/2026/old.md", "episodes/e.md", ".reverie/p.md")
    (root / "graph" / "fixes" / "link.md").symlink_to(root / "a.md")
    (root / "link.md").symlink_to(root / "a.md")
    (root / "graph" / "linked").symlink_to(root / "notes")
    (root / "folder.md").mkdir()
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"bad\xff.md")).write_bytes(PLAIN)
    return root


def test_the_listing_is_that_of_the_store(odd_store):
    expected = {path: (s.size, s.mtime_ns, s.ctime_ns) for path, s in memory_files(odd_store, [])}
    assert store_files.listing(str(odd_store)) == expected
    assert set(store_files.listing(str(odd_store), stamps=False)) == set(expected)
    assert {path: store_files.stamp_of(str(odd_store), path) for path in expected} == expected


@pytest.mark.parametrize("folder", ["vault", "graph"])
def test_a_linked_folder_is_not_entered(tmp_path, folder):
    make(tmp_path, "else/x.md", "store/a.md")
    (tmp_path / "store" / folder).symlink_to(tmp_path / "else")
    assert set(store_files.listing(str(tmp_path / "store"))) == {"a.md"}
    assert store_files.folder_stamp(str(tmp_path / "store"), folder) is None


def test_a_store_that_is_not_there_holds_nothing(tmp_path):
    assert store_files.listing(str(tmp_path / "none")) == {}
    assert store_files.stamp_of(str(tmp_path), "none.md") is None
    assert store_files.folder_stamp(str(tmp_path), "none") is None


WRITTEN = memory(
    "uses-ship",
    description='Deploy with "make ship": never by hand # really',
    type="decision",
    title="Ship: it's the way",
    body="Deploy with make ship.\n**Why:** drift.\n",
    tags=("ops", "deploy"),
    importance=0.7,
    anchors=("src/x.py", "https://example.org/a,b"),
    sources=(
        Evidence(session="s-1", uuid="u", quote="use: it, at: 2030-01-01", at="2026-05-01T10:00:00+00:00"),
        Evidence(session="s-2", uuid="v", quote="again", at="2026-06-01T10:00:00+00:00"),
    ),
)


def test_a_file_of_ours_is_understood():
    shown = store_files.describe(document.compose(WRITTEN).decode(), "graph/decisions/uses-ship-abc123.md")
    for key in ("id", "name", "title", "type", "description", "origin", "importance", "pinned", "body"):
        assert shown[key] == getattr(WRITTEN, key), key
    assert shown["tags"] == list(WRITTEN.tags)
    assert shown["anchors"][0] == "src/x.py"
    assert {"s-1", "s-2"} <= set(shown["sessions"])
    assert shown["said"] == "2026-06-01T10:00:00+00:00"


OTHERS = [
    ("Just text\n", {"name": "stem", "description": "", "body": "Just text\n", "type": ""}),
    ("---\nno end\n", {"name": "stem", "body": "---\nno end\n"}),
    ("---\n- a list\n---\nbody\n", {"name": "stem", "body": "---\n- a list\n---\nbody\n"}),
    ("\ufeff---\r\nname: x\r\n---\r\nbody\r\n", {"name": "x", "body": "body\r\n"}),
    ("---\nname: A Title\ntags: 'it''s'\n---\n", {"name": "stem", "title": "A Title", "tags": ["it's"]}),
    (
        "---\nname: x\nmetadata:\n  type: user\n  modified: 2026-01-02\n---\n",
        {"type": "user", "said": "2026-01-02"},
    ),
    ("---\nname: x\nmetadata: {type: feedback}\n---\n", {"type": "feedback"}),
    ("---\nname: x\ndescription: >-\n  two\n  lines\n---\n", {"description": "two lines"}),
    ("---\nname: x\ntags:\n  - a\n  - b\n---\n", {"tags": ["a", "b"]}),
    ("---\nname: x\nimportance: high\npinned: yes\n---\n", {"importance": 0.8, "pinned": True}),
    ("---\nname: x\nupdated: soon\ncreated: 2026-01-02\n---\n", {"said": "2026-01-02"}),
]


@pytest.mark.parametrize(("text", "expected"), OTHERS)
def test_front_matter_of_others_is_read_as_far_as_it_goes(text, expected):
    shown = store_files.describe(decoded(text.encode()), "stem.md")
    assert {key: shown[key] for key in expected} == expected


WORDS = ["10:00", "012", "0x1F", "1_000", "True", "1.0", "1.50", "~", "null", ".inf", "=", "<<", "2026-01-02"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("tags", ["[{}, x]", "\n- {}\n- x"], ids=["in a row", "one a line"])
def test_words_are_read_as_they_are_written_by_hooks_and_store(word, tags):
    tags = tags.format(word)
    text = f"---\nname: {word}\ndescription: {word}\ntags: {tags}\naliases: {tags}\n---\nBody.\n"
    shown = store_files.describe(text, "stem.md")
    read = document.parse(text.encode(), "stem.md")
    for name, title in ((shown["name"], shown["title"]), (read.name, read.title)):
        assert word in (name, title)
    assert (shown["name"], shown["title"]) == (read.name, read.title)
    assert shown["description"] == read.description == word
    assert shown["tags"] == [*read.tags] == [*read.aliases] == [word, "x"]


def test_a_value_left_empty_is_nothing_to_hooks_and_store():
    text = "---\nname:\ndescription:\nid: null\ntitle: ~\ntags: null\nmetadata: {name: 012}\n---\nBody.\n"
    shown = store_files.describe(text, "stem.md")
    read = document.parse(text.encode(), "stem.md")
    assert (read.name, read.title, read.id, read.tags, read.description) == ("012", "", "", (), "Body.")
    assert (shown["name"], shown["title"], shown["id"], shown["tags"]) == ("012", "", "", [])


@pytest.mark.parametrize(
    "front", ["status: superseded", "status: Archived", "archived: true", "archived: Yes"]
)
def test_what_says_that_it_is_retired_is_no_memory(front):
    assert store_files.describe(f"---\nname: x\n{front}\n---\nbody", "x.md") == {}
    assert is_retired(dict([front.split(": ")]))


def test_a_file_read_has_the_stores_digest_and_stamp(tmp_path):
    raw = document.compose(WRITTEN)
    (tmp_path / "x.md").write_bytes(raw)
    found = store_files.read(str(tmp_path), "x.md", False)
    assert (found.digest, found.stamp) == (digest(raw), store_files.stamp_of(str(tmp_path), "x.md"))
    assert "ship" in found.fields[0].split() and "drift" in found.fields[3].split()


def test_what_can_not_be_read_is_none_and_nothing_waits(odd_store, tmp_path):
    (odd_store / "big.md").write_bytes(b"x" * (MAX_FILE + 1))
    for path in ("link.md", "folder.md", "pipe.md", "gone.md", "big.md", "nul\0.md"):
        assert store_files.read(str(odd_store), path, False) is None, path


def test_of_a_large_file_the_start_is_read(tmp_path):
    (tmp_path / "x.md").write_bytes(b"start\n" + b"word " * 300_000)
    found = store_files.read(str(tmp_path), "x.md", False)
    assert len(found.shown["body"]) == store_files.MOST_BODY and found.shown["cut"]


def test_what_a_person_dictated_was_said_when_the_file_was_made() -> None:
    front = "created: '2026-11-10T09:00:00+00:00'\nupdated: '2026-11-15T09:00:00+00:00'\n"
    for origin, day in (("hand-written", "2026-11-10"), ("user-stated", "2026-11-15")):
        assert store_files.describe(f"---\n{front}origin: {origin}\n---\nx\n", "a.md")["said"].startswith(day)
