"""Descriptions made of a memory's text, and how they follow it: what a person gave stays."""

from __future__ import annotations

import re
from itertools import accumulate

from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.domain.sentences import sentences
from pipeline.hooklib.plain import one_line
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.text.similarity import content_words

_ENDS = ".…,;: "
_NUMBER = re.compile(r"\d+")


def gist(body: str) -> str:
    """Return the description of a memory: its first sentences, as many as fit, or as much of the first."""
    found = [one_line(item.text, MAX_DESCRIPTION) for item in sentences(body) if item.part == "statement"]
    line = found[0] if found else ""
    for text in found[1:]:
        if len(line) + 1 + len(text) > MAX_DESCRIPTION:
            break
        line = f"{line} {text}"
    return line


def is_made_of(description: str, body: str) -> bool:
    """Whether `description` is a sentence of `body`, several in a row, or the beginning of one cut short."""
    wanted = _plain(description)
    if not wanted:
        return False
    if wanted in (_plain(first_line(body)), _plain(gist(body))):
        return True
    texts = [" ".join(item.text.split()) for item in sentences(body)]
    is_cut = description.rstrip().endswith("…")
    for start in range(len(texts)):
        for end in accumulate(texts[start:], "{} {}".format):
            line = _plain(end)
            if line == wanted or (is_cut and line.startswith(wanted)):
                return True
            if not wanted.startswith(line):
                break
    return False


def description_after(old: Memory, body: str) -> str:
    """Return the description of `old` when its text is `body`: another where the former text made it.

    One that is in the new text as well stays, and so does one that was written for itself.
    """
    if not old.description or (
        is_made_of(old.description, old.body) and not is_made_of(old.description, body)
    ):
        was_gist = _plain(old.description) == _plain(gist(old.body))
        return (was_gist and gist(body)) or first_line(body)
    return old.description


def is_left_behind(line: str, before: str, after: str) -> bool:
    """Whether `line`, a title or description, fits the text `before`, and the text `after` it no more.

    The former text made it, or it has a word or a number of that which the text has no more.
    """
    if is_made_of(line, after):
        return False
    return is_made_of(line, before) or bool(telling(line) & telling(before) - telling(after))


def telling(text: str) -> set[str]:
    """Return what `text` tells: its content words and its numbers."""
    return {*content_words(text), *_NUMBER.findall(text)}


def _plain(text: str) -> str:
    line = " ".join(text.split()).lstrip("-*> ").rstrip(_ENDS)
    return line[:1].lower() + line[1:]
