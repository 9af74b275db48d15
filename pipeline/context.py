"""What a phase works with: the ledger, one store, a model client if there is one, settings, the clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import paths
from pipeline.core.clock import Clock
from pipeline.hooklib.ownership import WRITTEN
from pipeline.hooklib.places import PROJECT_STORE
from pipeline.ledger import Ledger, files
from pipeline.record import record

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.llm import Client
    from pipeline.store import Store


def open_store(path: Path, settings: Settings, *, create: bool = False, later: bool = False) -> Store:
    """Open the store at `path` as `settings` have it: the one way to a store for every command and phase.

    A store opened otherwise would write a MEMORY.md of another length, or keep other generations. `create`,
    `later` and errors are those of `Store.open`.
    """
    from pipeline.store import Store  # A worker with nothing to read opens none.

    return Store.open(
        path,
        create=create,
        later=later,
        index_lines=settings.store.index_lines,
        index_bytes=settings.store.index_bytes,
        generations=settings.dream.generations,
    )


def look_at_store(path: Path, *, later: bool = False) -> Store:
    """Open the directory at `path` as a store that is only read: nothing is finished that was cut short.

    What the settings decide is of no matter to it. `later` and errors are those of `Store.open`.
    """
    from pipeline.store import Store

    return Store.open(path, later=later, to_look=True)


def known_stores(ledger: Ledger | None) -> list[Path]:
    """Return the memory folders of projects that are there: those a transcript was read for, and ours.

    The ledger, if there is one yet, does not know a project whose memories a person added by hand; that we
    wrote there shows.
    """
    read_for = map(Path, files.stores(ledger) if ledger else ())
    written = paths.projects_dir().glob(f"*/{PROJECT_STORE}/{WRITTEN}")
    ours = sorted(found.parent.parent for found in written)
    return [path for path in dict.fromkeys([*read_for, *ours]) if path.is_dir()]


@record
class PhaseContext:
    """Everything extraction and the dream need. `client` is None when no model is to be asked (offline)."""

    ledger: Ledger
    store: Store
    client: Client | None
    settings: Settings
    clock: Clock

    @property
    def home(self) -> Path:
        """Return Reverie's home, where the ledger lies."""
        return Path(self.ledger.path).parent

    @property
    def proposes_only(self) -> bool:
        """Whether changes of memories wait for a person: by the mode, or since others read the store."""
        return self.settings.store.mode == "propose" or self.store.is_team

    @property
    def store_key(self) -> str:
        """Return the store's name in the ledger."""
        return str(self.store.path)
