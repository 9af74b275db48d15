"""A directory of memories: one markdown file per fact, an index that Claude Code loads, safe changes."""

from typing import TYPE_CHECKING

from pipeline.core.lazily import exports

if TYPE_CHECKING:
    from pipeline.store.catalogue.one_look import looks_anew, one_look
    from pipeline.store.derived.usage import Use, counted_since, last_uses
    from pipeline.store.file_operations import (
        Applied,
        ChangeSet,
        Move,
        Operation,
        Put,
        Restore,
        Retire,
        WriteFile,
    )
    from pipeline.store.files.frontmatter_schema import is_retired
    from pipeline.store.files.layout import ARCHIVE, Problem, folder_times, is_live, memory_folders
    from pipeline.store.files.scanning import Document, Snapshot
    from pipeline.store.history.archive import Retired, archived_paths, scan_archive
    from pipeline.store.history.episodes import Episode
    from pipeline.store.history.episodes import days as diary_days
    from pipeline.store.history.episodes import read_day as diary_day
    from pipeline.store.history.forgotten import Forgotten
    from pipeline.store.history.generations import (
        ARRIVED,
        SIGNED,
        FileChange,
        FileDiff,
        Generation,
        base_of,
        is_arrival,
        is_own,
        last_turn,
        names_only,
        short_ids,
        turns_of,
        undo_id,
    )
    from pipeline.store.history.hand_edits import HandEdit
    from pipeline.store.history.undo import Undone
    from pipeline.store.history.undone import undone_runs
    from pipeline.store.ownership.access import require_owner, require_writable
    from pipeline.store.ownership.host_lock import ConsolidateLock, HeldLock, foreign_dream_running
    from pipeline.store.ownership.written_log import was_written
    from pipeline.store.repository import Store
    from pipeline.store.soundness import fsck

__getattr__ = exports(
    __name__,
    {
        "catalogue.one_look": "looks_anew one_look",
        "derived.usage": "Use counted_since last_uses",
        "file_operations": "Applied ChangeSet Move Operation Put Restore Retire WriteFile",
        "files.frontmatter_schema": "is_retired",
        "files.layout": "ARCHIVE Problem folder_times is_live memory_folders",
        "files.scanning": "Document Snapshot",
        "soundness": "fsck",
        "history.archive": "Retired archived_paths scan_archive",
        "history.episodes": "Episode diary_days=days diary_day=read_day",
        "history.forgotten": "Forgotten",
        "history.generations": (
            "ARRIVED SIGNED FileChange FileDiff Generation base_of is_arrival is_own last_turn names_only"
            " short_ids turns_of undo_id"
        ),
        "history.undone": "undone_runs",
        "history.hand_edits": "HandEdit",
        "history.undo": "Undone",
        "ownership.access": "require_owner require_writable",
        "ownership.written_log": "was_written",
        "ownership.host_lock": "ConsolidateLock HeldLock foreign_dream_running",
        "repository": "Store",
    },
)

__all__ = [
    "ARCHIVE",
    "ARRIVED",
    "SIGNED",
    "Applied",
    "ChangeSet",
    "ConsolidateLock",
    "Document",
    "Episode",
    "FileChange",
    "FileDiff",
    "Forgotten",
    "Generation",
    "HandEdit",
    "HeldLock",
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
    "archived_paths",
    "base_of",
    "counted_since",
    "diary_day",
    "diary_days",
    "folder_times",
    "foreign_dream_running",
    "fsck",
    "is_arrival",
    "is_live",
    "is_own",
    "is_retired",
    "last_turn",
    "last_uses",
    "looks_anew",
    "memory_folders",
    "names_only",
    "one_look",
    "require_owner",
    "require_writable",
    "scan_archive",
    "short_ids",
    "turns_of",
    "undo_id",
    "undone_runs",
    "was_written",
]
