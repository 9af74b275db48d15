"""What a conversation's entry in the diary may say: each line passes the same bars as a memory.

The diary is a file of the store that a model or a person may open later, so what could not stand in a
memory can't stand there either. A line that may not is dropped and told; without a title there is no entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.extraction.schema import ConversationExtraction, Extraction
from pipeline.extraction.screen import Rejected
from pipeline.hooklib.plain import one_line
from pipeline.verify.barred import bar

NAME = "diary"
"""The name under which a dropped line is counted among a run's rejected candidates."""
MAX_TITLE = 120
MAX_LINE = 500
MAX_LINES = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A title and the lines below it, ready to be written, and what was dropped."""

    title: str = ""
    summary: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()


def entry(reply: Extraction) -> Entry:
    """Return what of the episode in `reply` may be written; no title when nothing may."""
    if not isinstance(reply, ConversationExtraction) or not reply.episode.title.strip():
        return Entry()
    given = [reply.episode.title, *(line for line in reply.episode.summary if line.strip())]
    reasons = [bar(line) for line in given]
    rejected = tuple(Rejected(NAME, reason) for reason in reasons if reason)
    if reasons[0]:
        return Entry(rejected=rejected)
    lines = [line for line, reason in zip(given[1:], reasons[1:], strict=True) if not reason]
    return Entry(
        one_line(given[0], MAX_TITLE), tuple(one_line(line, MAX_LINE) for line in lines[:MAX_LINES]), rejected
    )
