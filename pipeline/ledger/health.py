"""Figures about what was read of transcripts, beside what lies on the disk now."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from pipeline.ledger.connection import Ledger

_LIVE = "superseded = 0 AND abandoned = 0"


def figures(ledger: Ledger) -> dict[str, Any]:
    """Return how many files and entries there are, by state, and from when to when something was said."""
    return {"files": _files(ledger), "entries": _entries(ledger)}


def _files(ledger: Ledger) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for path, source, status, offset, gone_at in ledger.plain_rows(
        "SELECT path, source, status, last_processed_offset, gone_at FROM memory_file_states"
    ):
        sources[source] += 1
        counted[status] += 1
        counted["gone"] += gone_at is not None
        if gone_at is None and path:
            counted[_beside(path, offset)] += 1
    return {
        "total": sources.total(),
        **{name: counted[name] for name in ("idle", "ingesting", "gone", "behind", "missing")},
        "bad_lines": int(ledger.value("SELECT count(*) FROM bad_lines")),
        "by_source": dict(sorted(sources.items())),
    }


def _beside(path: str, offset: int) -> str:
    """Return what the file at `path` is, as it lies there, to somebody who read `offset` bytes of it."""
    try:
        size = os.stat(path).st_size  # noqa: PTH116 - there may be thousands
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, ValueError):
        return "unseen"
    return "behind" if size > offset else "read"


def _entries(ledger: Ledger) -> dict[str, Any]:
    row = ledger.row(
        "SELECT count(*) AS total, count(DISTINCT session_id) AS sessions,"
        " coalesce(sum(speaker = 'person'), 0) AS person,"
        " coalesce(sum(speaker = 'assistant'), 0) AS assistant, coalesce(sum(speaker IS NULL), 0) AS silent,"
        f" min(timestamp) AS first, max(timestamp) AS last FROM memory_transcript_entries WHERE {_LIVE}"
    )
    assert row is not None, "a count gives a row"
    return dict(row)


def active_in(ledger: Ledger, folder: str) -> list[int]:
    """Return the ids of active conversations whose last words with a folder were said in `folder`."""
    rows = ledger.rows(
        "SELECT c.id, (SELECT e.cwd FROM memory_transcript_entries e WHERE e.file_id = c.file_id"
        f" AND e.id BETWEEN c.first_row AND c.last_row AND {_LIVE} AND e.cwd <> '' ORDER BY e.id DESC"
        " LIMIT 1)"
        " AS cwd FROM memory_conversations c WHERE c.status = 'active' ORDER BY c.id"
    )
    return [row["id"] for row in rows if row["cwd"] and os.path.realpath(row["cwd"]) == folder]
