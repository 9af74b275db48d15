"""Front matter of every generation, read as one Memory.

The shapes differ by who wrote the file: none at all; ``name`` as a title with ``type`` beside it; a flat
``originSessionId``; ``metadata: {type}``; ``metadata`` with ``node_type`` and ``modified``; schema v3
(``id``, ``title``, ``type``, graph keys); and ours. The host's client moves keys it does not know below
``metadata`` and blanks some, so each of our keys is looked for there too, and a blank one counts as missing.
Source: DESIGN §5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.domain.memory import MAX_DESCRIPTION, MAX_QUOTE, TYPES, Evidence, Memory, Replaced
from pipeline.hooklib import memory_format
from pipeline.hooklib.front_matter import field, share_of, text_of, texts_of
from pipeline.hooklib.memory_format import is_true, name_and_title
from pipeline.hooklib.plain import lines_of, one_line, well_formed
from pipeline.hooklib.yaml_lines import MAX_DEPTH

KNOWN = (
    "name",
    "description",
    "type",
    "metadata",
    "id",
    "title",
    "tags",
    "importance",
    "confidence",
    "steps",
    "preconditions",
    "postconditions",
    "status",
    "completed_at",
    "blockers",
    "outcome",
    "created",
    "updated",
    "origin",
    "sources",
    "relations",
    "anchors",
    "pinned",
    "aliases",
    "replaces",
    "cues",
)
_INT64 = 2**63
_SHORT_BITS = 10_000
"""Integers below this have few enough digits for Python to print (4,300)."""
_BY_FOLDER = {row.folder: row.name for row in TYPES.values() if row.folder}
_HOST_PREFIX = re.compile(r"(user|feedback|project|reference)[_-]")


def to_memory(data: dict[str, Any], body: str, path: str) -> Memory:
    """Return the memory that front matter `data` and `body` of the file at `path` describe.

    Never raises for odd values: what can't be read falls back to its default and stays in the file.
    """
    nested = data.get("metadata")
    below: dict[str, Any] = nested if isinstance(nested, dict) else {}
    get = partial(field, data)
    given = text_of(get("name"))
    ident = text_of(get("id"))
    name, title = name_and_title(path, given, text_of(get("title")), ident, body)
    return Memory(
        name=name,
        description=text_of(get("description")) or first_line(body),
        type=_type(data, below, path),
        body=body,
        id=ident,
        title=title,
        tags=_strings(get("tags")),
        importance=share_of(get("importance"), 0.5),
        confidence=share_of(get("confidence"), 0.8),
        created=parse_time(get("created")),
        updated=parse_time(get("updated")) or parse_time(get("modified")),
        origin=text_of(get("origin")),
        sources=_sources(get("sources")),
        relations=_relations(get("relations")),
        anchors=_strings(get("anchors")),
        pinned=is_true(get("pinned")) or path.startswith(f"{memory_format.VAULT}/"),
        aliases=aliases_in(data),
        replaces=_replaced(get("replaces")),
        cues=_strings(get("cues")),
        steps=_listed(get("steps")),
        preconditions=_listed(get("preconditions")),
        postconditions=_listed(get("postconditions")),
        status=text_of(get("status")),
        completed_at=parse_time(get("completed_at")),
        blockers=_listed(get("blockers")),
        outcome=text_of(get("outcome")),
        path=path,
        extra=_extra(data, below),
    )


def aliases_in(data: dict[str, Any]) -> tuple[str, ...]:
    """Return the former names and ids that front matter `data` keeps for a memory."""
    return _strings(field(data, "aliases"))


def is_retired(front: Mapping[str, Any]) -> bool:
    """Whether front matter says that its memory is no longer in use, as the agent-memory format lets it."""
    return memory_format.is_retired(field(front, "archived"), field(front, "status"))


def first_line(body: str, limit: int = MAX_DESCRIPTION) -> str:
    """Return the first line of prose in `body`, cut at a word to `limit` characters."""
    for line in lines_of(body):
        text = line.strip().lstrip("-*> ").strip()
        if text and not text.startswith(("#", "```", "<!--")):
            return one_line(text, limit)
    return ""


def _type(data: dict[str, Any], below: dict[str, Any], path: str) -> str:
    top = text_of(data.get("type"))
    if top in TYPES:
        return top
    by_folder = _BY_FOLDER.get(path.rpartition("/")[0])
    if by_folder:
        return by_folder
    host = text_of(below.get("type"))
    if host in TYPES:
        return host
    prefix = _HOST_PREFIX.match(path.rsplit("/", 1)[-1])
    return top or host or (prefix[1] if prefix else "project")


def plain(value: Any, depth: int = 0) -> Any:
    """Return front matter `value` as JSON can hold it: texts without half surrogates, integers of 64 bits.

    A longer integer becomes a text of its digits, an odd key the text of it. Raises ValueError for what
    is nested more than 64 deep.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict | list):
        if depth >= MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
        if isinstance(value, list):
            return [plain(item, depth + 1) for item in value]
        return {_key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return str(value) if value.bit_length() < _SHORT_BITS else hex(value)
    return value


def _key(key: Any) -> Any:
    if isinstance(key, str):
        return well_formed(key)
    return key if key is None or isinstance(key, bool | float) else str(plain(key))


def _strings(value: object) -> tuple[str, ...]:
    return tuple(texts_of(value))


def _listed(value: object) -> tuple[str, ...]:
    """Return the texts of a list; a text alone is one, commas and all: a step may have some."""
    return tuple(texts_of([value] if isinstance(value, str) else value))


def _sources(value: object) -> tuple[Evidence, ...]:
    found = []
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict) or not item.get("session") or not item.get("uuid"):
            continue
        try:
            found.append(
                Evidence(
                    session=text_of(item.get("session")),
                    uuid=text_of(item.get("uuid")),
                    quote=str(item.get("quote") or "")[:MAX_QUOTE],
                    at=text_of(item.get("at")) or None,
                    speaker=item.get("speaker") or "person",
                    bears=_strings(item.get("bears")),
                )
            )
        except ValueError:
            # A source nobody can follow proves nothing; the line itself stays in the file.
            continue
    return tuple(found)


def _replaced(value: object) -> tuple[Replaced, ...]:
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    found = (Replaced(*(text_of(item.get(key)) for key in ("text", "day", "name"))) for item in items)
    return tuple(item for item in found if item.text)


def _relations(value: object) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(dict(item) for item in value if isinstance(item, dict))


def _extra(data: dict[str, Any], below: dict[str, Any]) -> dict[str, Any]:
    extra = {str(key): value for key, value in data.items() if key not in KNOWN}
    rest = {str(key): value for key, value in below.items() if key not in KNOWN}
    if rest:
        extra["metadata"] = rest
    return extra
