"""The search index: what it finds, that it follows the files, and that it can always be thrown away."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import ConflictError, SearchError
from pipeline.search.fts import SearchIndex, index_file
from pipeline.search.index_reader import Reader
from pipeline.search.rows import NO_STAMP, Content, SearchRow
from pipeline.text import stems
from pipeline.text.tokens import terms
from tests.support.spoilt import garbage, holes, other_version, pipe


def row(path, body="", *, digest="1", name="", title="", description="", tags=(), stamp=None):
    def content():
        text = body if isinstance(body, str) else body()
        return Content(name or path.removesuffix(".md"), title, description, tags, text)

    return SearchRow(path, digest, content, stamp)


def whole(memory):
    content = memory.content()
    return "\n".join((content.name, content.title, content.description, content.body))


PNPM = row("pnpm.md", "Use pnpm for installs.", description="The package manager is pnpm, not npm.")
NPM = row("npm.md", "npm installs what package.json says.", description="npm is the package manager.")
KEYS = row("keys.md", "デプロイの前にテストを実行し、本番の鍵は使わない。", title="デプロイ手順")
SNOW = row("snow.md", "It snows in winter.", tags=("weather",))
STORE = (PNPM, NPM, KEYS, SNOW)


@pytest.fixture
def index(tmp_path):
    with SearchIndex.open(tmp_path / "home", tmp_path / "store") as opened:
        opened.sync(STORE)
        yield opened


def paths(found):
    return [path for path, _ in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("which package manager?", ["npm.md", "pnpm.md"]),
        ("pnpm", ["pnpm.md"]),
        ("テスト", ["keys.md"]),
        ("手順", ["keys.md"]),
        ("鍵", ["keys.md"]),
        ("順", ["keys.md"]),
        ("WEATHER", ["snow.md"]),
        ("winters", ["snow.md"]),
        ("the of what is it?", []),
        ("unheard", []),
        ("", []),
    ],
)
def test_words_find_their_memories(index, text, expected):
    assert sorted(paths(index.search(text, 5))) == expected


@pytest.mark.parametrize(
    "text", ['"', 'pnpm" OR "npm', "pnpm NEAR(* a:b", "NOT pnpm", "pnpm*", "\x00pnpm", "^pnpm"]
)
def test_query_syntax_in_a_text_is_only_text(index, text):
    assert set(paths(index.search(text, 5))) <= {"pnpm.md", "npm.md"}


def test_names_weigh_more_than_bodies(index):
    index.sync(
        [row("body.md", "otters, otters"), row("other.md", "x"), row("name.md", "swim", name="otters"), SNOW]
    )
    assert paths(index.search("otters", 5)) == ["name.md", "body.md"]


def test_equal_memories_stand_in_path_order_whatever_the_order_they_came_in(index):
    index.sync([row(path, "otters") for path in ("c", "a", "b")] + [SNOW, NPM, PNPM, KEYS])
    assert paths(index.search("otters", 2)) == ["a", "b"]


def test_neighbours_are_those_of_like_words_itself_first(index):
    found = index.neighbours(whole(PNPM), 5)
    assert found[0] == ("pnpm.md", 1.0)
    assert paths(found) == ["pnpm.md", "npm.md"]
    assert 0.2 < found[1][1] < 0.9


def test_a_memory_in_any_script_is_wholly_like_itself(index):
    assert index.neighbours(whole(KEYS), 1) == [("keys.md", 1.0)]


def test_likeness_is_mutual_and_a_part_is_not_the_whole(index):
    few, many = "otters swim", "otters swim fast upstream while cranes nest beside quiet ponds"
    index.sync([row("few.md", few, name="-"), row("many.md", many, name="-"), SNOW])
    there, back = dict(index.neighbours(few, 2))["many.md"], dict(index.neighbours(many, 2))["few.md"]
    assert there == back
    assert 0.1 < there < 0.6


def test_a_likeness_hardly_changes_as_the_store_grows(index):
    text = whole(PNPM)
    before = dict(index.neighbours(text, 5))["npm.md"]
    index.sync([*STORE, *(row(f"{n}.md", f"filler{n} words{n % 7}") for n in range(500))])
    assert dict(index.neighbours(text, 5))["npm.md"] == pytest.approx(before, abs=0.15)


def test_words_that_are_everywhere_do_not_widen_the_search(index):
    common = [row(f"{n}.md", "common") for n in range(1_100)]
    index.sync([*common, row("rare.md", "common otter")])
    assert paths(index.search("common otter", 5)) == ["rare.md"]
    assert len(index.search("common", 5)) == 5


def test_only_new_digests_are_read(index):
    read = []

    def body():
        read.append(1)
        return "otters"

    assert index.sync([row("a.md", body), *STORE]) == 1
    assert index.sync([row("a.md", body), *STORE]) == 0
    assert len(read) == 1
    assert index.sync([row("a.md", "cranes", digest="2"), *STORE]) == 1
    assert (paths(index.search("cranes", 5)), index.search("otters", 5)) == (["a.md"], [])


def test_what_left_the_store_leaves_the_index(index):
    assert index.sync([SNOW]) == 3
    assert index.search("pnpm", 5) == []
    assert paths(index.search("snow", 5)) == ["snow.md"]


@pytest.mark.parametrize("error", [ConflictError("changed"), FileNotFoundError("gone")])
def test_a_body_that_can_not_be_read_leaves_the_index_as_it_was(index, error):
    def body():
        raise error

    with pytest.raises(type(error)):
        index.sync([row("new.md", "otters"), row("z.md", body)])
    assert (index.search("otters", 5), paths(index.search("snow", 5))) == ([], ["snow.md"])
    assert index.sync(STORE) == 0


def stamps(index):
    with Reader(str(index.path)) as reader:
        return reader.all_paths()


@pytest.mark.parametrize(
    ("digest", "stamp", "kept"),
    [
        ("1", (2, 2, 2), (2, 2, 2)),
        ("1", None, (1, 1, 1)),
        ("1", NO_STAMP, NO_STAMP),
        ("2", (2, 2, 2), (2, 2, 2)),
        ("2", None, NO_STAMP),
    ],
)
def test_a_stamp_is_that_of_the_bytes_that_were_read(index, digest, stamp, kept):
    index.sync([row("a.md", "otters", stamp=(1, 1, 1))])
    assert index.sync([row("a.md", "otters", digest=digest, stamp=stamp)]) == int(digest == "2")
    assert stamps(index) == {"a.md": kept}


@pytest.mark.parametrize(
    ("later", "kept"), [(None, {"": (1, 2)}), ({}, {}), ({"": (3, 4), "vault": (5, 6)},) * 2]
)
def test_folders_stay_until_they_are_looked_at_anew(index, later, kept):
    index.sync(STORE, folders={"": (1, 2)})
    index.sync(STORE, folders=later)
    with Reader(str(index.path)) as reader:
        assert reader.folders() == kept


def test_one_that_is_built_anew_reads_everything_again(index):
    index.rebuild()
    assert (index.search("snow", 5), index.sync(STORE)) == ([], len(STORE))
    assert paths(index.search("snow", 5)) == ["snow.md"]


def test_asking_again_after_a_change_counts_again(index):
    assert len(index.search("pnpm", 5)) == 1
    index.sync([*STORE, *(row(f"{n}.md", "pnpm", name="-") for n in range(3))])
    assert len(index.search("pnpm", 5)) == 4


@pytest.mark.parametrize(
    ("body", "shown", "cut"),
    [
        ("", "", False),
        ("x\n" * 200, "x\n" * 199 + "x", False),
        ("x\n" * 201, "x\n" * 199 + "x", True),
        ("x\n" * 199 + "x", "x\n" * 199 + "x", False),
        ("x" * 4096, "x" * 4096, False),
        ("x" * 4097, "x" * 4096, True),
        ("x" + "é" * 3000, "x" + "é" * 2047, True),
        ("日" * 2000, "日" * 1365, True),
        ("half \ud800 pair", "half \ufffd pair", False),
    ],
)
def test_what_is_shown_of_a_body_has_a_bound_and_ends_with_a_character(index, body, shown, cut):
    index.sync([row("a.md", body)])
    with Reader(str(index.path)) as reader:
        told = reader.rows(["a.md"])[0].shown
    assert (told["body"], told["cut"]) == (shown, cut)


VERSIONS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.lists(st.sampled_from(["otter", "crane", "鍵", "v1.2"]), max_size=4),
    max_size=6,
)


@given(history=st.lists(VERSIONS, min_size=1, max_size=4))
@settings(max_examples=30)
def test_any_history_of_syncs_answers_as_a_fresh_index_of_the_last_does(history, tmp_path_factory):
    home = tmp_path_factory.mktemp("index")
    with SearchIndex.open(home, Path("/grown")) as grown, SearchIndex.open(home, Path("/fresh")) as fresh:
        for version in history:
            rows = [row(path, " ".join(words), digest=repr(words)) for path, words in version.items()]
            grown.sync(rows)
        fresh.sync(reversed(rows))
        for text in ("otter", "crane 鍵", "1.2 otter"):
            assert grown.search(text, 9) == fresh.search(text, 9)
            assert grown.neighbours(text, 9) == fresh.neighbours(text, 9)


def _gone(file):
    file.unlink()


def _link(file):
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


@pytest.mark.parametrize("spoil", [garbage, other_version, holes, _gone, pipe, _link])
def test_a_spoilt_index_is_built_anew(tmp_path, spoil):
    with SearchIndex.open(tmp_path, tmp_path) as index:
        index.sync(STORE)
    spoil(index.path)
    with SearchIndex.open(tmp_path, tmp_path) as index:
        assert index.sync(STORE) == len(STORE)
        assert paths(index.search("snow", 5)) == ["snow.md"]


def test_asking_a_damaged_index_is_an_error_that_says_what_to_do(tmp_path):
    with SearchIndex.open(tmp_path, tmp_path) as index:
        index.sync(STORE)
    holes(index.path)
    with SearchIndex.open(tmp_path, tmp_path) as index, pytest.raises(SearchError) as caught:
        index.search("snow", 5)
    assert caught.value.file == str(index.path)
    assert "delete the file" in caught.value.fix


def test_a_place_that_can_not_be_used_is_an_error(tmp_path):
    (tmp_path / "search").write_text("a file in the way")
    with pytest.raises(SearchError, match="search"):
        SearchIndex.open(tmp_path, tmp_path)


def test_the_file_is_private(index):
    assert stat.S_IMODE(index.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(index.path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in index.path.parent.iterdir()} == {0o600}


def test_each_store_has_its_own_file_and_a_link_to_it_the_same(tmp_path):
    store, link = tmp_path / "store", tmp_path / "link"
    store.mkdir()
    link.symlink_to(store)
    assert index_file(tmp_path, store) == index_file(tmp_path, link) != index_file(tmp_path, tmp_path)


def test_a_reader_goes_on_while_another_process_writes(index):
    with closing(sqlite3.connect(index.path, isolation_level=None)) as writer, writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("DELETE FROM documents")
        assert paths(index.search("snow", 5)) == ["snow.md"]
        writer.execute("ROLLBACK")
    writer.close()


def test_a_change_by_another_process_is_seen(index):
    assert index.search("otters", 5) == []
    with SearchIndex.open(index.path.parent.parent, index.path.parent.parent.parent / "store") as other:
        other.sync([row("a.md", "otters")])
    assert paths(index.search("otters", 5)) == ["a.md"]


SYNC = """
import sys
from pathlib import Path
from pipeline.search.fts import SearchIndex
from pipeline.search.rows import Content, SearchRow
sys.stdin.readline()
with SearchIndex.open(Path(sys.argv[1]), Path("/s")) as index:
    index.sync(
        SearchRow(f"{n}.md", "1", lambda n=n: Content("m", body=f"otter word{n}")) for n in range(300)
    )
    print(len(index.search("otter", 500)))
