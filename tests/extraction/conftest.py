from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core import paths
from pipeline.store import Store
from tests.support.extraction import Bench
from tests.support.ledgers import new_ledger


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    place = paths.projects_dir() / "-home-dev-shop" / "memory"
    with new_ledger(tmp_path / "home" / "ledger.sqlite") as ledger:
        yield Bench(ledger, Store.open(place, create=True), tmp_path / "home")
