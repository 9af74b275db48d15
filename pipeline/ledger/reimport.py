"""What changed where a file was read again from its first byte at a person's wish (checklist D-C5).

Its entries are replaced, and a finished conversation keeps its row and its status: nobody is asked again
about what was read. So it is told which of them no longer say what was read of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.ledger.connection import Ledger
from pipeline.record import record

REASON = "reimported"
_SPEECH = (
    "SELECT id, content FROM memory_transcript_entries"
    " WHERE file_id = ? AND speaker IS NOT NULL AND superseded = 0"
)


@record
class Changed:
    """How many utterances say something else or are gone, and of which finished conversations (ids)."""

    rows: int = 0
    conversations: tuple[int, ...] = ()


NOTHING = Changed()


def spoken(ledger: Ledger, file: int) -> dict[int, int]:
    """Return a checksum of what each utterance of the file says, by its row."""
    return {row: hash(content) for row, content in ledger.execute(_SPEECH, (file,))}


def compared(ledger: Ledger, file: int, before: Mapping[int, int]) -> Changed:
    """Return what of the file is not as it was when `spoken` gave `before`."""
    after = spoken(ledger, file)
    rows = [row for row, checksum in before.items() if after.get(row) != checksum]
    finished = ledger.rows(
        "SELECT id, first_row, last_row FROM memory_conversations"
        " WHERE file_id = ? AND status <> 'active' ORDER BY first_row",
        (file,),
    )
    touched = (number for number, first, last in finished if any(first <= row <= last for row in rows))
    return Changed(len(rows), tuple(touched))
