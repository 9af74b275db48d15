"""What a memory says once its revisions of several machines are known: a function of the set of them. Pure.

Nothing is merged step by step, so the order in which revisions arrive can't matter: whoever has the same set
has the same text. A sentence stays where anybody said it that those who left it out had not seen; what stood
at both and was left out or replaced by one goes; two replacements of one sentence both stand, and so does
what was changed on one machine while it left on another. Of these a `Question` is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from pipeline.core.errors import DocumentError, KeptAsItIsError
from pipeline.domain.memory import MAX_DESCRIPTION, Evidence, Memory
from pipeline.domain.quotes import QUOTES, Quote, quotes_of, with_quotes
from pipeline.hooklib.plain import one_line
from pipeline.sharing.authors import AUTHOR, people
from pipeline.sharing.meaning import Question, State
from pipeline.sharing.revisions import Revision
from pipeline.sharing.wording import Row, body_of, changes, row_of, words_of, woven
from pipeline.store.files import document
from pipeline.verify.provenance import bound, pruned, replace_bears, weakest_origin

_FIELDS = (
    *("path", "name", "description", "type", "title", "importance", "confidence", "created", "origin"),
    *("pinned", "steps", "preconditions", "postconditions", "status", "completed_at", "blockers", "outcome"),
)
"""Of these the latest word counts, each for itself."""
_LISTS = ("tags", "anchors", "aliases", "cues", "replaces", "relations")
"""Of these each item counts for itself, as a sentence does."""
_EXTRA = "extra:"
Element = tuple[str, str]
Fields = dict[str, tuple[int, Any]]
"""Field → number of the revision that last set it, and the value."""


@dataclass(slots=True)
class _Said:
    """What a revision says, or several that meet: None of `memory` where it left."""

    memory: Memory | None
    row: Row
    elements: frozenset[Element]
    fields: Fields


_NOTHING = _Said(None, (), frozenset(), {})
_DEEPEST = 30
"""How often the same machines may have met crosswise before what they come from is not looked for."""


def state_of(revisions: Iterable[Revision]) -> State:
    """Return what the memory of `revisions`, at least one, says now."""
    return _Line(revisions).state()


class _Line:
    """The revisions of one memory in the order of their clocks, in which a child follows its parents."""

    def __init__(self, revisions: Iterable[Revision]) -> None:
        known = {revision.name: revision for revision in revisions}
        order = sorted(known.items(), key=lambda pair: (pair[1].clock, pair[1].machine, pair[0]))
        self.names = [name for name, _ in order]
        self.revisions = [revision for _, revision in order]
        places = {name: number for number, name in enumerate(self.names)}
        self.parents: list[tuple[int, ...]] = []
        self.seen: list[int] = []
        """By number the set, as bits, of the revisions that one was made from, and itself."""
        for number, revision in enumerate(self.revisions):
            found = sorted({at for name in revision.parents if (at := places.get(name, number)) < number})
            bits = 1 << number
            for parent in found:
                bits |= self.seen[parent]
            self.seen.append(bits)
            self.parents.append(self._latest(found))
        self._said: list[_Said] = []
        self._added: dict[Element, int] = {}
        self._worded = 0
        self._depth = 0
        self._met: dict[tuple[int, ...], _Said] = {}

    def _latest(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return those of `numbers` that none of the others was made from."""
        chosen = sorted(set(numbers))
        behind = 0
        for number in chosen:
            behind |= self.seen[number] & ~(1 << number)
        return tuple(number for number in chosen if not behind >> number & 1)

    def state(self) -> State:
        heads = self._latest(range(len(self.revisions)))
        last = self.revisions[heads[-1]]
        found = State(
            last.memory,
            tuple(sorted(self.names[head] for head in heads)),
            self.revisions[0].clock,
            last.path,
            None if last.file is None else last.file.encode(),
            last.written,
            reason=last.reason,
            heir=last.heir,
            forgotten=last.forgotten,
        )
        same = {(self.revisions[head].path, self.revisions[head].file) for head in heads}
        if len(same) == 1:
            written = all(self.revisions[head].written for head in heads)
            asks = tuple(self._again(heads)) if found.file is not None else ()
            return replace(found, written=written, forgotten=self._forgot(heads), questions=asks)
        return self._several(heads, found)

    # -- what each says -----------------------------------------------------------------------------

    def _read(self) -> None:
        if self._said:
            return
        for number, revision in enumerate(self.revisions):
            base = self._meeting(self.parents[number])
            meaning = _said_by(revision, number)
            fresh = meaning.elements - base.elements
            for element in fresh:
                self._added[element] = self._added.get(element, 0) | 1 << number
            if any(kind == "sentence" for kind, _ in fresh | (base.elements - meaning.elements)):
                self._worded |= 1 << number
            for name, value in list(meaning.fields.items()):
                was = base.fields.get(name)
                if was is not None and was[1] == value[1]:
                    meaning.fields[name] = was
            for name in base.fields.keys() - meaning.fields.keys():
                if meaning.memory is not None and name.startswith(_EXTRA):
                    meaning.fields[name] = (number, None)
            if meaning.memory is None:
                meaning.fields = dict(base.fields)
            self._said.append(meaning)

    def _meeting(self, heads: tuple[int, ...]) -> _Said:
        """Return what stands where `heads` meet."""
        if not heads:
            return _NOTHING
        if len(heads) == 1:
            return self._said[heads[0]]
        if heads not in self._met:
            self._met[heads] = self._join(heads)
        return self._met[heads]

    def _texts(self, heads: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
        """Return which of `heads` have a text that stands, what takes words away, and what left in vain."""
        texts = [head for head in heads if self.revisions[head].file is not None]
        gone = [head for head in heads if self.revisions[head].file is None]
        forgets = [head for head in gone if self.revisions[head].forgotten]
        vain = []
        for head in gone:
            changed = [text for text in texts if self.seen[text] & ~self.seen[head] & self._worded]
            if head not in forgets and not changed:
                return [], [], []
            vain.append(head)
        return texts, forgets, vain

    def _join(self, heads: tuple[int, ...]) -> _Said:
        texts, forgets, _ = self._texts(heads)
        if not texts:
            return _Said(None, (), frozenset(), _latest_fields([self._said[head] for head in heads]))
        parts = [self._said[head] for head in reversed(texts)]
        every = frozenset().union(*(part.elements for part in parts))
        stays = frozenset(element for element in every if self._stays(element, texts, forgets))
        words = {text for kind, text in stays if kind == "sentence"}
        fields = _latest_fields(parts)
        if not words and forgets:
            return _Said(None, (), frozenset(), fields)
        if not words:
            # Each left out what the other left: together they meant less than nothing.
            stays |= {element for element in parts[0].elements if element[0] == "sentence"}
            words = {text for kind, text in stays if kind == "sentence"}
        first, *others = (part.row for part in parts)
        row = woven(first, self._base(texts).row, others, words)
        memory = _memory_of(parts, stays, fields, row)
        return _Said(memory, row, stays, fields)

    def _base(self, heads: Sequence[int]) -> _Said:
        """Return what stood where all of `heads` come from."""
        common = -1
        for head in heads:
            common &= self.seen[head]
        if self._depth >= _DEEPEST:
            return _NOTHING
        self._depth += 1
        found = self._meeting(self._latest(at for at in range(max(heads) + 1) if common >> at & 1))
        self._depth -= 1
        return found

    def _stays(self, element: Element, texts: Sequence[int], forgets: Sequence[int]) -> bool:
        """Whether somebody has `element` by a saying that none of those without it had seen."""
        holders = [head for head in texts if element in self._said[head].elements]
        seen = 0
        without = [head for head in texts if head not in holders]
        for head in (*without, *forgets):
            seen |= self.seen[head]
        if not without and not forgets:
            return True
        added = self._added.get(element, 0) & ~seen
        return any(self.seen[head] & added for head in holders)

    # -- the answer ---------------------------------------------------------------------------------

    def _several(self, heads: tuple[int, ...], found: State) -> State:
        self._read()
        meaning = self._meeting(heads)
        both = {piece.text for piece in meaning.row}
        forgotten = self._forgot(heads)
        if meaning.memory is None:
            last = self._leaving(heads)
            return replace(
                found,
                path=last.path,
                file=None,
                written=last.written,
                reason=last.reason,
                heir=last.heir,
                forgotten=forgotten,
            )
        texts, _, vain = self._texts(heads)
        top = self.revisions[texts[-1]]
        return replace(
            found,
            path=meaning.memory.path,
            file=_file_of(meaning.memory, top),
            written=all(self.revisions[head].written for head in texts),
            questions=_each_once(
                [
                    *self._asked(texts),
                    *([Question("", (), (), forgotten)] if vain else []),
                    *(item for item in self._again(texts) if {*item.kept, *item.other} <= both),
                ]
            ),
            reason="",
            heir="",
            forgotten=False,
        )

    def _leaving(self, heads: tuple[int, ...]) -> Revision:
        gone = [self.revisions[head] for head in heads if self.revisions[head].file is None]
        return gone[-1] if gone else self.revisions[heads[-1]]

    def _asked(self, texts: Sequence[int]) -> list[Question]:
        """Return what was done to one sentence in two ways, each once."""
        found: dict[str, Question] = {}
        for number, later in enumerate(reversed(texts)):
            for earlier in list(reversed(texts))[number + 1 :]:
                base = self._base([later, earlier])
                mine, theirs = (changes(base.row, self._said[head].row) for head in (later, earlier))
                for folded in mine:
                    if folded in theirs and mine[folded] != theirs[folded]:
                        sentence = words_of(base.row, folded)
                        fresh = tuple(text for text in theirs[folded] if text not in mine[folded])
                        kept = mine[folded]
                        if not fresh:
                            fresh, kept = mine[folded], ()
                        found.setdefault(sentence, Question(sentence, kept, fresh))
        return [found[sentence] for sentence in sorted(found)]

    def _again(self, heads: Sequence[int]) -> list[Question]:
        """Return what is asked again, since one of `heads` took back what had settled it."""
        if all(len(parents) < 2 for parents in self.parents):
            return []
        self._read()
        return [item for head in heads for item in self._taken_back(head)]

    def _taken_back(self, head: int) -> list[Question]:
        """Return what was asked before the parent of `head` settled it, where `head` says both once more."""
        at = head
        for _ in range(_DEEPEST):
            if len(self.parents[at]) != 1:
                return []
            settled = self.parents[at][0]
            before = self.parents[settled]
            if len(before) > 1:
                texts, _, vain = self._texts(before)
                gone = (
                    [Question("", (), (), self._forgot(before), self._is_back(head, before))] if vain else []
                )
                asked = [*self._asked(texts), *gone]
                return [q for q in asked if self._has_both(head, q) and not self._has_both(settled, q)]
            if not before or self._said[before[0]].elements != self._said[head].elements:
                return []
            at = before[0]
        return []

    def _is_back(self, head: int, before: tuple[int, ...]) -> bool:
        """Whether `head` says something of earlier, and not what stood where `before` met."""
        stood = {element for element in self._meeting(before).elements if element[0] == "sentence"}
        return not stood <= self._said[head].elements

    def _forgot(self, heads: Iterable[int]) -> bool:
        return any(self.revisions[head].forgotten for head in heads)

    def _has_both(self, number: int, question: Question) -> bool:
        """Whether what is asked about stands in that revision, so that it settles nothing."""
        texts = {piece.text for piece in self._said[number].row}
        return self.revisions[number].file is not None and {*question.kept, *question.other} <= texts


def _each_once(questions: Iterable[Question]) -> tuple[Question, ...]:
    return tuple({item.sentence: item for item in reversed([*questions])}.values())[::-1]


def _said_by(revision: Revision, number: int) -> _Said:
    if revision.file is None:
        return _Said(None, (), frozenset(), {})
    try:
        memory = document.parse(revision.file.encode(), revision.path)
    except DocumentError:
        # Nobody's memory any more; its words stay in the record.
        memory = Memory(name="", description="", type="project", body=revision.file, path=revision.path)
    memory = replace(memory, sources=bound(memory))
    row = row_of(memory.body, number)
    fields: Fields = {name: (number, getattr(memory, name)) for name in _FIELDS}
    quotes = quotes_of(memory)
    own = {key: value for key, value in memory.extra.items() if key != QUOTES or not quotes}
    fields |= {f"{_EXTRA}{key}": (number, value) for key, value in own.items()}
    elements = {("sentence", piece.folded) for piece in row}
    elements |= {(name, _key(item)) for name in _LISTS for item in getattr(memory, name)}
    elements |= {("source", _key(source.pointer)) for source in memory.sources}
    elements |= {("quote", _key(item.words)) for item in quotes}
    return _Said(memory, row, frozenset(elements), fields)


def _key(item: Any) -> str:
    if isinstance(item, str):
        return item
    return orjson.dumps(item, option=orjson.OPT_SORT_KEYS, default=str).decode()


def _latest_fields(parts: Sequence[_Said]) -> Fields:
    found: Fields = {}
    for part in parts:
        for name, value in part.fields.items():
            if name not in found or value[0] > found[name][0]:
                found[name] = value
    return found


def _memory_of(parts: Sequence[_Said], stays: frozenset[Element], fields: Fields, row: Row) -> Memory:
    """Return the memory where `parts`, the latest first, meet: those items and sentences of it that stay."""
    memories = [part.memory for part in parts if part.memory is not None]
    first = memories[0]
    values: dict[str, Any] = {name: fields[name][1] for name in _FIELDS}
    for name in _LISTS:
        items = {_key(item): item for memory in reversed(memories) for item in getattr(memory, name)}
        order = dict.fromkeys(_key(item) for memory in memories for item in getattr(memory, name))
        values[name] = tuple(items[key] for key in order if (name, key) in stays)
    extra = {
        name.removeprefix(_EXTRA): value
        for name, (_, value) in sorted(fields.items())
        if name.startswith(_EXTRA) and value is not None
    }
    memory = replace(
        first,
        **values,
        extra={**{key: extra[key] for key in first.extra if key in extra}, **extra},
        body=body_of(row),
        sources=_sources(memories, stays),
        updated=max((m.updated for m in memories if m.updated), default=first.updated),
    )
    if quotes := _quotes(memories, stays):
        memory = with_quotes(memory, quotes)
    tellers = _tellers(parts, row)
    if len({teller.origin for teller in tellers}) > 1:
        # A guess becomes nobody's word by standing beside it.
        memory = replace(memory, origin=weakest_origin(sorted({teller.origin for teller in tellers})))
    authors = {str(teller.extra[AUTHOR]) for teller in tellers if AUTHOR in teller.extra}
    if authors:
        # Whose words stand in it are named, and nobody else.
        memory = replace(memory, extra={**memory.extra, AUTHOR: people(authors)})
    if row and _tells_what_left(memory, parts):
        first_words = next((piece.text for piece in row if piece.part == "statement"), row[0].text)
        memory = replace(memory, description=one_line(first_words, MAX_DESCRIPTION))
    return pruned(memory)


def _tells_what_left(memory: Memory, parts: Sequence[_Said]) -> bool:
    """Whether the description is the beginning of a sentence that is no longer in the text."""
    described = memory.description.rstrip("…. ")
    if not described or described in " ".join(memory.body.split()):
        return False
    return any(described in " ".join(piece.text.split()) for part in parts for piece in part.row)


def _tellers(parts: Sequence[_Said], row: Row) -> list[Memory]:
    """Return those of `parts` that say what not all of them say."""
    common = set.intersection(*({piece.folded for piece in part.row} for part in parts))
    own = {piece.folded for piece in row} - common
    return [
        part.memory
        for part in parts
        if part.memory is not None and own & {piece.folded for piece in part.row}
    ]


def _sources(memories: Sequence[Memory], stays: frozenset[Element]) -> tuple[Evidence, ...]:
    found: dict[tuple[str, str, str], Evidence] = {}
    for memory in memories:
        for source in memory.sources:
            known = found.get(source.pointer)
            bears = source.bears if known is None else dict.fromkeys((*known.bears, *source.bears))
            found[source.pointer] = replace_bears(known or source, bears)
    return tuple(source for pointer, source in found.items() if ("source", _key(pointer)) in stays)


def _quotes(memories: Sequence[Memory], stays: frozenset[Element]) -> list[Quote]:
    every = (item for memory in memories for item in quotes_of(memory))
    return [item for item in every if ("quote", _key(item.words)) in stays]


def _file_of(memory: Memory, top: Revision) -> bytes:
    """Return the file of `memory`, as the latest revision has it but for what differs."""
    base = (top.file or "").encode()
    try:
        return document.compose(memory, base)
    except (DocumentError, KeptAsItIsError):
        return document.compose(memory)
