"""Where a session's file comes from: a fork, or a resumption in a new file, goes on from words in another.

Its first record hangs on one that stands in the other file, be it that it was copied (the copies have the
same uuids) or that the parent is not in the file at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.ledger import links
from pipeline.ledger.connection import Ledger

_MOST_ASKED = 400
_FIRST_ROWS = 5
_FILE_ID = "SELECT id FROM memory_file_states WHERE file_path = ?"


def origin(ledger: Ledger, key: str) -> tuple[str, int] | None:
    """Return the file from which `key` goes on, and its last row that was said before; None for no fork."""
    file = ledger.value(_FILE_ID, (key,))
    if file is None:
        return None
    ancestors, outside = _ancestors(ledger, int(file))
    found = _nearest(ledger, int(file), ancestors)
    if found or outside is None:
        return found
    # The parent says nothing itself; the file that holds it knows on what it hangs.
    other = links.file_of(ledger, outside, but=int(file))
    if other is None:
        return None
    return _nearest(ledger, int(file), list(_upward(links.parents(ledger, other), outside)))


def is_read(ledger: Ledger, session: str) -> bool:
    """Say whether the file of `session` was read and is still there, so that it tells its words itself."""
    return bool(
        ledger.value(
            "SELECT 1 FROM memory_file_states WHERE last_processed_offset > 0 AND gone_at IS NULL"
            " AND (session_id = ? OR substr(file_path, -length(?)) = ?) LIMIT 1",
            (session, f"/{session}.jsonl", f"/{session}.jsonl"),
        )
    )


def _ancestors(ledger: Ledger, file: int) -> tuple[list[str], str | None]:
    """Return what the file's first words hang on, nearest first, and the first of it not in the file."""
    parents = links.parents(ledger, file)
    first = ledger.rows(
        "SELECT uuid FROM memory_transcript_entries INDEXED BY entries_speech WHERE file_id = ?"
        " AND speaker IS NOT NULL AND superseded = 0 AND abandoned = 0 ORDER BY id LIMIT ?",
        (file, _FIRST_ROWS),
    )
    start = next((row["uuid"] for row in first if row["uuid"] in parents), None)
    if start is None or parents[start] is None:
        return [], None
    chain = list(_upward(parents, parents[start]))
    return chain, None if chain and chain[-1] in parents else chain[-1]


def _upward(parents: dict[str, str | None], start: str | None) -> Iterator[str]:
    """Yield `start` and what it hangs on; a loop or an unknown parent ends the walk, the latter included."""
    seen: set[str] = set()
    current = start
    while current is not None and current not in seen:
        seen.add(current)
        yield current
        current = parents.get(current)


def _nearest(ledger: Ledger, file: int, ancestors: Sequence[str]) -> tuple[str, int] | None:
    """Return the file and row of the first of `ancestors` that was said in another file."""
    for start in range(0, len(ancestors), _MOST_ASKED):
        asked = ancestors[start : start + _MOST_ASKED]
        rows = ledger.rows(
            "SELECT e.uuid, max(e.id) AS row, f.file_path FROM memory_transcript_entries e"
            " JOIN memory_file_states f ON f.id = e.file_id WHERE e.speaker IS NOT NULL AND e.superseded = 0"
            f" AND e.file_id <> ? AND e.uuid IN ({', '.join('?' * len(asked))}) GROUP BY e.uuid",
            (file, *asked),
        )
        known = {row["uuid"]: (str(row["file_path"]), int(row["row"])) for row in rows}
        found = next((known[uuid] for uuid in asked if uuid in known), None)
        if found:
            return found
    return None
