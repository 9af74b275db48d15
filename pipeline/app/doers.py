"""Who made a change, as a person reads it."""

from __future__ import annotations

from pipeline.ledger.inbox import CITED
from pipeline.sharing.turn import CAME
from pipeline.store import ARRIVED, Generation, turns_of

YOU = "you"
_BY = {"extraction": "extraction", "dream": "dream", "promoted": "dream", "inbox": "you, inbox"}
_BY |= {CITED: "the second reader"}
_BY |= {"remember": "Claude, by tool", "drop": "Claude, by tool", "join": "Claude, by tool"}
"""By the first word of a reason; else it was a person."""


def by_whom(item: Generation) -> str:
    """Return who made `item`: Reverie, the person here, another machine of theirs, or people of the team."""
    if item.run.startswith("inbox-"):
        return _BY["inbox"]
    if item.run.startswith(ARRIVED):
        return item.reason.removeprefix(CAME)
    return YOU if turns_of(item.run)[1] else _BY.get(item.reason.partition(" ")[0], YOU)
