"""Leaving for the hooks what a sync brought: see `pipeline.hooklib.news`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.hooklib import news

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

_MOST = 60
"""So many are kept; a session that hears of more is told their number."""
_KEPT_SECONDS = 14 * 86_400.0


def note(folder: Path, rows: Iterable[tuple[str, str, str]], now: datetime) -> None:
    """Add `rows` (deed, name, line of an index) to what the sync kept in `folder` has brought so far."""
    at = now.timestamp()
    file = folder / news.FILE
    kept = [list(row) for row in news.rows_in(str(file)) if at - _KEPT_SECONDS < row[0] <= at]
    kept += [[at, *row] for row in rows]
    write_atomic(file, orjson.dumps(kept[-_MOST:]))
