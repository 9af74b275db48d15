"""Sessions like one: by what was asked for, the files that were worked on and the commands that were run.

Words weigh by how rare they are over all sessions (TF-IDF) and how often they stand in
one; sessions are as near as the angle between them is small. Sub-agents' own work and the program's words are
left out.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pipeline.formats.keisei.events import Event
from pipeline.formats.keisei.steps import ASIDE, FOLDER_TOOLS, shapes
from pipeline.hooklib.plain import one_line
from pipeline.record import changing, record
from pipeline.safety.late import late
from pipeline.safety.recognised import Recognised
from pipeline.safety.structured import Cleaner

MOST_FEATURES = 2_000
"""Words, files and commands of a session that are held, the most frequent; so memory grows with sessions."""
MOST_KNOWN = 400_000
"""Different words, files and commands over all sessions that are told apart."""
_CHARS = 20_000
"""Characters of a prompt that are looked at: what is behind is most often pasted."""
_TITLE = 120
LEAST = 0.02
"""A likeness below it is nobody's question: words that all sessions have."""
_EVERYWHERE = 0.1
"""How rare counts what stands in every session: hardly, but where there are only two it is all there is."""
_WORD = late(r"[^\W\d_][\w-]{2,39}")
WORD, FILE, COMMAND = "word", "file", "command"
_WEIGHTS = {WORD: 1.0, FILE: 2.0, COMMAND: 0.5}
"""A file in common says more than a word; commands are much the same everywhere."""


class Feature(NamedTuple):
    """What sessions can have in common: a word, a file, or a command."""

    kind: str
    text: str


@record
class Shared:
    """A feature that two sessions have in common."""

    kind: str
    text: str


@record
class Similar:
    """A session, how like the one asked for it is (0 to 1), and what they share, the weightiest first."""

    session: str
    score: float
    first_ms: int | None
    title: str
    shared: tuple[Shared, ...]


@changing
class _Session:
    session: str
    features: Counter[Feature]
    first_ms: int | None = None
    title: str = ""


class _Packed(NamedTuple):
    """A session as it is held: the numbers of its features and how often each came."""

    session: str
    ids: array[int]
    counts: array[int]
    first_ms: int | None
    title: str


class Sessions:
    """The sessions among which like ones are looked for; add all events, then ask. `known` are secrets."""

    def __init__(self, known: Recognised | None = None) -> None:
        self._numbers: dict[Feature, int] = {}
        self._features: list[Feature] = []
        self._in_sessions: list[int] = []
        self._packed: dict[str, _Packed] = {}
        self._open: _Session | None = None
        self._cleaner = Cleaner(known)

    def add(self, events: Iterable[Event]) -> None:
        """Take in events; those of a session stand together. One that comes twice counts as it was first."""
        for event in events:
            if not (event.role or event.typed) or event.sidechain:
                continue
            if self._open is None or self._open.session != event.session:
                self._close()
                self._open = _Session(event.session, Counter())
            self._note(self._open, event)
        self._close()

    def _note(self, held: _Session, event: Event) -> None:
        if event.at_ms is not None and held.first_ms is None:
            held.first_ms = event.at_ms
        if event.typed:
            # Before it is cut into words, of which a secret could not be told.
            text = self._cleaner.text(event.typed[:_CHARS])
            held.title = held.title or _title(text)
            held.features.update(Feature(WORD, word) for word in words_of(text))
        if event.role == "tool_use" and event.tool not in ASIDE:
            if event.path and event.tool not in FOLDER_TOOLS:
                held.features[Feature(FILE, self._cleaner.text(_below(event.path, event.cwd)))] += 1
            held.features.update(Feature(COMMAND, shape) for shape in shapes(event, self._cleaner.text))

    def _close(self) -> None:
        held, self._open = self._open, None
        if held is None or not held.features or held.session in self._packed:
            return
        ids, counts = array("l"), array("l")
        for feature, number in held.features.most_common(MOST_FEATURES):
            at = self._number(feature)
            if at is not None:
                self._in_sessions[at] += 1
                ids.append(at)
                counts.append(number)
        self._packed[held.session] = _Packed(held.session, ids, counts, held.first_ms, held.title)

    def _number(self, feature: Feature) -> int | None:
        at = self._numbers.get(feature)
        if at is None and len(self._features) < MOST_KNOWN:
            at = self._numbers[feature] = len(self._features)
            self._features.append(feature)
            self._in_sessions.append(0)
        return at

    def named(self, beginning: str) -> list[str]:
        """Return the session with that id, else those whose id begins so, by id."""
        if beginning in self._packed:
            return [beginning]
        return sorted(name for name in self._packed if name.startswith(beginning))

    def like(self, session: str, *, most: int = 5) -> list[Similar]:
        """Return the sessions most like `session`, itself left out; none for one that is not among them."""
        held = self._packed.get(session)
        if held is None:
            return []
        return self._nearest(dict(zip(held.ids, held.counts, strict=True)), most, but=session)

    def like_text(self, text: str, *, most: int = 5) -> list[Similar]:
        """Return the sessions most like what a person says about one."""
        words = Counter(Feature(WORD, word) for word in words_of(text))
        wanted = {self._numbers[word]: number for word, number in words.items() if word in self._numbers}
        return self._nearest(wanted, most, but="")

    def _nearest(self, wanted: Mapping[int, int], most: int, *, but: str) -> list[Similar]:
        weights = {at: self._weight(at, number) for at, number in wanted.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        found = []
        for held in self._packed.values():
            if held.session != but and length:
                own = {at: self._weight(at, number) for at, number in zip(held.ids, held.counts, strict=True)}
                shared = {at: weights[at] * own[at] for at in weights.keys() & own.keys()}
                size = math.sqrt(sum(weight * weight for weight in own.values()))
                score = sum(sorted(shared.values())) / (length * size)
                if score >= LEAST:
                    found.append((score, held, shared))
        best = sorted(found, key=lambda item: (-item[0], item[1].session))[:most]
        return [self._likeness(score, held, shared) for score, held, shared in best]

    def _weight(self, at: int, number: int) -> float:
        rarity = math.log((len(self._packed) + 1) / (self._in_sessions[at] + 1)) + _EVERYWHERE
        return (1 + math.log(number)) * rarity * _WEIGHTS[self._features[at].kind]

    def _likeness(self, score: float, held: _Packed, shared: Mapping[int, float]) -> Similar:
        by_weight = sorted(shared, key=lambda at: (-shared[at], self._features[at]))
        features = tuple(Shared(*self._features[at]) for at in by_weight)
        return Similar(held.session, round(score, 4), held.first_ms, held.title, features)


def _title(text: str) -> str:
    """Return the first words of a prompt; what stands for a click in a dialog is none."""
    return "" if text.startswith("[") else one_line(text, _TITLE)


def words_of(text: str) -> list[str]:
    """Return the words of a text, of three letters or more, in small letters."""
    return _WORD.findall(text.lower())


def _below(path: str, folder: str | None) -> str:
    """Return a path as it is called in its project, so that two copies of that have it in common."""
    return path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else path
