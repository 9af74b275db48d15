"""The audit of one folder: every check, in an order that does not change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.diagnostics.audit import deadlines, files, index, mentions, pairs
from pipeline.diagnostics.audit.folder import read
from pipeline.diagnostics.audit.writers import Writers, writers
from pipeline.domain.finding import Finding, Level

ORDER: tuple[Level, ...] = ("error", "warning", "note")
"""The levels of an audit, worst first; it tells of no file that is well."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, worst first; `project` is where relative paths were looked for, None for nowhere.

    `memories` counts memory files, also those that can't be read.
    """

    folder: Path
    project: Path | None
    memories: int
    writers: Writers
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Return the errors and warnings: what is wrong, or nearly always is."""
        return tuple(finding for finding in self.findings if finding.level != "note")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Return what is good to know and often is all right."""
        return tuple(finding for finding in self.findings if finding.level == "note")

    def count(self) -> dict[str, int]:
        """Return how many findings there are of each level, worst first."""
        counted = Counter(finding.level for finding in self.findings)
        return {level: counted[level] for level in ORDER}


def audit(folder: Path, *, now: datetime, project: Path | None = None, ledger: Path | None = None) -> Audit:
    """Look through the memory folder `folder`; relative paths are looked for in `project`, if it is known.

    Who wrote what is known by the file `ledger` too, where that is there. Nothing is written. Raises
    InputError when there is no such directory or it can't be listed.
    """
    try:
        listed = any(folder.iterdir()) or True
    except OSError as error:
        cause = "there is no such directory" if not folder.is_dir() else error.strerror
        fix = "Name a memory folder, such as ~/.claude/projects/<project>/memory."
        raise InputError(str(cause), file=str(folder), fix=fix) from error
    assert listed
    root = folder.resolve()
    seen = read(root)
    project = project.resolve() if project else mentions.project_of(root)
    found = [*seen.findings, *index.check(seen), *files.index_secrets(seen.index)]
    for file in seen.files:
        found += [*files.check(file, now), *deadlines.check(file, now)]
    found += [*pairs.check(seen.memories), *mentions.check(seen, project)]
    found.sort(key=lambda finding: (ORDER.index(finding.level), finding.path, finding.line, finding.code))
    by = writers(folder, [file.path for file in seen.memories], ledger, now)
    return Audit(folder, project, len(seen.files), by, tuple(found))
