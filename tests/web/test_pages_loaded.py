"""The pages are loaded when they are asked for, and all of them can be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipeline.web import pages

_SHOW = "import sys, pipeline.web.site; print(*[name for name in sys.modules if name[0] == 'p'])"


@pytest.mark.parametrize("page", [page for _, page, _ in pages.PAGES])
def test_every_page_has_its_function(page: str) -> None:
    module, _, function = page.partition(".")
    assert callable(getattr(pages.load(module), function))


def test_no_address_stands_twice() -> None:
    addresses = [path for path, _, _ in pages.PAGES]
    assert len(addresses) == len(set(addresses))


def test_what_no_first_page_needs_is_not_loaded_with_the_site() -> None:
    shown = subprocess.run([sys.executable, "-c", _SHOW], capture_output=True, text=True, check=True)
    loaded = set(shown.stdout.split())
    assert "pipeline.web.visit" in loaded
    for name in ("consolidation", "extraction", "diagnostics", "worker", "team"):
        assert f"pipeline.{name}" not in loaded
    assert "pydantic" not in loaded and "pipeline.web.pages.health" not in loaded
