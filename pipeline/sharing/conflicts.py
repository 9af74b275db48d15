"""Where two machines, or two of a team, did otherwise and both stands: whose wordings, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pipeline.core.errors import DocumentError
from pipeline.ledger.inbox import SYNCED, list_inbox
from pipeline.safety.invisible import visible_name
from pipeline.sharing.authors import author_in
from pipeline.sharing.questions import run_id_of
from pipeline.sharing.recorded import records_of
from pipeline.sharing.repository import Repository
from pipeline.sharing.revisions import Revision
from pipeline.sharing.wording import row_of
from pipeline.store.files import document

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.sharing.state import Known, Share, State
    from pipeline.store import Store


WROTE, CHANGED, LEFT_OUT, TOOK_AWAY, FORGOT, AGREED, BROUGHT_BACK = (
    "wrote",
    "changed it",
    "left it out",
    "took it away",
    "forgot it",
    "agreed that it goes",
    "brought it back",
)


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two did, who that was ("" if nobody knows), when (ISO 8601), and their words."""

    did: str
    by: str
    at: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One of them: of a `sentence` of the memory `name`, or with "" of the whole memory.

    Of the two `sides` a yes in the inbox does as the first did. `since` is when the later of the two was
    made, and `number` that of the entry that settles it, 0 where there is none yet.
    """

    name: str
    sentence: str
    sides: tuple[Side, Side]
    since: str
    number: int

    @property
    def answers(self) -> tuple[str, str]:
        """Return what a yes and what a no does."""
        if not self.sentence:
            return "takes it away everywhere", "keeps it"
        if self.sides[0].did == WROTE:
            return "leaves out the second", "keeps both"
        return "leaves it out", "keeps it"

    @property
    def parties(self) -> tuple[str, str]:
        """Return who the two are."""
        first, second = (item.by or "somebody" for item in self.sides)
        return first, second

    @property
    def because(self) -> str:
        """Return why a person is asked, with the names of the two, and what a yes does."""
        first, second = self.parties
        if self.sides[0].did == WROTE and first == second:
            return f"{first} wrote one sentence in two ways, and both stand; a yes leaves the earlier one out"
        return _BECAUSE[self.sides[0].did].format(first, second)


_BECAUSE = {
    WROTE: "{0} and {1} wrote one sentence otherwise, and both stand; a yes leaves out what {1} wrote, which"
    " is earlier",
    LEFT_OUT: "{0} left a sentence out that {1} changed; a yes leaves the changed one out, too",
    TOOK_AWAY: "{0} took it away, and {1} changed it; a yes takes it away everywhere",
    FORGOT: "{0} forgot it, and {1} had added to it; what was added stands, and a yes takes that away"
    " everywhere, too",
    AGREED: "{0} agreed that it goes, and {1} brought it back; a yes takes it away everywhere",
}
"""Why a person is asked, by what the first of the two did."""


def conflicts_of(share: Share, state: State, store: Store, ledger: Ledger) -> list[Conflict]:
    """Return those of the memories of `store` that nobody here has decided, by name."""
    asked = {ident: known for ident, known in state.known.items() if known.asks}
    if not asked:
        return []
    items = {item.run_id: item for item in list_inbox(ledger, str(store.path), None) if item.kind == SYNCED}
    repository = Repository(share.repository, state.remote)
    found: list[Conflict] = []
    for ident, known in asked.items():
        records = sorted(
            records_of(repository, ident), key=lambda item: (item.clock, item.machine, item.name)
        )
        for ask in known.asks:
            item = items.get(run_id_of(ident, known, ask[0]))
            if item is None or item.state == "open":
                found.append(_conflict(state, known, records, ask, item.id if item is not None else 0))
    return sorted(found, key=lambda item: (item.name, item.since))


def _conflict(
    state: State, known: Known, records: Sequence[Revision], ask: Sequence[object], number: int
) -> Conflict:
    sentence, kept, other = str(ask[0]), _texts(ask[1]), _texts(ask[2])
    pairs: tuple[tuple[str, Revision | None, tuple[str, ...]], ...]
    if not sentence and any(ask[4:]):
        back = next(item for item in reversed(records) if item.name in known.heads and item.file is not None)
        agreed = next((item for item in records if item.name in back.parents), None)
        pairs = ((AGREED, agreed, ()), (BROUGHT_BACK, back, ()))
    elif not sentence:
        heads = [item for item in records if item.name in known.heads]
        gone = next((item for item in heads if item.file is None), None)
        lively = next((item for item in reversed(records) if item.file is not None), None)
        if gone is None:
            # A yes took it away as well, and was undone: it is asked what was before both.
            gone = next((item for item in records if item.file is None), None)
            lively = next(
                (item for item in reversed(records) if item.file is not None and item not in heads), lively
            )
        did = FORGOT if gone is not None and gone.forgotten else TOOK_AWAY
        pairs = ((did, gone, ()), (CHANGED, lively, ()))
    elif kept:
        pairs = ((WROTE, _first_to_say(records, kept), kept), (WROTE, _first_to_say(records, other), other))
    else:
        first = _last_without(records, sentence, other)
        pairs = ((LEFT_OUT, first, (sentence,)), (CHANGED, _first_to_say(records, other), other))
    first_side, second_side = (
        Side(did, _who(state, records, item), item.at if item is not None else "", " ".join(words))
        for did, item, words in pairs
    )
    name = visible_name(PurePosixPath(known.placed).stem)
    return Conflict(name, sentence, (first_side, second_side), max(first_side.at, second_side.at), number)


def _texts(words: object) -> tuple[str, ...]:
    return tuple(str(text) for text in words) if isinstance(words, list | tuple) else ()


def _first_to_say(records: Sequence[Revision], words: Sequence[str]) -> Revision | None:
    return next((item for item in records if {*words} <= _texts_in(item)), None)


def _last_without(records: Sequence[Revision], sentence: str, instead: Sequence[str]) -> Revision | None:
    """Return the last record that left `sentence` out with nothing `instead`, which a parent of it had."""
    having = {item.name for item in records if sentence in _texts_in(item)}
    return next(
        (
            item
            for item in reversed(records)
            if item.file is not None
            and having & {*item.parents}
            and not {sentence, *instead} & _texts_in(item)
        ),
        None,
    )


def _texts_in(record: Revision) -> set[str]:
    if record.file is None:
        return set()
    try:
        memory = document.parse(record.file.encode(), record.path)
    except DocumentError:
        return set()
    return {piece.text for piece in row_of(memory.body, 0)}


def _who(state: State, records: Sequence[Revision], record: Revision | None) -> str:
    """Return who made `record`: of a team's people, else which machine; "" where nothing is known."""
    if record is None:
        return ""
    if record.machine == state.machine:
        return "you" if state.team else "this machine"
    if not state.team:
        return f"machine {record.machine}"
    # What takes a memory away names nobody, but that machine may have said something before.
    named = [author_in(item) for item in records if item.machine == record.machine]
    author = author_in(record) or next((name for name in named if name), "")
    if author in (state.person, *state.names):
        return "you"
    return visible_name(author) or f"machine {record.machine}"
