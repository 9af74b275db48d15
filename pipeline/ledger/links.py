"""The parentUuid links of each file, and which entries lie on a branch the person left.

Links are kept apart from entries because most chained entries say nothing. The rule for what is
abandoned belongs to the caller; here is only how seldom the whole file must be asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pipeline.domain.speech import Entry
from pipeline.ledger.connection import Ledger

Link = tuple[str, str | None, bool, bool]
"""(uuid, parent uuid, whether a person typed it, whether it is on a side chain)"""

Abandoned = Callable[[Sequence[Link]], set[str]]

_PROMPTS = frozenset({"typed", "slash"})


def add(led: Ledger, file: int, batch: Sequence[Entry]) -> None:
    """Add the links of a batch; the blocks of one record share one."""
    rows = [
        (
            file,
            entry.offset,
            entry.uuid,
            entry.parent_uuid,
            int(entry.speaker == "person" and entry.channel in _PROMPTS),
            int(entry.sidechain),
        )
        for entry in batch
        if entry.chained and entry.uuid
    ]
    led.executemany(
        "INSERT INTO entry_links VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET human = 1 WHERE excluded.human",
        rows,
    )


def tip(led: Ledger, file: int) -> tuple[int, Link] | None:
    """Return the last main-chain link of the file, after its byte offset; None when it has none."""
    found = led.row(
        "SELECT byte_offset, uuid, parent_uuid, human, sidechain FROM entry_links"
        " WHERE file_id = ? AND sidechain = 0 ORDER BY byte_offset DESC LIMIT 1",
        (file,),
    )
    return None if found is None else (found[0], (found[1], found[2], bool(found[3]), bool(found[4])))


def mark_branches(led: Ledger, file: int, before: tuple[int, Link] | None, abandoned: Abandoned) -> None:
    """Bring the abandoned flags up to date after a pass; `before` is the file's `tip` before it.

    When all that is new hangs on that tip, nothing older can change, and only the new links are looked
    at; a turn at the end of a long session then costs as much as in a short one. Otherwise, the
    whole file is judged again, and entries may also come back.
    """
    if before is not None:
        place, last = before
        new = _links(led, file, place + 1)
        if _hangs_on(last[0], new) and not _any_before(led, file, place, [last, *new]):
            _flag(led, file, abandoned([last, *new]), 1)
            return
    left = abandoned(_links(led, file, 0))
    flagged = {
        row[0]
        for row in led.rows(
            "SELECT uuid FROM memory_transcript_entries"
            " WHERE file_id = ? AND abandoned = 1 AND superseded = 0",
            (file,),
        )
    }
    _flag(led, file, left - flagged, 1)
    _flag(led, file, flagged - left, 0)


def _links(led: Ledger, file: int, start: int) -> list[Link]:
    """Return the links from byte `start` on in file order, the first of each uuid only."""
    first: dict[str, Link] = {}
    for uuid, parent, human, sidechain in led.execute(
        "SELECT uuid, parent_uuid, human, sidechain FROM entry_links"
        " WHERE file_id = ? AND byte_offset >= ? ORDER BY byte_offset",
        (file, start),
    ):
        first.setdefault(uuid, (uuid, parent, bool(human), bool(sidechain)))
    return list(first.values())


def _hangs_on(tip_uuid: str, new: Sequence[Link]) -> bool:
    known = {tip_uuid}
    for uuid, parent, _, sidechain in new:
        if uuid in known or not (sidechain or parent in known):
            return False
        if parent in known:
            known.add(uuid)
    return True


def _any_before(led: Ledger, file: int, end: int, some: Sequence[Link]) -> bool:
    """Return whether the file holds one of these uuids before byte `end`: a compaction appends copies."""
    found = led.value(
        "SELECT 1 FROM entry_links WHERE file_id = ? AND byte_offset < ?"
        " AND uuid IN (SELECT value FROM json_each(?)) LIMIT 1",
        (file, end, json.dumps([link[0] for link in some])),
    )
    return found is not None


def _flag(led: Ledger, file: int, uuids: set[str], value: int) -> None:
    led.executemany(
        "UPDATE memory_transcript_entries SET abandoned = ? WHERE uuid = ? AND file_id = ?",
        [(value, uuid, file) for uuid in sorted(uuids)],
    )
