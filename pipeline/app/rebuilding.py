"""Making anew all that is made from the markdown: `reverie reindex`."""

from __future__ import annotations

from pipeline.app.application import App
from pipeline.consolidation import reflection
from pipeline.context import open_store
from pipeline.revision.mending import mend
from pipeline.search.fts import index_file
from pipeline.search.refresh import refresh_archive_index, refresh_index, sweep_indexes
from pipeline.store import ARCHIVE, Document


def rebuild(app: App) -> list[str]:
    """Rebuild every derived file from the markdown; return the files that changed.

    The search index is built anew as well, the team's too, and those of stores that are gone are deleted.
    What is out of step among relations and edge files is mended, as a change that can be undone.
    """
    app.require_settings()
    store, now = app.open_store(), app.clock.now()
    documents: list[Document] = []
    wrote = store.reindex(now=now, anew=True, tell=documents.extend)
    mended = [operation.path for operation in mend(store, now=now).operations]
    if mended:
        documents.clear()
        wrote = list(dict.fromkeys([*mended, *wrote, *store.reindex(now=now, tell=documents.extend)]))
    wrote += reflection.write_from(app.home, app.settings, store, documents, now)
    refresh_index(app.home, store, now, rebuild=True)
    if index_file(app.home, store.root / ARCHIVE).exists():
        refresh_archive_index(app.home, store, now, rebuild=True)
    if app.team_path is not None:
        refresh_index(app.home, open_store(app.team_path, app.settings), now, rebuild=True)
    sweep_indexes(app.home)
    return wrote
