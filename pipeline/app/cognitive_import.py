"""Taking in a store that schema v3, or `cognitive.export`, laid out: memories, edges, diary, access counts.

Every file comes in byte for byte, in one change set that `undo` takes back. Nothing that is here is written
over unless the person says so. What the files claim of who said them is nobody's word here: they count as
files that others wrote, which `reverie adopt` hands to Reverie.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from pipeline.app.application import App
from pipeline.app.cognitive import MOST_PAGE, ZIP, Left, bytes_of, edge_paths, relinked
from pipeline.app.cognitive_archive import MOST_BYTES, MOST_FILES, unpacked
from pipeline.context import look_at_store
from pipeline.core.collector import collector_paused
from pipeline.core.errors import DocumentError, InputError, StoreError, cause
from pipeline.core.ids import new_id
from pipeline.domain.memory import Memory
from pipeline.formats.front_matter_notes import home_of
from pipeline.hooklib import places
from pipeline.hooklib.memory_format import GRAPH, MAX_FILE, NOT_MEMORIES, VAULT
from pipeline.revision import Door
from pipeline.safety.invisible import visible_name
from pipeline.store import ARCHIVE, Document, Store
from pipeline.store.catalogue.index_json import IGNORED
from pipeline.store.derived import usage
from pipeline.store.files import document as files
from pipeline.store.files import versions
from pipeline.store.files.layout import EDGES, EPISODES, Problem, memory_files, memory_folders, read_regular
from pipeline.store.files.names import common_form, moved_path
from pipeline.store.graph import edge_file
from pipeline.text.dates import parse_day
from pipeline.text.humanize import count
from pipeline.verify.flaw import Flaw

_MOST_JSON = 100_000_000
_KNOWN = frozenset({"graph", VAULT, EPISODES, ARCHIVE, places.PRIVATE, ".git", ".gitignore", *IGNORED})
"""What stands in such a store itself beside memories; of archive and Reverie's own nothing is taken."""

Kind = Literal["memory", "edge", "episode"]
Deed = Literal["new", "replaced", "added", "there", "differs", "left"]


