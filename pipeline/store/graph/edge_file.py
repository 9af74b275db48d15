"""One edge file, ``graph/edges/<from>--<TYPE>--<to>-<6 of its id>.md``: read, written anew, changed in place.

Its titles are copies of those of the memories; its text says what the relation is about.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.errors import DocumentError, KeptAsItIsError
from pipeline.core.ids import derived_id, digest
from pipeline.hooklib.front_matter import share_of, text_of
from pipeline.store.file_operations import Restore, WriteFile
from pipeline.store.files import document, yaml_text
from pipeline.store.files.layout import EDGES, check_path, inside, read_regular
from pipeline.store.files.rewriting import NotAloneError, rewrite
from pipeline.text.slugs import slugify

STRENGTH = 0.8
"""That of an edge for which none is given."""
ID_CHARS = 6
"""So much of an id stands at the end of a file's name."""
_TITLES = ("from_title", "to_title")
_QUOTED = (*_TITLES, "created", "updated")
_ODD = re.compile(r"[^A-Za-z0-9_]+")
_MOST_LABEL = 40
KEYS = ("id", "type", "from_id", "from_title", "to_id", "to_title", "strength", "created", "updated")
"""The front matter of an edge, in its order."""
_ID = rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TIME = rb'"?(?P<%s>\d{4}-\d\d-\d\dT[0-9:.]+[+-]\d\d:\d\d)"?'
_USUAL = re.compile(
    rb"---\nid: (?P<id>%(id)s)\ntype: (?P<type>[A-Z][A-Z]+(?:_[A-Z]+)*)\nfrom_id: (?P<from_id>%(id)s)\n"
    rb'from_title: (?P<from_title>"[^"\\\x00-\x1f\x7f]*")\nto_id: (?P<to_id>%(id)s)\n'
    rb'to_title: (?P<to_title>"[^"\\\x00-\x1f\x7f]*")\nstrength: (?P<strength>[01]\.\d{1,9})\n'
    rb"created: %(created)s\nupdated: %(updated)s\n---\n"
    % {b"id": _ID, b"created": _TIME % b"created", b"updated": _TIME % b"updated"}
)
"""An edge file as it is nearly always written; thousands of them are read without looking for more."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge; times are as written, `description` is the text of its file, `path` relative to the store."""

    id: str
    type: str
    from_id: str
    to_id: str
    from_title: str = ""
    to_title: str = ""
    strength: float = STRENGTH
    created: str = ""
    updated: str = ""
    description: str = ""
    path: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return its ends and its type: there is one edge of each."""
        return self.from_id, self.to_id, self.type

    def other_end(self, memory_id: str) -> str:
        """Return the id at the end where `memory_id` is not."""
        return self.to_id if self.from_id == memory_id else self.from_id


def edge_id_of(from_id: str, to_id: str, type_name: str) -> str:
    """Return the id of a new edge: the same ends and type always give the same."""
    return derived_id("edge", from_id, to_id, type_name)


def path_of(edge: Edge, taken: Container[str] = ()) -> str:
    """Return where the file of a new `edge` goes; none of `taken`."""
    label = _ODD.sub("_", edge.type).strip("_")[:_MOST_LABEL] or "RELATED_TO"
    ends = [slugify(edge.from_title or edge.from_id), slugify(edge.to_title or edge.to_id)]
    stem = f"{ends[0]}--{label}--{ends[1]}-{edge.id[:ID_CHARS]}"
    path, number = f"{EDGES}/{stem}.md", 1
    while path in taken:
        number += 1
        path = f"{EDGES}/{stem}-{number}.md"
    return check_path(path, suffix=".md")


def read(root: Path, path: str) -> tuple[Edge, bytes]:
    """Return the edge in the file at `path`, and its bytes.

    Raises DocumentError where no edge can be read from it, FileNotFoundError, and StoreError.
    """
    raw, _ = read_regular(inside(root, path))
    return parse(raw, path), raw


def parse(raw: bytes, path: str) -> Edge:
    """Return the edge in the bytes of the file at `path`. Raises DocumentError."""
    plain = _USUAL.match(raw)
    if plain is not None:
        try:
            return _usual(plain, raw, path)
        except ValueError:
            pass  # Not as plain as it looks: the reader of front matter knows.
    parts = document.split(raw, path)
    front = None if parts.front is None else document.read_front(parts.front, path)
    if not front:
        raise DocumentError(
            "no front matter", file=path, line=1, fix="Write what an edge needs, or remove it."
        )
    texts = {key: text_of(front.get(key)) for key in KEYS if key != "strength"}
    missing = [key for key in ("id", "type", "from_id", "to_id") if not texts[key]]
    if missing:
        what = f"an edge without {' and '.join(f'`{key}`' for key in missing)}"
        raise DocumentError(
            what, file=path, line=1, fix="Write it into its front matter, or remove the file."
        )
    strength = share_of(front.get("strength"), STRENGTH)
    return Edge(**texts, strength=strength, description=parts.body.strip(), path=path)


def id_in(raw: bytes, path: str) -> str:
    """Return the id in the bytes of the file at `path`, "" where there is none or it can't be read."""
    plain = _USUAL.match(raw)
    if plain is not None:
        return plain["id"].decode()
    try:
        front = document.split(raw, path).front
        held = document.read_front(front, path) if front is not None else None
    except DocumentError:
        return ""
    return text_of((held or {}).get("id"))


