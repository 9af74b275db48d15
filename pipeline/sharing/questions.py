"""What only the person can say of changes that two machines made: it waits in the inbox, as all else does."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.core.ids import digest
from pipeline.ledger.inbox import (
    BY_PERSON,
    SYNCED,
    InboxItem,
    add_inbox,
    ask_again,
    asks_same,
    go_on_as,
    list_inbox,
    reject_inbox,
)
from pipeline.sharing.outgoing import documents_of
from pipeline.sharing.wording import row_of

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.sharing.state import Known, State
    from pipeline.store import Document, Store

_LEFT = "it was taken away on one machine, and changed on another; a yes takes it away everywhere"
_FORGOTTEN = (
    "it was forgotten on one machine, and another had added to it; what was added stands,"
    " and a yes takes that away everywhere, too"
)
_BACK = "two machines took it away, and one of them brought it back; a yes takes it away everywhere"
_GONE = "one machine left a sentence out that another changed; a yes leaves the changed one out, too"
_BOTH = "two machines changed one sentence, and both stand; a yes leaves out what was written earlier"


_CLAIMS = ("later", "earlier", "changed")
"""The keys of a payload with sentences that stand as long as nobody has settled what is asked."""


def ask(ledger: Ledger, store: Store, state: State, *, now: datetime) -> int:
    """Put into the inbox what is asked of memories here, and close what is settled; tell how many wait.

    What is asked of a memory that is not here waits for it, and so does what a person took a no back of.
    """
    key = str(store.path)
    asking = {ident: known for ident, known in state.known.items() if known.asks}
    taken_back = [item for item in list_inbox(ledger, key) if item.kind == SYNCED and _is_asked_again(item)]
    documents = documents_of(store) if asking or taken_back else {}
    wanted: dict[str, tuple[dict[str, Any], str]] = {}
    stay = {item.run_id for item in taken_back if _stands(item, documents.values())}
    for ident, known in asking.items():
        document = documents.get(ident)
        for sentence, kept, other, *more in known.asks:
            run_id = run_id_of(ident, known, sentence)
            stay.add(run_id)
            if document is not None:
                wanted[run_id] = _question(document, sentence, kept, other, _why_it_may_go(*more))
    with ledger.transaction():
        had = _had(ledger, key, wanted)
        fresh = {run_id: asked[0] for run_id, asked in wanted.items() if run_id not in had}
        for item in list_inbox(ledger, key):
            if item.kind != SYNCED or item.run_id in stay:
                continue
            same = next((run_id for run_id, payload in fresh.items() if asks_same(item, payload)), "")
            if same:
                # It waits under the number that a person was told.
                del fresh[same]
                go_on_as(ledger, item, same)
            else:
                reject_inbox(ledger, item, by_person=False, now=now)
        for run_id in fresh:
            payload, reason = wanted[run_id]
            text = json.dumps(payload, ensure_ascii=False, sort_keys=True)
            add_inbox(ledger, key, kind=SYNCED, payload_json=text, reason=reason, run_id=run_id, now=now)
        return sum(item.run_id in stay for item in list_inbox(ledger, key))


def _had(ledger: Ledger, store: str, wanted: Container[str]) -> set[str]:
    """Return the run ids of all that was ever asked; what is `wanted` and nobody answered waits again."""
    found = set()
    for item in list_inbox(ledger, store, None):
        if item.kind == SYNCED:
            found.add(item.run_id)
            is_settled = item.state == "rejected" and item.payload.get(BY_PERSON) is False
            if is_settled and item.run_id in wanted:
                ask_again(ledger, item)
    return found


def _is_asked_again(item: InboxItem) -> bool:
    """Whether a person took a no to it back, which may have closed the question on their machines."""
    return any(gone.state == "rejected" for gone in item.taken_back)


def _stands(item: InboxItem, documents: Iterable[Document]) -> bool:
    """Whether the words that `item` asks about still stand in the memory, as far as can be told."""
    payload = item.payload
    document = next((found for found in documents if found.name == payload.get("name")), None)
    if document is None or not document.is_text or payload.get("leaves"):
        return True  # It may be away for a while only, or have another name; a person can still say no.
    claimed = {text for claim in _CLAIMS for text in payload.get(claim) or ()}
    return claimed <= {piece.text for piece in row_of(document.memory.body, 0)}


def _plain(document: Document) -> str:
    return " ".join(document.memory.body.split())


def run_id_of(ident: str, known: Known, sentence: str) -> str:
    """Return what tells the question about `sentence` of a memory, as its heads are, from all others."""
    return f"sync-{digest(' '.join((ident, *known.heads, sentence)))[:24]}"


def _why_it_may_go(forgotten: bool = False, back: bool = False) -> str:
    if back:
        return _BACK
    return _FORGOTTEN if forgotten else _LEFT


def _question(
    document: Document, sentence: str, kept: list[str], other: list[str], why_it_may_go: str
) -> tuple[dict[str, Any], str]:
    payload: dict[str, Any] = {"name": document.name}
    if not sentence:
        return {**payload, "leaves": True, "text": _plain(document)}, why_it_may_go
    payload |= {"sentence": sentence, "without": other}
    if kept:
        return {**payload, "later": kept, "earlier": other}, _BOTH
    return {**payload, "changed": other}, _GONE
