"""The parentUuid links of each file, and which entries lie on a branch the person left.

Links are kept apart from entries because most chained entries say nothing, and by the batch, one row for
some thousands, because a row each took as long as decoding the transcript. Beside a batch stands a checksum
of each of its uuids: looking for one in a long session then reads a few hundred kilobytes. The
rule for what is abandoned belongs to the caller; here is only how seldom the whole file must be asked again,
and how it is gone through then without being held.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

import orjson

from pipeline.domain.speech import BareLink, Entry
from pipeline.domain.tallies import PROMPTS
from pipeline.ledger.connection import Ledger
from pipeline.transcript.branch import WINDOW, Link

Tip = tuple[int, Link]
"""A link after the byte offset of its record."""

Abandoned = Callable[[Iterable[Link]], set[str]]
_TABLE = 1 << 20
_CRC = 4


def add(ledger: Ledger, file: int, batch: Iterable[Entry | BareLink], *, after: int) -> int:
    """Add the links of a batch that stand behind byte `after`; return the byte of the last one.

    The blocks of one record share a link. What stands at or before `after` is known: a file that is
    imported again brings the same links.
    """
    found: list[list[Any]] = []
    for entry in batch:
        if isinstance(entry, BareLink):
            if entry.uuid and entry.offset > after:
                found.append([entry.offset, entry.uuid, entry.parent_uuid, False, entry.sidechain])
            continue
        if not entry.chained or not entry.uuid or entry.offset < after:
            continue
        human = entry.speaker == "person" and entry.channel in PROMPTS
        if found and found[-1][0] == entry.offset:
            found[-1][3] = found[-1][3] or human
        elif entry.offset > after:
            found.append([entry.offset, entry.uuid, entry.parent_uuid, human, entry.sidechain])
    if not found:
        return after
    ledger.execute(
        "INSERT INTO link_batches (file_id, first_offset, last_offset, marks, links) VALUES (?, ?, ?, ?, ?)",
        (file, found[0][0], found[-1][0], _checksums([link[1] for link in found]), orjson.dumps(found)),
    )
    return int(found[-1][0])


def _checksums(uuids: Iterable[str]) -> bytes:
    checksums = [crc32(uuid.encode("utf-8", "surrogatepass")) for uuid in uuids]
    return struct.pack(f"<{len(checksums)}I", *checksums)


def reached(ledger: Ledger, file: int) -> int:
    """Return the byte offset of the last link known of the file, -1 when there is none."""
    last = ledger.value("SELECT max(last_offset) FROM link_batches WHERE file_id = ?", (file,))
    return -1 if last is None else int(last)


def forget(ledger: Ledger, file: int) -> None:
    """Drop the file's links: it was rewritten."""
    ledger.execute("DELETE FROM link_batches WHERE file_id = ?", (file,))


def tip(ledger: Ledger, file: int) -> Tip | None:
    """Return the last main-chain link of the file, after its byte offset; None when it has none."""
    cursor = ledger.execute(
        "SELECT links FROM link_batches WHERE file_id = ? ORDER BY last_offset DESC", (file,)
    )
    try:
        for (batch,) in cursor:
            for offset, link in reversed(_decoded(batch)):
                if not link[3]:
                    return offset, link
    finally:
        cursor.close()
    return None


def _decoded(batch: bytes) -> list[Tip]:
    return [
        (offset, (uuid, parent, human, sidechain))
        for offset, uuid, parent, human, sidechain in orjson.loads(batch)
    ]


def mark_branches(ledger: Ledger, file: int, before: Tip | None, abandoned: Abandoned) -> bool:
    """Bring the abandoned flags up to date after a pass; `before` is the file's `tip` before it.

    When all that is new hangs on that tip, nothing older can change, and only the new links are looked
    at; a turn at the end of a long session then costs as much as in a short one. Otherwise, the
    whole file is judged again, and entries may also come back. Return whether it was.
    """
    if before is not None and _added(ledger, file, before[0]) <= WINDOW:
        offset, last = before
        new = list(links_of(ledger, file, offset + 1))
        if _hangs_on(last[0], new) and not _any_before(ledger, file, offset, [last, *new]):
            _flag(ledger, file, abandoned([last, *new]), 1)
            return False
    left = abandoned(FileLinks(ledger, file))
    flagged = {
        row[0]
        for row in ledger.rows(
            "SELECT uuid FROM memory_transcript_entries"
            " WHERE file_id = ? AND abandoned = 1 AND superseded = 0",
            (file,),
        )
    }
    _flag(ledger, file, left - flagged, 1)
    _flag(ledger, file, flagged - left, 0)
    return True


def _added(ledger: Ledger, file: int, offset: int) -> int:
    """Return how many links came in batches that end behind byte `offset`."""
    size = ledger.value(
        # What begins behind it ends behind it too: by the latter the batches are found.
        "SELECT sum(length(marks)) FROM link_batches WHERE file_id = ? AND last_offset > ?"
        " AND first_offset > ?",
        (file, offset, offset),
    )
    return int(size or 0) // _CRC


def links_of(ledger: Ledger, file: int, start: int = 0) -> Iterator[Link]:
    """Yield the links from byte `start` on in file order, the first of each uuid only."""
    return iter(FileLinks(ledger, file, start))


