"""When what the files lack was not deleted: a file that is gone, lines nobody can read, too much at once."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pipeline.formats.agent_memory.layout import FILES, REJECTED
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.notes import DELETED, Notes
from pipeline.formats.agent_memory.reading import fingerprint, parsed
from pipeline.formats.agent_memory.schema import KINDS
from pipeline.formats.agent_memory.writing import backups_of

FEW = 5
"""So many may leave in one go, whatever share of all that is."""
SHARE = 0.2


def missing(memory: AgentMemory, notes: Notes, *, sure: bool = False) -> set[str]:
    """Return the types whose file is not there though it had memories; all where there is no file at all.

    One that was made anew is another file: it has none of those memories, and no backup of a time when it
    had. With `sure` such a file counts.
    """
    had = notes.kinds()
    if not had:
        return set()
    if not memory.exists:
        return {*KINDS}
    gone = {kind for kind in KINDS if had & {kind, ""} and not (memory.root / FILES[kind]).exists()}
    return (
        gone if sure else gone | {kind for kind in had - gone - {""} if _was_made_anew(memory, notes, kind)}
    )


def _was_made_anew(memory: AgentMemory, notes: Notes, kind: str) -> bool:
    had = {ident: pair for ident, pair in notes.known.items() if pair.kind == kind and pair.theirs != DELETED}
    live = {ident.lower() for ident in memory.content(kind).by_id}
    if any(pair.lost and ident not in live for ident, pair in had.items()):
        return True
    if had.keys() & live or backups_of(memory.root / FILES[kind]):
        return False
    return not had.keys() & {record["id"].lower() for record in memory.archived(kind)}


def unread(memory: AgentMemory, notes: Notes) -> set[str]:
    """Return the types of which lines can't be read, or went among the rejected ones since the notes."""
    found = {kind for kind, size in rejected_sizes(memory.root).items() if size > notes.rejected.get(kind, 0)}
    for kind in KINDS:
        if any(line.trouble in ("syntax", "schema") for line in memory.content(kind).troubles):
            found.add(kind)
    return found


def misplaced(memory: AgentMemory) -> set[str]:
    """Return the ids in lines that stand in the file of another type, where they don't count until mended."""
    lines = [line for kind in KINDS for line in memory.content(kind).troubles if line.trouble == "misplaced"]
    values = [parsed(line.raw) for line in lines]
    return {str(value.get("id")).lower() for value in values if isinstance(value, dict)}


def rejected_sizes(root: Path) -> dict[str, int]:
    """Return by type how large the file of rejected lines is."""
    return {kind: fingerprint(root / (name + REJECTED))[0] for kind, name in FILES.items()}


def are_many(number: int, of: int) -> bool:
    """Whether `number` of `of` are too many to leave unasked."""
    return number > FEW and number > SHARE * of


def of_missing(memory: AgentMemory, kinds: Collection[str]) -> str:
    """Return what is said where files are missing."""
    names = ", ".join(FILES[kind] for kind in sorted(kinds)) if memory.exists else "every file of memories"
    return (
        f"{names} of {memory.root} is gone or was made anew, without the memories of this store: none of them"
        " is deleted for that. Put it back, or let `sync` with --bring-back write them there again"
    )


def of_many(number: int, of: int, side: Literal["here", "there"]) -> str:
    """Return what is said where so many left one `side` at once that the other keeps them."""
    if side == "here":
        return (
            f"{number} of {of} memories left this store at once: they stay in the files"
            " until `sync` with --yes archives them there"
        )
    return (
        f"{number} of {of} memories are gone from the files at once: they stay here"
        " until `sync` with --yes archives them, or with --bring-back writes them there again"
    )
