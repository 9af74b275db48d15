"""Memories beside one another: the same name or words twice, and different values for the same matter."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.diagnostics.audit.folder import File
from pipeline.domain.finding import Finding
from pipeline.text.clauses import Clause, clauses
from pipeline.text.similarity import (
    LEAST_COMMON,
    NEAR_COPY,
    NEIGHBOURS,
    OPPOSITE,
    SAME_MATTER,
    content_words,
    jaccard,
    overlap,
)
from pipeline.text.specifics import is_value, kind_of

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
    texts = [_Told(file, content_words(_text(file))) for file in files]
    for a, b in _neighbours(texts):
        rival = _contradiction(a, b)
        if rival:
            what = f"{rival}, against {a.file.path}"
            fix = "Keep the one that holds; a memory that was overtaken goes."
            yield Finding("warning", "contradiction", what, fix, path=b.file.path, line=_line(b.file, rival))
        elif _alike(a.words, b.words) or _alike(content_words(a.file.body), content_words(b.file.body)):
            what = f"says what {a.file.path} says"
            yield Finding("warning", "duplicate", what, "Keep the fuller of the two.", path=b.file.path)


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    return len(left & right) >= LEAST_COMMON and jaccard(left, right) >= NEAR_COPY


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
            yield Finding(
                "warning", code, what, "Rename one, or make them one memory.", path=file.path, line=line
            )
        first.setdefault(value, file.path)


def _neighbours(texts: list[_Told]) -> Iterator[tuple[_Told, _Told]]:
    """Yield pairs that share rare words; only those are looked up, so that many files take no square."""
    often = Counter(word for text in texts for word in text.words)
    holders: dict[str, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        near: Counter[int] = Counter()
        rare = sorted(text.words, key=lambda word: (often[word], word))
        for word in [word for word in rare if 1 < often[word] <= _IN_MANY][: _RARE * 2]:
            near.update(holders[word])
            holders[word].append(at)
        for other, shared in near.items():
            theirs = texts[other].words
            least = min(LEAST_COMMON, len(theirs), len(text.words))
            enough = len(theirs & text.words) >= least and overlap(theirs, text.words) >= NEIGHBOURS
            if shared and enough:
                yield texts[other], text


def _contradiction(a: _Told, b: _Told) -> str:
    """Return what two memories say differently about the same matter, or an empty string."""
    said_by_a = {value for clause in a.clauses() for value in clause.specifics}
    said_by_b = {value for clause in b.clauses() for value in clause.specifics}
    for left in a.clauses():
        for right in b.clauses():
            mine, theirs = {*left.words}, {*right.words}
            common = len(mine & theirs)
            if common < 2 or overlap(mine, theirs) < SAME_MATTER:
                continue
            # What the other says too, elsewhere, is no rival.
            pair = _rivals(left.specifics - said_by_b, right.specifics - said_by_a)
            if pair:
                return f"says {pair[1]} where {pair[0]} stands"
            opposite = left.denies != right.denies and jaccard(mine, theirs) >= OPPOSITE
            if opposite and common >= LEAST_COMMON:
                return f"says the opposite of “{' '.join(left.words[:6])}”"
    return ""


def _rivals(left: frozenset[str], right: frozenset[str]) -> tuple[str, str] | None:
    by_kind = {kind_of(value): value for value in sorted(left, reverse=True) if is_value(value)}
    for value in sorted(right):
        if is_value(value) and kind_of(value) in by_kind:
            return by_kind[kind_of(value)], value
    return None


def _line(file: File, rival: str) -> int:
    found = re.match(r"says (-?\d[\d.,:-]*)", rival)
    return file.line_of(found[1]) if found else 0
