"""The search indexes after a pass, so that a hook finds in them what was just written."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import ReverieError
from pipeline.indexing import refresh_index
from pipeline.ledger import lookups
from pipeline.search import ask
from pipeline.store import Store

if TYPE_CHECKING:
    from pipeline.worker.reader import Reader

LOG = logging.getLogger("reverie.worker")
ONE_STORE = (ArithmeticError, LookupError, AttributeError, TypeError, ValueError, RecursionError)
"""What the files of one store may raise while something is made from them."""


def refresh(reader: Reader) -> None:
    """Bring up to date the indexes of the stores opened since the last time, and of the user-scope store.

    A store the ledger knows gets one as well when it has none that can be used, as after an upgrade. What
    goes wrong is logged and fails nothing: an index holds nothing of its own, and recall reads files instead.
    """
    always = {*reader.touched, reader.home / "memory"}
    for place in sorted({*always, *map(Path, lookups.stores(reader.ledger))}):
        try:
            if place.is_dir() and (place in always or not _has_index(reader.home, place)):
                refresh_index(reader.home, Store.open(place), reader.clock.now())
        except (ReverieError, OSError) as error:
            LOG.warning("no search index of %s: %s", place, error)
        except ONE_STORE:
            LOG.exception("no search index of %s", place)
    reader.touched.clear()


def _has_index(home: Path, place: Path) -> bool:
    """Whether the store at `place` has an index that can be asked."""
    try:
        with ask.Reader(ask.index_path(str(home), str(place))):
            return True
    except ask.NoIndexError:
        return False
