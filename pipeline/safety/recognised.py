"""Secrets known again wherever they stand: values that were recognised once, kept as salted digests.

A value is compared by its letters and digits alone, in lower case, so that a copy in a name,
in a URL or in capitals is the same. Not kept is what would mask ordinary words: short ones, words without a
digit, and what looks like a host or product with its number (``web01``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.record import record
from pipeline.safety.late import late
from pipeline.safety.plausible import host_like, stands_for_another
from pipeline.safety.rule import DIGIT, MIXED, lower
from pipeline.safety.unbroken import views

KIND = "known"
_RUN = late(r"[a-z0-9]+|[^\W_a-z0-9]+")
"""Letters and digits without a break; those of ASCII apart, since other scripts put no blank between."""
_PART = late(r"%[0-9A-Fa-f]{2}|\\n|[^\w+=.]+")
"""What parts a value into pieces that may stand alone: the lines of a key, the steps of an address."""
_LINE = late(r"\s+|\\[nr]")
"""What parts the lines of a key, each of which may stand alone as a whole."""
_NAMED = late(r"[:=](?=\w)|\A0x")
"""What parts a name from the value it was taken together with (``admin:…``, ``token=…``)."""
_SHORTEST, _SHORTEST_WORD, _SHORTEST_NUMBER = 6, 12, 12
_MOST_RUNS, _MOST_SPACED, _WIDE = 12, 24, 4
_MOST_CLEAN, _LONGEST_CLEAN = 1 << 15, 40
"""Words in which nothing is known are remembered: so many, and none longer."""
_LONG_PART = 20


@record
class Fingerprint:
    """What is kept of a value: a digest of its letters and digits, their number, whether blanks part them."""

    digest: bytes
    length: int
    spaced: bool


class Recognised:
    """The values known in one home, whose own `salt` is; nothing here can be turned back into a value."""

    def __init__(self, salt: bytes, fingerprints: Iterable[Fingerprint] = ()) -> None:
        self._salt = salt
        self._digests: set[bytes] = set()
        self._lengths: set[int] = set()
        self._spaced: set[int] = set()
        self._clean: set[str] = set()
        for fingerprint in fingerprints:
            self._add(fingerprint)

    def __len__(self) -> int:
        return len(self._digests)

    def learn(self, value: str) -> list[Fingerprint]:
        """Take in `value` and its longer parts, and return what to keep of what is new and worth keeping."""
        parts = [part for part in _NAMED.split(value) if 8 <= len(part) < len(value) and MIXED.search(part)]
        longer = [*_PART.split(value), *_LINE.split(value)]
        parts += [part for part in longer if _LONG_PART <= len(part) < len(value) and MIXED.search(part)]
        found: list[Fingerprint] = []
        for text in (value, *parts):
            whole = "".join(_RUN.findall(lower(text)))
            fingerprint = Fingerprint(self._digest(whole), len(whole), len(text.split()) > 1)
            if _worth(text, whole) and fingerprint.digest not in self._digests:
                self._add(fingerprint)
                found.append(fingerprint)
        return found

    def mask(self, text: str) -> str:
        """Return `text` with ``[redacted:known]`` wherever one of the values stands, also across breaks."""
        if not self._digests:
            return text
        places = list(self._places(text))
        for view in views(text):
            places += [view.span(start, end) for start, end in self._places(view.text)]
        pieces: list[str] = []
        at = 0
        for start, end in sorted(places):
            if start >= at:
                pieces += [text[at:start], f"[redacted:{KIND}]"]
            at = max(at, end)
        return "".join(pieces) + text[at:]

    def _add(self, fingerprint: Fingerprint) -> None:
        self._clean.clear()
        self._digests.add(fingerprint.digest)
        (self._spaced if fingerprint.spaced else self._lengths).add(fingerprint.length)

    def _digest(self, whole: str) -> bytes:
        from hashlib import blake2b

        return blake2b(whole.encode(), key=self._salt, digest_size=16).digest()

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        if self._lengths:
            for word in set(text.split()) - self._clean:
                places = self._in_word(word)
                for start, end in places:
                    for at in _all(text, word):
                        yield at + start, at + end
                if not places and len(word) <= _LONGEST_CLEAN:
                    if len(self._clean) >= _MOST_CLEAN:
                        self._clean.clear()
                    self._clean.add(word)
        if self._spaced:
            yield from self._known(text, self._spaced)

    def _in_word(self, word: str) -> list[tuple[int, int]]:
        if len(word) < _SHORTEST or (len(word) < _SHORTEST_WORD and not DIGIT.search(word)):
            return []
        return list(self._known(word, self._lengths))

    def _known(self, text: str, lengths: set[int]) -> Iterator[tuple[int, int]]:
        """Yield where letters and digits of one of `lengths`, at most four signs between runs, are known."""
        lowered = lower(text)
        runs = [found.span() for found in _RUN.finditer(lowered)]
        most = _MOST_RUNS if lengths is self._lengths else _MOST_SPACED
        passed, wide = _measured(runs)
        total = len(runs)
        for first, (start, _) in enumerate(runs):
            before = passed[first]
            # Lengths come first: to put the runs together at every one of them took most of the time.
            for last in range(first, min(first + most, total)):
                if passed[last + 1] - before not in lengths:
                    continue
                if wide[last] != wide[first]:
                    break
                whole = "".join([lowered[begin:end] for begin, end in runs[first : last + 1]])
                if self._digest(whole) in self._digests:
                    yield start, runs[last][1]


def _measured(runs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return how many letters and digits, and how many wide gaps, there are before each of `runs`."""
    passed, wide = [0], [0]
    for number, (begin, end) in enumerate(runs):
        if number:
            wide.append(wide[-1] + (begin - runs[number - 1][1] > _WIDE))
        passed.append(passed[-1] + end - begin)
    return passed, wide


def _all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _worth(value: str, whole: str) -> bool:
    """Say whether `value`, of whose letters and digits `whole` is made, can be masked wherever it stands."""
    if len(whole) < _SHORTEST or len(whole) > 4000 or stands_for_another(value):
        return False
    if whole.isdigit():
        return len(whole) >= _SHORTEST_NUMBER
    if not DIGIT.search(whole):
        return len(whole) >= _SHORTEST_WORD
    return len(whole) >= 9 or not host_like(value)
