"""Honest merges: pairs that say the same become one, pairs that complete each other stay, the later replaces.

Replies are a model's own, to stores that mix the three kinds (`tests.support.pair_cases`); each store is
dreamt over with its recordings. Stores 10 to 19 were dreamt over once, after the prompts were done.
"""

from collections import Counter
from pathlib import Path

import pytest

from pipeline.llm import open_provider
from pipeline.store import Store
from tests.support.dreaming import dreaming
from tests.support.pair_cases import FIXTURES, SIZES, STORES, Pair, lay_out, pairs
from tests.support.workshop import at

RECORDED = sorted(int(folder.name) for folder in (FIXTURES / "cassettes").iterdir())


def came_of(store: Store, pair: Pair) -> str:
    """Return what a dream made of `pair`: ``one``, ``replaced`` (b shows what it replaces) or ``apart``."""
    snapshot = store.scan()
    first, second = snapshot.by_name(pair.a.name), snapshot.by_name(pair.b.name)
    if first is None or second is None or first.id != second.id:
        return "apart"
    shown = {item.name for item in first.memory.replaces}
    return "replaced" if {pair.a.name, pair.b.name} & shown else "one"


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.whole)])
def test_pairs_that_say_the_same_become_one_and_others_stay(tmp_path: Path, step: int) -> None:
    """Over every fourth store, each of which has all three kinds; over all of them if the `whole` is run."""
    found: Counter[tuple[str, str]] = Counter()
    chosen = RECORDED[::step]
    for number in chosen:
        with dreaming(tmp_path / str(number)) as bench:
            bench.clock.at = at("2026-11-28T03:00:00+00:00")
            bench.set(retire_share=1.0, max_cluster=40)
            lay_out(number, bench.store.path)
            bench.store = Store.open(bench.store.path)
            spec = f"replay:{FIXTURES}/cassettes/{number}"
            bench.provider = open_provider(spec, bench.settings.model, home=bench.home)  # type: ignore[assignment]
            bench.dream()
            found.update((pair.kind, came_of(bench.store, pair)) for pair in pairs(number))
    counts = {kind: size * len(chosen) for kind, size in SIZES.items()}
    assert found["same", "one"] >= 0.8 * counts["same"]
    assert found["beside", "apart"] == counts["beside"]
    assert found["replaced", "replaced"] >= 0.9 * counts["replaced"]


def test_the_corpus_is_wide_enough() -> None:
    every = [pair for number in range(STORES) for pair in pairs(number)]
    assert len({pair.id for pair in every}) == len(every) == STORES * sum(SIZES.values())
    assert Counter(pair.kind for pair in every) == {"same": 200, "beside": 80, "replaced": 40}
    assert {pair.lang for pair in every} == {"en", "de", "fr", "es", "ja", "zh", "ar"}
    assert list(range(STORES)) == RECORDED
