"""All edges of a store: the few that are asked for by id, or all of them.

What was read of each file is kept in ``.reverie/edges.json`` with the stamp it had, so that only files that
changed are read again. It can be thrown away.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import DocumentError, StoreError, cause
from pipeline.core.ids import digest
from pipeline.hooklib import times
from pipeline.store.files.kept import is_settled
from pipeline.store.files.layout import (
    ARCHIVE,
    EARLIER,
    EDGES,
    GRAPH,
    MAX_DERIVED,
    PRIVATE,
    FileStamp,
    Problem,
    files_in,
    read_regular,
)
from pipeline.store.graph import edge_file
from pipeline.store.graph.edge_file import Edge

FILE = f"{PRIVATE}/edges.json"
_FORM = 2
_HEAD = re.compile(rb'\{"version":2,"sum":(?P<sum>\d{1,10}),"edges":')
_IS_ID = re.compile(r"[0-9A-Za-z-]{6,}")
_SHOWN = 500
"""Characters of a description that are kept; of a longer one the file has the rest."""
_FIELDS = ("id", "type", "from_id", "to_id", "from_title", "to_title", "strength", "created", "updated")
_ID, _STRENGTH = 4, 10
"""Where these stand in a row, behind the stamp and the time of the look."""
_Held = dict[str, list[Any]]
Stamps = dict[str, FileStamp | None]


@dataclass(slots=True)
class EdgeFiles:
    """The edges of a store in the order of their paths, and the files from which none can be read.

    Descriptions are whole up to 500 characters; `edge_file.read` gives the rest of one.
    """

    edges: list[Edge] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def has_edges(root: Path) -> bool:
    """Whether the store at `root` has a folder of edges."""
    return not (root / GRAPH).is_symlink() and (root / EDGES).is_dir() and not (root / EDGES).is_symlink()


def all_edges(root: Path, *, keep: bool = False) -> EdgeFiles:
    """Return all edges of the store at `root`; with `keep` what was read is kept for the next time."""
    found = EdgeFiles()
    rows = Listing(root, found.problems).rows(keep=keep)
    found.edges = [_of_row(path, row) for path, row in rows.items()]
    return found


def state_of(root: Path) -> Stamps:
    """Return what is another value as soon as an edge file comes, goes, or is written to; none is read.

    What is no file has no stamp.
    """
    stamps: Stamps = {}
    if not has_edges(root):
        return stamps
    with os.scandir(root / EDGES) as found:
        for entry in found:
            try:
                info = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            is_file = entry.is_file(follow_symlinks=False)
            stamps[f"{EDGES}/{entry.name}"] = FileStamp.of(info) if is_file else None
    return stamps


def ends(root: Path, stamps: Stamps) -> Iterator[tuple[str, str, str, float]]:
    """Yield start, end, type and strength of each edge by the order of their paths; `stamps` as seen now."""
    kind, start, end = _ID + 1, _ID + 2, _ID + 3
    for row in Listing(root, stamps=stamps).rows().values():
        yield row[start], row[end], row[kind].upper(), row[_STRENGTH]


class Listing:
    """One look at the stamps of all edge files of the store at `root`; few of them are read for it."""

    def __init__(
        self, root: Path, problems: list[Problem] | None = None, *, stamps: Stamps | None = None
    ) -> None:
        self._root = root
        self._problems = [] if problems is None else problems
        there = has_edges(root)
        self._held = _kept(root) if there else {}
        self._seen_ns = int(times.now() * 1e9)
        self._files: list[tuple[str, FileStamp]] = []
        if stamps is not None and stamps.keys() <= self._held.keys() and None not in stamps.values():
            # All are known by name: to judge them again would take longer than the look.
            # What is kept is in the order of their paths already.
            self._files = [(path, stamp) for path in self._held if (stamp := stamps.get(path))]
        elif there:
            self._files = list(files_in(root, EDGES, self._problems, known=self._held))

    def stamp(self) -> str:
        """Return what is another text as soon as a file comes, goes, or is written to."""
        return digest("".join([f"{path} {size} {m} {c}\n" for path, (size, m, c) in self._files]))

    def rows(self, *, keep: bool = False) -> _Held:
        """Return what each file says, as it is kept, in the order of their paths."""
        now: _Held = {}
        fresh = False
        for path, stamp in self._files:
            row = self._held.get(path)
            if row is None or (row[0], row[1], row[2]) != stamp or not is_settled(stamp[2], row[3]):
                edge, fresh = _read(self._root, path, self._problems), True
                if edge is None:
                    continue
                row = _row(edge, stamp, self._seen_ns)
            now[path] = row
        if keep and (fresh or now.keys() != self._held.keys()):
            _keep(self._root, now)
        return now

    def shown(self, *, keep: bool = False) -> dict[str, dict[str, Any]]:
        """Return by id what ``_index.json`` tells of each edge."""
        return {
            row[_ID]: {
                "type": row[_ID + 1],
                "from_id": row[_ID + 2],
                "to_id": row[_ID + 3],
                "strength": row[_STRENGTH],
                "path": path,
            }
            for path, row in self.rows(keep=keep).items()
        }


def with_ids(root: Path, ids: Iterable[str]) -> dict[str, Edge]:
    """Return the edges of `ids` whose files are there, by id; only files named for one of them are read."""
    wanted = {ident for ident in ids if ident}
    if not wanted or not has_edges(root):
        return {}
    ends = {ident[:6].lower() for ident in wanted}
    found: dict[str, Edge] = {}
    for path in _named(root, ends):
        edge = _read(root, path, [])
        if edge is not None and edge.id in wanted:
            found.setdefault(edge.id, edge)
    return found


def beginning_with(root: Path, start: str) -> list[Edge]:
    """Return the edges whose id begins with `start`, which has six characters at least."""
    found = [_read(root, path, []) for path in _named(root, {start[:6].lower()})]
    return [edge for edge in found if edge is not None and edge.id.lower().startswith(start.lower())]


def kept_description(root: Path, edge_id: str) -> str:
    """Return the last text of the edge of that id in the archive, "" where none is kept of it."""
    name = f"*/{EARLIER}/*-{edge_id[:6]}-*.md"
    files = sorted((root / ARCHIVE).glob(name)) if _IS_ID.fullmatch(edge_id) else ()
    read = [_read(root, file.relative_to(root).as_posix(), []) for file in files]
    kept = [edge for edge in read if edge is not None and edge.id == edge_id]
    return max(kept, key=lambda edge: edge.updated).description if kept else ""


def named_for(root: Path, from_title: str, type_name: str, to_title: str) -> list[Edge]:
    """Return the edges whose files are named as a new one between those titles would be."""
    new = Edge("", type_name, from_title, to_title, from_title=from_title, to_title=to_title)
    start = edge_file.path_of(new).removesuffix(".md")
    found = [_read(root, path, []) for path in sorted(paths(root)) if path.startswith(start)]
    return [edge for edge in found if edge is not None]


def paths(root: Path) -> set[str]:
    """Return the paths of all files in the folder of edges."""
    if not has_edges(root):
        return set()
    with os.scandir(root / EDGES) as found:
        return {f"{EDGES}/{entry.name}" for entry in found}


def _named(root: Path, ends: set[str]) -> list[str]:
    """Return the paths of edge files whose names end in one of `ends`, or in one and a number."""
    found = []
    for path in paths(root):
        stem = path.removesuffix(".md")
        named = stem[-6:].lower() in ends
        if not named and stem[-1:].isdigit():
            last, _, number = stem.rpartition("-")
            named = number.isdigit() and last[-6:].lower() in ends
        if named and path.endswith(".md"):
            found.append(path)
    return sorted(found)


def _read(root: Path, path: str, problems: list[Problem]) -> Edge | None:
    try:
        return edge_file.read(root, path)[0]
    except FileNotFoundError:
        return None
    except DocumentError as error:
        problems.append(Problem(path, error.line or 0, error.args[0], error.fix or ""))
    except (StoreError, OSError) as error:
        fix = (error.fix or "") if isinstance(error, StoreError) else ""
        problems.append(Problem(path, 0, cause(error), fix))
    return None


def _row(edge: Edge, stamp: FileStamp, seen_ns: int) -> list[Any]:
    values = [getattr(edge, name) for name in _FIELDS]
    return [*stamp, seen_ns, *values, edge.description[:_SHOWN]]


def _of_row(path: str, row: list[Any]) -> Edge:
    return Edge(**dict(zip(_FIELDS, row[4:-1], strict=True)), description=row[-1], path=path)


def _kept(root: Path) -> _Held:
    """Return the rows that were kept; none where they can't be used: every file is read then."""
    try:
        raw = read_regular(root / FILE, MAX_DERIVED)[0]
        head = _HEAD.match(raw)
        rows = memoryview(raw)[head.end() : -1] if head else b"{}"
        # A sum in place of a look at every value: what has it was written here.
        if head is None or zlib.crc32(rows) != int(head["sum"]):
            return {}
        found = orjson.loads(rows)
    except (OSError, StoreError, ValueError):
        return {}
    return found if isinstance(found, dict) and _are_rows(found.values()) else {}


def _are_rows(rows: Collection[Any]) -> bool:
    return {*map(type, rows)} <= {list} and {*map(len, rows)} <= {_ID + len(_FIELDS) + 1}


def _keep(root: Path, rows: _Held) -> None:
    if (root / PRIVATE).is_dir():
        held = orjson.dumps(rows)
        write_atomic(root / FILE, b'{"version":%d,"sum":%d,"edges":%b}' % (_FORM, zlib.crc32(held), held))


def whole(root: Path, edge: Edge) -> Edge:
    """Return `edge` with all of its description."""
    if len(edge.description) < _SHOWN:
        return edge
    return replace(edge, description=edge_file.read(root, edge.path)[0].description)
