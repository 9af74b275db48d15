"""What is counted of transcripts: words that the ledger needs without all that speech is made of."""

from __future__ import annotations

PROMPTS = frozenset({"typed", "slash"})
"""The channels by which a person begins a turn; all others belong to one that runs."""
MOST_TYPES = 64
"""Different record types that are counted by name; a transcript with more is none that the host wrote."""
OTHER_TYPES = "(other)"


def tally(counts: dict[str, int], record_type: str, times: int = 1) -> None:
    """Add `times` records of type `record_type` to `counts`, which stays of bounded size."""
    if record_type not in counts and len(counts) >= MOST_TYPES:
        record_type = OTHER_TYPES
    counts[record_type] = counts.get(record_type, 0) + times
