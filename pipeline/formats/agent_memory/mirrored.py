"""Which store is kept the same as agent-memory's files, by the settings; cheap to ask where none is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.home import Home

if TYPE_CHECKING:
    from pipeline.config import Settings

_USER = "user"


def chosen_store(settings: Settings, home: Path) -> Path | None:
    """Return the store that ``agent_memory.mirror`` names, None for none."""
    name = settings.agent_memory.mirror.strip()
    if not name:
        return None
    if name == _USER:
        return Home(home).user_store
    folder = settings.graphs.model_dump().get(name) or name
    return Path(folder).expanduser().absolute()


def doubts(settings: Settings, home: Path) -> list[str]:
    """Return what the mirror held back last time, and why; nothing where none is wanted."""
    store = chosen_store(settings, home)
    if store is None:
        return []
    # Deferred: `status` is asked often, and in most homes none is wanted.
    from pipeline.formats.agent_memory import notes
    from pipeline.formats.agent_memory.options import default_folder

    root = default_folder(settings.agent_memory.folder)
    return notes.read_state(notes.state_file(Home(home).mirrors, store, root)).doubts
