"""A directory of memories: one markdown file per fact, an index that Claude Code loads, safe changes."""

from pipeline.store.access import require_owner, require_writable
from pipeline.store.archive import scan_archive
from pipeline.store.consolidate_lock import ConsolidateLock, Held
from pipeline.store.generations import is_retired
from pipeline.store.host import foreign_dream_running
from pipeline.store.kept import FileDiff
from pipeline.store.layout import ARCHIVE, Problem, memory_folders
from pipeline.store.manifest import FileChange, Generation
from pipeline.store.plan import Applied, ChangeSet, Move, Operation, Put, Restore, Retire, WriteFile
from pipeline.store.repository import Store
from pipeline.store.retired import Retired
from pipeline.store.scanning import Document, Snapshot
from pipeline.store.undo import Undone
from pipeline.store.uses import Use, counted_since, last_uses
from pipeline.store.verify import Finding, fsck

__all__ = [
    "ARCHIVE",
    "Applied",
    "ChangeSet",
    "ConsolidateLock",
    "Document",
    "FileChange",
    "FileDiff",
    "Finding",
    "Generation",
    "Held",
    "Move",
    "Operation",
    "Problem",
    "Put",
    "Restore",
    "Retire",
    "Retired",
    "Snapshot",
    "Store",
    "Undone",
    "Use",
    "WriteFile",
    "counted_since",
    "foreign_dream_running",
    "fsck",
    "is_retired",
    "last_uses",
    "memory_folders",
    "require_owner",
    "require_writable",
    "scan_archive",
]
