"""A directory of memories: one markdown file per fact, an index that Claude Code loads, safe changes."""

from pipeline.store.access import require_owner, require_writable
from pipeline.store.host import foreign_dream_running
from pipeline.store.layout import Problem
from pipeline.store.plan import Applied, ChangeSet, Operation, Put, Retire, WriteFile
from pipeline.store.repository import Store
from pipeline.store.scanning import Document, Snapshot
from pipeline.store.verify import Finding, fsck

__all__ = [
    "Applied",
    "ChangeSet",
    "Document",
    "Finding",
    "Operation",
    "Problem",
    "Put",
    "Retire",
    "Snapshot",
    "Store",
    "WriteFile",
    "foreign_dream_running",
    "fsck",
    "require_owner",
    "require_writable",
]
