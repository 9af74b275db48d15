"""Why a change may not be made, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why an operation can't be taken; `to_inbox` when a person should decide, `later` when it can wait."""

    reason: str
    to_inbox: bool = False
    later: bool = False
