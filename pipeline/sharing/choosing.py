"""What of a project a team may have: which memories are offered to it, and each one's copy.

What is about the person is never among them, and what they want of Claude goes at their own yes only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline.core import zone
from pipeline.core.ids import derived_id
from pipeline.domain.quotes import QUOTES, Quote, quotes_of, with_quotes
from pipeline.ledger.inbox import OFFERED, InboxItem, add_inbox, amend_inbox, decide_inbox, list_inbox
from pipeline.revision.compose import Removal, lost_between
from pipeline.sharing.authors import AUTHOR, SINCE
from pipeline.sharing.signing import OF_SESSION
from pipeline.text.humanize import count
from pipeline.verify.barred import bar
from pipeline.verify.flaw import Flaw

if TYPE_CHECKING:
    from pipeline.domain.memory import Memory
    from pipeline.ledger import Ledger
    from pipeline.revision import Door
    from pipeline.sharing.state import State
    from pipeline.store import Document, Move, Put, Store

_NEVER = frozenset({"user"})
_BY_A_YES = frozenset({"feedback"})
_WHY = "nobody of {team} has them yet; a yes gives the team a copy of each{more}"
_QUOTES = "the words that you or Claude said for each, and the day (team.share_quotes)"


def id_there(memory: Memory) -> str:
    """Return the id of the team's copy of `memory`."""
    return derived_id("shared with a team", memory.id or memory.path)


def copy_of(memory: Memory, person: str, moment: datetime, quotes: Iterable[Quote] = ()) -> Memory:
    """Return `memory` as the team gets it: signed, without relations to what the others have not.

    No source and no session goes along, and of what was said the `quotes` alone.
    """
    extra = {**memory.extra, AUTHOR: person, SINCE: zone.day(memory.updated or memory.created or moment)}
    extra.pop(OF_SESSION, None)
    if isinstance(below := extra.get("metadata"), dict):
        extra["metadata"] = {key: value for key, value in below.items() if key not in (OF_SESSION, QUOTES)}
    copied = replace(
        memory, id=id_there(memory), path="", relations=(), sources=(), pinned=False, extra=extra
    )
    return with_quotes(copied, quotes)


def plan_copy(
    door: Door,
    there: Iterable[Document],
    memory: Memory,
    state: State,
    moment: datetime,
    quotes: Iterable[Quote] = (),
) -> Put | Move | Flaw:
    """Plan the copy of `memory` at the `door` of a team's folder, or bring that which is `there` in step.

    It has this person's `quotes`, and no others of theirs; what colleagues said for it stays.
    """
    copied = copy_of(memory, state.person, moment, quotes)
    known = next((item for item in there if item.own_id == copied.id), None)
    if known is None:
        return door.create(copied)
    theirs = [item for item in quotes_of(known.memory) if item.by not in (state.person, *state.names)]
    copied = with_quotes(copied, (*quotes_of(copied), *theirs))
    gone = lost_between(known.memory.body, copied.body, ())
    removals = [Removal(text, reason="shared anew") for text in gone]
    return door.revise(known, replace(copied, name=known.name, path=known.path), removals)


def candidates(store: Store, state: State) -> list[Document]:
    """Return the memories of `store` that the team of `state` never had, and may have."""
    had = {*state.known, *state.here}
    return [
        item
        for item in store.scan().documents
        if not item.retired
        and not item.twin
        and item.is_text
        and item.memory.type not in _NEVER
        and id_there(item.memory) not in had
    ]


def fit_for_auto(found: Iterable[Document]) -> list[Document]:
    """Return those that go without a yes to each: no wish of a person's, no guess, nothing doubtful."""
    return [
        item
        for item in found
        if item.memory.type not in _BY_A_YES
        and not item.memory.is_a_guess
        and not bar("\n".join((item.memory.name, item.memory.description, item.memory.body)))
    ]


def offer(ledger: Ledger, store: Store, state: State, *, now: datetime, quotes: bool = False) -> int:
    """Put what the team may have into the inbox, as one entry a day; return how many memories are new there.

    What was offered once is not offered again, whatever the answer was. An entry that waits takes the next
    day's with it. It says so where `quotes` go along; at a yes to one that does not say so none goes.
    """
    key = str(store.path)
    entries = [item for item in list_inbox(ledger, key, None) if item.kind == OFFERED]
    seen = {known for item in entries for known in item.payload["offered"]}
    fresh = [item for item in candidates(store, state) if id_there(item.memory) not in seen]
    today = zone.day(now)
    if not fresh or any(_day(item) == today for item in entries):
        return 0
    reason = _WHY.format(team=state.team_name, more=f", with {_QUOTES}" if quotes else "")
    waiting = next((item for item in entries if item.state == "open"), None)
    rows = [*(waiting.payload["memories"] if waiting else ()), *map(_row, fresh)]
    offered = [*(waiting.payload["offered"] if waiting else ()), *(id_there(d.memory) for d in fresh)]
    payload = payload_of(state.team_name, rows, offered, asked=now.timestamp(), quotes=quotes)
    with ledger.transaction():
        if waiting is not None:
            amend_inbox(ledger, waiting, {**waiting.payload, **payload}, reason=reason)
        else:
            text = json.dumps(payload, ensure_ascii=False)
            add_inbox(
                ledger, key, kind=OFFERED, payload_json=text, reason=reason, run_id=f"team-{today}", now=now
            )
    return len(fresh)


def withdraw(ledger: Ledger, store: Store, *, now: datetime) -> None:
    """Take what was offered of `store` off the inbox: there is no team any more."""
    with ledger.transaction():
        for item in list_inbox(ledger, str(store.path)):
            if item.kind == OFFERED:
                decide_inbox(ledger, item.id, "rejected", now=now)


def payload_of(
    team: str, rows: Sequence[dict[str, str]], offered: Sequence[str], *, asked: float, quotes: bool
) -> dict[str, Any]:
    """Return what an inbox entry holds that gives the team the memories of `rows`.

    `offered` are the copies' ids of all that were ever in the entry, `asked` is when it last grew. With
    `quotes` what was said for each goes along, and the entry says so.
    """
    return {
        "name": f"{count(len(rows), 'memory', 'memories')} for {team}",
        "team": team,
        "memories": list(rows),
        "offered": list(offered),
        "asked": asked,
        "quotes": _QUOTES if quotes else "",
        "shares": [line_of(row) for row in rows],
    }


def line_of(row: dict[str, str]) -> str:
    """Return the line by which a person knows a memory that is offered."""
    return f"{row['name']} ({row['type']}): {row['description']}"


def _row(document: Document) -> dict[str, str]:
    memory = document.memory
    return {
        "id": id_there(memory),
        "name": document.name,
        "type": memory.type,
        "description": " ".join(memory.description.split()),
    }


def _day(item: InboxItem) -> str:
    """Return the local day on which `item` last grew."""
    return zone.day(datetime.fromtimestamp(float(item.payload["asked"]), UTC))
