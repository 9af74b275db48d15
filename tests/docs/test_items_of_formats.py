"""Each item that the pages on formats answer for has a row, and what a row names as its proof is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.name: page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("formats*.md"))}
NUMBERS = {"K": (16, 14), "S": (21, 15), "L": (15, 11), "D": (16, 12)}
"""By the letter of a format: how many items it has, and how many resolutions of what contradicts itself."""
WANTED = [
    *(f"{letter}-{number:02}" for letter, (items, _) in NUMBERS.items() for number in range(1, items + 1)),
    *(f"{letter}-C{number}" for letter, (_, those) in NUMBERS.items() for number in range(1, those + 1)),
]
_ROW = re.compile(r"^\| (([KSLD])-(C?)(\d+)(?:(?:, [KSLD]-| to [KSLD]-)(\d+))?\b.*) \|$", re.MULTILINE)


def rows() -> dict[str, str]:
    """Return the rows of all pages by the items that each is about; of one with several each has it."""
    found: dict[str, str] = {}
    for text in PAGES.values():
        for row, letter, kind, first, last in _ROW.findall(text):
            for number in range(int(first), int(last or first) + 1):
                key = f"{letter}-C{number}" if kind else f"{letter}-{number:02}"
                found[key] = f"{found.get(key, '')} {row}"
    return found


def test_every_item_has_a_row_that_says_how_it_is_held_or_why_not():
    known = rows()
    assert {*known} == {*WANTED}
    for item, row in known.items():
        cells = [cell.strip() for cell in row.split("|")]
        assert len(cells[-1]) > 2, item


@pytest.mark.parametrize("name", PAGES)
def test_every_test_and_file_that_a_page_names_is_there(name):
    tests = "\n".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    named = {*re.findall(r"`[^`\n]*?\b(test_\w+)(?![\w….])`", PAGES[name])}
    assert not [test for test in named if f"def {test}(" not in tests]
    files = {*re.findall(r"`((?:\w+/)+\w+\.(?:py|md))(?:::\w+)?`", PAGES[name])}
    assert not [
        file for file in files if not (ROOT / file).is_file() and not (ROOT / "tests" / file).is_file()
    ]
