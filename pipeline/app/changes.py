"""What a change set did to memories as a person reads it: which came, went, changed, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher, unified_diff
from typing import Literal

from pipeline.core.errors import DocumentError
from pipeline.domain.memory import OF_PROCEDURES, Memory
from pipeline.domain.sentences import Sentence, sentences
from pipeline.hooklib.plain import whole_lines
from pipeline.store import ARCHIVE, FileDiff, is_live
from pipeline.store.files import document
from pipeline.verify.provenance import sources_of

Word = Literal["created", "restored", "retired", "removed", "pinned", "unpinned", "renamed", "changed"]
_FIELDS = (
    "type",
    "title",
    "description",
    "tags",
    "importance",
    "steps",
    "preconditions",
    "postconditions",
    "status",
    "completed_at",
    "blockers",
    "outcome",
    "anchors",
    "cues",
    "relations",
    "sources",
    "replaces",
    "confidence",
    "aliases",
)
_LISTS = (*OF_PROCEDURES, "blockers")
"""Fields whose lines are shown one by one (`MemoryChange.lists`)."""
_TOLD = ("title", "description", "type")
"""Fields whose old and new values are shown; of the others only that they changed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence and what became of it; `by` are the words that speak for one that is gone, if known.

    `heir` is the other memory that has it now word for word, or those words; `has_moved` says that it came
    there by this very change.
    """

    state: Literal["kept", "gone", "new"]
    text: str
    by: str = ""
    heir: str = ""
    has_moved: bool = False


@dataclass(frozen=True, slots=True)
class _Read:
    """One file before and after a change set, each None where no memory can be read there."""

    path: str
    before: Memory | None
    after: Memory | None


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One memory before and after a change set, None where it was not in the live store.

    `in_archive` says that the archive has it on the other side.
    """

    before: Memory | None
    after: Memory | None
    in_archive: bool = False

    @property
    def memory(self) -> Memory:
        """Return the memory as it is now, or as it was last."""
        found = self.after or self.before
        assert found is not None, "a change is of something"
        return found

    @property
    def word(self) -> Word:
        """Return what was done."""
        if self.before is None:
            return "restored" if self.in_archive else "created"
        if self.after is None:
            return "retired" if self.in_archive else "removed"
        if self.before.pinned != self.after.pinned:
            return "pinned" if self.after.pinned else "unpinned"
        return "renamed" if self.before.name != self.after.name else "changed"

    @property
    def fields(self) -> tuple[tuple[str, str, str], ...]:
        """Return name, old and new value of each field that differs; values may be left empty."""
        if self.before is None or self.after is None:
            return ()
        found = []
        for name in _FIELDS:
            old, new = getattr(self.before, name), getattr(self.after, name)
            if old != new:
                found.append((name, str(old), str(new)) if name in _TOLD else (name, "", ""))
        was, now = self.before.extra, self.after.extra
        for name in dict.fromkeys((*was, *now)):
            if was.get(name) != now.get(name):
                found.append((name, str(was.get(name, "nothing")), str(now.get(name, "nothing"))))
        return tuple(found)

    @property
    def rest(self) -> tuple[tuple[str, object, object], ...]:
        """Return name, old and new value of whatever differs, in a change that `fields` say nothing of."""
        sides = (self.before, self.after)
        values = [
            (item.name, *(getattr(side, item.name) for side in sides if side)) for item in fields(Memory)
        ]
        return tuple((name, old, new) for name, old, new in values if old != new)

    @property
    def lists(self) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
        """Return name, old and new lines of each list that comes, goes or differs, such as steps."""
        found = []
        for name in _LISTS:
            old = tuple(getattr(self.before, name)) if self.before else ()
            new = tuple(getattr(self.after, name)) if self.after else ()
            if old != new:
                found.append((name, old, new))
        return tuple(found)


def memory_changes(files: Iterable[FileDiff]) -> list[MemoryChange]:
    """Return what `files`, the diff of one change set, did to memories, in the order of their paths."""
    before: dict[str, Memory] = {}
    after: dict[str, Memory] = {}
    elsewhere: set[str] = set()
    read = [_Read(item.path, _read(item.before, item.path), _read(item.after, item.path)) for item in files]
    stayed = _stayed(read)
    for item in read:
        for memory, live in ((item.before, before), (item.after, after)):
            if memory is None:
                continue
            key = item.path if item.path in stayed else memory.id or item.path
            if is_live(item.path):
                live[key] = memory
            elif item.path.startswith(f"{ARCHIVE}/"):
                elsewhere.add(key)
    return [
        MemoryChange(before.get(key), after.get(key), key in elsewhere)
        for key in dict.fromkeys((*before, *after))
    ]


