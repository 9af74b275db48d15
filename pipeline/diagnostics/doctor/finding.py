"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at and how it is; `fix` is empty when there is nothing to do."""

    level: Level
    what: str
    message: str
    fix: str = ""
