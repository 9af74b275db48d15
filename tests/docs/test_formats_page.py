"""The page on formats: its tables are made of the code, and every item of the seed leads to a test."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")


def build():
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["formats", "format-pairs"])
def test_what_a_format_cannot_carry_is_made_of_the_code(name):
    old, new = build().fresh(name)
    assert old == new, f"python docs/build.py {name}"


def test_every_item_and_resolution_has_a_row_with_a_test_or_a_reason():
    rows = dict(re.findall(r"^\| (L-\w+) \| (.+) \|$", PAGE, re.MULTILINE))
    items = [f"L-{number:02}" for number in range(1, 16)]
    resolutions = [f"L-C{number}" for number in range(1, 12)]
    assert [*rows] == [*items, *resolutions]
    assert all("`tests/" in row for row in rows.values())


def test_every_test_that_is_named_is_there():
    named = {*re.findall(r"`(tests/[\w/]+\.py)`", PAGE)}
    assert len(named) > 15
    assert not [path for path in named if not (ROOT / path).is_file()]