def _stayed(read: Sequence[_Read]) -> set[str]:
    """Return the paths of files that hold one memory before and after: the same, or under an id it got there.

    Not so where the memory that was there is at another path now, or the one that is there came from one.
    """
    came = {
        item.after.id for item in read if item.after and not (item.before and item.before.id == item.after.id)
    }
    went = {
        item.before.id
        for item in read
        if item.before and not (item.after and item.after.id == item.before.id)
    }
    return {
        item.path
        for item in read
        if item.before
        and item.after
        and (
            item.before.id == item.after.id or not ({item.before.id} & came or {item.after.id} & went) - {""}
        )
    }


def compare(change: MemoryChange, others: Sequence[MemoryChange]) -> list[Line]:
    """Return the sentences of `change`, old and new in one order.

    `others` are the changes of the same change set: a memory that left may live on in one of them.
    """
    old = sentences(change.before.body) if change.before else ()
    new = sentences(change.after.body) if change.after else ()
    heirs = [item.after for item in others if item.after is not None]
    elsewhere = _elsewhere(old, change, others)
    present = {part.key for part in new}
    kept = {part.key for part in old} & (present | elsewhere.keys())
    lines: list[Line] = []
    matcher = SequenceMatcher(None, [part.key for part in old], [part.key for part in new], autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            lines += [Line("kept", _words(part)) for part in new[new_from:new_to]]
            continue
        gone = [part for part in old[old_from:old_to] if part.key not in kept]
        if change.after is not None:
            # It is in another memory now, and gone from this one all the same.
            moved = [part for part in old[old_from:old_to] if part.key in kept and part.key not in present]
            lines += [Line("gone", _words(part), "", *elsewhere[part.key]) for part in moved]
        fresh = [part for part in new[new_from:new_to] if part.key not in kept]
        if change.after is None:
            stays = [part for part in old[old_from:old_to] if part.key in kept]
            lines += [Line("kept", _words(part), "", *elsewhere[part.key]) for part in stays]
        for part, by in zip(gone, [*fresh, *[None] * len(gone)], strict=False):
            words, heir = (_words(by), "") if by else _spoken_for(change.before, part, heirs)
            lines.append(Line("gone", _words(part), words, heir))
        lines += [Line("new", _words(part)) for part in fresh[len(gone) :]]
        lines += [Line("kept", _words(part)) for part in new[new_from:new_to] if part.key in kept]
    return lines


def as_text(change: FileDiff) -> str:
    """Return `change` as a unified diff."""
    before = whole_lines((change.before or b"").decode("utf-8", "replace"))
    after = whole_lines((change.after or b"").decode("utf-8", "replace"))
    return "".join(unified_diff(before, after, f"a/{change.path}", f"b/{change.path}"))


def _elsewhere(
    old: Sequence[Sentence], change: MemoryChange, others: Sequence[MemoryChange]
) -> dict[str, tuple[str, bool]]:
    """Return by its key which other memory has a sentence of `old` now, and whether it came there just so."""
    wanted = {part.key for part in old}
    found: dict[str, tuple[str, bool]] = {}
    for item in others:
        if item.after is None or item is change:
            continue
        there = {part.key for part in sentences(item.after.body)} & wanted - found.keys()
        if there:
            before = {part.key for part in sentences(item.before.body)} if item.before else set()
            found |= {key: (item.after.name, key not in before) for key in there}
    return found


def _spoken_for(memory: Memory | None, gone: Sentence, heirs: Iterable[Memory]) -> tuple[str, str]:
    """Return the one sentence that stands now for the lines which `gone` of `memory` rested on, and where.

    Both are "" where there is none, or more than one.
    """
    if memory is None:
        return "", ""
    pointers = {source.pointer for source in sources_of(memory, gone.text)}
    found = {
        part.key: (part.text, heir.name)
        for heir in heirs
        for part in sentences(heir.body)
        for source in heir.sources
        if part.key in source.bears and source.pointer in pointers
    }
    return next(iter(found.values())) if len(found) == 1 else ("", "")


def _words(sentence: Sentence) -> str:
    text = " ".join(sentence.text.split())
    return text if sentence.part == "statement" else f"{sentence.part.capitalize()}: {text}"


def _read(raw: bytes | None, path: str) -> Memory | None:
    if raw is None:
        return None
    try:
        return document.parse(raw, path)
    except DocumentError:
        # A page of the diary, or a file that somebody damaged: `--raw` shows it.
        return None
