"""A text with sections, each under a heading of markdown: found by about its name, read, added to."""

from __future__ import annotations

import re
from dataclasses import dataclass

LEAST_ALIKE = 0.6
"""Share of their words that two headings have in common when one is taken for the other."""
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_HEADING_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its heading's words and depth, where the heading and the text begin, and the end."""

    name: str
    depth: int
    begin: int
    body: int
    end: int


def sections(text: str) -> list[Section]:
    """Return the sections of `text` in their order; one reaches to the next heading of its depth or less."""
    fences = [match.span() for match in _FENCED.finditer(text)]
    heads = [
        match
        for match in _HEADING.finditer(text)
        if not any(begin <= match.start() < end for begin, end in fences)
    ]
    found = []
    for at, head in enumerate(heads):
        depth = len(head[1])
        later = (other.start() for other in heads[at + 1 :] if len(other[1]) <= depth)
        found.append(Section(head[2], depth, head.start(), head.end(), next(later, len(text))))
    return found


def alike(first: str, second: str) -> float:
    """Return which share of all their words two headings have in common, 0 to 1."""
    ours, theirs = set(_words(first)), set(_words(second))
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0


def section_of(text: str, name: str) -> Section | None:
    """Return the section of `text` that `name` means: of that very name, else the one most alike."""
    found = sections(text)
    same = [item for item in found if _words(item.name) == _words(name)]
    if same:
        return same[0]
    best = max(found, key=lambda item: alike(item.name, name), default=None)
    return best if best is not None and alike(best.name, name) >= LEAST_ALIKE else None


def read(text: str, name: str) -> str | None:
    """Return the text of a section without its heading, None where there is none of about that name."""
    found = section_of(text, name)
    return None if found is None else text[found.body : found.end].strip()


def added(text: str, name: str, content: str) -> str:
    """Return `text` with `content` at the end of the section `name`, which is made at the end if need be.

    Without a name it goes to the end of the text. What stands there already is not said twice.
    """
    content = content.strip()
    found = section_of(text, name) if name else None
    within = text if found is None else text[found.begin : found.end]
    if content in within and (found is not None or not name):
        return text
    if found is None:
        more = f"## {' '.join(name.split())}\n\n{content}" if name else content
        return "\n\n".join(part for part in (text.rstrip(), more) if part) + "\n"
    before, after = text[: found.end].rstrip(), text[found.end :].strip()
    return "\n\n".join(part for part in (before, content, after) if part) + "\n"


def _words(heading: str) -> list[str]:
    return _HEADING_WORD.findall(heading.casefold())
