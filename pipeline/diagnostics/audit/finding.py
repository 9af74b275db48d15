"""One thing an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]
ORDER: tuple[Level, ...] = ("error", "warning", "note")
"""The levels, worst first: something is lost or unsafe; something misleads; something could be better."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A stable `code`, the file (relative to the folder), its line (0: none in particular), what, and how
    to mend it.
    """

    level: Level
    code: str
    path: str
    line: int
    message: str
    fix: str

    @property
    def where(self) -> str:
        """Return ``path:line``, or the path alone."""
        return f"{self.path}:{self.line}" if self.line else self.path
