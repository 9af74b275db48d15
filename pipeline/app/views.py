"""What is made to be read from a store: CORE.md, REFLECTION.md, the diary, and the tags in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from pipeline.app import diary, retired
from pipeline.app.application import App
from pipeline.app.keepable import require_keepable
from pipeline.app.retried import retried
from pipeline.consolidation import reflection as reflections
from pipeline.core.errors import InputError, UsageError
from pipeline.core.ids import new_id
from pipeline.hooklib.memory_format import CORE
from pipeline.hooklib.plain import one_line
from pipeline.revision import Door
from pipeline.store import Document, Episode, Store
from pipeline.store.derived import reflection_page
from pipeline.store.derived.core_page import core_is_ours, core_text
from pipeline.store.files.layout import derived_bytes
from pipeline.store.graph.edge_file import ID_CHARS
from pipeline.store.history.episodes import RESERVED

MOST_TITLE = 120
MOST_SUMMARY = 500


@dataclass(frozen=True, slots=True)
class Page:
    """A file of a store that is made to be read: its path there, its text, and whether it was changed now."""

    path: str
    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many memories have it."""

    tag: str
    memories: int


def core(app: App, store: Store) -> Page:
    """Make ``CORE.md`` and the other derived files of `store` anew, and return it."""
    _require_pages(store)
    if not core_is_ours(store.root):
        raise InputError(
            "somebody else wrote it, so it stays as it is",
            file=str(store.root / CORE),
            fix="Give that file another name.",
        )
    wrote = store.reindex(now=app.clock.now())
    if derived_bytes(store.root / CORE) is None:  # No memory, no page.
        return Page(CORE, core_text((), {}, app.clock.now()), changed=False)
    return _page(store, CORE, wrote)


def reflection(app: App, store: Store) -> Page:
    """Make ``REFLECTION.md`` of `store` anew, and return it. A file that somebody else wrote there stays."""
    _require_pages(store)
    documents: list[Document] = []
    store.reindex(now=app.clock.now(), tell=documents.extend)
    wrote = reflections.write_from(app.home, app.settings, store, documents, app.clock.now())
    return _page(store, reflection_page.FILE, wrote)


@retried
def add_episode(
    app: App,
    store: Store,
    *,
    title: str,
    type_name: str = "note",
    tags: Sequence[str] = (),
    summary: Sequence[str] = (),
    memory: str = "",
    by_person: bool = True,
) -> Episode:
    """Add an entry to today's page of the diary; `memory` names the one that it links to, if any.

    Raises UsageError for a type that only dreams write, InputError for what may not be kept.
    """
    app.require_settings()
    _require_pages(store)
    kind = one_line(type_name, MOST_TITLE)
    if kind.casefold() in RESERVED:
        raise UsageError(f"only a dream writes entries of type {kind!r}", fix="Choose another --type.")
    if not title.strip():
        raise InputError("an entry has a title", fix="Say in a few words what happened.")
    lines = [line for line in summary if line.strip()]
    require_keepable("\n".join((title, type_name, *tags, *lines)), sure=by_person)
    link = retired.read(store, memory).path if memory else ""
    entry = Episode.of(
        app.clock.now(),
        one_line(title, MOST_TITLE),
        kind,
        tags=[" ".join(tag.replace(",", " ").split()) for tag in tags],
        summary=[one_line(line, MOST_SUMMARY) for line in lines],
        memory=link,
    )
    page = store.append_episodes([entry])
    if page is not None:
        door = Door(store, now=app.clock.now(), approved=by_person)
        door.bring([page])
        door.write(new_id(), "diary")
    return entry


def episodes(
    app: App, store: Store, *, since: str = "", words: str = "", kind: str = "", limit: int = 0
) -> list[Episode]:
    """Return the entries of the diary, the newest first; at most `limit` of them where it is not 0.

    Those that hold all of `words` and, with a `kind`, are of that type. A memory that was moved since is
    found by the end of its file's name.
    """
    found = [
        entry
        for day in diary.pages(store.root, app.clock.now(), since=since, words=words)
        for entry in reversed(day.entries)
        if not kind or entry.type == kind
    ]
    found = found[:limit] if limit else found
    moved = {entry.memory for entry in found if entry.memory and not (store.root / entry.memory).exists()}
    if not moved:
        return found
    places = _places(store)
    now_at = {path: places.get(_end(path), path) for path in moved}
    return [replace(entry, memory=now_at.get(entry.memory, entry.memory)) for entry in found]


def tags(app: App, store: Store, limit: int = 0) -> list[TagCount]:
    """Return the tags of the memories in `store`, the most frequent first."""
    return _counted(Counter(tag for found in _tags_of(store) for tag in found), limit)


def related_tags(app: App, store: Store, tag: str, limit: int = 0) -> list[TagCount]:
    """Return the tags that stand beside `tag`, the most frequent first; InputError where nothing has it."""
    holding = [found for found in _tags_of(store) if tag in found]
    if not holding:
        raise InputError(f"no memory has the tag {tag!r}", fix="`reverie tags` lists them.")
    return _counted(Counter(other for found in holding for other in found if other != tag), limit)


def _tags_of(store: Store) -> list[set[str]]:
    return [{*item.head.tags} for item in store.scan().documents if not item.retired]


def _counted(found: Counter[str], limit: int) -> list[TagCount]:
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [TagCount(tag, number) for tag, number in (ranked[:limit] if limit else ranked)]


def _require_pages(store: Store) -> None:
    if store.is_team:
        raise InputError(
            "a team's folder has no such page",
            file=str(store.path),
            fix="Ask without --team.",
        )


def _page(store: Store, path: str, wrote: Sequence[str]) -> Page:
    raw = derived_bytes(store.root / path)
    return Page(path, (raw or b"").decode("utf-8", "replace"), path in wrote)


def _places(store: Store) -> dict[str, str]:
    """Return the path of each memory by what its link in the diary ends with."""
    return {_end(item.path): item.path for item in store.scan().documents}


def _end(path: str) -> str:
    """Return what of a file's name stays when the file moves: the start of the id behind the last dash."""
    stem = PurePosixPath(path).stem
    end = stem.rpartition("-")[2]
    return end if len(end) == ID_CHARS else stem
