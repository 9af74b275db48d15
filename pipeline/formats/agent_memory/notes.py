"""What a store and agent-memory's files had when they were last the same, noted in Reverie's home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.ids import digest

DELETED = "deleted"
"""Stands for the digest of a memory that was taken out of the files, and that stays here."""
_MOST_FORMER = 8


@dataclass(slots=True)
class Known:
    """What both sides had when they were last the same: digests of the shared fields, theirs and ours.

    `kind` is its type there, "" where older notes don't say. `former` has what ours was before changes of the
    mirror, each with the change's id. `apart` says that both differ since such a change was undone, `lost`
    that it is not in the files since these were gone.
    """

    theirs: str
    ours: str
    kind: str = ""
    former: list[tuple[str, str]] = field(default_factory=list)
    apart: bool = False
    lost: bool = False

    def followed(self, theirs: str, ours: str, change: str) -> Known:
        """Return what is known once `change` brought ours from what it was to `ours`."""
        former = [*self.former, (self.ours, change)][-_MOST_FORMER:]
        return Known(theirs, ours, self.kind, former)


@dataclass(slots=True)
class Notes:
    """What is known by id, how the files were then, and how large those of rejected lines were by type.

    `doubts` say what was held back last time, and why.
    """

    known: dict[str, Known] = field(default_factory=dict)
    seen: str = ""
    rejected: dict[str, int] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def kinds(self) -> set[str]:
        """Return the types of which the files had memories, "" among them where that is not known of all."""
        return {pair.kind for pair in self.known.values() if pair.theirs != DELETED}


def state_file(mirrors: Path, store: Path, root: Path) -> Path:
    """Return the file that notes what a store and a folder had when they were last the same."""
    both = "\0".join((str(store), str(root)))
    return mirrors / f"{digest(both)[:16]}.json"


def read_state(file: Path) -> Notes:
    """Return what is noted; nothing where nothing can be read."""
    try:
        held = orjson.loads(file.read_bytes())
        known = {ident: _known(pair) for ident, pair in held["known"].items()}
        rejected = {str(kind): int(size) for kind, size in held.get("rejected", {}).items()}
        doubts = [str(text) for text in held.get("doubts", [])]
        return Notes(known, str(held["seen"]), rejected, doubts)
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return Notes()


def write_state(file: Path, notes: Notes) -> None:
    """Note what both sides have."""
    pairs = {ident: _listed(pair) for ident, pair in notes.known.items()}
    values = {"known": pairs, "seen": notes.seen, "rejected": notes.rejected, "doubts": notes.doubts}
    write_atomic(file, orjson.dumps(values))


def note_doubts(file: Path, doubts: Iterable[str]) -> None:
    """Note what was held back, for `reverie status` and `reverie doctor`."""
    noted, found = read_state(file), list(dict.fromkeys(doubts))
    if noted.doubts != found:
        noted.doubts = found
        write_state(file, noted)


def _known(pair: list[Any]) -> Known:
    theirs, ours, *more = pair
    defaults: list[Any] = ["", [], False, False]
    kind, former, apart, lost = more + defaults[len(more) :]
    return Known(str(theirs), str(ours), str(kind), _former(former), bool(apart), bool(lost))


def _former(pairs: Iterable[Any]) -> list[tuple[str, str]]:
    return [(str(ours), str(change)) for ours, change in pairs]


def _listed(pair: Known) -> list[Any]:
    return [pair.theirs, pair.ours, pair.kind, pair.former, pair.apart, pair.lost]
