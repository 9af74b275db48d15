"""What ties memories to each other: links, and the paths, identifiers and names that few of them share.

A question often needs two memories, of which only one has its words: who owns the service, and where that
person is asked. The second is found from the first, without a model. A *tie* is a key that both have; it
counts only where it is certain on one side at least. What many memories share ties none of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.search.ranking import Asked, share_of
from pipeline.text.scripts import PUNCTUATION, UNSPACED
from pipeline.text.specifics import plain
from pipeline.text.tokens import terms

if TYPE_CHECKING:
    from pipeline.search.index_reader import Reader, Row
    from pipeline.search.rows import Content

MOST_TEXT = 8_000
"""Characters of a memory in which ties are looked for."""
MOST_TIES = 60
MOST_HOLDERS = 8
"""A key that more memories have ties none of them."""
SEEDS = 5
"""The first hits from which is gone on."""
LEAST_WORTH = 0.1
LEFT_OVER = 2.0
"""How much more a memory is worth that has the words of the question which the first one lacks."""
FEW_LINKS = 4
"""Links of one memory that say something each; a page of links says less by every one."""
_NAMED = "="
_WORD = "~"
_LONGEST_KEY = 120
_LINK = re.compile(r"\[\[([^\]\n|#]{1,120})")
_FILE_LINK = re.compile(r"\]\((?:\./)?([\w./-]{1,120})\.md\)")
_CODE = re.compile(r"`([^`\n]{3,80})`")
_APART = re.compile(rf"[{UNSPACED}{PUNCTUATION}\s,;(){{}}<>|\"“”„‘«»`=]+|[\[\]]+")
_ENDS = ".:!?*'’…"
_BEGINS = ".:!?*#…-"
"""What stands before the first word of a sentence, of a line or of an item."""
_IS_NAMED = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")
_IS_PATH = re.compile(r"(?:~|\.{1,2})?/[^/].*|[^/]+/[^/]*[._*-].*|[^/]*[._*-][^/]*/.*|(?:[^/]+/){2,}[^/]*")
_IS_FILE = re.compile(
    r"[\w-]{2,}(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{1,9}(?::\d+)?|.+@.+|\w+://.+|--?[A-Za-z][\w-]+"
)
_IS_IDENTIFIER = re.compile(
    r"[A-Za-z][A-Za-z-]*\d[\w.-]*|\w*[^\W_]_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"
)
_IS_NUMBER = re.compile(r"#\d+|(?!(?:19|20)\d\d$)\d{4,}")
MOST_NAMES = 4
_NOUN_SHARE = 0.3
"""Where more words, and a larger share, have a capital, it marks nouns (German) or a title, and no names."""


@dataclass(frozen=True, slots=True)
class Further:
    """A memory found by way of another: `store` and `path` are its own, `via` that of the other's row."""

    store: int
    row: Row
    via: Row
    key: str
    worth: float


def ties_of(found: Content) -> dict[str, bool]:
    """Return the keys of a memory, and whether each is certain: its own names, and specifics.

    What it only mentions (``[[name]]``, a relation, a word with a capital) ties it to a memory that has it
    for certain.
    """
    own = [found.name, *found.aliases, str(found.about.get("id") or "")]
    text = f"{found.title}\n{found.description}\n{found.body}"[:MOST_TEXT]
    ties = {_NAMED + _slug(name): True for name in own if name}
    for key, certain in _mentions(found, text):
        ties[key[:_LONGEST_KEY]] = ties.get(key[:_LONGEST_KEY], False) or certain
        if len(ties) >= MOST_TIES:
            break
    return ties


def _mentions(found: Content, text: str) -> Iterator[tuple[str, bool]]:
    linked = [*found.relations, *_LINK.findall(text), *_FILE_LINK.findall(text)]
    yield from ((_NAMED + _slug(name.rpartition("/")[2]), False) for name in linked if name.strip())
    for anchor in found.about.get("anchors") or ():
        yield from _of_path(str(anchor))
    yield from ((plain(code), True) for code in _CODE.findall(text))
    names: dict[str, bool] = {}
    words = set[str]()
    for line in text.split("\n"):
        before = "."
        for word in _APART.split(line):
            if not word or len(word) > _LONGEST_KEY:
                continue
            if word.isalpha() and word.islower():
                # Nearly all: nothing surrounds it, and it ties to nothing.
                words.add(word)
                before = word
                continue
            bare = word.strip(_ENDS)
            words.add(bare)
            if not (bare.isalpha() and bare.islower()):
                yield from _of_word(bare)
                if bare[:1].isupper() and len(bare) > 2 and not any(map(str.isdigit, bare)):
                    name = plain(bare.removesuffix("'s").removesuffix("’s"))
                    inside = before[-1] not in _BEGINS or sum(map(str.isupper, bare)) > 1
                    names[name] = names.get(name, False) or inside
            before = word
    telling = sum(names.values()) <= max(MOST_NAMES, _NOUN_SHARE * len(words))
    yield from ((_WORD + name, inside and telling) for name, inside in names.items())