def _usual(found: re.Match[bytes], raw: bytes, path: str) -> Edge:
    """Return the edge in a file that is written as `compose` does it. Raises ValueError."""
    texts = {key: found[key].decode() for key in ("id", "type", "from_id", "to_id", "created", "updated")}
    titles = {key: str(orjson.loads(found[key])).strip() for key in _TITLES}
    strength = min(1.0, max(0.0, float(found["strength"])))
    description = raw[found.end() :].decode().strip()
    return Edge(**texts, **titles, strength=strength, description=description, path=path)


def compose(edge: Edge) -> bytes:
    """Return the bytes of a new edge file, in the form of schema v3."""
    lines = []
    for key in KEYS:
        value = getattr(edge, key)
        written = yaml_text.in_quotes(value) if key in _QUOTED else yaml_text.inline(value)
        lines.append(f"{key}: {written}\n")
    body = f"\n{edge.description}\n" if edge.description else ""
    return f"---\n{''.join(lines)}---\n{body}".encode("utf-8", "replace")


def changed(edge: Edge, raw: bytes) -> bytes:
    """Return `raw`, the bytes of an edge file, with as little changed as makes it say `edge`.

    Raises KeptAsItIsError where that can't be done.
    """
    old = parse(raw, edge.path)
    parts = document.split(raw, edge.path)
    front = document.read_front(parts.front or "", edge.path) or {}
    new: dict[str, Any] = {
        key: getattr(edge, key)
        for key in KEYS
        if getattr(edge, key) != getattr(old, key) and (getattr(edge, key) or key in front)
    }
    try:
        text = rewrite(parts.front or "", front, {**front, **new}, parts.newline)
    except NotAloneError as error:
        raise KeptAsItIsError(
            f"its front matter can't be changed without touching other lines: {error}",
            file=edge.path,
            fix="Write each of its keys on a line of its own.",
        ) from error
    body = parts.body
    if edge.description != old.description:
        body = f"\n{edge.description}\n" if edge.description else ""
        body = body.replace("\n", parts.newline)
    return replace(parts, front=text, body=body).join()


def written(root: Path, edge: Edge, taken: Container[str]) -> WriteFile:
    """Plan the file of `edge`: a new one where it has no path, else that one changed.

    Raises as `read` and `changed` do.
    """
    if not edge.path:
        placed = replace(edge, path=path_of(edge, taken))
        return WriteFile(placed.path, compose(placed), None)
    _, raw = read(root, edge.path)
    return WriteFile(edge.path, changed(edge, raw), digest(raw))


def removed(root: Path, edge: Edge) -> tuple[Restore, bytes]:
    """Plan that the file of `edge` goes, and return its bytes. Raises as `read` does."""
    _, raw = read(root, edge.path)
    return Restore(edge.path, None, digest(raw)), raw
