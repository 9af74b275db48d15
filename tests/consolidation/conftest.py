"""A bench for dreams in the test's own folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dreaming import Dreaming, dreaming


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Dreaming]:
    with dreaming(tmp_path) as made:
        yield made
