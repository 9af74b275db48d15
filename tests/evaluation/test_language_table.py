"""What each language gets of search and recall, as the documentation tells it."""

from pathlib import Path

import pytest

from bench import languages

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- begin languages -->\n", "\n<!-- end languages -->"


def test_each_language_finds_its_first_question(tmp_path):
    with languages.laid_out(tmp_path) as app:
        found = languages.rows(app, first=1)
    assert len(found) == 15 and {row.asked for row in found} == {1}
    assert [row.language for row in found if not all(row.found[way] for way in languages.WAYS)] == []
    assert sum(row.left_alone for row in found) == 15


@pytest.mark.whole
def test_the_table_tells_what_each_language_gets(tmp_path):
    with languages.laid_out(tmp_path) as app:
        found = languages.rows(app)
    text = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    told = text.partition(BEGIN)[2].partition(END)[0]
    assert told == languages.table(found), "paste what `python -m bench.languages` prints"
    assert all(row.asked == 10 and row.found["search, inflected"] >= 9 for row in found)
