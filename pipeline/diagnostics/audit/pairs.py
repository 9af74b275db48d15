"""Memories beside one another: the same name or words twice, and different values for the same matter."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.diagnostics.audit.finding import Finding
from pipeline.diagnostics.audit.folder import File
from pipeline.text.specifics import is_value
from pipeline.verify.contradiction import Clause, clauses, words

NEAR_COPY = 0.8
"""Share of all words that two memories have in common when one is taken for a copy of the other."""
_NEAR = 0.25
_LEAST_COMMON = 3
_SAME_MATTER = 0.6
_OPPOSITE = 0.75
_RARE = 12
_IN_MANY = 40
"""A word that more memories than this have makes no two of them neighbours."""
_CLAUSES = 60


@dataclass(slots=True)
class _Told:
    """A memory with its words; the clauses are cut when it is first compared."""

    file: File
    words: frozenset[str]
    cut: list[Clause] | None = None

    def clauses(self) -> list[Clause]:
        if self.cut is None:
            self.cut = clauses(_text(self.file))[:_CLAUSES]
        return self.cut


def check(files: list[File]) -> Iterator[Finding]:
    """Yield doubles and contradictions among `files`, each pair once, told of the later path."""
    yield from _same("duplicate-name", files, lambda f: f.memory.name.lower() if f.memory else "")
    yield from _same("duplicate-id", files, lambda f: f.memory.id if f.memory else "")
    told = [_Told(file, words(_text(file))) for file in files]
    for a, b in _neighbours(told):
        rival = _contradiction(a, b)
        if rival:
            what = f"{rival}, against {a.file.path}"
            fix = "Keep the one that holds; a memory that was overtaken goes."
            yield Finding("warning", "contradiction", b.file.path, _line(b.file, rival), what, fix)
        elif _alike(a.words, b.words) or _alike(words(a.file.body), words(b.file.body)):
            what = f"says what {a.file.path} says"
            yield Finding("warning", "duplicate", b.file.path, 0, what, "Keep the fuller of the two.")


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    return len(left & right) >= max(_LEAST_COMMON, NEAR_COPY * len(left | right))


def _text(file: File) -> str:
    memory = file.memory
    return f"{memory.description}\n{memory.body}" if memory else ""


def _same(code: str, files: list[File], key: Callable[[File], str]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for file in files:
        value = key(file)
        if value and value in first:
            what = f"{value} is also in {first[value]}"
            line = file.line_of(f"{code.removeprefix('duplicate-')}:")
            yield Finding("warning", code, file.path, line, what, "Rename one, or make them one memory.")
        first.setdefault(value, file.path)


def _neighbours(told: list[_Told]) -> Iterator[tuple[_Told, _Told]]:
    """Yield pairs that share rare words; only those are looked up, so that many files take no square."""
    often = Counter(word for one in told for word in one.words)
    holders: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(told):
        near: Counter[int] = Counter()
        rare = sorted(one.words, key=lambda word: (often[word], word))
        for word in [word for word in rare if 1 < often[word] <= _IN_MANY][: _RARE * 2]:
            near.update(holders[word])
            holders[word].append(at)
        for other, shared in near.items():
            common = len(told[other].words & one.words)
            least = min(len(told[other].words), len(one.words))
            if shared and common >= min(_LEAST_COMMON, least) and common >= _NEAR * least:
                yield told[other], one


def _contradiction(a: _Told, b: _Told) -> str:
    """Return what two memories say differently about the same matter, or an empty string."""
    said_by_a = {value for clause in a.clauses() for value in clause.specifics}
    said_by_b = {value for clause in b.clauses() for value in clause.specifics}
    for left in a.clauses():
        for right in b.clauses():
            common, least = len({*left.words} & {*right.words}), min(len({*left.words}), len({*right.words}))
            if common < 2 or common < _SAME_MATTER * least:
                continue
            # What the other says too, elsewhere, is no rival.
            pair = _rivals(left.specifics - said_by_b, right.specifics - said_by_a)
            if pair:
                return f"says {pair[1]} where {pair[0]} stands"
            either = len({*left.words} | {*right.words})
            if left.denies != right.denies and common >= max(3, _OPPOSITE * either):
                return f"says the opposite of “{' '.join(left.words[:6])}”"
    return ""


def _rivals(left: frozenset[str], right: frozenset[str]) -> tuple[str, str] | None:
    by_kind = {_kind(value): value for value in sorted(left, reverse=True) if is_value(value)}
    for value in sorted(right):
        if is_value(value) and _kind(value) in by_kind:
            return by_kind[_kind(value)], value
    return None


def _kind(value: str) -> str:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return "date"
    if re.fullmatch(r"\d+(?::\d\d)+", value):
        return "clock"
    unit = value.partition(" ")[2]
    return "time" if unit in ("ms", "s", "min", "h", "day", "week", "month", "year") else unit or "number"


def _line(file: File, rival: str) -> int:
    found = re.match(r"says (-?\d[\d.,:-]*)", rival)
    return file.line_of(found[1]) if found else 0
