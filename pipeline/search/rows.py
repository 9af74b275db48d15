"""What a search index is made from, and the part of it that is kept to be shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.hooklib.plain import well_formed

NO_STAMP = (0, 0, 0)
SHOWN_LINES = 200
SHOWN_BYTES = 4096
"""How much of a body is kept to be shown: lines, and bytes of UTF-8."""


@dataclass(frozen=True, slots=True)
class Content:
    """What is searched of a memory, and in `about` what else a person would be told, as JSON can hold it.

    `relations` are the names or ids of memories it points at, `aliases` its own other names.
    """

    name: str
    title: str = ""
    description: str = ""
    tags: Sequence[str] = ()
    body: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    cues: Sequence[str] = ()
    relations: Sequence[str] = ()
    aliases: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A memory as `SearchIndex.sync` takes it.

    `digest` is the SHA-256 of the file's bytes; only when it is new is `content` called. `stamp` is the
    file's size, mtime and ctime in nanoseconds, zeros when it is not sure that they tell of a later change;
    with None the index keeps what it has. `hand` is whose the file is (`hooklib.ownership`), `beside`
    a digest of what is known of it that is not in its bytes: a new one counts like a new digest.
    """

    path: str
    digest: str
    content: Callable[[], Content]
    stamp: tuple[int, int, int] | None = None
    hand: str = ""
    beside: str = ""

    @property
    def state(self) -> str:
        """All that a row is made from, as one text."""
        return state_of(self.digest, self.hand, self.beside)


def state_of(digest: str, hand: str, beside: str) -> str:
    """Return `SearchRow.state` of a row that has these."""
    return f"{digest} {hand} {beside}"


def shown(found: Content, hand: str = "") -> str:
    """Return the JSON of all that a person would be told of a memory, with as much body as there is room."""
    # Half a surrogate pair is nothing that SQLite could keep.
    body = well_formed(found.body)
    text = "\n".join(body.split("\n", SHOWN_LINES)[:SHOWN_LINES])
    text = text.encode()[:SHOWN_BYTES].decode("utf-8", "ignore")
    whole = {
        **found.about,
        "name": found.name,
        "title": found.title,
        "description": found.description,
        "tags": list(found.tags),
        "body": text,
        "cut": len(text) < len(body.rstrip()),
        "hand": hand,
    }
    return well_formed(json.dumps(whole, ensure_ascii=False))
