"""Asking an index as a hook does: without changing it, whoever writes meanwhile, and with few imports."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.hooklib.digests import sha256
from pipeline.search import index_reader
from pipeline.search.fts import SearchIndex
from pipeline.search.rows import Content, SearchRow
from pipeline.text.tokens import terms
from tests.support.bounds import bound
from tests.support.spoilt import garbage, holes, other_version, pipe

ROOT = Path(__file__).resolve().parents[2]
OTTERS = Content("otters", "Otters", "They swim.", ("animals",), "Otters swim in rivers.\n", {"id": "1"})
CRANES = Content("cranes", body="Cranes nest by rivers, and rivers feed them.")
BRIDGE = Content("bridge", description="How to cross rivers.", body="By bridges.")


def row(content, *, digest="1", stamp=(1, 2, 3)):
    return SearchRow(f"{content.name}.md", digest, lambda: content, stamp)


STORE = [row(OTTERS), row(CRANES), row(BRIDGE)]


@pytest.fixture
def index(tmp_path):
    with SearchIndex.open(tmp_path, tmp_path / "store") as opened:
        opened.sync(STORE, folders={"": (4, 5), "vault": (6, 7)}, notes={"store": "here"})
        yield opened


@pytest.fixture
def reader(index):
    with index_reader.Reader(str(index.path)) as opened:
        yield opened


@pytest.mark.parametrize("text", ["rivers", "otters by rivers", "swim", "the", "unheard", "bridge OR cranes"])
def test_it_finds_what_the_index_finds_with_the_same_scores(index, reader, text):
    found = reader.candidates(terms(text), 2)
    assert [(one.path, one.score) for one in found] == index.search(text, 2)


def test_a_candidate_has_all_that_was_kept_of_it(reader):
    (found,) = reader.candidates(["otter"], 5)
    assert (found.path, found.digest, found.stamp) == ("otters.md", "1", (1, 2, 3))
    assert found.fields == ("otter otter", "swim", "animal", "otter swim river", "")
    told = {"id": "1", "name": "otters", "title": "Otters", "description": "They swim.", "tags": ["animals"]}
    assert found.shown == {**told, "body": "Otters swim in rivers.\n", "cut": False, "hand": ""}


def test_rows_come_in_the_order_asked_for_without_those_it_does_not_know(reader):
    found = reader.rows(["cranes.md", "gone.md", "half\udcff.md", "otters.md"])
    assert [(one.path, one.score) for one in found] == [("cranes.md", 0.0), ("otters.md", 0.0)]


def test_more_rows_than_one_statement_takes(index):
    index.sync([row(Content(f"m{n}", body="word")) for n in range(1_200)])
    with index_reader.Reader(str(index.path)) as reader:
        assert len(reader.rows([f"m{n}.md" for n in range(1_200)])) == 1_200
        assert len(reader.candidates(["word"], 1_100)) == 1_100


def test_it_tells_what_it_was_made_from(reader):
    assert reader.all_paths() == dict.fromkeys(("otters.md", "cranes.md", "bridge.md"), (1, 2, 3))
    assert reader.folders() == {"": (4, 5), "vault": (6, 7)}
    assert (reader.count(), reader.document_count("river"), reader.document_count("the")) == (3, 3, 0)
    assert reader.notes() == {"store": "here"}


def test_a_row_of_no_json_is_an_error_of_the_index(index):
    with closing(sqlite3.connect(index.path)) as writer, writer:
        writer.execute("UPDATE documents SET shown = '{'")
    writer.close()
    with (
        index_reader.Reader(str(index.path)) as reader,
        pytest.raises(index_reader.NoIndexError, match=r"otters\.md"),
    ):
        reader.rows(["otters.md"])[0].shown  # noqa: B018


def _empty(file):
    file.write_bytes(b"")


def _folder(file):
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("spoil", [garbage, other_version, holes, _empty, _folder, pipe, Path.unlink])
def test_what_can_not_be_asked_is_no_index(tmp_path, spoil):
    with SearchIndex.open(tmp_path, tmp_path) as index:
        index.sync(STORE)
    spoil(index.path)
    there = index.path.exists()
    with pytest.raises(index_reader.NoIndexError, match=index.path.name):
        index_reader.Reader(str(index.path)).candidates(["river"], 5)
    assert index.path.exists() == there


def test_one_that_is_closed_is_asked_nothing(reader):
    reader.close()
    for ask_it in (reader.count, reader.folders, reader.all_paths, lambda: reader.rows(["otters.md"])):
        with pytest.raises(index_reader.NoIndexError, match="closed"):
            ask_it()


def test_it_goes_on_while_another_process_writes_and_sees_one_moment(index, reader):
    assert reader.count() == 3
    index.sync([row(OTTERS)])
    with closing(sqlite3.connect(index.path, isolation_level=None)) as writer, writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("DELETE FROM documents")
        with index_reader.Reader(str(index.path)) as later:
            assert (later.count(), reader.count()) == (1, 3)
            assert len(later.candidates(["river"], 5)) == 1
        writer.execute("ROLLBACK")
    writer.close()


def test_asking_leaves_file_and_log_as_a_dead_writer_left_them(index, tmp_path):
    (tmp_path / "dead").mkdir()
    dead = [tmp_path / "dead" / f"index{suffix}" for suffix in ("", "-wal")]
    for file in dead:
        shutil.copy(f"{index.path}{file.name.removeprefix('index')}", file)
    before = [file.read_bytes() for file in dead]
    with index_reader.Reader(str(dead[0])) as reader:
        assert reader.count() == 3
    assert [file.read_bytes() for file in dead] == before
    assert len(before[1]) > 0


READ = """
import sys
sys.path.append(sys.argv[1])
from pipeline.search import index_reader
with index_reader.Reader(sys.argv[2]) as reader:
    print([row.path for row in reader.candidates(["otter"], 5)])
