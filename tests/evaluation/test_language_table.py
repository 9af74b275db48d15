"""What each language gets of search and recall, as the documentation tells it."""

from pathlib import Path

from bench import languages

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- begin languages -->\n", "\n<!-- end languages -->"


def test_the_table_tells_what_each_language_gets(tmp_path):
    with languages.laid_out(tmp_path) as app:
        found = languages.rows(app)
    text = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    told = text.partition(BEGIN)[2].partition(END)[0]
    assert told == languages.table(found), "paste what `python -m bench.languages` prints"
    assert all(row.asked == 10 and row.found["search, inflected"] >= 9 for row in found)
