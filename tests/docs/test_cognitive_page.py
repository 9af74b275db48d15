"""The tables of `docs/cognitive.md` have a row for each item, and each test they name is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = (ROOT / "docs" / "cognitive.md").read_text("utf-8").partition("\n## What shows it\n")[2]
ROWS = [line.strip("|").split("|") for line in TABLES.splitlines() if line.startswith("| ")]
ITEMS = [*(f"C-{n:02d}" for n in range(1, 18)), *(f"C-C{n}" for n in range(1, 17))]
NAMED = re.compile(r"`(?:(?P<file>(?:tests/[\w/]+/)?test_\w+\.py)(?:::(?P<of>\w+))?|(?P<test>test_\w+))`")


@cache
def sources() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}


def is_there(file: str, test: str) -> bool:
    texts = [text for path, text in sources().items() if path.as_posix().endswith(f"/{file}")]
    return bool(texts) and (not test or any(f"def {test}(" in text for text in texts))


def test_each_item_has_a_row():
    first = " ".join(row[0] for row in ROWS)
    assert [item for item in ITEMS if not re.search(rf"{item}\b", first)] == []


def test_each_row_names_tests_that_are_there():
    missing = []
    for row in ROWS:
        named = list(NAMED.finditer(row[-1]))
        if not named and row[0].strip() not in ("item", "what") and set(row[0].strip()) != {"-"}:
            missing.append(f"no test: {row[0]}")
        for found in named:
            file, test = found["file"] or ".py", found["of"] or found["test"] or ""
            if not (
                is_there(file, test)
                if found["file"]
                else any(f"def {test}(" in t for t in sources().values())
            ):
                missing.append(found[0])
    assert missing == []
