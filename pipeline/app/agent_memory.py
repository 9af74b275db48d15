"""A store and agent-memory's files brought in step at a person's word."""

from __future__ import annotations

from pipeline.app.application import App
from pipeline.context import look_at_store
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.formats.agent_memory import mirror
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.mirror import Synced


def sync(app: App, memory: AgentMemory, *, dry_run: bool = False) -> Synced:
    """Bring the store of `app` and the files of `memory` in step; a `dry_run` only says what it would do."""
    app.require_settings()
    if app.is_team:
        raise InputError("others read this folder", file=str(app.store_path), fix="Mirror your own.")
    if dry_run and not app.store_path.is_dir():
        store = look_at_store(app.store_path, later=True)
    else:
        store = app.open_store(create=not dry_run)
    state = mirror.state_file(Home(app.home).mirrors, app.store_path, memory.root)
    done = mirror.sync(memory, store, state, now=app.clock.now(), dry_run=dry_run)
    if done.change:
        app.follow(store)
    return done
