"""The search indexes after a pass, so that a hook finds in them what was just written."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.config import Settings
from pipeline.context import open_store
from pipeline.core.clock import Clock
from pipeline.core.errors import ReverieError
from pipeline.core.home import Home
from pipeline.ledger import Ledger, lookups
from pipeline.search import index_reader
from pipeline.search.refresh import refresh_index

LOG = logging.getLogger("reverie.worker")
ONE_STORE = (ArithmeticError, LookupError, AttributeError, TypeError, ValueError, RecursionError)
"""What the files of one store may raise while something is made from them."""


def refresh(home: Path, ledger: Ledger, settings: Settings, clock: Clock, touched: set[Path]) -> None:
    """Bring up to date the indexes of the stores in `touched`, which is emptied, and of the user-scope store.

    A store the ledger knows gets one as well when it has none that can be used, as after an upgrade. What
    goes wrong is logged and fails nothing: an index holds nothing of its own, and recall reads files instead.
    """
    always = {*touched, Home(home).user_store}
    for place in sorted({*always, *map(Path, lookups.stores(ledger))}):
        try:
            if place.is_dir() and (place in always or not _has_index(home, place)):
                refresh_index(home, open_store(place, settings), clock.now())
        except (ReverieError, OSError) as error:
            LOG.warning("no search index of %s: %s", place, error)
        except ONE_STORE:
            LOG.exception("no search index of %s", place)
    touched.clear()


def _has_index(home: Path, place: Path) -> bool:
    """Whether the store at `place` has an index that can be asked."""
    try:
        with index_reader.Reader(index_reader.index_path(str(home), str(place))):
            return True
    except index_reader.NoIndexError:
        return False
