"""``REFLECTION.md`` of a store, with the patterns that span it and the other known projects.

Known projects are those that `dream.projects` names: then a memory is of each whose name is one of its tags.
Without the setting they are the stores that Reverie knows, by the names of their projects' folders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.context import known_stores, look_at_store
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.ledger import Ledger, look_at_ledger
from pipeline.store import Document, Store
from pipeline.store.derived import reflection_page
from pipeline.store.ownership import access

if TYPE_CHECKING:
    from pipeline.config import Settings


def write(
    ledger: Ledger | None, settings: Settings, store: Store, documents: Sequence[Document], now: datetime
) -> bool:
    """Write ``REFLECTION.md`` of `store`, which has `documents`; True if it was written.

    A team's folder gets none, and what the others write in it tells nothing of this person's projects.
    """
    if store.is_team:
        return False
    projects = _tags_of_projects(ledger, settings, store, documents)
    return reflection_page.write(store.root, documents, projects, now)


def write_from(
    home: Path, settings: Settings, store: Store, documents: Sequence[Document], now: datetime
) -> list[str]:
    """Do what `write` does with the ledger in `home`, if there is one; return the path if it was written."""
    path = Home(home).ledger
    with look_at_ledger(path) if path.exists() else nullcontext() as ledger:
        return [reflection_page.FILE] if write(ledger, settings, store, documents, now) else []


def _tags_of_projects(
    ledger: Ledger | None, settings: Settings, store: Store, documents: Sequence[Document]
) -> Mapping[str, Counter[str]]:
    """Return how many memories of each known project have which tag; `documents` are those of `store`."""
    named = settings.dream.projects
    if named:
        return _by_tag(documents, named)
    found: dict[str, Counter[str]] = {}
    for path in known_stores(ledger):
        if path.resolve() != store.root:
            _count_in(found, path)
    if found:
        found.setdefault(_name_of(store), Counter()).update(_tags(documents))
    return found


def _by_tag(documents: Sequence[Document], named: Sequence[str]) -> Mapping[str, Counter[str]]:
    found = {name: Counter[str]() for name in named}
    for document in documents:
        tags = {*document.head.tags}
        for name in found.keys() & tags:
            found[name].update(tags - found.keys())
    return found


def _count_in(found: dict[str, Counter[str]], path: Path) -> None:
    try:
        other = look_at_store(path)
        if not other.is_team:
            found.setdefault(_name_of(other), Counter()).update(_tags(other.scan().documents))
    except (StoreError, OSError):
        # A folder that can't be looked into is told of where it is used; the others still count.
        return


def _tags(documents: Sequence[Document]) -> Counter[str]:
    return Counter(tag for document in documents for tag in {*document.head.tags})


def _name_of(store: Store) -> str:
    """Return what the project of `store` is called: its folder's name, else that of the memory folder's."""
    project = access.owner(store.root)
    return Path(project).name if project else store.path.parent.name
