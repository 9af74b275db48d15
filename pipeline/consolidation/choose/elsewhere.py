"""Whether a fact stands in the store of another project too, word for word but for case and punctuation."""

from __future__ import annotations

from pathlib import Path

from pipeline.context import PhaseContext, open_store
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.domain.memory import Memory
from pipeline.domain.sentences import folded, sentences
from pipeline.ledger import files


def stands_elsewhere(phase: PhaseContext, home: Path, memory: Memory) -> bool:
    """Whether one memory of another project that the ledger knows has every statement of `memory`."""
    wanted = _statements(memory)
    here = {phase.store.root, Home(home).user_store.resolve()}
    for path in map(Path, files.stores(phase.ledger)):
        if not wanted or path.resolve() in here or not path.is_dir():
            continue
        try:
            store = open_store(path, phase.settings)
            # What others wrote bears nothing out.
            documents = [] if store.is_team else store.scan().documents
        except StoreError:
            # What is wrong with that store its own dream says; here it only bears nothing out.
            continue
        if any(wanted <= _statements(document.memory) for document in documents):
            return True
    return False


def _statements(memory: Memory) -> set[str]:
    return {folded(item.text) for item in sentences(memory.body) if item.part == "statement"}
