"""Each test that a page about another program's format names as the proof of something is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("formats-*.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_test_that_a_table_names_exists(page):
    named = NAMED.findall(page.read_text("utf-8"))
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or (f"def {test}(" not in (ROOT / file).read_text("utf-8") and test)
    ]
    assert missing == []
