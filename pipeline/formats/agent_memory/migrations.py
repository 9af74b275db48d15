"""From one version of the format to the next: a step changes each memory; a backup is made before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.formats.agent_memory import writing
from pipeline.formats.agent_memory.folder import LOG, Folder
from pipeline.formats.agent_memory.index import VERSION, version_of
from pipeline.formats.agent_memory.layout import FILES, archive_files
from pipeline.formats.agent_memory.schema import Record, line_of


class Step(NamedTuple):
    """How a memory of version `old` becomes one of version `new`; done twice it changes nothing more."""

    old: str
    new: str
    change: Callable[[Record], Record]


STEPS: Sequence[Step] = ()
"""There is one version so far. A folder of an older one that no step knows keeps its lines."""


def migrate_held(folder: Folder, steps: Sequence[Step] = STEPS, *, target: str = VERSION) -> list[str]:
    """Bring the files to version `target`, under the folder's lock; return the versions it went through.

    Every file is backed up first. A line that can't be read stays as it is.
    """
    version = version_of(folder.root)
    gone = [version] if version else []
    files = [*(folder.root / name for name in FILES.values()), *archive_files(folder.root)]
    for file in files[: len(FILES)]:
        writing.back_up(file, most=max(folder.options.max_backups, 1), now=folder.now())
    try:
        while version != target:
            step = next((item for item in steps if item.old == version), None)
            if step is None:
                break
            for file in files:
                _change(folder, file, step)
            version = step.new
            gone.append(version)
    except Exception:
        LOG.error(
            "the migration of %s from version %s failed; the backups have it as it was", folder.root, gone
        )
        raise
    folder.rebuild()
    LOG.info("%s was migrated: %s", folder.root, " → ".join([*gone, target][: len(gone) + 1]))
    return gone


def _change(folder: Folder, file: Path, step: Step) -> None:
    content = folder.content_of(file)
    if not content.lines:
        return
    lines = [
        line.raw if line.record is None else line_of(step.change(dict(line.record))) for line in content.lines
    ]
    writing.rewrite(file, lines, now=folder.now())
