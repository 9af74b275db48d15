"""One thing that was looked at and how it is: what doctor, audit and the store's own check tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note", "ok"]
"""Worst first: something is lost, broken or unsafe; something misleads; something to know; all is well."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at or found, in a stable `code`, and what a person can do about it.

    `fix` is empty when there is nothing to do. `path` is the file it is about, relative to the folder that
    was looked at, and `line` its line (0: none in particular); without a file both are empty. `other` is the
    second file, where it is about two.
    """

    level: Level
    code: str
    message: str
    fix: str = ""
    path: str = ""
    line: int = 0
    other: str = ""

    @property
    def where(self) -> str:
        """Return ``path:line``, or the path alone."""
        return f"{self.path}:{self.line}" if self.line else self.path
