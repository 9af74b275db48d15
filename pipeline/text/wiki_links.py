"""Links that a text has to others by name: ``[[name]]``, ``[[name|as it is called here]]``."""

from __future__ import annotations

import re
from collections.abc import Iterator

MARK = "[["
"""What stands in every text that has a link."""
_LINK = re.compile(r"\[\[([^\[\]\n|#]{1,120})(?:#[^\[\]\n|]{0,120})?(?:\|([^\[\]\n]{1,120}))?\]\]")


def targets(text: str) -> Iterator[str]:
    """Yield what the links of `text` name, in their order."""
    return (found[1].strip() for found in _LINK.finditer(text))


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield `text` in pieces, each with what it names, "" where it is no link; of a link its words alone."""
    at = 0
    for found in _LINK.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], ""
        yield (found[2] or found[1]).strip(), found[1].strip()
        at = found.end()
    if at < len(text):
        yield text[at:], ""
