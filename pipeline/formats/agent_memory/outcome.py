"""How a store and agent-memory's files are to be brought in step, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Deed = Literal[
    "imported",
    "exported",
    "changed here",
    "changed there",
    "archived here",
    "archived there",
    "both kept",
    "left",
]


@dataclass(frozen=True, slots=True)
class Row:
    """A memory that was not the same on both sides: its id, its name here, what is done, and why not more."""

    id: str
    name: str
    deed: Deed
    why: str = ""


@dataclass(slots=True)
class Synced:
    """What was done; `change` is the id of the change of our store, "" where nothing was written there.

    `notices` say what was held back and why. `only_there` counts what vanished here, or was taken back, and
    still is in the files.
    """

    rows: list[Row] = field(default_factory=list)
    change: str = ""
    notices: list[str] = field(default_factory=list)
    only_there: int = 0

    def number(self, *deeds: Deed) -> int:
        """Return with how many memories one of `deeds` was done."""
        counted = Counter(row.deed for row in self.rows)
        return sum(counted[deed] for deed in deeds)


@dataclass(frozen=True, slots=True)
class Wish:
    """How to bring both in step: with `writes` false nothing comes into the store.

    With `yes` many may leave at once. With `bring_back` what vanished from one side, and was not archived
    there, comes back from the other.
    """

    writes: bool = True
    dry_run: bool = False
    yes: bool = False
    bring_back: bool = False


def in_words(rows: Iterable[Row]) -> str:
    """Return in words what was done."""
    return ", ".join(f"{number} {deed}" for deed, number in Counter(row.deed for row in rows).items())