"""


@pytest.mark.parametrize("at_rest", [True, False], ids=["at rest", "while it is open elsewhere"])
def test_it_reads_where_nothing_can_be_written(index, at_rest):
    if at_rest:
        index.close()
    os.chmod(index.path.parent, 0o500)
    try:
        command = [*bound(), sys.executable, "-I", "-S", "-c", READ, str(ROOT), str(index.path)]
        done = subprocess.run(command, capture_output=True, text=True)
    finally:
        os.chmod(index.path.parent, 0o700)
    assert (done.stdout, done.stderr) == ("['otters.md']\n", "")


LOADED = """
import sys
before = set(sys.modules)
sys.path.append(sys.argv[1])
from pipeline.search import index_reader
from pipeline.text import tokens
with index_reader.Reader(sys.argv[2]) as reader:
    assert [row.shown["id"] for row in reader.candidates(tokens.terms("Who swims? otters"), 5)] == ["1"]
print(*sorted(set(sys.modules) - before))
"""
HEAVY = {
    *("json", "pathlib", "typing", "dataclasses", "contextlib", "logging", "hashlib", "tempfile", "sqlite3"),
    *("datetime", "subprocess", "tomllib", "asyncio", "inspect", "urllib", "__future__"),
}
OURS = {
    *("pipeline", "pipeline.hooklib", "pipeline.hooklib.digests", "pipeline.hooklib.home_files"),
    *("pipeline.hooklib.jsonish", "pipeline.hooklib.plain"),
    *("pipeline.search", "pipeline.search.index_reader"),
    *("pipeline.text", "pipeline.text.scripts", "pipeline.text.tokens"),
}


def test_asking_imports_next_to_nothing(index):
    command = [sys.executable, "-I", "-S", "-c", LOADED, str(ROOT), str(index.path)]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("pipeline")} == OURS


@pytest.mark.parametrize("name", ["a b", "50%", "what?", "x#y", "a&mode=rw", "日本", "'\"", b"latin-\xe9"])
def test_any_name_of_a_home_can_be_opened(tmp_path, name):
    home = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), os.fsencode(name))))
    file = Path(index_reader.index_path(str(home), "/store"))
    file.parent.mkdir(parents=True)
    with SearchIndex.open(tmp_path, Path("/store")) as index:
        index.sync(STORE)
    index.path.rename(file)
    with index_reader.Reader(str(file)) as reader:
        assert reader.count() == 3
    beside = {path.name.removeprefix(file.name) for path in file.parent.iterdir()}
    assert beside <= {"", "-wal", "-shm"}
    assert {path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {0o600}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/x.sqlite", "file:/home/x.sqlite?mode=ro"),
        ("C:/home/x.sqlite", "file:/C:/home/x.sqlite?mode=ro"),
        ("/a?b#c%d e", "file:/a%3fb%23c%25d%20e?mode=ro"),
    ],
)
def test_uris(file, expected):
    assert index_reader.uri(file, "mode=ro") == expected


@given(st.binary(max_size=200))
def test_the_small_module_makes_the_same_digests(raw):
    import hashlib

    assert sha256(raw) == hashlib.sha256(raw).hexdigest()
