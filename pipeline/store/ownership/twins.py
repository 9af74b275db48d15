"""Files that give one id: it belongs to one of them, and the others are copies with an id of their own.

Nothing is written here; a copy's file gets its id with the first change of it, as any file of others does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.core.ids import derived_id
from pipeline.store.files.identity import Identity
from pipeline.store.files.scanning import Document
from pipeline.store.ownership.identities import Identities
from pipeline.store.ownership.written_log import WrittenLog


def part(root: Path, documents: Sequence[Document], written: WrittenLog, identities: Identities) -> None:
    """Let no two of `documents`, all of the store at `root`, have one id; their identities are known.

    An id stays with the file that Reverie wrote with it, else with the one known by it before, else with the
    oldest. Every other one has that as its `twin`.
    """
    for item in documents:
        item.twin = ""
    # Nearly always all are of their own. Without a twin that of its file is the id.
    if len({item.own_id or item.id for item in documents} - {""}) == len(documents):
        return
    groups: dict[str, list[Document]] = defaultdict(list)
    for item in documents:
        if item.id:
            groups[item.id].append(item)
    taken = set(groups)
    present = {item.path for item in documents}

    def claim(item: Document) -> tuple[bool, bool, bool, int, str]:
        last, known = written.digest(item.path), identities.known(item.path)
        was_known = known is not None and known.id == item.id
        return last != item.digest, last is None, not was_known, item.stamp.mtime_ns, item.path

    for ident, group in groups.items():
        holder, *copies = sorted(group, key=claim) if len(group) > 1 else group
        for item in copies:
            known = item.identity or identities.of(item.path, item.digest, present)
            item.identity = _apart(known, ident, taken, root)
            item.twin = holder.path if item.own_id else ""
            taken.add(item.identity.id)


def _apart(known: Identity, shared: str, taken: set[str], root: Path) -> Identity:
    """Return `known` with an id that is neither `shared` nor `taken`."""
    ident, number = known.id, 0
    while ident == shared or ident in taken:
        ident = derived_id("copy of a memory file", str(root), known.path, str(number))
        number += 1
    return replace(known, id=ident)
