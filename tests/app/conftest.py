"""One home as extraction and as a person's commands see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.clock import iso
from pipeline.ledger import open_ledger
from pipeline.store import Store
from tests.support.extraction import NOW, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    place = paths.projects_dir() / "-home-dev-shop" / "memory"
    with open_ledger(tmp_path / "home" / "ledger.sqlite") as ledger:
        yield Bench(ledger, Store.open(place, create=True), tmp_path / "home")


@pytest.fixture
def app(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("REVERIE_HOME", str(bench.root))
    monkeypatch.setenv("REVERIE_NOW", iso(NOW))
    return App(store=bench.store.path)
