"""Secrets out of what a transcript tells, before any of it reaches the ledger.

Two steps. `clear` finds what is a secret by itself: it needs nothing but the text, so that another process
can do it. `Learned` then takes out what is known from elsewhere, in the order in which it was said: a value
that was recognised once is taken out of all that follows, whichever transcript that stands in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from pipeline.core.clock import Clock
from pipeline.domain.speech import BareLink, Entry
from pipeline.domain.tallies import tally
from pipeline.ledger import Ledger, secrets
from pipeline.safety.recognised import Fingerprint
from pipeline.safety.redaction import Redacted, redact

_WORD_CHARS = 64
"""Characters kept of a record's type, which for an unknown one is whatever the file says."""
_CHUNK = 2048
_CHUNK_CHARS = 1_000_000
_MOST_WORDS = 4096
_WORDS = ("type", "branch", "origin", "entrypoint")
_LISTS = ("tool_names", "files", "memory_writes", "memory_reads")
_NOTHING: tuple[str, ...] = ()
_SILENCE = Redacted("", 0, ())

Item = Entry | BareLink
ItemT = TypeVar("ItemT", Entry, Entry | BareLink)
Values = tuple[tuple[str, ...], tuple[str, ...]]
"""The secrets that stood in an entry's text and in its note."""


class Cleared(NamedTuple):
    """Some of a transcript's entries without their secrets, and those of each entry that had any."""

    items: list[Item]
    values: Mapping[int, Values]


@lru_cache(maxsize=4096)
def _word(text: str) -> str:
    """Return a name out of a record without secrets; the same few come again and again."""
    return redact(text).text


def clear(entries: Iterable[Item]) -> Iterator[Cleared]:
    """Yield `entries` without what is a secret by itself, a few thousand at a time."""
    chunk: list[Item] = []
    chars = 0
    for entry in entries:
        chunk.append(entry)
        if isinstance(entry, Entry):
            chars += len(entry.text) + len(entry.note)
        if len(chunk) >= _CHUNK or chars >= _CHUNK_CHARS:
            yield _cleared(chunk)
            chunk, chars = [], 0
    if chunk:
        yield _cleared(chunk)


def _cleared(chunk: list[Item]) -> Cleared:
    values: dict[int, Values] = {}
    for at, entry in enumerate(chunk):
        if isinstance(entry, BareLink):
            continue
        text = redact(entry.text) if entry.text else _SILENCE
        note = redact(entry.note) if entry.note else _SILENCE
        if text.found or note.found:
            values[at] = (text.values, note.values)
            entry = replace(entry, text=text.text, note=note.text)
        chunk[at] = _without_named(entry)
    return Cleared(chunk, values)


_names_of = attrgetter(*_WORDS, *_LISTS)
_clean_names: set[tuple[Any, ...]] = set()
"""The names of entries in which nothing is a secret: the same few come together again and again."""


def _without_named(entry: Entry) -> Entry:
    """Return `entry` without secrets in its names."""
    names = _names_of(entry)
    if names in _clean_names and not entry.written:
        return entry
    renamed = _renamed(entry, _word)
    if renamed is entry:
        if len(_clean_names) >= _MOST_WORDS:
            _clean_names.clear()
        _clean_names.add(names)
    return renamed


def _renamed(entry: Entry, word: Callable[[str], str]) -> Entry:
    """Return `entry` with `word` of every name in it that a stranger may have chosen."""
    changed: dict[str, Any] = {}
    for name in _WORDS:
        text = getattr(entry, name)
        if text and (without := word(text)) != text:
            changed[name] = without
    for name in _LISTS:
        texts = getattr(entry, name)
        if texts and (listed := tuple(map(word, texts))) != texts:
            changed[name] = listed
    if entry.written:
        changed["written"] = tuple(replace(item, path=word(item.path)) for item in entry.written)
    return replace(entry, **changed) if changed else entry


def type_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of record types, whose unknown names are as much a stranger's text as the rest."""
    word_counts: dict[str, int] = {}
    for name, count in counts.items():
        tally(word_counts, _word(name)[:_WORD_CHARS], count)
    return word_counts


def _shortened(item: ItemT) -> ItemT:
    """Return an item with no more of its type and origin than is kept."""
    if isinstance(item, Entry) and (len(item.type) > _WORD_CHARS or len(item.origin) > _WORD_CHARS):
        return replace(item, type=item.type[:_WORD_CHARS], origin=item.origin[:_WORD_CHARS])
    return item


class Learned:
    """What one pass recognised that was not known: what to keep of it, and the sessions it stands in."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._known = secrets.recognised(ledger)
        self._ledger = ledger
        self._clock = clock
        self._fingerprints: list[Fingerprint] = []
        self._sessions: set[str] = set()
        self._words: dict[str, str] = {}

    def settle(self) -> None:
        """Keep what was learned, and take it out of what those sessions had said before."""
        secrets.keep(self._ledger, self._known, self._fingerprints, self._sessions, now=self._clock.now())

    def rid(self, chunks: Iterable[Cleared]) -> Iterator[Item]:
        """Yield the entries of `chunks` without what is known, learning from each what follows must lack."""
        for items, values in chunks:
            if not values and not self._known:
                # There is nothing to learn from them and nothing to take out of them.
                yield from map(_shortened, items)
                continue
            for at, item in enumerate(items):
                yield item if isinstance(item, BareLink) else self._entry(item, values.get(at))

    def _entry(self, entry: Entry, values: Values | None) -> Entry:
        # A name is held against what was known before its own record.
        name_it = bool(self._known)
        if name_it or values:
            in_text, in_note = values or (_NOTHING, _NOTHING)
            text = self._text(entry.text, in_text, entry.session_id)
            note = self._text(entry.note, in_note, entry.session_id)
            if (text, note) != (entry.text, entry.note):
                entry = replace(entry, text=text, note=note)
            if name_it:
                entry = _renamed(entry, self._name)
        return _shortened(entry)

    def _text(self, text: str, values: Sequence[str], session: str) -> str:
        """Return `text`, in which `values` stood, without all that is known; learn them."""
        for value in values:
            fingerprints = self._known.learn(value)
            if fingerprints:
                self._fingerprints += fingerprints
                self._sessions.add(session)
                self._words.clear()
        return self._known.mask(text) if text else text

    def _name(self, text: str) -> str:
        """Return a name without what is known; the same few come again and again."""
        found = self._words.get(text)
        if found is None:
            if len(self._words) >= _MOST_WORDS:
                self._words.clear()
            found = self._words[text] = self._known.mask(text)
        return found
