"""By which names the memories of a store are called, and which of them a name means first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from pipeline.store.files.faults import folded, stem_of
from pipeline.text.slugs import slugify


class Named(Protocol):
    """What has names: its own, its path, others that it had, and a title."""

    name: str
    path: str

    @property
    def aliases(self) -> Iterable[str]:
        """Other names, and ids, that it had."""

    @property
    def title(self) -> str:
        """What it is called for a person."""


Item = TypeVar("Item", bound=Named)


def by_name(items: Sequence[Item]) -> dict[str, Item]:
    """Return which of `items` each name means: a name or path before a file stem, an alias, a title."""
    found: dict[str, Item] = {}
    for keys in (
        lambda item: (item.name, item.path),
        lambda item: (stem_of(item.path), folded(item.name), folded(stem_of(item.path))),
        lambda item: [key for alias in item.aliases for key in (alias, folded(alias))],
        lambda item: (slugify(item.title),) if item.title else (),
    ):
        for item in items:
            for key in keys(item):
                found.setdefault(key, item)
    return found
