"""Debian's Chromium over a real `reverie open`: one browser and two homes for all tests here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.filling import fill
from tests.browser.tab import Tab, opened
from tests.cli.conftest import Desk

ROOT = Path(__file__).resolve().parents[2]
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# Read now: the common fixture takes every REVERIE_ variable away from the tests.
AXE = Path(os.environ.get("REVERIE_AXE", ROOT / ".browser" / "node_modules" / "axe-core" / "axe.min.js"))


@contextmanager
def serving(desk: Desk) -> Iterator[str]:
    """Run `reverie open` in the desk's project, and yield its address."""
    command = [sys.executable, "-m", "pipeline.cli.main", "open", "--no-browser", "--idle", "10"]
    env = {**desk.env, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=desk.project, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The one browser, at no page."""
    assert BROWSER and DRIVER, "apt-get install chromium chromium-driver"
    assert AXE.is_file(), "`make test-browser` installs axe-core"
    with opened(BROWSER, DRIVER, tmp_path_factory.mktemp("profile"), AXE.read_text("utf-8")) as made:
        yield made


@pytest.fixture(scope="session")
def worst_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A home with markup in every field, of which tests change little."""
    return fill(tmp_path_factory.mktemp("worst"), hostile=True)


@pytest.fixture(scope="session")
def worst_address(worst_desk: Desk) -> Iterator[str]:
    """The page over that home."""
    with serving(worst_desk) as address:
        yield address


@pytest.fixture(scope="session")
def shop_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A usual home, which tests change."""
    return fill(tmp_path_factory.mktemp("usual"), hostile=False)


@pytest.fixture(scope="session")
def shop_address(shop_desk: Desk) -> Iterator[str]:
    """The page over the usual home."""
    with serving(shop_desk) as address:
        yield address


@pytest.fixture
def worst(tab: Tab, worst_address: str) -> Tab:
    """The browser before the home with markup in every field."""
    return tab.before(worst_address)


@pytest.fixture
def shop(tab: Tab, shop_address: str) -> Tab:
    """The browser before the usual home."""
    return tab.before(shop_address)
