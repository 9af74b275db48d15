"""Every test that the page of Claudia's search names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "formats-claudia-search.md"


def test_each_item_names_a_test_that_is_there():
    found = set(re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", PAGE.read_text("utf-8")))
    assert len(found) > 25
    assert not [
        (file, name) for file, name in found if f"def {name}(" not in (ROOT / file).read_text("utf-8")
    ]
