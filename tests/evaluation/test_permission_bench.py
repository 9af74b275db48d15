"""The corpus of permissions, orders and facts that look alike: its form, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.permissions import CORPUS, KINDS, TOGETHER, by_list, by_path, cases, table
from pipeline.core.errors import CassetteError

HELD_BACK = CORPUS.parent / "held_back" / "held_back.jsonl"
BOTH = pytest.mark.parametrize("corpus", [CORPUS, HELD_BACK], ids=["looked at", "held back"])


@BOTH
def test_the_corpus_has_every_language_and_kind(corpus: Path) -> None:
    found = cases(corpus)
    languages = Counter((case.lang, case.kind) for case in found)
    assert len(found) >= 300 and len({case.lang for case in found}) == 15
    assert all(languages[lang, kind] >= 3 for lang in {case.lang for case in found} for kind in KINDS)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "x", "lang": "en", "kind": "wish", "text": "t"}', "no case"),
        ('{"id": "x", "lang": "en", "kind": "fact", "text": " "}', "no case"),
        ('{"id": "x", "lang": "en", "kind": "fact", "text": "t", "more": 1}', "more"),
        ('{"id": "x", "lang": "en", "kind": "fact", "text": "t"}\n' * 2, "same id"),
    ],
)
def test_a_corpus_with_an_odd_line_is_refused(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(line, "utf-8")
    with pytest.raises(ValueError, match=says):
        cases(file)


@pytest.mark.parametrize(
    "corpus",
    [
        pytest.param(CORPUS, id="looked at"),
        pytest.param(HELD_BACK, id="held back", marks=pytest.mark.whole),
    ],
)
def test_beside_the_recorded_reader_permissions_and_orders_do_not_go_live(corpus: Path) -> None:
    """Over the pages that are recorded. What is kept in narrower words passed reader and list once more."""
    all_cases, found = cases(corpus), []
    cassettes = corpus.parent / "cassettes"
    pages = [all_cases[start : start + TOGETHER] for start in range(0, len(all_cases), TOGETHER)]
    played = 0
    for page in pages:
        try:
            found += by_path(page, f"replay:{cassettes}")
        except CassetteError:
            continue
        played += 1
    assert played == len(list(cassettes.glob("*.json"))) > 0
    live = [fate.case.id for fate in found if fate.case.kind != "fact" and fate.outcome == "live"]
    assert live == []
    facts = [fate for fate in found if fate.case.kind == "fact"]
    assert sum(fate.outcome == "refused" for fate in facts) <= 0.02 * len(facts)


def test_beside_a_reader_that_objects_to_nothing_the_list_alone_keeps_lines_back() -> None:
    page = cases()[:TOGETHER]
    listed = {fate.case.id: fate.outcome for fate in by_list(page)}
    found = {fate.case.id: fate.outcome for fate in by_path(page, "blind")}
    assert {"refused", "live"} == set(listed.values())
    assert found == {name: "inbox" if word == "refused" else word for name, word in listed.items()}
    *_, last = table(by_list(page), lambda _: "all").split("\n")
    assert sum(map(int, last.split()[1:])) == len(page)
