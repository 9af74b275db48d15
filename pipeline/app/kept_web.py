"""What hangs together with what, as it was found last: for the next server, which need not look for it again.

Numbers and types of relations alone, no text of a memory. It counts only for the very files it was made of,
and can be thrown away.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline import __version__
from pipeline.core import kept_values
from pipeline.core.home import Home
from pipeline.hooklib import times
from pipeline.hooklib.digests import sha256
from pipeline.store import Document
from pipeline.store.files.kept import is_settled
from pipeline.store.graph.edge_files import Stamps

_MOST_BYTES = 32 << 20


class Bond(NamedTuple):
    """A relation between two spots, by their numbers in `RelationMap.spots`."""

    start: int
    end: int
    type: str
    strength: float


class Web(NamedTuple):
    """All bonds, and of each spot that has any its group and how many there are."""

    bonds: list[Bond]
    groups: dict[int, int]
    relations: dict[int, int]


Material = tuple[Sequence[Document], Stamps, Sequence[tuple[str, str]]]
"""What the web of one folder is made of: its memories in order, its edges as seen, the links of texts."""


def state_of(folders: Sequence[Material]) -> str:
    """Return what is another text as soon as the web of `folders` may be another, "" where nothing can tell.

    That is where an edge was written to so lately that its stamp does not tell of the next change, or where
    something stands in the place of one.
    """
    seen_ns, whole = int(times.now() * 1e9), []
    for documents, edges, links in folders:
        stamps = [tuple(stamp) for stamp in edges.values() if stamp is not None]
        if len(stamps) != len(edges) or not all(is_settled(stamp[-1], seen_ns) for stamp in stamps):
            return ""
        memories = [(item.path, item.digest, item.id, item.hand) for item in documents]
        whole.append((memories, list(edges), stamps, list(links)))
    return sha256(marshal.dumps((__version__, whole), 2))


def read(home: Path, state: str) -> Web | None:
    """Return the web that is kept of `state`, None where another one is, or none."""
    made_of, _, raw = kept_values.kept(Home(home).web, _MOST_BYTES).partition(b"\n")
    if not state or made_of != state.encode():
        return None
    try:
        bonds, groups, relations = marshal.loads(raw)
        return Web([Bond(*values) for values in bonds], groups, relations)
    except (EOFError, TypeError, ValueError):
        return None  # None of ours wrote that.


def keep(home: Path, state: str, web: Web) -> None:
    """Keep `web` of `state` in place of the one before; a home without a ledger is not in use yet."""
    if state and Home(home).ledger.exists():
        raw = marshal.dumps(([tuple(bond) for bond in web.bonds], web.groups, web.relations))
        kept_values.keep(Home(home).web, state.encode() + b"\n" + raw)
