"""How each store that is kept in step stands, in a few words: quick to read, for `status` and the worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.core.atomic import write_atomic
from pipeline.core.home import Home
from pipeline.core.ids import digest
from pipeline.record import record, values_of

FILE = "turn.json"
_LEFT_TEAM = "left"
CAME = "sync with "
"""How the reason of a change set begins that came from others; whom, stands behind it."""


@record
class Turn:
    """The store and its remote, when a sync was last tried and when it was done (epoch seconds, 0 never).

    `team` is the name of a team whose database the remote is, "" for a repository. `error` says why the last
    one did not reach the remote, "" where it did; `held` and `refused` count memories that stay here or do
    not come in.
    """

    store: str
    remote: str = ""
    team: str = ""
    tried: float = 0.0
    done: float = 0.0
    error: str = ""
    held: int = 0
    refused: int = 0


def folder_of(home: Path, store: Path) -> Path:
    """Return the folder in the home for the store at `store`."""
    return Home(home).sharing / digest(str(store))[:16]


def turn_of(home: Path, store: Path) -> Turn | None:
    """Return how the store at `store` stands, None where it is kept in step with nothing."""
    return _read(folder_of(home, store) / FILE)


def turns(home: Path) -> list[Turn]:
    """Return how each store of this home stands that is kept in step."""
    folder = Home(home).sharing
    if not folder.is_dir():
        return []
    found = [_read(item / FILE) for item in sorted(folder.iterdir())]
    return [turn for turn in found if turn is not None]


def write(folder: Path, turn: Turn) -> None:
    """Keep `turn` in `folder`."""
    write_atomic(folder / FILE, json.dumps(values_of(turn), ensure_ascii=False).encode())


def note_left(folder: Path, team: str) -> None:
    """Note in `folder` that the person left `team`, whose memories stay as they are; "" takes that back."""
    if team:
        write_atomic(folder / _LEFT_TEAM, team.encode())
    else:
        (folder / _LEFT_TEAM).unlink(missing_ok=True)


def left_of(home: Path, store: Path) -> str:
    """Return the team that the person left, whose memories are in `store`; "" for any other folder."""
    try:
        return (folder_of(home, store) / _LEFT_TEAM).read_text("utf-8")
    except OSError:
        return ""


def _read(file: Path) -> Turn | None:
    try:
        held: Any = json.loads(file.read_bytes())
        return Turn(**held)
    except (OSError, ValueError, TypeError):
        # It is made anew by the next sync; nothing else is lost with it.
        return None
