"""Plans that change what a memory means, of many kinds and in seven languages, as whole dreams.

`python -m bench.changed_meaning` runs all of the corpus; this is a slice of it with every kind and language.
"""

from collections import Counter

import pytest

from bench.changed_meaning import WAYS, cases, run

SLICE = cases()[::12]
"""Every twelfth line: the lines of a kind stand together, so that each kind and language has its share."""


def test_the_corpus_is_wide_enough():
    corpus = cases()
    assert len(corpus) >= 600 and len({case.source for case in corpus}) == len(corpus)
    assert all(case.source != case.mutant for case in corpus)
    languages = Counter(case.lang for case in corpus)
    assert set(languages) == {"en", "de", "fr", "es", "ja", "zh", "ar"} and min(languages.values()) >= 70
    assert {case.lang for case in SLICE} == set(languages)
    assert len({case.kind for case in corpus}) >= 30


PARTS = 4
SWEEP = [
    # Each line in one of the eight ways, all ways in turn; and each in every way.
    *[pytest.param(SLICE[part :: len(WAYS)], [way], id=way) for part, way in enumerate(WAYS)],
    *[pytest.param(SLICE[part::PARTS], WAYS, marks=pytest.mark.whole) for part in range(PARTS)],
]


@pytest.mark.parametrize(("own", "ways"), SWEEP)
def test_no_plan_falsifies_a_memory_though_the_second_reader_errs(tmp_path, own, ways):
    found = run(tmp_path, own, error_rate=0.1, seed=5, ways=ways).values()
    assert sum(row.plans for row in found) == len(own) * len(ways)
    assert sum(row.falsified for row in found) == 0
    assert sum(row.unaccounted for row in found) == 0, "what left is in the report, the archive and the undo"
    assert sum(row.left_out for row in found) <= len(ways) // len(WAYS)
    assert sum(row.controls for row in found) == len(own) * len(ways), "equal texts become one"


def test_the_tally_sees_what_a_careless_reader_lets_go(tmp_path):
    """With a reader that agrees to everything facts are left out: the count above can rise."""
    found = run(tmp_path, SLICE[:8], error_rate=None).values()
    assert sum(row.left_out for row in found) > 0
    assert sum(row.falsified for row in found) == 0
