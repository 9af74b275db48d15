"""Bodies of memories as rows of sentences, and one body out of several rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise

from pipeline.domain.memory import Memory
from pipeline.domain.sentences import ALSO, Part, begins_item, ends_with, sentences
from pipeline.verify.provenance import bound, pruned

_LABELS: dict[Part, str] = {"statement": ALSO, "why": "**Why:**", "how to apply": "**How to apply:**"}
_ALSO = re.compile(r"\*\*also:\*\*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence with what stood before it: the blank between it and the one before, and its label.

    `source` and `number` say in which text it stood, and as which sentence.
    """

    folded: str
    text: str
    part: Part
    gap: str
    label: str
    source: int
    number: int


Row = tuple[Piece, ...]


def row_of(body: str, source: int) -> Row:
    """Return the sentences of `body`, which is text number `source`."""
    found: list[Piece] = []
    end = 0
    for number, sentence in enumerate(sentences(body)):
        label = body[sentence.start : sentence.end - len(sentence.text)]
        gap = body[end : sentence.start]
        found.append(Piece(sentence.folded, sentence.text, sentence.part, gap, label, source, number))
        end = sentence.end
    return tuple(found)


def woven(first: Row, base: Row, others: Sequence[Row], stays: Collection[str]) -> Row:
    """Return one row of all sentences of `first`, `base` and `others` that are in `stays`.

    Those of `first` keep its order. A sentence that took the place of one of `base`, from which all come,
    stands where that one stood; each of the others behind the one that it followed, or before the one that
    followed it. Those that do not stay still tell where the others belong.
    """
    weave = _Weave(first, base)
    for row in others:
        weave.take(row)
    return tuple(piece for piece in weave.pieces() if piece.folded in stays)


class _Weave:
    """Sentences of several rows in one order: right before each of the base stands what took its place.

    They are links of a chain, since thousands of them may each be put somewhere.
    """

    def __init__(self, first: Row, base: Row) -> None:
        self._pieces: list[Piece] = []
        self._before: list[int] = []
        self._behind: list[int] = []
        self._known: dict[str, int] = {}
        self._start = self._last = -1
        for piece in first:
            self._put(piece, behind=self._last)
        self._base = base
        self._instead = _taken_places(base, first)
        last = {stood: fresh for fresh, stood in self._instead.items()}
        for number, piece in enumerate(base):
            if piece.folded not in self._known:
                fresh = self._known.get(last.get(piece.folded, ""))
                self._put(piece, behind=self._link_before(base, number) if fresh is None else fresh)

    def pieces(self) -> Iterator[Piece]:
        """Yield them in their order."""
        at = self._last
        order = []
        while at >= 0:
            order.append(at)
            at = self._before[at]
        return (self._pieces[at] for at in reversed(order))

    def take(self, row: Row) -> None:
        """Put in what of `row` is not there."""
        places = _taken_places(self._base, row)
        for number, piece in enumerate(row):
            if piece.folded in self._known:
                continue
            stood = places.get(piece.folded, "")
            if stood in self._known:
                self._instead[piece.folded] = stood
                self._put(piece, behind=self._before[self._known[stood]])
            else:
                self._put(piece, behind=self._link_before(row, number))

    def _put(self, piece: Piece, *, behind: int) -> None:
        """Put `piece` behind the link `behind`, -1 being before all."""
        at = len(self._pieces)
        following = self._behind[behind] if behind >= 0 else self._start
        self._pieces.append(piece)
        self._before.append(behind)
        self._behind.append(following)
        if behind >= 0:
            self._behind[behind] = at
        if following >= 0:
            self._before[following] = at
        else:
            self._last = at
        if behind < 0:
            self._start = at
        self._known[piece.folded] = at

    def _link_before(self, row: Row, number: int) -> int:
        """Return behind which link sentence `number` of `row` belongs, all before it being there."""
        if number:
            return self._known[row[number - 1].folded]
        following = next((after.folded for after in row[1:] if after.folded in self._known), None)
        if following is None:
            return self._last
        at = self._before[self._known[following]]
        while at >= 0 and self._instead.get(self._pieces[at].folded) == following:
            at = self._before[at]
        return at


