"""Names and titles made of a memory's text, and how they follow it: what a person gave stays.

Descriptions do likewise (`store.files.described`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipeline.core.errors import KeptAsItIsError
from pipeline.domain.memory import Memory
from pipeline.domain.sentences import sentences
from pipeline.hooklib.front_matter import field
from pipeline.hooklib.plain import one_line
from pipeline.store import Document
from pipeline.store.files.described import description_after, gist
from pipeline.store.files.document import compose, load
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.text.slugs import slugify
from pipeline.text.tokens import SMALL_WORDS

_MADE_NAME_CHARS = 60
_MOST_WORDS = 40
_FEWEST_WORDS = 3
_SMALL = frozenset(SMALL_WORDS.split())
_TITLE_CHARS = 70


def name_of(words: Sequence[str]) -> str:
    """Return the name of a memory that begins with `words`: as many whole words as `_MADE_NAME_CHARS` hold.

    A word alone that is longer, as in scripts without spaces, is cut. Small words at the end of a beginning
    are left off.
    """
    name, fitting = slugify(words[0][:_MADE_NAME_CHARS]), 1
    for end in range(2, min(len(words), _MOST_WORDS) + 1):
        if len(f"{name}-{slugify(words[end - 1])}") > _MADE_NAME_CHARS:
            break
        name, fitting = slugify(" ".join(words[:end])), end
    if fitting < len(words):
        while fitting > _FEWEST_WORDS and words[fitting - 1].casefold() in _SMALL:
            fitting -= 1
            name = slugify(" ".join(words[:fitting]))
    return name


def title_of(statement: str) -> str:
    """Return the first sentence of `statement`, with ``…`` in place of what a title has no room for."""
    found = sentences(statement)
    return one_line(found[0].text if found else statement, _TITLE_CHARS).rstrip(".,;:")


def title_after(old: Memory, body: str) -> str:
    """Return the title of `old` when its text is `body`: another where the text made it, or no more bears it.

    One that was made of the name is borne as long as no word of it leaves the text.
    """
    title = title_of(body)
    if title == title_of(old.body):
        return old.title
    if old.title:
        return title if old.title in (title_of(old.body), title_of(old.description)) else old.title
    before, after = _words(f"{old.body} {old.description}"), _words(body)
    return title if _words(old.name) & (before - after) or is_made_name(old) else ""


def lines_anew(old: Memory, given: Mapping[str, object], body: str) -> dict[str, str]:
    """Return what the text `body` makes where a title or a description of `old` is `given` and empty.

    A name that says what the text does needs no title.
    """
    made = {}
    if given.get("title") == "":
        made["title"] = "" if _words(old.name) <= _words(body) else title_of(body)
    if given.get("description") == "":
        made["description"] = gist(body) or first_line(body)
    return made


def as_text_tells(document: Document, data: bytes) -> bytes:
    """Return `data`, `document` as it was edited, with description and title that follow a new text.

    Only what the former text made, and the person left as it was; all other bytes stay.
    """
    old, (new, front) = document.memory, load(data, document.path)
    after = new
    if new.body != old.body:
        # What stands in no front matter is read out of the text anyway.
        if new.description == old.description and field(front, "description"):
            after = replace(after, description=description_after(old, new.body))
        if new.title == old.title and field(front, "title"):
            after = replace(after, title=title_after(old, new.body))
    try:
        return data if after == new else compose(after, data)
    except KeptAsItIsError:
        return data


def is_made_name(memory: Memory) -> bool:
    """Whether the name of `memory` was made of its text."""
    words = memory.body.split()
    return bool(words) and memory.name in (name_of(words), slugify(title_of(memory.body))[:_MADE_NAME_CHARS])


def _words(text: str) -> set[str]:
    return {word for word in slugify(text).split("-") if word not in _SMALL}