"""


def test_processes_that_build_it_at_once_do_not_harm_each_other(tmp_path):
    command = [sys.executable, "-c", SYNC, str(tmp_path)]
    pipes: Any = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "env": os.environ,
    }
    running = [subprocess.Popen(command, **pipes) for _ in range(4)]
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in running] == ["300\n"] * 4


# -- stems of other languages -----------------------------------------------------------------------

BACKUPS = row("backups.md", "Sie liegen im Keller.", description="Die Sicherungskopien sind verschlüsselt.")
PASSWORDS = row("passwords.md", "Их меняют раз в год.", description="Пароли хранятся в сейфе.")


def test_an_inflected_word_finds_its_memory_by_a_stem(index):
    index.sync([*STORE, BACKUPS, PASSWORDS])
    with Reader(str(index.path)) as reader:
        assert {"de", "ru"} <= reader.languages()
        for text, path in (("Sicherungskopie", "backups.md"), ("паролей", "passwords.md")):
            forms, _ = stems.asked(text, reader.languages())
            assert [found.path for found in reader.candidates(terms(text), 5, forms)] == [path]
            term = terms(text)[0]
            assert reader.document_count(term, forms[term]) == 1
            assert reader.candidates(terms(text), 5) == []


def test_neighbours_know_nothing_of_stems(index):
    index.sync([*STORE, BACKUPS])
    assert index.neighbours("Sicherungskopie", 5) == index.search("Sicherungskopie", 5) == []


def test_an_index_of_english_has_no_languages(index):
    index.sync([PNPM, NPM, SNOW])
    with Reader(str(index.path)) as reader:
        assert reader.languages() == frozenset()


def test_languages_go_with_their_last_memory(index):
    index.sync([*STORE, PASSWORDS])
    index.sync(STORE)
    with Reader(str(index.path)) as reader:
        assert reader.languages() == frozenset()
    with closing(sqlite3.connect(index.path)) as connection:
        assert connection.execute("SELECT count(*) FROM stems").fetchone() == (0,)


@pytest.mark.parametrize("floor", [0.05, 0.2, 0.5, 0.99])
def test_a_floor_leaves_out_what_is_less_alike_and_nothing_else(index, floor):
    for held in STORE:
        every = index.neighbours(whole(held), 9)
        assert index.neighbours(whole(held), 9, floor) == [found for found in every if found[1] >= floor]


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from(["ant", "bee", "cow", "dog", "elk"]), min_size=1), min_size=1),
    st.floats(0.01, 1),
)
def test_a_floor_is_that_of_the_whole_comparison(tmp_path_factory, bodies, floor):
    with SearchIndex.open(tmp_path_factory.mktemp("home"), Path("/store")) as index:
        index.sync([row(f"n{number}.md", " ".join(body)) for number, body in enumerate(bodies)])
        every = index.neighbours(" ".join(bodies[0]), 9)
        assert index.neighbours(" ".join(bodies[0]), 9, floor) == [one for one in every if one[1] >= floor]


def test_only_what_differs_need_be_told(index):
    index.change([row("npm.md", "Snowfall.", digest="2"), row("new.md", "Hail.")], {"keys.md"})
    assert paths(index.search("package manager", 9)) == ["pnpm.md"]
    assert paths(index.search("snowfall hail", 9)) == ["new.md", "npm.md"]
    assert index.states() == {"npm.md": "2  ", "new.md": "1  ", "pnpm.md": "1  ", "snow.md": "1  "}
