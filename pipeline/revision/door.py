"""The door: plans changes of memories for one store, judges each by the same rules, and writes them as one.

- No text that may stand in no memory (a secret, hidden text) comes in with a change; what reads like a
  permission or an instruction at a person's word only.
- No sentence leaves a memory unless its removal says what speaks for it or why it no longer holds.
- A file that Reverie did not write as it is takes the place of nothing.
- Nothing said earlier takes the place of something said later, and no words of the assistant's that of a
  person's.
- What others read too is changed at a person's word only, is never about that person, and quotes no session.
- A pinned or foreign memory, and one that a person edited, is changed at a person's word only.
- What loses a sentence leaves its former text in ``archive/``; every change set is written with a generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from pipeline.core.errors import ConflictError, KeptAsItIsError
from pipeline.core.ids import digest
from pipeline.core.zone import day
from pipeline.domain.memory import Memory, Replaced
from pipeline.domain.sentences import folded, sentences
from pipeline.revision.both_ends import with_both_ends
from pipeline.revision.compose import Removal, aliases_of, lost_between, merged
from pipeline.store import (
    Applied,
    ChangeSet,
    Document,
    Move,
    Operation,
    Put,
    Restore,
    Retire,
    Store,
    WriteFile,
)
from pipeline.store.files.document import parse
from pipeline.store.files.names import earlier_path
from pipeline.store.graph.relations import with_link
from pipeline.store.ownership.permission import may_change
from pipeline.verify.barred import bar, doubt, forbidden
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import said_at, said_later_by_person, sources_of, vouched

_PICTURE = re.compile(r"\\U0*(1[0-9A-Fa-f]{4})(?![0-9A-Fa-f])")
"""A picture as YAML writes it in quotes."""
Planned = TypeVar("Planned", bound=Put | Move | Restore | Retire)


class Door:
    """Collects the changes of one change set; `approved` ones are made at a person's word."""

    def __init__(self, store: Store, *, now: datetime, approved: bool = False) -> None:
        self.store = store
        self.operations: list[Operation] = []
        self._at: dict[str, int] = {}  # Where in `operations` a path's stands: an import plans thousands.
        self._now = now
        self._approved = approved
        self._kept: list[Operation] = []
        self._texts: dict[str, Memory] = {}

    def create(self, memory: Memory) -> Put | Flaw:
        """Plan a new memory, or say why it may not be kept."""
        flaw = self._kept_from_team(memory) or barred(memory, approved=self._approved)
        return flaw or self._add(self.store.put(self._shared(memory)))

    def revise(
        self, document: Document, memory: Memory, removals: Sequence[Removal] = (), *, rename: bool = False
    ) -> Put | Move | Flaw:
        """Plan the new text `memory` of `document`, or say why it may not stand.

        `removals` are the sentences that leave it. With `rename` the file takes the name of `memory`, and the
        former one becomes an alias. Raises ConflictError where somebody else's file stands in the way.
        """
        flaw = (
            self._kept_from_team(memory)
            or self._untouchable(document)
            or self._misses(document.memory, memory, removals)
        )
        if flaw is not None:
            return flaw
        memory = self._shared(memory, document.memory)
        planned = self._put(memory, document, rename=rename)
        if isinstance(planned, Flaw):
            return planned
        if removals:
            self._keep_former(document)
        return self._add(planned)

    def write_as(self, document: Document, data: bytes, removed: str) -> Memory | Flaw:
        """Plan `data`, the whole file of `document` as a person edited it, and return the memory in it.

        Or say why it may not stand. What it leaves out is `removed` at their word. Raises DocumentError as
        `Store.put_as` does.
        """
        planned = self.store.put_as(data, document, now=self._now)
        old, new = document.memory, parse(planned.data or b"", document.path)
        removals = [Removal(text, reason=removed) for text in lost_between(old.body, new.body, ())]
        flaw = self._kept_from_team(new) or self._untouchable(document) or self._misses(old, new, removals)
        if flaw is not None:
            return flaw
        if removals:
            self._keep_former(document)
        self._add(planned)
        return new

    def take_in(
        self, path: str, data: bytes, memory: Memory | None, *, instead_of: bytes | None = None
    ) -> Restore | Flaw:
        """Plan `data`, a file from elsewhere, at `path` byte for byte; or say why it may not stand.

        `memory` is what it says, None where it is no memory. What it claims of who said it is nobody's word
        here: it counts as a file that others wrote. It comes `instead_of` the bytes that are there, which are
        kept.
        """
        text = data.decode("utf-8")
        # A picture that YAML writes as its number takes a joiner as well as the picture itself does.
        front, end, rest = text.partition("\n---")
        read = _PICTURE.sub(lambda found: chr(int(found[1], 16)), front) + end + rest
        reason = forbidden(read) or ("" if self._approved or memory else doubt(text))
        flaw = Flaw(reason) if reason else None
        if flaw is None and memory is not None:
            flaw = self._kept_from_team(memory) or barred(memory, approved=self._approved)
        if flaw is not None:
            return flaw
        if instead_of is not None and memory is not None:
            former = earlier_path(path, digest(instead_of), self._now.year)
            if not (self.store.root / former).exists():
                self._kept.append(WriteFile(former, instead_of, None))
        known = memory if memory is not None and memory.path == path else None
        planned = Restore(path, data, None if instead_of is None else digest(instead_of), memory=known)
        self.bring([planned])
        return planned

    def arrive(
        self,
        memory: Memory,
        data: bytes,
        *,
        instead: Document | None,
        before: Document | None,
        written: bool,
        doubtful: bool,
    ) -> Restore | Flaw:
        """Plan `data`, the file that `memory` has on another machine of this person, byte for byte.

        It comes `instead` of the file at its path, if there is one. `before` is what the memory says here;
        what leaves it is kept in the archive. `written` says that Reverie wrote it there. What only reads
        like a permission or an instruction comes in when the person takes what is `doubtful`.
        """
        known_words = set() if before is None else {item.folded for item in sentences(before.memory.body)}
        fresh = [item.text for item in sentences(memory.body) if item.folded not in known_words]
        known = _lines(before.memory) if before is not None else set()
        flaw = self._kept_from_team(memory) or _flaw(
            "\n".join(fresh), *(_lines(memory) - known), approved=doubtful
        )
        if flaw is not None:
            return flaw
        if before is not None and lost_between(before.memory.body, memory.body, ()):
            self._keep_former(before)
        expected = None if instead is None else instead.digest
        return self._add(Restore(memory.path, data, expected, digest(data) if written else ""))

    def vacate(self, document: Document) -> Restore:
        """Plan that the file of `document` is no longer there: its memory arrives at another path."""
        return self._add(Restore(document.path, None, document.digest))

    def retire(self, document: Document, reason: str, superseded_by: str = "") -> Retire | Flaw:
        """Plan that `document` leaves for the archive, or say why it stays."""
        flaw = self._untouchable(document)
        if flaw is not None:
            return flaw
        fit = "see the report" if bar(reason) else reason
        return self._add(
            self.store.retire(document, year=self._now.year, reason=fit, superseded_by=superseded_by)
        )

    def merge(
        self,
        survivor: Document,
        others: Sequence[Document],
        covered: Mapping[str, Mapping[int, str]],
        reason: str,
    ) -> tuple[Removal, ...] | Flaw:
        """Plan that `others` go into `survivor`, and return the sentences that were left out.

        `covered` is as in `compose.merged`. What the assistant alone said joins no words of a person's.
        """
        memory, removals = merged(survivor.memory, [other.memory for other in others], covered, now=self._now)
        own = {sentence.folded for sentence in sentences(survivor.memory.body)}
        joining = {sentence.folded for sentence in sentences(memory.body)} - own
        for other in others:
            stays = any(sentence.folded in joining for sentence in sentences(other.memory.body))
            # A person's words are not spoken for by a guess, nor do the two stand in one memory.
            guessed = (
                vouched(other.memory) and not vouched(survivor.memory) and not _equal_all(other, removals)
            )
            mixed = stays and vouched(survivor.memory) != vouched(other.memory)
            if (guessed or mixed) and not self._approved:
                return Flaw(
                    f"only one of “{survivor.name}” and “{other.name}” is a person's word", to_inbox=True
                )
            if not {*other.memory.parts_of_work} <= {*survivor.memory.parts_of_work}:
                return Flaw(f"steps or conditions of “{other.name}” would be lost", to_inbox=True)
            lost = lost_between(other.memory.body, memory.body, removals)
            if lost:
                return Flaw(f"“{lost[0][:80]}” would be lost")
        for document in (survivor, *others):
            flaw = self._untouchable(document)
            if flaw is not None:
                return flaw
        revised = self.revise(survivor, memory)
        if isinstance(revised, Flaw):
            return revised
        for other in others:
            self.retire(other, reason, superseded_by=survivor.id)
        return removals

    def supersede(self, winner: Document, others: Sequence[Document], reason: str) -> Flaw | None:
        """Plan that `others` leave because `winner` was said later; it shows what it took the place of.

        A winner that nobody may touch stays as it is.
        """
        for other in others:
            flaw = self._untouchable(other) or self._not_later(winner, other.memory)
            if flaw is not None:
                return flaw
        if self._untouchable(winner) is None:
            memory = winner.memory
            replaces = tuple(dict.fromkeys([*memory.replaces, *map(_replaced_by, others)]))
            aliases = aliases_of(memory, [other.memory for other in others])
            planned = self._put(replace(memory, replaces=replaces, aliases=aliases), winner)
            if isinstance(planned, Flaw):
                return planned
            self._add(planned)
        for other in others:
            self.retire(other, reason, superseded_by=winner.id)
        return None

    def relate(self, document: Document, link: Mapping[str, object]) -> Flaw | None:
        """Plan that `document` points at another memory by `link`; its text stays as it is or was planned."""
        flaw = self._untouchable(document)
        if flaw is not None:
            return flaw
        memory = self._texts.get(document.path, document.memory)
        # What the memory says is not newer for that, so its times stay.
        changed = replace(memory, relations=with_link(memory.relations, link))
        was_planned = document.path in self._texts
        planned = self._put(changed, document)
        if isinstance(planned, Flaw):
            return planned
        if was_planned:
            self.operations[self._at[document.path]] = planned
        else:
            self._add(planned)
        return None

    def bring(self, operations: Iterable[Operation]) -> None:
        """Take in moves of bytes as they are: a pin, a file that comes back, a page of the diary."""
        for operation in operations:
            self._at[operation.path] = len(self.operations)
            self.operations.append(operation)

    def write(self, change_id: str, reason: str, *, in_step: bool = False) -> Applied:
        """Write all that was planned as one change set with a generation; nothing when nothing was.

        A page of the diary alone is no change of a memory, and nothing that anybody would undo. Relations
        that are planned at both ends already are `in_step`.
        Raises ConflictError when a file is not what it was planned against, StoreError as `Store.apply`.
        """
        if not self.operations:
            return Applied(False, [])
        operations = self.operations
        if not in_step:
            operations = with_both_ends(self.store, operations, now=self._now, approved=self._approved)
        change = ChangeSet(change_id, reason, [*operations, *self._kept], self._now)
        changes = any(not isinstance(operation, WriteFile) for operation in self.operations)
        return self.store.apply(change, generation=changes)

    def drop(self) -> None:
        """Forget what was planned, so that it can be planned anew."""
        self.operations, self._at, self._kept, self._texts = [], {}, [], {}
        self.store.drop_plans()

    # -- the rules ------------------------------------------------------------------------------------

    def _kept_from_team(self, memory: Memory) -> Flaw | None:
        """Say why `memory` may not stand where others read it: nobody said yes, or it is about the person."""
        if not self.store.is_team:
            return None
        if memory.type_row.name == "user":
            return Flaw("is about you yourself, and others read this folder")
        return None if self._approved else Flaw("is for a folder that others read", to_inbox=True)

    def _shared(self, memory: Memory, known: Memory | None = None) -> Memory:
        """Return `memory` as others may read it: without what was said in sessions of this person.

        Sources that the file has already, in `known`, are there to be read anyway.
        """
        if not self.store.is_team:
            return memory
        return replace(memory, sources=known.sources if known is not None else ())

    def _untouchable(self, document: Document) -> Flaw | None:
        if self._approved:
            return None
        reason = may_change(document, self.store)
        return Flaw(reason.clause_about(f"“{document.name}”"), to_inbox=True) if reason else None

    def _misses(self, old: Memory, new: Memory, removals: Sequence[Removal]) -> Flaw | None:
        lost = lost_between(old.body, new.body, removals)
        if lost:
            return Flaw(f"“{lost[0][:80]}” would be lost", to_inbox=True)
        before = {sentence.folded for sentence in sentences(old.body)}
        fresh = [item.text for item in sentences(new.body) if item.folded not in before]
        changed = [text for text in _lines(new) if text not in _lines(old)]
        flaw = _flaw("\n".join(fresh), *changed, approved=self._approved)
        if flaw is not None:
            return flaw
        return None if self._approved else self._too_early(old, new, removals)

    def _too_early(self, old: Memory, new: Memory, removals: Sequence[Removal]) -> Flaw | None:
        """Say whether what takes a sentence's place was said later than it, by a person."""
        present = {sentence.folded for sentence in sentences(new.body)}
        for item in removals:
            if item.equal or item.reason:
                continue
            spoken = item.evidence or [
                source
                for part in sentences(item.by)
                if part.folded in present
                for source in sources_of(new, part.text)
            ]
            # The same words, read once more with all that was said around them, correct what they made.
            again = {(source.session, source.uuid) for source in spoken}
            before = [s for s in sources_of(old, item.text) if (s.session, s.uuid) not in again]
            by_person = any(source.speaker == "person" for source in before)
            if by_person and not any(source.speaker == "person" for source in spoken):
                return Flaw(
                    f"only the assistant said it, and “{old.name}” holds a person's words", to_inbox=True
                )
            if not said_later_by_person(spoken, before):
                return Flaw("what it would replace was said later, or nobody knows when", to_inbox=True)
        return None

    def _not_later(self, document: Document, other: Memory) -> Flaw | None:
        if self._approved:
            return None
        winner = document.memory
        if not self.store.is_as_written(document):
            # What it says of who said it when is the file's own word.
            return Flaw(f"nobody knows who wrote “{winner.name}” as it is", to_inbox=True)
        spoken = [
            source
            for sentence in sentences(winner.body)
            if sentence.part == "statement"
            for source in sources_of(winner, sentence.text)
        ]
        later = vouched(winner) and said_later_by_person(spoken, other.sources)
        if not later or not other.sources:
            return Flaw(f"no person said “{winner.name}” later than “{other.name}”", to_inbox=True)
        return None

    # -- planning -------------------------------------------------------------------------------------

    def _put(self, memory: Memory, document: Document, *, rename: bool = False) -> Put | Move | Flaw:
        try:
            if rename:
                return self.store.rename(memory, document, approved=self._approved)
            planned = self.store.put(memory, existing=document, approved=self._approved)
        except KeptAsItIsError as error:
            return Flaw(str(error.args[0]), to_inbox=True)
        self._texts[planned.path] = memory
        return planned

    def _add(self, planned: Planned) -> Planned:
        if planned.path in self._at:
            raise ConflictError("planned twice in one change set", file=planned.path, fix="Report this.")
        self.bring([planned])
        return planned

    def _keep_former(self, document: Document) -> None:
        path = earlier_path(document.path, document.digest, self._now.year)
        if not (self.store.root / path).exists():
            self._kept.append(WriteFile(path, document.raw, None))


