"""By which names the memories of a store are called, and which of them a name means first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

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


class Names(Generic[Item]):
    """Which of `items` each name means: a name or path before a file stem, an alias, a title.

    Those that are no name and no path are spelled out at the first question that needs them.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def get(self, key: str) -> Item | None:
        """Return what `key` means, None for nothing."""
        return self._first.get(key) or self._others.get(key)

    @cached_property
    def _first(self) -> dict[str, Item]:
        return _spelled(self._items, [lambda item: (item.name, item.path)])

    @cached_property
    def _others(self) -> dict[str, Item]:
        return _spelled(
            self._items,
            [
                lambda item: (stem_of(item.path), folded(item.name), folded(stem_of(item.path))),
                lambda item: [key for alias in item.aliases for key in (alias, folded(alias))],
                lambda item: (slugify(item.title),) if item.title else (),
            ],
        )


def _spelled(items: Sequence[Item], ways: Sequence[Callable[[Item], Iterable[str]]]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for keys in ways:
        for item in items:
            for key in keys(item):
                found.setdefault(key, item)
    return found
