"""What the page calls what files, commands and the ledger have a word of their own for.

Whoever reads the page is "you" everywhere; a colleague goes by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.domain.authorship import AUTHORS, NOBODY, PERSON
from pipeline.domain.memory import MAX_QUOTE, Memory
from pipeline.hooklib.memory_format import SPEAKERS, author_of
from pipeline.text.humanize import count

_READER = "the user"
"""Whoever reads the page, where a person and a model may both read the words."""
_IN_REASONS = {
    "only the assistant said it": "only Claude said it",
    "holds a person's words": "holds your words",
    "says that it holds until": "holds only until",
    "the user": "you",
}
"""What reasons say of whoever reads them."""
_ORIGINS = {**SPEAKERS, "assistant-written": "Claude, in a file of its own"}
_AUTHORS = {
    **AUTHORS,
    (PERSON, "dialog"): "you, who changed Claude's text before it was written",
    (PERSON, "changed"): "somebody by hand: it was changed, and no session did it",
}
_SAY = {"person": "you", "pasted": "you, pasted from elsewhere", "assistant": "Claude"}
_DEEDS = {
    "new": "new",
    "update": "change",
    "retire": "put away",
    "merge": "merge",
    "supersede": "replace",
    "strike": "cut a sentence",
    "relate": "link",
    "insight": "conclusion",
    "promote": "for all projects",
    "cited": "your words?",
    "conflict": "written twice",
    "sync": "two versions",
    "team": "to share",
}
"""What a proposal or a dream's operation comes to, by the last part of its kind."""
_QUESTIONS = {
    "new": "Shall this be remembered?",
    "update": "Shall “{name}” say this instead?",
    "retire": "Is “{name}” still true? If it is, reject.",
    "merge": "Do these say the same: {name}? If they do, one can stand for them.",
    "supersede": "Does the new one take the place of the old?",
    "strike": "Is the sentence to go?",
    "relate": "Do these belong together: {name}?",
    "insight": "Does this follow from them?",
    "promote": "Does this hold in all your projects?",
    "cited": "Did you say this, and mean it?",
    "sync": "Two did otherwise with “{name}”: which holds?",
    "team": "Shall the team get this?",
}
"""What each asks first, in a person's words."""
_BECAME = {"retired": "put away"}
_ENDED = {
    "nothing": "nothing to do",
    "closed": "did not start",
    "partial": "a part failed",
    "dry": "dry run, nothing written",
}
"""How a dream ended, by the word of its report; the others say it themselves."""
_FIELDS = {
    "aliases": "former names",
    "anchors": "is about",
    "confidence": "how sure it is",
    "cues": "found by the words",
    "importance": "weight",
    "relations": "links",
    "replaces": "notes of what it replaced",
    "sources": "quotes it rests on",
}
_COUNTED = ("relations", "replaces", "sources")
_JOINED = ("tags", "anchors", "cues", "aliases")
_SHOWN = ("confidence", "importance", "completed_at", "status", "outcome")
_BY = {
    "extraction": "Reverie, from a session",
    "the second reader": "Reverie, which read it once more",
    "you, inbox": "you, in the inbox",
    "dream": "a dream",
}
"""Who made a change, where `doers.by_whom` says it shorter."""


def reader(by: str) -> str:
    """Return who says a memory, as `memory_format.speaker` has it, to whom it is they themselves."""
    return by.replace(_READER, "you")


def reason(text: str) -> str:
    """Return why something was put to a person, or not done, to whom it is they themselves."""
    for words, shown in _IN_REASONS.items():
        text = text.replace(words, shown)
    return text


def says(memory: Memory) -> str:
    """Return who says `memory` by its file: a colleague by name where it names one."""
    return author_of(memory.extra) or origin(memory.origin)


def origin(word: str) -> str:
    """Return who says a memory of the origin `word`."""
    return reader(_ORIGINS.get(word, word))


def author(by: str, sign: str) -> str:
    """Return who wrote a file, and by what sign that is known (`domain.authorship`)."""
    return _AUTHORS.get((by, sign), NOBODY)


def voice(speaker: str) -> str:
    """Return who spoke, by the word of a source or of a line."""
    return _SAY.get(speaker, speaker)


def doer(by: str) -> str:
    """Return who made a change, as `doers.by_whom` has it."""
    return _BY.get(by, by)


def deed(kind: str) -> str:
    """Return what a proposal of `kind` comes to, or an operation."""
    return _DEEDS.get(bare(kind), kind)


def place_of(kind: str) -> tuple[int, str]:
    """Return where proposals of `kind` stand among the others, the same whatever waits."""
    order = list(_DEEDS)
    return (order.index(kind) if kind in _DEEDS else len(order), kind)


def question(kind: str, name: str) -> str:
    """Return what a proposal of `kind` about `name` asks of whoever reads it, "" for one that asks more."""
    return _QUESTIONS.get(bare(kind), "").format(name=name or "this memory")


def bare(kind: str) -> str:
    """Return `kind` without who proposed it: a dream and a session propose the same things."""
    return kind.removeprefix("dream:")


def became(word: str) -> str:
    """Return what became of a memory, by the word of a `MemoryChange`."""
    return _BECAME.get(word, word)


def ended(word: str) -> str:
    """Return how a dream ended, by the word of its report."""
    return _ENDED.get(word, word)


def field_name(name: str) -> str:
    """Return what a field of a memory is called."""
    return _FIELDS.get(name, name.replace("_", " "))


def field_values(name: str, before: Memory, after: Memory) -> tuple[str, str]:
    """Return the old and the new value of a field that is no text, as far as one line can show them."""
    sides = [getattr(side, name, None) for side in (before, after)]
    if name in _COUNTED:
        noun = {"relations": "link", "replaces": "note", "sources": "quote"}[name]
        old, new = (count(len(side), noun) if side else "" for side in sides)
        return (old, new) if old != new else ("", "")
    if name in _JOINED:
        old, new = (", ".join(side or ()) for side in sides)
        return old, new
    if name in _SHOWN:
        old, new = ("" if side is None else str(side) for side in sides)
        return old, new
    return "", ""


def is_counted(name: str) -> bool:
    """Whether the values of a field are single ones: set one after the other, they are no text."""
    return name in (*_COUNTED, *_SHOWN)


def quoted(text: str) -> str:
    """Return a quote as it is shown: one that may have been cut for its length says so."""
    return f"{text} …" if len(text) >= MAX_QUOTE else text


def undo_line(what: str, turns: int) -> str:
    """Return what a change turned round of which `history` says `what`: put back where `turns` is even."""
    cause = what.partition(": ")[2]
    kind = cause.partition(" ")[0]
    shown = {
        "dream": "the dream",
        "promoted": "the dream",
        "extraction": "what was read from a session",
        "inbox": "what was accepted in the inbox",
    }.get(kind, f"“{cause}”")
    return f"undid {shown}" if turns % 2 else f"put back {shown}"


FILTERS: Mapping[str, Any] = {
    "reader": reader,
    "reason": reason,
    "says": says,
    "voice": voice,
    "doer": doer,
    "deed": deed,
    "became": became,
    "quoted": quoted,
    "ended": ended,
    "question": question,
    "field_name": field_name,
    "is_counted": is_counted,
}
"""For templates."""
