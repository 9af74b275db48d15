"""What came into a store from other machines or people: each sync leaves it, and the hooks tell of it.

Beside the state of the sync in Reverie's home, so that who is in step with nobody has no such file.
"""

import os

from pipeline.hooklib import home_files, jsonish, places
from pipeline.hooklib.digests import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Row(NamedTuple):
        """What became of one memory: when (epoch seconds), `CAME`, `CHANGED` or `LEFT`, its name and line."""

        at: float
        deed: str
        name: str
        line: str


FILE = "news.json"
CAME, CHANGED, LEFT = "came", "changed", "left"
DEEDS = (CAME, CHANGED, LEFT)
_MOST_BYTES = 256 << 10


def file_of(home: str, store: str) -> str:
    """Return where the news of the store at `store` are, for which nothing need be there."""
    return f"{home}/{home_files.SHARING}/{sha256(os.fsencode(store))[:16]}/{FILE}"


def rows_in(file: str) -> "list[Row]":
    """Return what `file` tells, oldest first; of one that can't be used, nothing."""
    try:
        value = jsonish.loads(jsonish.decode(places.read_file(file, _MOST_BYTES)))
    except (OSError, ValueError):
        return []  # nothing came yet, or the next sync makes it anew
    return [(*row,) for row in value if _is_row(row)] if isinstance(value, list) else []  # type: ignore[misc]


def since(home: str, store: str, moment: float) -> "list[Row]":
    """Return what came into `store` after `moment`, oldest first, of each memory the last."""
    last: dict[str, Row] = {}
    for row in rows_in(file_of(home, store)):
        if row[0] > moment:
            last.pop(row[2], None)
            last[row[2]] = row
    return list(last.values())


def _is_row(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 4 or isinstance(value[0], bool):
        return False
    return (
        isinstance(value[0], int | float)
        and value[1] in DEEDS
        and all(isinstance(item, str) for item in value[1:])
    )
