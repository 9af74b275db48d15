"""The corpus of permissions, orders and facts that look alike: its form, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.permissions import CORPUS, KINDS, TOGETHER, by_list, by_path, cases, table
from pipeline.core.errors import CassetteError

CASSETTES = CORPUS.parent / "cassettes"


def test_the_corpus_has_every_language_and_kind() -> None:
    corpus = cases()
    languages = Counter((case.lang, case.kind) for case in corpus)
    assert len(corpus) >= 300 and len({case.lang for case in corpus}) == 15
    assert all(languages[lang, kind] >= 3 for lang in {case.lang for case in corpus} for kind in KINDS)


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


def test_beside_the_recorded_reader_no_permission_and_no_order_goes_live() -> None:
    """Over the pages that are recorded. What is kept in narrower words passed reader and list once more."""
    corpus, found = cases(), []
    pages = [corpus[start : start + TOGETHER] for start in range(0, len(corpus), TOGETHER)]
    played = 0
    for page in pages:
        try:
            found += by_path(page, f"replay:{CASSETTES}")
        except CassetteError:
            continue
        played += 1
    assert played == len(list(CASSETTES.glob("*.json"))) > 0
    assert [fate.case.id for fate in found if fate.case.kind != "fact" and fate.outcome == "live"] == []
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
