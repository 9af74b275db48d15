"""Decay at work: scores in ``_state.json``, counts of files without an id, and who may sleep."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.domain.memory import TYPES, Evidence, Memory
from pipeline.hooklib.asleep import asleep_in, hidden_in
from pipeline.store import ChangeSet, Store, Use
from pipeline.store.derived.core_page import band
from tests.support.cognitive import DROPS, PROBLEM_PATH, REDIS, SOLUTION_PATH, lay_out, write
from tests.support.stores import NOW, memory, save

GUESS = {"origin": "assistant-inferred", "type": "project"}
SAID = Evidence(session="s", uuid="u", quote="so it is")
HEARD = Evidence(session="s", uuid="u", quote="so it is", speaker="assistant")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True)


def entries(store: Store) -> dict[str, Any]:
    found = orjson.loads((store.root / "_state.json").read_bytes())["entries"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("score", "name"),
    [(0.5, "active"), (0.499, "fading"), (0.2, "fading"), (0.2 - 1e-12, "fading"), (0.199, "dormant"),
     (0.05, "dormant"), (0.049, "archived"), (0.0, "archived"), (999.0, "active")],
)  # fmt: skip
def test_c_16_bands(score: float, name: str) -> None:
    assert band(score) == name


def test_what_is_young_and_nobody_asked_for_is_new_to_a_person(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    port = Memory("port", "The port is 80.", "project", "It is 80.\n", id="id-1", created=NOW)
    store.apply(ChangeSet("c", "add", [store.put(replace(port, origin="user-stated"))], NOW))
    for days, word in ((0, "new"), (6, "new"), (8, "fading")):
        found = store.decay(now=NOW + timedelta(days=days))
        assert (found.band_of("port.md"), found.word_of("port.md")) == ("fading", word)
        assert found.counts()["fading"] == 1
    used = {"access_count": 1, "last_accessed": (NOW - timedelta(days=9)).isoformat()}
    (store.root / "_state.json").write_bytes(orjson.dumps({"version": 1, "entries": {"id-1": used}}))
    assert store.decay(now=NOW).word_of("port.md") == "fading"


def test_c_08_every_memory_has_its_score_and_keeps_its_counts(tmp_path: Path) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    entry = {"access_count": 5, "last_accessed": "2026-11-26T10:00:00+00:00", "decay_score": 0.75, "mine": 1}
    (store.root / "_state.json").write_bytes(orjson.dumps({"version": 1, "entries": {REDIS: entry}}))
    found = store.decay(now=NOW)
    # 0.8 × e^(−0.03 × 1) × log2(6) × 1.2
    assert entries(store)[REDIS] == {**entry, "decay_score": 2.4082}
    assert entries(store)[DROPS] == {"access_count": 0, "decay_score": 0.0}
    assert found.counts() == {"active": 1, "fading": 1, "dormant": 0, "archived": 1}
    before = (store.root / "_state.json").read_bytes()
    store.reindex(now=NOW + timedelta(hours=23))
    assert (store.root / "_state.json").read_bytes() == before
    store.reindex(now=NOW + timedelta(hours=25))
    assert entries(store)[REDIS]["decay_score"] < 2.4082


def test_c_14_a_file_without_an_id_is_counted_under_its_path(store: Store) -> None:
    write(store.root, "plain.md", "A fact that stands alone.\n")
    save(store, memory("other"))
    (store.root / "_state.json").write_bytes(
        orjson.dumps({"version": 1, "entries": {"path:plain.md": {"access_count": 7}}})
    )
    found = store.decay(now=NOW)
    assert found.scores["plain.md"] > 1
    plain = store.read("plain")
    assert entries(store)[plain.id] == {"access_count": 7, "decay_score": 1.5}
    assert "path:plain.md" not in entries(store)


KEPT_AWAKE: dict[str, dict[str, Any]] = {
    "pinned": {**GUESS, "pinned": True},
    "user": {**GUESS, "type": "user"},
    "feedback": {**GUESS, "type": "feedback"},
    "rule": {**GUESS, "type": "procedure"},
    "said": {"origin": "user-stated", "type": "general"},
    "confirmed": {"origin": "user-confirmed", "type": "decision"},
    "written": {"origin": "hand-written", "type": "error"},
    "heard": {**GUESS, "sources": (SAID,)},
}


@pytest.mark.parametrize("values", KEPT_AWAKE.values(), ids=KEPT_AWAKE)
def test_what_a_person_stands_behind_never_sleeps(store: Store, values: dict[str, Any]) -> None:
    save(store, memory("kept", **{"body": "Kept.\n", **values}))
    found = store.decay(now=NOW + timedelta(days=4000))
    assert asleep_in(str(store.root)) == {}
    assert set(found.counts().values()) == {0, 1} and found.counts()["archived"] == 0


@pytest.mark.parametrize(
    "values",
    [GUESS, {**GUESS, "origin": "imported"}, {**GUESS, "sources": (HEARD,), "type": "decision"}],
    ids=["guess", "import", "conclusion"],
)
def test_what_nobody_said_sleeps_when_nobody_asks_for_it(store: Store, values: dict[str, Any]) -> None:
    (put,) = save(store, memory("guess", body="Maybe.\n", **values))
    for days, expected in ((1, "fading"), (30, "dormant"), (90, "archived")):
        found = store.decay(now=NOW + timedelta(days=days))
        assert found.band_of(put.path) == expected
        assert asleep_in(str(store.root)).get(put.path, "fading") == expected
    assert hidden_in(str(store.root), dormant=True) == {put.path: "archived"}


def test_a_file_of_somebody_else_never_sleeps_but_one_of_a_tool_does(tmp_path: Path) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    write(store.root, "note.md", "---\nname: note\nimportance: 0.1\ncreated: 2020-01-01\n---\nOld.\n")
    write(store.root, "graph/general/by-hand.md", "---\ntitle: By hand\ncreated: 2020-01-01\n---\nOld.\n")
    store.decay(now=NOW)
    assert asleep_in(str(store.root)) == {SOLUTION_PATH: "archived", PROBLEM_PATH: "archived"}


def test_what_is_asked_for_wakes_up(store: Store) -> None:
    (put,) = save(store, memory("guess", body="Maybe.\n", **GUESS))
    later = NOW + timedelta(days=40)
    store.decay(now=later)
    assert asleep_in(str(store.root)) == {put.path: "dormant"}
    store.count_uses([Use(1, put.memory.id, later, True)], "L", now=later)
    assert asleep_in(str(store.root)) == {}
    assert entries(store)[put.memory.id]["decay_score"] == 0.5


def test_c_15_weights() -> None:
    seed = {
        "procedure": 1.4, "decision": 1.3, "insight": 1.25, "solution": 1.2, "code_pattern": 1.1,
        "configuration": 1.1, "fix": 1.0, "workflow": 1.0, "problem": 0.9, "error": 0.8, "general": 0.8,
    }  # fmt: skip
    assert {name: TYPES[name].weight for name in seed} == seed


def test_what_somebody_changed_by_hand_does_not_sleep(store: Store) -> None:
    save(store, memory("a-guess", importance=0.1, **GUESS), memory("another", importance=0.1, **GUESS))
    later = NOW + timedelta(days=200)
    assert set(store.decay(now=later).asleep) == {"a-guess.md", "another.md"}
    file = store.root / "a-guess.md"
    file.write_text(file.read_text("utf-8") + "So it is, I say.\n", "utf-8")
    assert set(Store.open(store.root).decay(now=later).asleep) == {"another.md"}


def test_a_new_memory_at_the_path_of_one_that_slept_is_awake(store: Store) -> None:
    old, other = save(store, memory("guess", **GUESS), memory("another", **GUESS))
    later = NOW + timedelta(days=200)
    store.decay(now=later)
    assert set(asleep_in(str(store.root))) == {old.path, other.path}
    gone = store.retire(store.read("guess"), year=2027, reason="-")
    store.apply(ChangeSet("gone", "forget", [gone], later))
    store.reindex(now=later)
    assert set(asleep_in(str(store.root))) == {other.path}
    # Claude writes one of that name itself: nobody asked us.
    write(store.root, old.path, "---\nname: guess\norigin: assistant-inferred\n---\nNews.\n")
    Store.open(store.root).reindex(now=later)
    assert set(asleep_in(str(store.root))) == {other.path}


def test_another_file_put_in_the_place_of_one_that_slept_is_awake(store: Store) -> None:
    (put,) = save(store, memory("guess", **GUESS))
    later = NOW + timedelta(days=200)
    store.decay(now=later)
    (store.root / put.path).unlink()
    write(store.root, put.path, "---\nname: guess\norigin: imported\n---\nNews.\n")
    Store.open(store.root).reindex(now=later)
    assert asleep_in(str(store.root)) == {}


def test_what_a_person_changed_of_a_tools_file_never_sleeps_again(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "store")
    Store.open(root).decay(now=NOW + timedelta(days=300))
    assert set(asleep_in(str(root))) == {SOLUTION_PATH, PROBLEM_PATH}
    edited, tended = root / SOLUTION_PATH, root / PROBLEM_PATH
    edited.write_text(edited.read_text("utf-8") + "\nAnd so it is, I say.\n", "utf-8")
    # The tool says when it changed a file.
    text = tended.read_text("utf-8")
    assert "\nupdated:" in text
    tended.write_text(re.sub(r"(?m)^updated:.*$", 'updated: "2027-09-25T10:00:00+00:00"', text), "utf-8")
    for days in (301, 302, 800):
        Store.open(root).decay(now=NOW + timedelta(days=days))
    assert set(asleep_in(str(root))) == {PROBLEM_PATH}
    text = edited.read_text("utf-8")
    edited.write_text(re.sub(r"(?m)^updated:.*$", 'updated: "2029-09-25T10:00:00+00:00"', text), "utf-8")
    Store.open(root).decay(now=NOW + timedelta(days=801))
    assert set(asleep_in(str(root))) == {PROBLEM_PATH}
