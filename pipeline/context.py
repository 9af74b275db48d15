"""What a phase works with: the ledger, one store, a model client if there is one, settings, the clock."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config import Settings
from pipeline.core.clock import Clock
from pipeline.ledger import Ledger
from pipeline.llm import Client
from pipeline.store import Store


@dataclass(frozen=True, slots=True)
class PhaseContext:
    """Everything extraction and the dream need. `client` is None when no model is to be asked (offline)."""

    ledger: Ledger
    store: Store
    client: Client | None
    settings: Settings
    clock: Clock

    @property
    def store_key(self) -> str:
        """Return the store's name in the ledger."""
        return str(self.store.path)
