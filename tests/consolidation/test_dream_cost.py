"""What a dream costs follows what changed, not what is there; `bench.dream` asks the same of 10,000."""

from __future__ import annotations

import pytest

from bench.dream import CHANGES, filled

FEW, MANY = 100, 2_000


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """By size of the store: the report of a dream over ten changes, and of the one after it."""
    found = {}
    for count in (FEW, MANY):
        with filled(tmp_path_factory.mktemp("cost") / f"of-{count}", count) as night:
            night.restate()
            found[count] = (night.dream(), night.dream())
    return found


def test_ten_changes_cost_as_much_in_a_large_store_as_in_a_small_one(reports):
    small, large = reports[FEW][0], reports[MANY][0]
    assert small.changed == large.changed == CHANGES
    assert (small.memories, large.memories) == (FEW + CHANGES, MANY + CHANGES)
    assert sum(map(len, large.looked_at)) >= 2 * CHANGES, "what each restates is shown beside it"
    assert large.tokens <= 1.2 * small.tokens and large.calls <= 1.2 * small.calls


def test_nothing_changed_costs_nothing(reports):
    for _, again in reports.values():
        assert (again.changed, again.calls, again.tokens, again.dollars) == (0, 0, 0, 0)