@dataclass(frozen=True, slots=True)
class Row:
    """One file: where it is in the import, where it goes, and what is done with it; `why` says why not."""

    path: str
    target: str
    kind: Kind
    deed: Deed
    why: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of each file; `change` is the id of the change set, "" where nothing was written.

    `counts` are memories whose access counts came along, `asleep` new ones that sleep, old as they are.
    `left` are files that are no part of it.
    """

    change: str
    rows: Sequence[Row]
    left: Sequence[Left]
    counts: int = 0
    asleep: int = 0

    def number(self, *deeds: Deed) -> int:
        """Return how many files one of `deeds` was done with."""
        found = Counter(row.deed for row in self.rows)
        return sum(found[deed] for deed in deeds)


def import_from(
    app: App, folder: Path, *, dry_run: bool = False, instead: bool = False, force: bool = False
) -> Imported:
    """Take in the store in `folder`, or in an archive of one; a `dry_run` only says what would be done.

    With `instead` a file takes the place of the one that has its id; with `force` comes in what reads like an
    instruction or a permission, too. Raises InputError for what is no such store or is of a newer version.
    """
    app.require_settings()
    if app.is_team:
        raise InputError("others read this folder", file=str(app.store_path), fix="Import into your own.")
    if folder.suffix.lower() == ZIP and folder.expanduser().is_file():
        with unpacked(folder.expanduser()) as root:
            return import_from(app, root, dry_run=dry_run, instead=instead, force=force)
    root = _root(app, folder)
    with collector_paused():
        return _take_in(app, root, dry_run=dry_run, instead=instead, force=force)


def _take_in(app: App, root: Path, *, dry_run: bool, instead: bool, force: bool) -> Imported:
    counts = _held(root)
    store = _store(app, dry_run=dry_run)
    taking = _Taking(app, store, root, instead=instead, force=force)
    taking.plan()
    change = "" if dry_run or not taking.door.operations else f"import-{new_id()[:8]}"
    if change:
        number = len(taking.door.operations)
        lost = {*taking.door.write(change, f"import {count(number, 'file')}", in_step=True).conflicts}
        taking.rows = [
            replace(row, deed="left", why="somebody wrote it at the same moment")
            if row.target in lost
            else row
            for row in taking.rows
        ]
    taken = 0 if dry_run else _counts(store, counts, taking, app)
    asleep = 0
    if change or taken:
        app.follow(store)
        sleeping = store.decay(now=app.clock.now(), keep=False).asleep
        asleep = sum(row.deed == "new" and row.target in sleeping for row in taking.rows)
    else:
        taking.door.drop()
    return Imported(change, taking.rows, taking.left, taken, asleep)


def _root(app: App, folder: Path) -> Path:
    root = Path(os.path.realpath(folder.expanduser()))
    if not root.exists():
        raise InputError("there is no such folder", file=str(folder), fix="Check the path.")
    if not root.is_dir():
        raise InputError("that is no folder", file=str(folder), fix=f"Name a folder, or an archive ({ZIP}).")
    here = Path(os.path.realpath(app.store_path))
    if root == here or here in root.parents or root in here.parents:
        raise InputError("that is the store itself", file=str(folder), fix="Name another store's folder.")
    return root


def _store(app: App, *, dry_run: bool) -> Store:
    if dry_run and not app.store_path.is_dir():
        return look_at_store(app.store_path, later=True)
    return app.open_store(create=not dry_run)


def _held(root: Path) -> dict[str, dict[str, Any]]:
    """Return the access counts in the store at `root`; InputError where a file is of a newer version."""
    entries: dict[str, dict[str, Any]] = {}
    for name, ours in versions.OURS.items():
        held = _json(root / name)
        newer = versions.newer_than(ours, held)
        if newer:
            raise InputError(
                newer,
                file=str(root / name),
                fix="Update Reverie. Nothing was written.",
            )
        if name == usage.STATE and isinstance(held.get("entries"), dict):
            entries = {key: value for key, value in held["entries"].items() if isinstance(value, dict)}
    return entries


def _json(file: Path) -> dict[str, Any]:
    try:
        held = orjson.loads(read_regular(file, _MOST_JSON)[0])
    except FileNotFoundError:
        return {}
    except (OSError, StoreError, ValueError) as error:
        raise InputError(
            f"it can't be read: {cause(error) if not isinstance(error, ValueError) else 'no JSON'}",
            file=str(file),
            fix="Mend it or take it away: it can be made anew from the memories.",
        ) from error
    return held if isinstance(held, dict) else {}


def _counts(store: Store, counts: dict[str, dict[str, Any]], taking: _Taking, app: App) -> int:
    """Take over the access counts of memories that came in or were here already."""
    known = {memory: entry for memory, entry in counts.items() if memory in taking.ids}
    return store.take_over_uses(known, now=app.clock.now()) if known else 0


class _Taking:
    """The plan of one import: a row for each file, and the operations of those that come in."""

    def __init__(self, app: App, store: Store, root: Path, *, instead: bool, force: bool) -> None:
        self.door = Door(store, now=app.clock.now(), approved=force)
        self.rows: list[Row] = []
        self.left: list[Left] = []
        self.ids: set[str] = set()
        self._root, self._store, self._instead = root, store, instead
        self._bytes = 0
        self._files = 0
        self._paths: dict[str, str] = {}
        self._documents = store.scan().documents if store.root.is_dir() else []
        self._by_id = {item.own_id: item for item in self._documents if item.own_id and not item.twin}
        self._by_path = {item.path: item for item in self._documents}
        self._gone = {item.id: item.reason for item in store.retired() if item.id}
        self._forgotten = store.forgotten()
        live = memory_files(store.root, [], stamps=False) if store.root.is_dir() else ()
        self._taken = {common_form(path) for path, _ in live}
        self._edges_taken: set[str] = set()

    def plan(self) -> None:
        """Plan all of it. Raises InputError where there is nothing, or too much."""
        for path in self._listed():
            self._memory(path)
        edges = _edges(self._store.root)
        self._edges_taken = {common_form(path) for path, _ in edges.values()}
        for path in edge_paths(self._root, self.left):
            self._edge(path, edges)
        folder = self._root / EPISODES
        if folder.is_dir() and not folder.is_symlink():
            for page in sorted(folder.glob("*.md")):
                self._episode(f"{EPISODES}/{page.name}")
        if not self.rows and not self.left:
            raise InputError(
                "there are no memories in it", file=str(self._root), fix="Name the folder that holds graph/."
            )

    # -- looking --------------------------------------------------------------------------------------

    def _listed(self) -> Iterator[str]:
        problems: list[Problem] = []
        yield from (path for path, _ in memory_files(self._root, problems, stamps=False))
        self.left += [Left(visible_name(item.path), item.message) for item in problems]
        known = {*_KNOWN, *(path for item in problems for path in (item.path,))}
        for entry in sorted(self._root.iterdir()):
            odd = entry.name not in known and entry.name.lower() not in NOT_MEMORIES
            if odd and (entry.is_dir() or not entry.name.endswith(".md")):
                self.left.append(Left(visible_name(entry.name), "no part of a cognitive store"))
        for folder in memory_folders(self._root):
            if folder not in ("", GRAPH) and not (self._root / folder).is_symlink():
                self.left += [
                    Left(visible_name(f"{folder}/{entry.name}"), "a folder in a folder of memories")
                    for entry in sorted((self._root / folder).glob("*"))
                    if entry.is_dir() and not entry.is_symlink()
                ]

    def _read(self, path: str, limit: int) -> bytes | None:
        data = bytes_of(self._root, path, limit, self.left)
        self._files += 1
        self._bytes += len(data or b"")
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            raise InputError(
                f"it has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes",
                file=str(self._root),
                fix="Import it in parts. Nothing was written.",
            )
        if data is not None and not files.is_utf8(data):
            self.left.append(Left(visible_name(path), "not UTF-8"))
            return None
        return data

    def _row(self, path: str, target: str, kind: Kind, deed: Deed, why: str = "") -> None:
        self.rows.append(Row(visible_name(path), target, kind, deed, why))

    # -- memories -------------------------------------------------------------------------------------

    def _memory(self, path: str) -> None:
        data = self._read(path, MAX_FILE)
        if data is None:
            return
        target = home_of(path)
        try:
            memory = files.parse(data, target)
        except DocumentError as error:
            self.left.append(Left(visible_name(path), str(error.args[0])))
            return
        here = self._by_id.get(memory.id) if memory.id else self._by_path.get(target)
        if here is not None:
            self._paths[path] = here.path
            self._beside(path, data, memory, here)
            return
        why = self._barred_here(memory)
        if not why:
            folder, _, _ = target.rpartition("/")
            target = moved_path(target, folder, self._taken)
            planned = self.door.take_in(target, data, memory)
            why = planned.reason if isinstance(planned, Flaw) else ""
        if why:
            self._row(path, "", "memory", "left", why)
            return
        self._taken.add(common_form(target))
        self._paths[path] = target
        self._note(memory, target)
        self._row(path, target, "memory", "new")

    def _note(self, memory: Memory, target: str) -> None:
        """Remember that a memory comes in, so that another file with its id does not."""
        if memory.id:
            self.ids.add(memory.id)
            self._gone.setdefault(memory.id, f"another file of the import has its id: {target}")

    def _barred_here(self, memory: Memory) -> str:
        if memory.id in self.ids:
            return self._gone[memory.id]
        if memory.id and memory.id in self._gone:
            back = f"`reverie restore {memory.name}` brings it back"
            return f"it left this store ({self._gone[memory.id]}); {back}"
        claimed = [replace(source, speaker="assistant") for source in memory.sources]
        text = "\n".join((memory.description, memory.body))
        if self._forgotten.bars(claimed, memory.name) or self._forgotten.told_in(text):
            return "it tells what was forgotten here"
        return ""

    def _beside(self, path: str, data: bytes, memory: Memory, here: Document) -> None:
        """Plan what becomes of a file whose id, or place where it has none, a memory here has already."""
        if memory.id in self.ids:
            self._row(path, "", "memory", "left", f"another file of the import has its id: {here.path}")
            return
        self.ids.add(memory.id or here.id)
        if here.raw == data:
            self._row(path, here.path, "memory", "there")
        elif not self._instead:
            self._row(
                path, here.path, "memory", "differs", "another text of it is here; --replace takes this"
            )
        elif here.memory.pinned:
            self._row(path, here.path, "memory", "differs", "it is pinned here")
        else:
            barred = self._forgotten.told_in("\n".join((memory.description, memory.body)))
            planned = self.door.take_in(here.path, data, memory, instead_of=here.raw) if not barred else None
            why = "it tells what was forgotten here" if barred else ""
            why = planned.reason if isinstance(planned, Flaw) else why
            self._row(path, here.path, "memory", "left" if why else "replaced", why)

    # -- edges and the diary --------------------------------------------------------------------------

    def _edge(self, path: str, here: dict[str, tuple[str, bytes]]) -> None:
        data = self._read(path, MAX_FILE)
        if data is None:
            return
        # One that can't be read comes along as it is; `reverie doctor` says what is wrong with it.
        edge_id = edge_file.id_in(data, path)
        known = here.get(edge_id) or here.get(path)
        if known is not None and known[1] == data:
            self._row(path, known[0], "edge", "there")
            return
        if known is not None and not self._instead:
            self._row(path, known[0], "edge", "differs", "another text of it is here; --replace takes this")
            return
        target = known[0] if known else moved_path(path, EDGES, self._edges_taken)
        planned = self.door.take_in(target, data, None, instead_of=known[1] if known else None)
        if isinstance(planned, Flaw):
            self._row(path, "", "edge", "left", planned.reason)
            return
        here[edge_id or target] = (target, data)
        self._edges_taken.add(common_form(target))
        self._row(path, target, "edge", "replaced" if known else "new")

    def _episode(self, path: str) -> None:
        if parse_day(Path(path).stem) is None:
            self.left.append(Left(visible_name(path), "its name is no day"))
            return
        data = self._read(path, MOST_PAGE)
        if data is None:
            return
        data = relinked(data, self._paths)
        here = bytes_of(self._store.root, path, MOST_PAGE, [])
        whole = data if here is None else _joined(here, data)
        if whole == here:
            self._row(path, path, "episode", "there")
            return
        planned = self.door.take_in(path, whole, None, instead_of=here)
        flawed = isinstance(planned, Flaw)
        why = planned.reason if isinstance(planned, Flaw) else ""
        self._row(path, path, "episode", "left" if flawed else "new" if here is None else "added", why)


def _edges(root: Path) -> dict[str, tuple[str, bytes]]:
    """Return path and bytes of each edge's file in the store at `root`, by its id, else by its path."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in edge_paths(root, []):
        data = bytes_of(root, path, MAX_FILE, [])
        if data is not None:
            found[edge_file.id_in(data, path) or path] = (path, data)
    return found


def _joined(here: bytes, more: bytes) -> bytes:
    """Return a page of the diary with the entries of `more` that it has not, at its end."""
    known = {*_entries(here)}
    fresh = [entry for entry in _entries(more)[1:] if entry not in known]
    if not fresh:
        return here
    return here.rstrip(b"\n") + b"\n\n" + b"\n\n".join(fresh) + b"\n"


def _entries(page: bytes) -> list[bytes]:
    """Return what stands above the first entry of a page, and each entry."""
    head, *entries = (b"\n" + page).split(b"\n## ")
    return [head.strip(), *(b"## " + entry.strip() for entry in entries)]
