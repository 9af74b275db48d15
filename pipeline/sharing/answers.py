"""A person's no to what is asked of a memory, as a record: so it closes the question on their other machines.

A yes is a text, and travels as one. A no leaves all as it stands, so its record says what stands already, as
made from all that differed: who reads it has nothing left to ask. It wins over nothing: a yes that was said
elsewhere before the no arrived takes its sentence away all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pipeline.core.clock import iso
from pipeline.ledger.inbox import BY_PERSON, SYNCED, list_inbox
from pipeline.sharing.merging import state_of
from pipeline.sharing.outgoing import behind
from pipeline.sharing.questions import run_id_of
from pipeline.sharing.revisions import Revision, after

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.sharing.state import Known, State
    from pipeline.store import Store


def answered(ledger: Ledger, store: Store, state: State) -> dict[str, Known]:
    """Return the memories of which every question was answered with no, and none of it is told yet.

    In a team a no is for who said it, so there are none.
    """
    asking = {ident: known for ident, known in state.known.items() if known.asks}
    if state.team or not asking:
        return {}
    rejected = {
        item.run_id
        for item in list_inbox(ledger, str(store.path), "rejected")
        if item.kind == SYNCED and item.payload.get(BY_PERSON) is True
    }
    return {
        ident: known
        for ident, known in asking.items()
        if all(run_id_of(ident, known, ask[0]) in rejected for ask in known.asks)
    }


def noes(
    ledger: Ledger | None,
    store: Store,
    state: State,
    records: Callable[[str], Sequence[Revision]],
    now: datetime,
) -> list[Revision]:
    """Return a record for each memory that was `answered`; `records` gives all there are of one."""
    those = answered(ledger, store, state) if ledger is not None else {}
    return [
        made
        for ident, known in those.items()
        for made in _as_it_stands(known, records(ident), state.machine, now)
    ]


def _as_it_stands(known: Known, records: Sequence[Revision], machine: str, now: datetime) -> list[Revision]:
    """Return the record of what the heads of `known` say together; none where they are not there."""
    every = {item.name: item for item in records}
    if any(head not in every for head in known.heads):
        return []
    seen = behind(every, known.heads)
    meaning = state_of(item for name, item in every.items() if name in seen)
    if meaning.file is None:
        return []
    last = max(every[head].clock for head in known.heads)
    made = Revision(
        memory=meaning.memory,
        parents=tuple(sorted(known.heads)),
        machine=machine,
        clock=after(last, int(now.timestamp() * 1000)),
        at=iso(now),
        path=meaning.path,
        file=meaning.file.decode(),
        written=meaning.written,
    )
    return [made]