def _of_word(word: str) -> Iterator[tuple[str, bool]]:
    """Yield the keys of one word that is more than letters."""
    if _IS_PATH.fullmatch(word) and "://" not in word:
        yield from _of_path(word)
    elif _IS_NAMED.fullmatch(word):
        yield _NAMED + _slug(word), False
        yield plain(word), "_" in word or any(map(str.isdigit, word))
    elif any(form.fullmatch(word) for form in (_IS_FILE, _IS_IDENTIFIER, _IS_NUMBER)):
        yield plain(word), True


def _of_path(path: str) -> Iterator[tuple[str, bool]]:
    whole = plain(path).removeprefix("./").rstrip("/")
    yield whole, True
    last = whole.rpartition("/")[2]
    if last != whole and "." in last:
        yield last, False


def _slug(name: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", plain(name)))


def further(
    readers: Sequence[Reader],
    seeds: Sequence[tuple[int, Row, float]],
    known: set[tuple[int, str]],
    asked: Sequence[Asked],
    limit: int,
) -> list[Further]:
    """Return up to `limit` memories that are tied to `seeds`, best first, none of `known`.

    `seeds` are rows with the number of their reader and their share of the question; `known` the same by
    path; `asked` is the question to each reader. Raises NoIndexError.
    """
    if limit < 1:
        return []
    best: dict[tuple[int, str], tuple[float, str, Row]] = {}
    for number, seed, share in seeds:
        for index, path, worth, key in _tied(readers, number, seed):
            found = worth * share
            if (index, path) not in known and found > best.get((index, path), (0.0,))[0]:
                best[index, path] = (found, key, seed)
    listed = []
    for index, reader in enumerate(readers):
        rows = reader.rows(path for number, path in best if number == index)
        for row in rows:
            worth, key, seed = best[index, row.path]
            if row.shown.get("archived"):
                continue
            question = asked[index]
            had = question.held(seed)
            lacking = {term: value for term, value in question.weights.items() if term not in had}
            worth *= 1 + LEFT_OVER * share_of(question.held(row), lacking)
            if worth >= LEAST_WORTH:
                listed.append(Further(index, row, seed, key, worth))
    listed.sort(key=lambda item: (-item.worth, item.store, item.row.path))
    return listed[:limit]


def _tied(readers: Sequence[Reader], number: int, seed: Row) -> Iterator[tuple[int, str, float, str]]:
    """Yield reader, path, strength and key of what is tied to a memory of the reader `number`."""
    keys = readers[number].ties(seed.path)
    links = sum(key.startswith(_NAMED) for key in keys)
    strengths: dict[tuple[int, str], float] = {}
    by: dict[tuple[int, str], tuple[float, str]] = {}
    for key, certain in keys.items():
        holders = [
            (index, path, sure)
            for index, reader in enumerate(readers)
            for path, sure in reader.holders(key, MOST_HOLDERS + 2)
            if (index, path) != (number, seed.path)
        ]
        if len(holders) > MOST_HOLDERS and not key.startswith(_NAMED):
            continue
        many = max(1.0, links / FEW_LINKS) if key.startswith(_NAMED) else max(1, len(holders))
        strength = 1 / (1 + math.log2(many))
        for index, path, sure in holders[:MOST_HOLDERS]:
            if certain or sure:
                strengths[index, path] = min(1.5, strengths.get((index, path), 0.0) + strength)
                by[index, path] = max(by.get((index, path), (0.0, "")), (strength, key))
    for index, reader in enumerate(readers):
        for path in _saying(reader, seed):
            if (index, path) != (number, seed.path):
                strengths[index, path] = min(1.5, strengths.get((index, path), 0.0) + 0.5)
                by.setdefault((index, path), (0.5, str(seed.shown.get("name") or "")))
    for (index, path), strength in strengths.items():
        yield index, path, strength, by[index, path][1].lstrip(_NAMED + _WORD)


def _saying(reader: Reader, seed: Row) -> list[str]:
    """Return the memories that say the name of `seed`, its words beside each other, if these are few."""
    name = list(dict.fromkeys(terms(str(seed.shown.get("name") or ""))))
    found = reader.saying(name, MOST_HOLDERS + 1) if len(name) > 1 else []
    return found if len(found) <= MOST_HOLDERS else []
