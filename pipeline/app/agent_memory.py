"""A store and agent-memory's files brought in step at a person's word."""

from __future__ import annotations

from pipeline.app.application import App
from pipeline.context import look_at_store
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.formats.agent_memory import mirror, notes
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.outcome import Synced, Wish


def sync(app: App, memory: AgentMemory, wish: Wish) -> Synced:
    """Bring the store of `app` and the files of `memory` in step; a dry run only says what it would do."""
    app.require_settings()
    if app.is_team:
        raise InputError("others read this folder", file=str(app.store_path), fix="Mirror your own.")
    if wish.dry_run and not app.store_path.is_dir():
        store = look_at_store(app.store_path, later=True)
    else:
        store = app.open_store(create=not wish.dry_run)
    state = notes.state_file(Home(app.home).mirrors, app.store_path, memory.root)
    done = mirror.sync(memory, store, state, now=app.clock.now(), wish=wish)
    if not wish.dry_run:
        notes.note_doubts(state, done.notices)
    if done.change:
        app.follow(store)
    return done
