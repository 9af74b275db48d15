"""What only the person can say of changes that two machines made: it waits in the inbox, as all else does."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.core.ids import digest
from pipeline.ledger.inbox import SYNCED, add_inbox, decide_inbox, list_inbox

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.sharing.state import Known, State
    from pipeline.store import Store

_LEFT = "it left on one machine, and was changed on another; a yes takes it away"
_GONE = "one machine left out “{sentence}”, another wrote “{other}” instead; a yes leaves that out, too"
_BOTH = "two machines changed “{sentence}”; both stand, and a yes leaves out “{other}” for the later “{kept}”"


def ask(ledger: Ledger, store: Store, state: State, *, now: datetime) -> int:
    """Put into the inbox what is asked of the memories here, and close what is settled; tell how many are."""
    wanted: dict[str, tuple[dict[str, Any], str]] = {}
    for ident, known in state.known.items():
        here = state.here.get(ident)
        if known.asks and here is not None and here.digest:
            for sentence, kept, other in known.asks:
                wanted[_run_id(ident, known, sentence)] = _question(known, sentence, kept, other)
    key = str(store.path)
    with ledger.transaction():
        for item in list_inbox(ledger, key):
            if item.kind == SYNCED and item.run_id not in wanted:
                decide_inbox(ledger, item.id, "rejected", now=now)
        for run_id, (payload, reason) in wanted.items():
            text = json.dumps(payload, ensure_ascii=False, sort_keys=True)
            add_inbox(ledger, key, kind=SYNCED, payload_json=text, reason=reason, run_id=run_id, now=now)
    return len(wanted)


def _run_id(ident: str, known: Known, sentence: str) -> str:
    return f"sync-{digest(' '.join((ident, *known.heads, sentence)))[:24]}"


def _question(known: Known, sentence: str, kept: list[str], other: list[str]) -> tuple[dict[str, Any], str]:
    name = known.placed.rpartition("/")[2].removesuffix(".md")
    if not sentence:
        return {"name": name, "leaves": True, "reason": _LEFT}, _LEFT
    how = _BOTH if kept else _GONE
    reason = how.format(sentence=sentence, kept=" ".join(kept), other=" ".join(other))
    return {"name": name, "without": other, "reason": reason}, reason
