"""The index of a team's folder: a line a memory, with who says it and since when, for a session's start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.atomic import write_atomic
from pipeline.hooklib.memory_format import INDEX, INDEX_BYTES
from pipeline.sharing.authors import AUTHOR, SINCE
from pipeline.store.files.memory_index import entry_of, index_line
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.domain.memory import Memory
    from pipeline.store import Document, Store

MOST_LINES = 200
"""As many as Claude Code loads of an index."""


def write(store: Store, team: str) -> None:
    """Write the index of what `team` has in its folder `store`; it is left as it is where nothing changed."""
    file = Path(store.root) / INDEX
    data = text_of(team, store.scan().documents).encode()
    try:
        if file.read_bytes() == data:
            return
    except FileNotFoundError:
        pass
    write_atomic(file, data)


def text_of(team: str, documents: Iterable[Document]) -> str:
    """Return the index; what has no room in it is counted at its end."""
    held = [item for item in documents if not item.retired]
    ranked = sorted(((entry_of(item.memory, 0.0), item) for item in held), key=lambda pair: pair[0].rank)
    head = f"# What the team {team} shares\n\nWho says it, and since when, stands behind each line.\n\n"
    lines: list[str] = []
    size = len(head.encode()) + len(_rest(len(ranked)).encode())
    for entry, item in ranked[:MOST_LINES]:
        line = f"{entry.line}{_by(item.memory)}\n"
        size += len(line.encode())
        if size > INDEX_BYTES:
            break
        lines.append(line)
    left = len(ranked) - len(lines)
    return head + "".join(lines) + (_rest(left) if left else "")


def line_of(memory: Memory) -> str:
    """Return the line of `memory` in an index; one that somebody of a team says with who and since when."""
    return index_line(memory) + (_by(memory) if memory.extra.get(AUTHOR) else "")


def _by(memory: Memory) -> str:
    return f" ({_plain(memory.extra.get(AUTHOR))}, {_plain(memory.extra.get(SINCE))})"


def _plain(value: object) -> str:
    """Return a person's name or a day as it may stand in a line."""
    return " ".join(str(value or "nobody named").replace("[", "(").replace("]", ")").split())


def _rest(number: int) -> str:
    return f"\n{count(number, 'memory', 'memories')} more: `reverie list --team`.\n"
