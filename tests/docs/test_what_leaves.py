"""What is promised of what leaves the machine names all that can: a model, a repository, a database."""

import re

import pytest

from tests.architecture.source import ROOT

WAYS = {"a model": "provider|model you", "a repository": "reverie sync|git repository", "a team": "team"}
PROMISES = (
    ("SECURITY.md", "- Nothing is sent but", "\n- "),
    ("README.md", "**What leaves the machine.**", "\n- "),
    ("docs/privacy.md", "## What leaves the machine", "\n## "),
)


@pytest.mark.parametrize(("page", "begins", "ends"), PROMISES, ids=[page for page, _, _ in PROMISES])
def test_each_promise_names_every_way_out(page, begins, ends):
    promise = (ROOT / page).read_text("utf-8").partition(begins)[2].partition(ends)[0]
    assert promise
    assert [way for way, words in WAYS.items() if not re.search(words, promise)] == []


def test_no_page_names_reverie_as_a_package_of_an_index():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("pipeline/**/*.py")]
    assert [str(page) for page in pages if re.search(r"'reverie\[", page.read_text("utf-8"))] == []


def test_the_quick_start_lists_each_extra():
    names = re.findall(r"^(\w+) = \[", _extras(), re.MULTILINE)
    page = (ROOT / "docs/quick-start.md").read_text("utf-8")
    assert [name for name in names if name != "dev" and f"| `{name}` |" not in page] == []


def _extras():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
