"""Memories beside one another: the same name or words twice, and different values for the same matter."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from pipeline.diagnostics.audit.ended import given_up
from pipeline.diagnostics.audit.folder import File
from pipeline.diagnostics.audit.rivals import rival
from pipeline.diagnostics.audit.subject import Compared, elsewhere, left_over
from pipeline.domain.finding import Finding
from pipeline.safety.invisible import visible_name
from pipeline.store.files.names import common_form
from pipeline.store.soundness import SHARED_ID
from pipeline.text.clauses import denials
from pipeline.text.similarity import LEAST_COMMON, NEAR_COPY, NEIGHBOURS, content_words, jaccard, overlap
from pipeline.text.specifics import specifics

_RARE = 12
_IN_MANY = 40
"""A word that more memories than this have makes no two of them neighbours."""
_RENAME = "Rename one, or make them one memory."
_KEEP_ONE = "Keep the one that holds; a memory that was overtaken goes."


def check(files: list[File]) -> Iterator[Finding]:
    """Yield doubles and contradictions among `files`, each pair once, told of the later path.

    What is sure enough is a warning; what may well be something else is a note under another code.
    """
    yield from _same(
        "duplicate-name", files, lambda f: common_form(f.memory.name) if f.memory else "", _RENAME
    )
    yield from _same("duplicate-id", files, lambda f: f.memory.id if f.memory else "", SHARED_ID)
    texts = [Compared.of(file) for file in files]
    paired: set[frozenset[str]] = set()
    for ended in given_up(texts):
        a, b = ended.by.file, ended.used_in.file
        if (pair := frozenset((a.path, b.path))) not in paired:
            paired.add(pair)
            what = f"{ended.what} in {a.path}"
            yield Finding("warning", "contradiction", what, _KEEP_ONE, path=b.path, line=1, other=a.path)
    for left, right in _neighbours(texts):
        if frozenset((left.file.path, right.file.path)) not in paired:
            yield from _pair(left, right)


def _pair(a: Compared, b: Compared) -> Iterator[Finding]:
    """Yield what is wrong with two memories side by side: at most one thing."""
    first, second = a.file.path, b.file.path
    found = rival(a, b)
    if found:
        what, line = f"{found.what}, against {first}", b.file.line_of(found.at)
        if found.sure:
            yield Finding("warning", "contradiction", what, _KEEP_ONE, path=second, line=line, other=first)
        else:
            fix = "See whether both hold, and say in each what it is about."
            yield Finding("note", "perhaps-contradiction", what, fix, path=second, line=line, other=first)
    elif _same_text(a, b) or _alike(a, b):
        what = f"says what {first} says"
        yield Finding("warning", "duplicate", what, "Keep the fuller of the two.", path=second, other=first)


def _same_text(a: Compared, b: Compared) -> bool:
    """Whether both say the same in the same words, of text below the front matter or of all."""
    bodies = [" ".join(compared.file.body.split()) for compared in (a, b)]
    if bodies[0] == bodies[1] and len(content_words(bodies[0])) >= LEAST_COMMON:
        return _values(a.description) == _values(b.description)
    return a.words == b.words and len(a.words) >= LEAST_COMMON and specifics(a.text) == specifics(b.text)


def _values(text: str) -> frozenset[str]:
    return frozenset(found for found in specifics(text) if any(char.isdigit() for char in found))


def _alike(a: Compared, b: Compared) -> bool:
    """Whether both say the same in nearly the same words, and nothing that may make two things of it."""
    enough = len(a.words & b.words) >= LEAST_COMMON and jaccard(a.words, b.words) >= NEAR_COPY
    apart = elsewhere(a, b) or (left_over(a.words, b) and left_over(b.words, a))
    same = _values(a.text) == _values(b.text) and denials(a.text) == denials(b.text)
    return enough and same and not apart


def _same(code: str, files: list[File], key: Callable[[File], str], fix: str) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for file in files:
        value = key(file)
        if value and value in first:
            what = f"{visible_name(value)} is also in {first[value]}"
            line = file.line_of(f"{code.removeprefix('duplicate-')}:")
            yield Finding("warning", code, what, fix, path=file.path, line=line, other=first[value])
        first.setdefault(value, file.path)


def _neighbours(texts: list[Compared]) -> Iterator[tuple[Compared, Compared]]:
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
