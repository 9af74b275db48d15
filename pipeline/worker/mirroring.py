"""Keeping a store the same as agent-memory's files after each pass, where the person switched that on."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.core.errors import ODD_DATA, ReverieError, cause
from pipeline.core.home import Home
from pipeline.formats.agent_memory.mirrored import chosen_store
from pipeline.worker import last_look
from pipeline.worker.context import WorkerContext

LOG = logging.getLogger("reverie.worker")


def keep(context: WorkerContext) -> None:
    """Bring both in step where either changed. What goes wrong is logged, and waits for the next pass."""
    path = chosen_store(context.settings, context.home)
    if path is None:
        return
    try:
        _keep(context, path)
    except (ReverieError, OSError) as error:
        LOG.warning("the mirror of %s has to wait: %s", path, cause(error))
        _note_waiting(context, path, cause(error))
    except ODD_DATA:
        LOG.exception("the mirror of %s has to wait", path)


def _note_waiting(context: WorkerContext, path: Path, why: str) -> None:
    from pipeline.formats.agent_memory import notes
    from pipeline.formats.agent_memory.options import default_folder

    root = default_folder(context.settings.agent_memory.folder)
    try:
        notes.note_doubts(
            notes.state_file(Home(context.home).mirrors, path, root), [f"it has to wait: {why}"]
        )
    except OSError as error:
        LOG.warning("what the mirror waits for can't be noted: %s", cause(error))


def _keep(context: WorkerContext, path: Path) -> None:
    # Deferred: in most homes none is wanted.
    from pipeline.formats.agent_memory import mirror, notes
    from pipeline.formats.agent_memory.memory import AgentMemory
    from pipeline.formats.agent_memory.options import default_folder
    from pipeline.formats.agent_memory.outcome import Wish, in_words

    root = default_folder(context.settings.agent_memory.folder)
    memory = AgentMemory(root, clock=context.clock)
    state = notes.state_file(Home(context.home).mirrors, path, root)
    seen = mirror.imprint(memory, last_look.files_of(path))
    if seen == notes.read_state(state).seen:
        return
    store = context.opened_store(path)
    if store.is_team:
        LOG.warning("%s is a team's: it is no mirror of anything", path)
        return
    writes = context.settings.store.mode == "auto"
    done = mirror.sync(memory, store, state, now=context.clock.now(), wish=Wish(writes=writes))
    for text in (*memory.warnings, *done.notices):
        LOG.warning("agent-memory: %s", text)
    if done.change:
        context.owe(path)
    if done.rows:
        LOG.info("mirror of %s: %s", path, in_words(done.rows))
    noted = notes.read_state(state)
    noted.seen = mirror.imprint(memory, last_look.files_of(path))
    noted.doubts = list(done.notices)
    notes.write_state(state, noted)
