"""What is made from memories, brought up to date after they changed: the files in a store, its search index.

The memories are safe meanwhile. What can't be made now waits and fails nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from pipeline.context import known_stores
from pipeline.core.errors import (
    ODD_DATA,
    EmbeddingError,
    LedgerError,
    ReverieError,
    SearchError,
    StoreError,
    cause,
)
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.domain.job import Job
from pipeline.hooklib import memory_format, ownership
from pipeline.ledger import files, retention
from pipeline.search import index_reader
from pipeline.store.derived.core_page import core_is_ours
from pipeline.worker import last_look, retry
from pipeline.worker.context import WorkerContext, log_fields

_NOT_LONG = 0.2
_DAILY = "views"
"""The chore of making what fades anew."""
LOG = logging.getLogger("reverie.worker")
WORTH_A_TABLE = 20
"""Memories in all stores from which on the table of word vectors is made: 4 seconds, once."""


class DerivedFiles:
    """The derived files and search indexes of the stores of one home."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._retry = retry.derived_files(context.settings.extraction.attempts)
        self._made_from: dict[Path, str] = {}
        """How the memory files of a store were (`last_look.files_of`) before its derived files were made."""

    def rebuild(self) -> None:
        """Bring the derived files of every store that was changed up to date."""
        while isinstance(job := self._context.claim("reindex"), Job):
            try:
                self._rebuild(Path(job.key))
            except (StoreError, OSError, *ODD_DATA) as error:
                self._put_back(job, error)
            else:
                self._context.finish(job)

    def refresh_daily(self) -> None:
        """Once a day make the derived files anew of all stores that have them: what nobody asks for fades.

        A store in which nothing faded costs a look at its folders. What goes wrong is logged, and waits for
        the next day.
        """
        context = self._context
        ledger, now = context.ledger, context.clock.now()
        if retention.is_done_today(ledger, _DAILY, now):
            return
        for path in dict.fromkeys([Home(context.home).user_store, *known_stores(ledger)]):
            if (
                (path / memory_format.CORE).exists()
                and core_is_ours(path)
                and not ownership.is_team(str(path))
            ):
                try:
                    if context.opened_store(path).reindex(now=now, begin=False):
                        self._note_folders(path)
                except (ReverieError, OSError) as error:
                    LOG.warning("the derived files of %s are of yesterday: %s", path, error)
        retention.note_done(ledger, _DAILY, now)

    def index(self) -> None:
        """Bring the search indexes up to date: of the stores touched since with their teams', and the user's.

        A store the ledger knows gets one as well when it has none that can be used, as after an upgrade.
        One of a store in which nothing changed is left as it is.
        What goes wrong is logged and fails nothing: an index holds nothing of its own, and recall reads
        files instead.
        """
        context = self._context
        home, at_work = context.home, {*context.touched, *context.visited}
        teams = {Path(team) for path in at_work if (team := ownership.team_folder(str(path)))}
        always = {*at_work, *teams, Home(home).user_store}
        known = {*always, *map(Path, files.stores(context.ledger))}
        self._index(path for path in sorted(known) if self._is_due(path, always))
        if self._make_words(known):
            self._index(sorted(known))
        context.touched.clear()
        context.visited.clear()
        context.close_stores()
        self._made_from.clear()

    def index_dialogue(self) -> None:
        """Bring the index of what was said in step, where there is one; what goes wrong is logged."""
        context = self._context
        if not Home(context.home).dialogue_index.exists():
            return
        from pipeline.search import dialogue_index  # Most homes have none.

        try:
            # Who searches brings it in step as well, and may be making it just now.
            dialogue_index.keep_in_step(context.home, context.ledger, wait=_NOT_LONG)
        except (SearchError, LedgerError) as error:
            LOG.warning("%s", error)

    def _is_due(self, store_path: Path, always: set[Path]) -> bool:
        context = self._context
        if store_path not in always:
            return not _has_index(context.home, store_path)
        if store_path in context.touched:
            return True
        # What was visited was looked at then.
        seen = store_path in context.visited
        if not seen and not context.last_look.is_in_step(store_path, last_look.INDEX):
            return True
        if context.last_look.has_new_folder_times(store_path):
            self._note_folders(store_path)
        return False

    def _index(self, store_paths: Iterable[Path]) -> None:
        context = self._context
        for store_path in store_paths:
            try:
                if store_path.is_dir():
                    from pipeline.search.refresh import refresh_index  # In most passes none is due.

                    notes = self._imprints(store_path)
                    store = context.opened_store(store_path)
                    refresh_index(context.home, store, context.clock.now(), notes=notes)
            except (ReverieError, OSError) as error:
                LOG.warning("no search index of %s: %s", store_path, error)
            except ODD_DATA:
                LOG.exception("no search index of %s", store_path)

    def _note_folders(self, store_path: Path) -> None:
        from pipeline.search.refresh import note_folders

        try:
            note_folders(self._context.home, store_path)
        except (SearchError, OSError) as error:
            LOG.warning("the search index of %s is not told of its folders: %s", store_path, error)

    def _imprints(self, store_path: Path) -> dict[str, str]:
        """Return the imprints to keep of a store whose search index is about to be made; see `last_look`."""
        look = self._context.last_look
        imprints = {last_look.INDEX: look.imprint(store_path, last_look.settled_files_of(store_path))}
        if store_path in self._made_from:
            imprints[last_look.FILES] = look.imprint(store_path, self._made_from[store_path])
        return imprints

    def _make_words(self, known: Iterable[Path]) -> bool:
        """Make the table of word vectors where it is due and worth it; return whether it is new."""
        from pipeline.search.vectors import word_table

        home = self._context.home
        if not word_table.is_due(home) or sum(_count(home, path) for path in known) < WORTH_A_TABLE:
            return False
        try:
            pieces = word_table.make(home)
        except (EmbeddingError, SearchError) as error:
            LOG.warning("%s", error)
            return False
        LOG.info("the table of word vectors has %d pieces", pieces)
        return True

    def _rebuild(self, store_path: Path) -> None:
        context = self._context
        if store_path.is_dir():
            from pipeline.intake.authors import note_authors
            from pipeline.search import semantic

            made_from = last_look.settled_files_of(store_path)
            store = context.opened_store(store_path)
            context.touched.add(store_path)
            if store.is_team:
                return  # nothing is written there but at a person's word, whose command brings all in step
            note_authors(context.ledger, store, now=context.clock.now())
            store.reindex(now=context.clock.now(), begin=False)
            if semantic.keep_fresh(store, context.settings, context.ledger, context.clock, run_id=new_id()):
                self._made_from[store_path] = made_from

    def _put_back(self, job: Job, error: Exception) -> None:
        decision = self._retry.retry_after(error, job.attempts)
        if isinstance(error, StoreError | OSError):
            LOG.warning("%s: %s", job.key, error, extra=log_fields(job))
            reason = str(error)
        else:
            LOG.exception("the derived files of %s can't be made", job.key, extra=log_fields(job))
            reason = cause(error)
        self._context.put_back(job, decision, reason)


def _has_index(home: Path, store_path: Path) -> bool:
    """Whether the store at `store_path` has an index that can be asked."""
    return _count(home, store_path) >= 0


def _count(home: Path, store_path: Path) -> int:
    """Return how many memories the index of the store at `store_path` has, -1 if none can be asked."""
    try:
        with index_reader.Reader(index_reader.index_path(str(home), str(store_path))) as reader:
            return reader.count()
    except index_reader.NoIndexError:
        return -1