class FileLinks:
    """The links of a file from byte `start` on, in file order and the first of each uuid only.

    They are read a batch at a time. What is kept of those passed is a checksum each, and one bit of it in a
    table that tells of most uuids at once that they are new.
    """

    def __init__(self, ledger: Ledger, file: int, start: int = 0) -> None:
        self._ledger = ledger
        self._file = file
        self._start = start
        self._forget()

    def _forget(self) -> None:
        self._marks = bytearray()
        self._batches: list[int] = []
        self._bases: list[int] = []
        self._left_out: list[tuple[int, ...]] = []
        self._held: tuple[int, list[str]] = (-1, [])

    def __iter__(self) -> Iterator[Link]:
        """Yield the links; what was passed before is forgotten."""
        self._forget()
        seen: set[str] = set()
        table = bytearray()
        for number, marks, batch in self._ledger.execute(
            "SELECT id, marks, links FROM link_batches WHERE file_id = ? AND last_offset >= ?"
            " ORDER BY last_offset",
            (self._file, self._start),
        ):
            links: list[Link] = []
            left_out: list[int] = []
            for at, (offset, link) in enumerate(_decoded(batch)):
                if offset < self._start or link[0] in seen or (table and self._is_known(link[0], table)):
                    left_out.append(at)
                else:
                    seen.add(link[0])
                    links.append(link)
            self._batches.append(number)
            self._bases.append(len(self._marks) // _CRC)
            self._left_out.append(tuple(left_out))
            self._marks += _checksums(link[0] for link in links) if left_out else marks
            yield from links
            if len(seen) > WINDOW:
                table = table or bytearray(_TABLE)
                for uuid in seen:
                    at, bit = _bit(uuid)
                    table[at] |= bit
                seen = set()

    def few(self, most: int) -> list[Link] | None:
        """Return the links if there are at most so many, else None."""
        if _added(self._ledger, self._file, self._start - 1) > most:
            return None
        found: dict[str, Link] = {}
        for (batch,) in self._ledger.plain_rows(
            "SELECT links FROM link_batches WHERE file_id = ? AND last_offset >= ? ORDER BY last_offset",
            (self._file, self._start),
        ):
            for offset, uuid, parent, human, sidechain in orjson.loads(batch):
                if offset >= self._start and uuid not in found:
                    found[uuid] = (uuid, parent, human, sidechain)
        return list(found.values())

    def _is_known(self, uuid: str, table: bytearray) -> bool:
        at, bit = _bit(uuid)
        return bool(table[at] & bit) and self.position_of(uuid) is not None

    def position_of(self, uuid: str) -> int | None:
        """Return the position of `uuid` among the links that were passed, None where it is none of them."""
        checksum = _checksums([uuid])
        at = self._marks.find(checksum)
        while at >= 0:
            position, apart = divmod(at, _CRC)
            if not apart and self._uuid_at(position) == uuid:
                return position
            at = self._marks.find(checksum, at + 1)
        return None

    def _uuid_at(self, position: int) -> str:
        at = bisect_right(self._bases, position) - 1
        number, left_out = self._batches[at], frozenset(self._left_out[at])
        if self._held[0] != number:
            batch = self._ledger.value("SELECT links FROM link_batches WHERE id = ?", (number,))
            uuids = [link[0] for n, (_, link) in enumerate(_decoded(batch)) if n not in left_out]
            self._held = (number, uuids)
        return self._held[1][position - self._bases[at]]


def _bit(uuid: str) -> tuple[int, int]:
    """Return the position of a uuid's bit in a table of `_TABLE` bytes."""
    checksum = crc32(uuid.encode("utf-8", "surrogatepass"))
    return (checksum >> 3) % _TABLE, 1 << (checksum & 7)


def parents(ledger: Ledger, file: int) -> dict[str, str | None]:
    """Return the parent of each record of the file, by uuid."""
    return {uuid: parent for uuid, parent, _, _ in links_of(ledger, file)}


def file_of(ledger: Ledger, uuid: str, *, but: int) -> int | None:
    """Return a file, other than `but`, that holds the record `uuid`, None when none is known."""
    checksum = _checksums([uuid])
    for row in ledger.execute("SELECT id, file_id, marks FROM link_batches WHERE file_id <> ?", (but,)):
        if checksum in row["marks"]:
            batch = ledger.value("SELECT links FROM link_batches WHERE id = ?", (row["id"],))
            if any(link[0] == uuid for _, link in _decoded(batch)):
                return int(row["file_id"])
    return None


def _hangs_on(tip_uuid: str, new: Sequence[Link]) -> bool:
    known = {tip_uuid}
    for uuid, parent, _, sidechain in new:
        if uuid in known or not (sidechain or parent in known):
            return False
        if parent in known:
            known.add(uuid)
    return True


def _any_before(ledger: Ledger, file: int, end: int, links: Sequence[Link]) -> bool:
    """Return whether the file holds one of these uuids before byte `end`: a compaction appends copies."""
    wanted = {link[0] for link in links}
    checksums = [_checksums([uuid]) for uuid in wanted]
    batches = ledger.plain_rows(
        "SELECT id, marks FROM link_batches WHERE file_id = ? AND first_offset < ?", (file, end)
    )
    # A checksum only says where to look: other uuids can have the same, and the tip is in its own batch.
    likely = [number for number, marks in batches for checksum in checksums if checksum in marks]
    for number in dict.fromkeys(likely):
        batch = ledger.value("SELECT links FROM link_batches WHERE id = ?", (number,))
        if any(offset < end and link[0] in wanted for offset, link in _decoded(batch)):
            return True
    return False


def _flag(ledger: Ledger, file: int, uuids: set[str], value: int) -> None:
    ledger.executemany(
        "UPDATE memory_transcript_entries SET abandoned = ? WHERE uuid = ? AND file_id = ?",
        [(value, uuid, file) for uuid in sorted(uuids)],
    )
