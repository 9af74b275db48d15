"""From one version of the format to the next: a step changes each memory; a backup is made before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.formats.agent_memory import writing
from pipeline.formats.agent_memory.index import VERSION, version_of
from pipeline.formats.agent_memory.layout import FILES, archive_files
from pipeline.formats.agent_memory.reading import read
from pipeline.formats.agent_memory.schema import Record, line_of


class Step(NamedTuple):
    """How a memory of version `old` becomes one of version `new`; done twice it changes nothing more."""

    old: str
    new: str
    change: Callable[[Record], Record]


STEPS: Sequence[Step] = ()
"""There is one version so far. A folder of an older one that no step knows keeps its lines."""


def migrate_files(root: Path, *, backups: int, now: datetime, steps: Sequence[Step] = STEPS) -> list[str]:
    """Bring the files to the newest version, under the folder's lock; return the versions it went through.

    Every live file is backed up first. A line that can't be read stays as it is. The index, which names the
    version, is the caller's to make anew: until then a death means that all is done again.
    """
    version = version_of(root)
    gone = [version]
    live = [root / name for name in FILES.values()]
    for file in live:
        writing.back_up(file, most=max(backups, 1), now=now)
    while step := next((item for item in steps if item.old == version and version != VERSION), None):
        for file in (*live, *archive_files(root)):
            _change(file, step, now)
        version = step.new
        gone.append(version)
    return gone


def _change(file: Path, step: Step, now: datetime) -> None:
    lines = [
        line.raw if line.record is None else line_of(step.change(dict(line.record)))
        for line in read(file, now=now).lines
    ]
    if lines:
        writing.rewrite(file, lines, now=now)
