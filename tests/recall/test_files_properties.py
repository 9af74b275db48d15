"""What the hook makes of a store's files is what the store makes of them, or less."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.hooklib.memory_format import split_front_matter
from pipeline.recall.live import store_files
from pipeline.store import Snapshot, is_retired
from pipeline.store.files import document
from pipeline.store.files.layout import memory_files
from pipeline.store.files.scanning import read_into

FOLDERS = ["", "vault/", "graph/", "graph/fixes/", "graph/edges/", "archive/", "notes/", ".reverie/"]
NAMES = ["a.md", "README.md", "readme.md", "MEMORY.md", "Core.md", ".x.md", "b-abc123.md", "日本.md", "d.MD"]
LINES = [
    *("---", "----", "", "# Heading", "prose", "**Why:** so"),
    *("name: plain", "name: A Title", "name: über", "name: Upper", "name: 'it''s'", "name:"),
    *('name: "two words"', "title: Given", "id: abc123def", "description: what it says", "tags: [a, b]"),
    *("archived: yes", "archived: false", "status: superseded", "status: live"),
    *("metadata:\n  type: user", "metadata:\n  name: below\n  id: fed321cba"),
]


def texts(lines):
    """Texts of `lines`, most of them with fences in front, with either line end."""
    chosen = st.lists(st.sampled_from(lines), max_size=8, unique_by=lambda line: line.partition(":")[0])
    ends = (st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"]))
    return st.builds(
        lambda front, body, fenced, newline, end: (
            "\n".join([*(["---", *front, "---"] if fenced else front), *body]).replace("\n", newline) + end
        ),
        chosen, chosen, st.booleans(), *ends,
    )  # fmt: skip


marked = st.builds(lambda mark, text: mark + text, st.sampled_from(["", "\ufeff"]), texts(LINES))
stores = st.dictionaries(
    st.tuples(st.sampled_from(FOLDERS), st.sampled_from(NAMES)).map("".join), marked, max_size=6
)


def lay_out(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


@settings(max_examples=150)
@given(files=stores)
def test_what_a_hook_describes_is_part_of_what_the_store_holds(tmp_path_factory, files):
    root = tmp_path_factory.mktemp("store")
    lay_out(root, files)
    listed = store_files.listing(str(root))
    assert listed == {path: (s.size, s.mtime_ns, s.ctime_ns) for path, s in memory_files(root, [])}
    snapshot = Snapshot()
    for path, stamp in memory_files(root, []):
        read_into(snapshot, root, path, stamp)
    documents = {item.path: item for item in snapshot.documents}
    assert {*listed} == {*documents, *snapshot.broken}
    for path, item in documents.items():
        found = store_files.read(str(root), path, False)
        assert (found is None) is is_retired(item.front)
        if found is not None:
            shown, memory = found.shown, item.memory
            assert (shown["name"], shown["title"], shown["id"]) == (memory.name, memory.title, memory.id)
            assert (shown["body"], found.digest) == (memory.body[: store_files.MOST_BODY], item.digest)


@given(text=texts([*LINES, "--- ", " ---"]))
def test_what_is_split_is_joined_again(text):
    front, body = split_front_matter(text)
    parts = document.split(text.encode())
    assert (parts.front, parts.body) == (front, body)
    assert parts.join() == text.encode()
    if front is not None:
        assert parts.opening.rstrip("\r\n ") == parts.closing.rstrip("\r\n ") == "---"


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\na: 1\n---\nbody", "a: 1\n", "body"),
        ("---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body"),
        ("---\n---", "", ""),
        ("---\na: 1\n----\n---\n", "a: 1\n----\n", ""),
        ("--- \na: 1\n---\t\r\nbody", "a: 1\n", "body"),
        ("----\na: 1\n---\n", None, "----\na: 1\n---\n"),
        (" ---\n---\n", None, " ---\n---\n"),
        ("", None, ""),
    ],
)
def test_where_front_matter_ends(text, front, body):
    assert split_front_matter(text) == (front, body)
