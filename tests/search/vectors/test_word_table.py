"""Nearness in meaning without a model: the table the worker makes, and what a hook reads from it."""

import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from pipeline.core.errors import SearchError
from pipeline.search.fts import SearchIndex
from pipeline.search.meaning import LARGEST, NUMBERS, WordTable, nearness, words_file, words_of
from pipeline.search.rows import Content, SearchRow
from pipeline.search.vectors import word_table
from pipeline.search.vectors.embedded import has_wordllama

ROOT = Path(__file__).resolve().parents[3]
needs_model = pytest.mark.skipif(not has_wordllama(), reason="the extra `semantic` is not installed")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = tmp_path_factory.mktemp("words")
    word_table.make(made)
    return made


@pytest.fixture
def table(home):
    opened = WordTable(str(home))
    yield opened
    opened.close()


@needs_model
def test_texts_of_one_meaning_are_nearer_than_others(table):
    ship = table.vector("Ship the new release to the staging server")
    deploy = table.vector("deploying a version onto the test machine")
    assert nearness(ship, deploy) > nearness(ship, table.vector("a recipe for rye bread")) + 0.1
    assert nearness(ship, ship) == pytest.approx(1.0)


@needs_model
def test_a_word_that_the_table_lacks_is_made_of_its_pieces(table):
    assert len(table.vector("kubectlization")) == NUMBERS
    near = nearness(table.vector("stagings"), table.vector("staging"))
    assert near > nearness(table.vector("stagings"), table.vector("bread"))


@needs_model
@pytest.mark.parametrize("text", ["", "the of and", "42 7 !", "文字化け", "\ud800"])
def test_a_text_without_known_words_has_none_or_a_whole_vector(table, text):
    assert len(table.vector(text)) in (0, NUMBERS)


def test_no_table_means_no_vectors(tmp_path):
    for home in (None, str(tmp_path)):
        table = WordTable(home)
        assert (table.vector("deploy"), table.made_by) == (b"", "")
        table.close()
    assert nearness(b"", b"\x01" * NUMBERS) == 0.0 == nearness(b"\x00" * NUMBERS, b"\x01" * NUMBERS)


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 500])
def test_a_table_that_cannot_be_read_is_none_and_is_made_anew(tmp_path, damage):
    file = tmp_path / "search" / "words.db"
    file.parent.mkdir()
    file.write_bytes(damage)
    table = WordTable(str(tmp_path))
    assert (table.vector("deploy"), table.made_by) == (b"", "")
    assert word_table.is_due(tmp_path) == has_wordllama()


def test_one_of_another_version_is_none(tmp_path):
    file = tmp_path / "search" / "words.db"
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE made (made_by TEXT)")
        connection.execute("INSERT INTO made VALUES ('another')")
        connection.execute("PRAGMA user_version = 999")
    assert WordTable(str(tmp_path)).made_by == ""


@needs_model
def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path):
    (tmp_path / "search").write_text("in the way")
    with pytest.raises(SearchError) as raised:
        word_table.make(tmp_path)
    assert "words.db" in str(raised.value.file)
    assert [path.name for path in tmp_path.iterdir()] == ["search"]


def test_words_are_told_once_in_lower_case_without_small_ones():
    assert words_of("The Deploy, the DEPLOY and a release2go") == ["deploy", "release", "go"]


TEXTS = ("ship the release to staging", "bake rye bread", "tabs, no spaces")


def content(number):
    return Content(f"m{number}", description=TEXTS[number])


def rows():
    return [SearchRow(f"{number}.md", "1", partial(content, number)) for number in range(3)]


def vectors(home, store):
    with SearchIndex.open(home, store) as index, sqlite3.connect(index.path) as connection:
        return [len(one) for (one,) in connection.execute("SELECT vector FROM documents ORDER BY path")]


@needs_model
def test_memories_get_their_vectors_when_the_table_comes_and_lose_them_with_it(tmp_path, home):
    mine, store = tmp_path / "home", tmp_path / "store"
    with SearchIndex.open(mine, store) as index:
        assert index.sync(rows()) == 3
    assert vectors(mine, store) == [0, 0, 0]
    file = mine / "search" / "words.db"
    file.write_bytes((home / "search" / "words.db").read_bytes())
    with SearchIndex.open(mine, store) as index:
        index.sync(rows())
        assert index.sync(rows()) == 0
    assert vectors(mine, store) == [NUMBERS] * 3
    file.unlink()
    with SearchIndex.open(mine, store) as index:
        index.sync(rows())
    assert vectors(mine, store) == [0, 0, 0]


def test_asking_the_table_imports_next_to_nothing(tmp_path):
    code = (
        "import sys; sys.path.append(sys.argv[1]); before = set(sys.modules)\n"
        "from pipeline.search.meaning import WordTable\n"
        "WordTable(sys.argv[2]).vector('deploy')\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT), str(tmp_path)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert not {"json", "pathlib", "sqlite3", "numpy", "wordllama", "typing"} & set(loaded)


@needs_model
def test_a_piece_is_so_many_signed_bytes(home):
    with sqlite3.connect(words_file(str(home))) as connection:
        numbers = [one for (one,) in connection.execute("SELECT numbers FROM pieces LIMIT 500")]
    assert {len(one) for one in numbers} == {NUMBERS}
    assert max(max(memoryview(one).cast("b")) for one in numbers) <= LARGEST
