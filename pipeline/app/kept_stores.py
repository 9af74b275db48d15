"""Stores that a server keeps open from one answer to the next: of each only what changed is looked at again.

What opening one costs is paid once. Each answer has a set of stores to itself, the one that was used last; a
second set is made only for who has waited a while, and few are made at all.
"""

from __future__ import annotations

import logging
from collections import UserDict
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread

from pipeline.app.application import App
from pipeline.core.errors import ReverieError, cause
from pipeline.store import Store

LOG = logging.getLogger("reverie.app")
Stores = MutableMapping[Path, Store]
MOST = 4
"""Sets of stores; more answers than that wait for one."""
PATIENCE_SECONDS = 0.5
"""So long one waits for a set that knows its files before a new one is made."""


class _Lent(UserDict[Path, Store]):
    """A set of stores that is taken when the first of them is asked for."""

    def __init__(self, take: Callable[[], dict[Path, Store]]) -> None:
        self._take = take
        self.stores: dict[Path, Store] | None = None

    @property
    def data(self) -> dict[Path, Store]:  # type: ignore[override]
        """The set itself."""
        if self.stores is None:
            self.stores = self._take()
        return self.stores


class KeptStores:
    """The sets of stores of one server."""

    def __init__(self) -> None:
        self._free: list[dict[Path, Store]] = []
        self._made = 0
        self._warming = False
        self._waiting = 0
        self._turn = Condition()

    def warm(self, *looks: Callable[[Stores], object]) -> None:
        """Let the first of `looks` open a set, in a thread of its own; who asks then waits for it.

        The others follow while nobody waits: not every page needs what they find. What goes wrong goes wrong
        again for who asks, and is told there. A set that was opened before is taken; while somebody else has
        it, nothing is opened.
        """
        with self._turn:
            if self._made and not self._free:
                return
            self._made += not self._free
            stores = self._free.pop() if self._free else {}
            self._warming = True
        Thread(target=self._warmed, args=(stores, *looks), name="reverie-warm", daemon=True).start()

    def _warmed(self, stores: dict[Path, Store], *looks: Callable[[Stores], object]) -> None:
        try:
            for number, look in enumerate(looks):
                if number and self._waiting:
                    break
                look(stores)
        except (ReverieError, OSError) as error:
            LOG.info("the stores could not be opened ahead: %s", cause(error))
        finally:
            with self._turn:
                self._warming = False
                self._free.append(stores)
                self._turn.notify_all()

    @contextmanager
    def taken(self) -> Iterator[Stores]:
        """Give stores that nobody else uses meanwhile; who needs none waits for none."""
        lent = _Lent(self._take)
        try:
            yield lent
        finally:
            if lent.stores is not None:
                with self._turn:
                    self._free.append(lent.stores)
                    self._turn.notify()

    def _take(self) -> dict[Path, Store]:
        with self._turn:
            self._waiting += 1
            self._turn.wait_for(lambda: not self._warming)
            self._waiting -= 1
            if self._made:
                self._turn.wait_for(lambda: self._free, None if self._made >= MOST else PATIENCE_SECONDS)
            if self._free:
                return self._free.pop()
            # Others may have made the last ones meanwhile.
            self._turn.wait_for(lambda: self._free or self._made < MOST)
            if self._free:
                return self._free.pop()
            self._made += 1
            return {}


class ServedApp(App):
    """The use cases as a server has them, over `stores` that stay open."""

    def __init__(self, stores: Stores, *, store: Path | None, folder: Path | None = None) -> None:
        super().__init__(store=store, folder=folder)
        self._kept = stores
