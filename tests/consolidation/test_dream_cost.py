"""What a dream costs follows what changed, not what is there: tokens in a store of 100 and of 2,000."""

from __future__ import annotations

import random

import pytest

from pipeline.store import ChangeSet
from tests.support.dreaming import Dreaming, dreaming, note

LARGE = 2_000
SYLLABLES = "ba co de fi gu ha jo ke li mu na po ri so te vu wa xi yo zu".split(" ")  # noqa: SIM905


def word(dice: random.Random) -> str:
    return "".join(dice.choices(SYLLABLES, k=3))


def text(dice: random.Random) -> str:
    """Forty words of which none is common."""
    return " ".join(word(dice) for _ in range(40)).capitalize() + "."


def fill(bench: Dreaming, count: int) -> None:
    """Write `count` memories that a dream has looked at."""
    dice = random.Random(7)
    puts = [bench.store.put(note(f"n{at:05d}", text(dice))) for at in range(count)]
    bench.store.apply(ChangeSet("fill", "test", puts))
    from pipeline.ledger import dreams

    seen = {d.id: d.digest for d in bench.store.scan().documents}
    dreams.mark_seen(bench.ledger, str(bench.store.path), seen)


def ten(bench: Dreaming) -> None:
    """Change ten memories: each restates one that is there, in half of its words."""
    dice = random.Random(8)
    bodies = [bench.body(f"n{at:05d}") for at in range(0, 100, 10)]
    bench.keep(*(
        note(f"new{at}", " ".join(dice.sample(body.split(), 20)) + f" {word(dice)}.", "2026-03-05")
        for at, body in enumerate(bodies)
    ))  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of the dream over ten changes, and of the one after it, by the store's size."""
    found = {}
    for count in (100, LARGE):
        with dreaming(tmp_path_factory.mktemp(f"of-{count}")) as bench:
            fill(bench, count)
            ten(bench)
            found[count] = (bench.dream(), bench.dream())
    return found


def test_ten_changes_cost_as_much_in_a_large_store_as_in_a_small_one(reports):
    small, large = reports[100][0], reports[LARGE][0]
    assert small.changed == large.changed == 10
    assert sum(len(group) for group in small.looked_at) >= 15, "neighbours are shown too"
    assert large.tokens <= 1.2 * small.tokens and large.calls <= 1.2 * small.calls


def test_nothing_changed_costs_nothing(reports):
    for _, again in reports.values():
        assert (again.calls, again.tokens, again.dollars) == (0, 0, 0)