def _equal_all(document: Document, removals: Sequence[Removal]) -> bool:
    """Whether every sentence of `document` leaves because an equal one stays."""
    equal = {folded(item.text) for item in removals if item.equal}
    return all(sentence.folded in equal for sentence in sentences(document.memory.body))


def barred(memory: Memory, *, approved: bool = False) -> Flaw | None:
    """Return why no memory may say what `memory` says, or None.

    What is only doubtful goes to a person, unless one `approved` it.
    """
    return _flaw(memory.body, *_lines(memory), approved=approved)


def _replaced_by(document: Document) -> Replaced:
    return Replaced(document.head.description, day(said_at(document.memory)), document.name)


def _flaw(*parts: str, approved: bool) -> Flaw | None:
    """Return why one of `parts` may not be kept, or None.

    Each alone: a letter that joins the next may end one, and would join what is none of its text.
    """
    reason = next(filter(None, map(forbidden, parts)), "")
    if reason or approved:
        return Flaw(reason) if reason else None
    reason = next(filter(None, map(doubt, parts)), "")
    return Flaw(reason, to_inbox=True) if reason else None


def _lines(memory: Memory) -> set[str]:
    names = {memory.name, memory.title, memory.shown_title, memory.description}
    return names | {*memory.tags, *memory.anchors, *memory.cues, *memory.parts_of_work, memory.status}
