"""Whether code may change a memory's file without a person's word. The rule itself is pure
(`domain.memory.why_untouchable`), so that checks that know no store can ask it too."""

from __future__ import annotations

from typing import Protocol

from pipeline.domain.memory import Untouchable, why_untouchable
from pipeline.hooklib.ownership import OTHER, OURS, TEAMS
from pipeline.store.files.scanning import Document


class WriteRecord(Protocol):
    """Whoever knows which files Reverie wrote; a `Store` does."""

    def is_ours(self, document: Document) -> bool:
        """Whether Reverie wrote this file of itself, not at a person's word, and nobody changed it since."""
        ...


def is_tended(document: Document, record: WriteRecord) -> bool:
    """Whether code may write the file of `document`: Reverie's own as it wrote it, and what Claude wrote."""
    return record.is_ours(document) or (document.tended and document.is_text)


def may_change(document: Document, record: WriteRecord) -> Untouchable | None:
    """Return why the file of `document` is left to a person, or None when code may change it."""
    return why_untouchable(pinned=document.head.pinned, ours=is_tended(document, record))


def is_anothers(document: Document, record: WriteRecord) -> bool:
    """Whether only a person's word lets the file be changed, for who wrote it: not for a pin or odd bytes."""
    if document.identity is None or document.head.pinned or not document.is_text:
        return False
    return may_change(document, record) is not None


def why_left(document: Document, record: WriteRecord) -> str:
    """Return why neither code may change the file of `document` nor `adopt` takes it, "" where one may."""
    own = document.hand == OURS and not document.twin
    if own or is_adoptable(document, record) or may_change(document, record) is None:
        return ""
    if document.hand == TEAMS:
        return "is a team's: it is changed by what a person says about it alone"
    if document.head.pinned:
        return "is pinned"
    if not document.is_text:
        return "has bytes that are not UTF-8, so it can't be written again without loss"
    return "was changed since Reverie wrote it, and waits for what is proposed about it"


def is_adoptable(document: Document, record: WriteRecord) -> bool:
    """Whether one yes to all takes the file: another's, never written by Reverie, or a copy of its own."""
    return was_never_ours(document) and is_anothers(document, record)


def was_never_ours(document: Document) -> bool:
    """Whether Reverie never wrote the file, or wrote another that this is a copy of, and it is no team's.

    One it wrote, and somebody changed, waits for what is proposed about it; a team's is never taken.
    """
    return document.hand == OTHER or (document.hand == OURS and bool(document.twin))
