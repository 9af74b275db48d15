"""`reverie embed`: the vectors of a store, or of all, made because somebody asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.app.application import App
from pipeline.context import known_stores, open_store
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.ledger import Ledger, calls
from pipeline.search import semantic
from pipeline.search.vectors import Refreshed
from pipeline.store import Store


@dataclass(frozen=True, slots=True)
class Embedded:
    """One store and how its vectors stand."""

    store: Path
    vectors: Refreshed


def embed(app: App, *, everywhere: bool = False, anew: bool = False) -> Iterator[Embedded]:
    """Make the missing vectors of the store here and of all projects, or `everywhere` Reverie knows one.

    With `anew` all are made again. A provider that does not answer may be replaced by the next of the chain.
    Raises EmbeddingError when vectors are off or nobody can make them.
    """
    app.require_settings()
    with app.ledger() as ledger:
        for store in _stores(app, ledger, everywhere):
            meter = calls.LedgerMeter(ledger, app.settings.spend, app.clock, run_id=new_id())
            done = semantic.refresh(
                store, app.settings.embeddings, app.clock.now(), meter, anew=anew, change=True
            )
            yield Embedded(store.path, done)


def embed_soon(app: App, store: Store) -> None:
    """Make the vectors of what a person just wrote, if that takes no time; the worker makes the others."""
    if semantic.is_on(app.settings.embeddings):
        with app.ledger() as ledger:
            semantic.soon(store, app.settings, ledger, app.clock)


def _stores(app: App, ledger: Ledger, everywhere: bool) -> list[Store]:
    """Return what to make vectors of: what a search here looks at, or one everywhere."""
    everyone = Home(app.home).user_store
    if not everywhere:
        here = app.open_store()
        beside = [] if app.store_override is not None or here.path == everyone else [everyone]
        return [here, *(open_store(path, app.settings) for path in beside if path.is_dir())]
    store_paths = [*known_stores(ledger), everyone]
    stores = [
        open_store(store_path, app.settings)
        for store_path in dict.fromkeys(store_paths)
        if store_path.is_dir()
    ]
    return [store for store in stores if not store.is_team]
