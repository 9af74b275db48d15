"""What one run of extraction did, for whoever started it."""

from __future__ import annotations

from pipeline.domain.action import MemoryAction
from pipeline.record import record


@record
class Outcome:
    """What one run did. `word` is as in `ledger.runs`; counts are by action.

    `sent_back` says of each candidate that needed narrower words why. `window` is how many characters
    of new dialogue the model took, for the spans that follow. `wrote` says that files of the store were
    changed, so that what is made from them has to be made anew.
    """

    run_id: str
    word: str
    reason: str = ""
    actions: tuple[MemoryAction, ...] = ()
    rejected: tuple[dict[str, str], ...] = ()
    sent_back: tuple[str, ...] = ()
    proposals: int = 0
    dollars: float = 0.0
    window: int = 0
    wrote: bool = False