def _taken_places(base: Row, row: Row) -> dict[str, str]:
    """Return, for each sentence of `row` that took the place of one of `base`, which that is."""
    ours, theirs = [piece.folded for piece in base], [piece.folded for piece in row]
    old, new = set(ours), set(theirs)
    found: dict[str, str] = {}
    for tag, start, end, new_start, new_end in _changed(ours, theirs):
        if tag == "replace":
            gone = [folded for folded in ours[start:end] if folded not in new]
            fresh = [folded for folded in theirs[new_start:new_end] if folded not in old]
            found |= {folded: gone[min(at, len(gone) - 1)] for at, folded in enumerate(fresh) if gone}
    return found


def _changed(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return as `SequenceMatcher` does where `theirs` is not as `ours`.

    Where what both have stands in the same order, as nearly always, that needs no search, which for thousands
    of sentences would take long.
    """
    places = {folded: at for at, folded in enumerate(theirs)}
    common = [(at, places[folded]) for at, folded in enumerate(ours) if folded in places]
    is_in_order = all(before[1] < behind[1] for before, behind in pairwise(common))
    if not is_in_order or len(places) < len(theirs) or len(set(ours)) < len(ours):
        return [*SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()]
    found = []
    start, new_start = 0, 0
    for end, new_end in [*common, (len(ours), len(theirs))]:
        if end > start and new_end > new_start:
            found.append(("replace", start, end, new_start, new_end))
        elif end > start or new_end > new_start:
            found.append(("delete" if end > start else "insert", start, end, new_start, new_end))
        start, new_start = end + 1, new_end + 1
    return found


def body_of(row: Row) -> str:
    """Return the body that says `row`: sentences that stood together keep what stood between them."""
    wanted = [piece.folded for piece in row]
    body = ""
    for apart in (False, True):
        body = _joined(row, apart=apart)
        if [sentence.folded for sentence in sentences(body)] == wanted:
            break
    return body


def _joined(row: Row, *, apart: bool) -> str:
    text = ""
    before: Piece | None = None
    for piece in row:
        together = before is not None and before.source == piece.source and before.number + 1 == piece.number
        if before is None:
            label = "" if piece.part == "statement" else f"{_LABELS[piece.part]} "
            text = label + piece.text
        elif together and not apart:
            text += piece.gap + piece.label + piece.text
        else:
            label = _label(before, piece)
            gap = "\n\n" if apart or label else _gap(before, piece)
            text += gap + label + piece.text
        before = piece
    return f"{text}\n" if text else ""


def _label(before: Piece, piece: Piece) -> str:
    """Return the label that `piece` needs behind `before`, with its blank; "" for none."""
    further = bool(_ALSO.search(piece.label))
    if piece.part == before.part and not further:
        return ""
    return f"{_LABELS[piece.part]} "


def _gap(before: Piece, piece: Piece) -> str:
    alone = ("\n" in text or begins_item(text) for text in (before.text, piece.text))
    return "\n" if any(alone) else " " if ends_with(before.text) else "\n\n"


def without(memory: Memory, gone: Collection[str], *, now: datetime) -> Memory | None:
    """Return `memory` without the sentences in `gone`, None where that would leave it as it is or empty."""
    row = row_of(memory.body, 0)
    kept = tuple(piece for piece in row if piece.folded not in gone)
    if not kept or len(kept) == len(row):
        return None
    return pruned(replace(memory, body=body_of(kept), sources=bound(memory), updated=now))


def changes(base: Row, row: Row) -> dict[str, tuple[str, ...]]:
    """Return, for each sentence of `base` that left it, the words that took its place in `row`, if any."""
    gone: dict[str, tuple[str, ...]] = {}
    ours, theirs = [piece.folded for piece in base], [piece.folded for piece in row]
    stays = set(theirs)
    known = set(ours)
    for tag, start, end, new_start, new_end in _changed(ours, theirs):
        if tag in ("replace", "delete"):
            fresh = tuple(p.text for p in row[new_start:new_end] if p.folded not in known)
            gone |= {p.folded: fresh for p in base[start:end] if p.folded not in stays}
    return gone


def words_of(row: Iterable[Piece], folded: str) -> str:
    """Return the words of the sentence `folded` as they stand in `row`, "" where it is not in it."""
    return next((piece.text for piece in row if piece.folded == folded), "")
