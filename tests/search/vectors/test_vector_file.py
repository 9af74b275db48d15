"""``_embeddings.json``: what is kept, what is trusted, and bringing it in step with the memories."""

import json
import os
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.search.vectors import Nearest, fuse, load, refresh, text_of
from pipeline.search.vectors.vector_file import VECTORS, VectorFile, save
from tests.support.stores import memory
from tests.support.vectors import Scripted

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
TEXTS = {"a": "Tabs. Indent with tabs.", "b": "Port. 5432.", "c": "Name. Ada."}


def held(root):
    return json.loads((root / VECTORS).read_bytes())


def test_the_file_has_the_seeds_keys_and_what_makes_it_safe(tmp_path):
    done = refresh(tmp_path, TEXTS, Scripted(), NOW)
    assert (done.made, done.total, done.pending, done.reason) == (3, 3, 0, "")
    body = held(tmp_path)
    assert list(body) == ["version", "provider", "model", "dim", "updated", "entries", "digests"]
    assert (body["version"], body["provider"], body["model"], body["dim"]) == (1, "scripted", "m", 3)
    assert body["updated"] == "2026-11-27T10:00:00+00:00"
    assert body["entries"].keys() == body["digests"].keys() == TEXTS.keys()
    assert all(len(vector) == 3 for vector in body["entries"].values())


def test_the_text_of_a_memory_is_title_and_preview():
    assert text_of(memory("x", title="Indentation"), "Indent with tabs.") == "Indentation. Indent with tabs."


