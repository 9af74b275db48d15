"""Who wrote the files of a folder, as far as the folder alone tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import StoreError
from pipeline.diagnostics.audit.folder import File
from pipeline.store.ownership.written_log import WrittenLog


@dataclass(frozen=True, slots=True)
class Writers:
    """How many of the files that can be read Reverie wrote, Claude did, and of how many nobody can tell."""

    reverie: int = 0
    claude: int = 0
    unknown: int = 0


def writers(root: Path, files: Sequence[File]) -> Writers:
    """Return who wrote `files` of the folder `root`.

    Reverie's are those whose very bytes it noted; Claude's name the session in which the client made them.
    What a person wrote says nothing of itself.
    """
    log = WrittenLog(root)
    try:
        ours = {file.path for file in files if log.digest(file.path) == file.digest}
    except (OSError, StoreError):
        # The record is no file that can be read; then Reverie takes its own for a stranger's as well.
        ours = set()
    claude = sum(file.path not in ours and bool(file.given("originSessionId")) for file in files)
    return Writers(len(ours), claude, len(files) - len(ours) - claude)
