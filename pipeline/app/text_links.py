"""Links in the texts of memories, ``[[name]]``: which memory each means, and which texts have any.

A name means what it means everywhere (`Snapshot.by_name`): a name, alias, title, file stem, path, or the
beginning of an id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.scopes import scope_of
from pipeline.search.fts import file_state, index_file
from pipeline.search.index_reader import NoIndexError, Reader
from pipeline.store import Document, Store
from pipeline.text.wiki_links import MARK, pieces, targets

MOST_UNKNOWN = 200
"""Memories whose files are read because the search index does not have them as they are now."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: `path` and `scope` are those of the memory that it links to, "" where it is none."""

    text: str
    path: str = ""
    scope: str = ""


def linked(app: App, here: App, text: str) -> tuple[Piece, ...]:
    """Return `text`, of a memory of `here`, in pieces; what names no memory stays as it is written."""
    if MARK not in text:
        return (Piece(text),)
    holders = [here, *(other for other in scopes.all_of(app) if other.store_path != here.store_path)]
    found: list[Piece] = []
    for words, target in pieces(text):
        held = next(_meant(holders, target), None) if target else None
        if held is not None:
            found.append(Piece(words, *held))
        elif target:
            found.append(Piece(f"{MARK}{target}{f'|{words}' if words != target else ''}]]"))
        else:
            found.append(Piece(words))
    return tuple(found)


def _meant(holders: Sequence[App], target: str) -> Iterator[tuple[str, str]]:
    """Yield path and scope of what `target` means in each of `holders`."""
    for holder in holders:
        if not holder.is_fresh:
            document = holder.open_store().scan().by_name(target)
            if document is not None:
                yield document.path, scope_of(holder)


def links(home: Path, store: Store, documents: Sequence[Document]) -> tuple[list[tuple[str, str]], int]:
    """Return which of `documents` links to which, by their paths, and of how many that is not known.

    Texts come from the search index. Where it lags behind, some files are read; nothing is written.
    """
    look = store.scan()
    known = _texts(home, store)
    found: list[tuple[str, str]] = []
    unknown = 0
    for item in documents:
        digest, shown = known.get(item.path, ("", ""))
        if digest == item.digest:
            body = _body(shown, item) if shown else ""
        else:
            unknown += 1
            body = item.memory.body if unknown <= MOST_UNKNOWN else ""
        for target in dict.fromkeys(targets(body)) if body else ():
            other = look.by_name(target)
            if other is not None and other.path != item.path:
                found.append((item.path, other.path))
    return found, max(0, unknown - MOST_UNKNOWN)


def state_of(home: Path, store: Store) -> str:
    """Return what is another text once the search index, and so what `links` knows, may be another."""
    return file_state(index_file(home, store.root))


def _texts(home: Path, store: Store) -> dict[str, tuple[str, str]]:
    try:
        with Reader(str(index_file(home, store.root))) as reader:
            return reader.texts_with(MARK)
    except NoIndexError:
        # Nothing was looked for yet, or the index is damaged: whoever searches makes it anew.
        return {}


def _body(shown: str, item: Document) -> str:
    """Return the body in what the index shows of a memory; where its end is cut off, that of the file."""
    held = json.loads(shown)
    return item.memory.body if held.get("cut") else str(held.get("body") or "")