def test_only_what_is_new_or_reworded_is_asked_for(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    second = Scripted()
    done = refresh(tmp_path, {**TEXTS, "b": "Port. 5433.", "d": "New. Here."}, second, NOW)
    assert second.asked == ["Port. 5433.", "New. Here."]
    assert (done.made, done.pending) == (2, 0)


def test_nothing_changed_writes_nothing(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    before = (tmp_path / VECTORS).stat().st_ino
    assert refresh(tmp_path, TEXTS, Scripted(most=0), NOW).pending == 0
    assert (tmp_path / VECTORS).stat().st_ino == before


def test_a_store_without_memories_gets_no_file(tmp_path):
    assert refresh(tmp_path, {}, Scripted(), NOW).total == 0
    assert not (tmp_path / VECTORS).exists()


def test_vectors_of_memories_that_are_gone_are_dropped(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    refresh(tmp_path, {"a": TEXTS["a"]}, Scripted(most=0), NOW)
    assert held(tmp_path)["entries"].keys() == held(tmp_path)["digests"].keys() == {"a"}


@pytest.mark.parametrize(
    "other", [Scripted(name="other"), Scripted(model="n"), Scripted(dim=4)], ids=["provider", "model", "dim"]
)
def test_another_provider_model_or_length_makes_all_anew(tmp_path, other):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    assert refresh(tmp_path, TEXTS, other, NOW).made == 3
    assert load(tmp_path).fits(other.name, other.model, other.dim)


def test_a_length_that_shows_with_the_first_answer_makes_all_anew(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(dim=4), NOW)
    unknown = Scripted()
    unknown.dim = 0
    asked = unknown.embed

    def embed(texts):
        vectors = asked(texts)
        unknown.dim = 3
        return vectors

    unknown.embed = embed  # type: ignore[method-assign]
    done = refresh(tmp_path, {**TEXTS, "d": "New. Here."}, unknown, NOW)
    assert done.pending == 0
    assert {len(vector) for vector in held(tmp_path)["entries"].values()} == {3}


def test_anew_makes_what_is_there_once_more(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    assert refresh(tmp_path, TEXTS, Scripted(), NOW, anew=True).made == 3


def test_a_bound_leaves_the_rest_for_the_next_time(tmp_path):
    first = refresh(tmp_path, TEXTS, Scripted(), NOW, most=2)
    assert (first.made, first.pending, first.reason) == (2, 1, "")
    assert refresh(tmp_path, TEXTS, Scripted(), NOW, most=2).pending == 0


def test_what_was_made_before_a_provider_failed_is_kept(tmp_path):
    texts = {f"id{number:03}": f"text {number}" for number in range(120)}
    done = refresh(tmp_path, texts, Scripted(most=60), NOW)
    assert (done.made, done.pending, done.reason) == (50, 70, "the script ends here")
    assert len(load(tmp_path).entries) == 50


def test_a_provider_that_is_down_leaves_the_file_of_another_alone(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    before = (tmp_path / VECTORS).read_bytes()
    assert refresh(tmp_path, TEXTS, Scripted(name="other", most=0), NOW).pending == 3
    assert refresh(tmp_path, TEXTS, Scripted(most=0), NOW, anew=True).pending == 3
    assert (tmp_path / VECTORS).read_bytes() == before


def test_a_reworded_memory_has_no_vector_until_it_has_a_new_one(tmp_path):
    refresh(tmp_path, TEXTS, Scripted(), NOW)
    assert load(tmp_path).fresh({**TEXTS, "b": "Port. 5433."}).keys() == {"a", "c"}


GOOD = {"version": 1, "provider": "p", "model": "m", "dim": 2, "entries": {"a": [0.6, 0.8]}, "digests": {}}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": None},
        {"provider": None},
        {"model": 7},
        {"dim": 0},
        {"dim": "2"},
        {"dim": 3},
        {"entries": []},
        {"digests": None},
        {"entries": {"a": [0.6, "0.8"]}},
        {"entries": {"a": [0.6, True]}},
        {"entries": {"a": None}},
    ],
    ids=repr,
)
def test_what_can_not_be_compared_counts_as_no_vectors(tmp_path, change):
    (tmp_path / VECTORS).write_text(json.dumps(GOOD), "utf-8")
    assert load(tmp_path).entries
    (tmp_path / VECTORS).write_text(json.dumps({**GOOD, **change}), "utf-8")
    assert load(tmp_path) == VectorFile()


def test_a_file_of_the_seeds_shape_alone_is_made_anew(tmp_path):
    seed = {"model": "nomic-embed-text", "updated": "2026-02-13T12:00:00+00:00", "entries": {"a": [0.1, 0.2]}}
    (tmp_path / VECTORS).write_text(json.dumps(seed), "utf-8")
    assert refresh(tmp_path, TEXTS, Scripted(), NOW).made == 3


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_no_vectors(tmp_path, raw):
    (tmp_path / VECTORS).write_bytes(raw)
    assert load(tmp_path) == VectorFile()


def test_a_link_or_a_pipe_is_not_read(tmp_path):
    (tmp_path / "elsewhere.json").write_text(json.dumps(GOOD), "utf-8")
    (tmp_path / VECTORS).symlink_to("elsewhere.json")
    assert load(tmp_path) == VectorFile()
    (tmp_path / VECTORS).unlink()
    os.mkfifo(tmp_path / VECTORS)
    assert load(tmp_path) == VectorFile()


@pytest.mark.parametrize("numpy_is_there", [True, False])
def test_nearest_is_by_cosine_then_by_key(numpy_is_there, monkeypatch):
    if not numpy_is_there:
        monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    near = Nearest({"b": [1.0, 0.0], "a": [1.0, 0.0], "c": [0.0, 1.0], "d": [0.6, 0.8]})
    assert (near._matrix is not None) == numpy_is_there
    assert near.nearest([1.0, 0.0], 3) == [("a", 1.0), ("b", 1.0), ("d", 0.6)]
    assert near.nearest([1.0, 0.0], 9, floor=0.5) == [("a", 1.0), ("b", 1.0), ("d", 0.6)]
    assert Nearest({}).nearest([1.0], 3) == []


def test_fusing_keeps_both_and_puts_what_both_find_first():
    words, cosines = {"both": 8.0, "words": 10.0}, {"both": 0.9, "vectors": 0.95, "neither": 0.1}
    assert list(fuse(words, cosines, weight=0.5)) == ["both", "words", "vectors"]
    assert list(fuse(words, cosines, weight=0.0))[:2] == ["words", "both"]
    assert fuse({}, {}) == {}


SCORES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1e6))
COSINES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1))


@given(SCORES, COSINES, st.floats(0, 1))
def test_a_fused_score_lies_between_nought_and_one_and_the_best_stands_first(words, cosines, weight):
    fused = fuse(words, cosines, weight=weight)
    assert words.keys() <= fused.keys() <= words.keys() | cosines.keys()
    assert all(0 <= score <= 1 for score in fused.values())
    assert list(fused.values()) == sorted(fused.values(), reverse=True)


@given(st.dictionaries(st.text(max_size=5), st.lists(st.floats(-1, 1), min_size=2, max_size=2), max_size=4))
def test_what_is_saved_is_what_is_loaded(tmp_path_factory, entries):
    root = tmp_path_factory.mktemp("store")
    vectors = VectorFile("p", "m", 2)
    for key, vector in entries.items():
        vectors.put(key, f"text of {key}", vector)
    save(root, vectors, NOW)
    assert load(root) == vectors
