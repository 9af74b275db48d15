"""The sums by which a row of the catalogue shows that it is as it was written."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import orjson


def row_sum(values: Sequence[object]) -> int:
    """Return the sum of a row, -1 for values of a type that no row of ours has."""
    try:
        return zlib.crc32(orjson.dumps(values))
    except TypeError:
        return -1


def text_sum(path: str, front: object, preview: str, line: str) -> int:
    """Return the sum of what is kept of the file at `path`, -1 where that is of a type we don't write."""
    start = row_sum((path, preview, line))
    return zlib.crc32(front, start) if isinstance(front, bytes) and start >= 0 else -1
