from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ledger.connection import Ledger
from tests.support.ledgers import new_ledger


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path / "home" / "ledger.sqlite") as ledger:
        yield ledger
