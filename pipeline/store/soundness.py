"""What is wrong with a store, found without changing it."""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pipeline.core import json_file, jsonl
from pipeline.core.atomic import TEMP_MARK
from pipeline.core.errors import StoreError
from pipeline.domain.finding import Finding, Level
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES, conflicts, is_hidden_file
from pipeline.hooklib.plain import lines_of
from pipeline.safety.invisible import visible_name
from pipeline.store.catalogue.index_json import INDEX_JSON
from pipeline.store.derived import usage
from pipeline.store.derived.cues import FILE as CUES
from pipeline.store.files.document import conflict_in_words, settling
from pipeline.store.files.layout import INDEX, MAX_DERIVED, OVERFLOW, PRIVATE, read_regular
from pipeline.store.files.memory_index import linked_paths
from pipeline.store.files.names import common_form
from pipeline.store.files.scanning import Snapshot
from pipeline.store.files.versions import STORE_CONFIG, VECTORS, is_anothers, were_set_aside
from pipeline.store.history.retention import is_temp
from pipeline.store.repository import Store

MERGE_CONFLICT = "merge-conflict"
INDEX_ENCODING = "index-encoding"
ODD_NAME = "file-name"
RENAME = "Rename it; until then it takes part in nothing, and stays as it is."
SHARED_ID = "A copy? `reverie adopt` gives it an id of its own; or remove the line `id`, or the file."


_SWEPT = "The next change removes it, or `reverie reindex`: once it is a minute old, an hour at most."
_KEEP_BOTH = (
    "Remove the lines with <<<<<<<, ======= and >>>>>>> and keep both sides: of two lines about one file the"
    " last counts."
)


def fsck(store: Store, *, index_lines: int = INDEX_LINES, index_bytes: int = INDEX_BYTES) -> list[Finding]:
    """Return every fault of `store`, sorted by path; the limits are those of MEMORY.md."""
    snapshot = store.scan()
    found = [
        *_files(snapshot),
        *_unsettled(store, snapshot),
        *_doubles(snapshot),
        *_modes(store, snapshot),
        *_leftovers(store),
        *_derived(store),
    ]
    found += [*_torn_lines(store), *_index(store, index_lines, index_bytes)]
    return sorted(found, key=lambda item: (item.path, item.code))


def _fault(code: str, path: str, message: str, fix: str) -> Finding:
    return Finding("error", code, message, fix, path)


def _files(snapshot: Snapshot) -> Iterator[Finding]:
    for problem in snapshot.problems:
        where = f"line {problem.line}: " if problem.line else ""
        if problem.path in snapshot.unsettled or (problem.path == INDEX and problem.fix == settling(INDEX)):
            continue  # `_unsettled` tells of each conflict.
        if problem.path in snapshot.broken:
            yield _fault("front-matter", problem.path, where + problem.message, problem.fix)
        elif problem.by_name:
            # One that begins with a dot was hidden by somebody on purpose, most likely.
            level: Level = "note" if is_hidden_file(problem.path) else "error"
            yield Finding(level, ODD_NAME, problem.message, RENAME, problem.path)
        elif problem.no_file:
            yield _fault("no-file", problem.path, problem.message, problem.fix)
        elif problem.path == INDEX and problem.fix:
            yield _fault(INDEX_ENCODING, problem.path, where + problem.message, problem.fix)
        elif "link" in problem.message:
            yield _fault("link", problem.path, problem.message, "Replace the link by the file it names.")
        else:
            yield _fault(
                "unreadable", problem.path, problem.message, "Make the file readable, or move it out."
            )


def _unsettled(store: Store, snapshot: Snapshot) -> Iterator[Finding]:
    """Find what a merge could not settle, in memories and in the index."""
    for path in [*(item.path for item in snapshot.documents), *sorted(snapshot.broken), INDEX, OVERFLOW]:
        try:
            raw, _ = read_regular((store.root / path).resolve())
        except (FileNotFoundError, StoreError):
            continue
        for marks in conflicts(lines_of(raw.decode("utf-8", "replace"))):
            yield _fault(MERGE_CONFLICT, path, conflict_in_words(marks), settling(path))


def _doubles(snapshot: Snapshot) -> Iterator[Finding]:
    names: dict[str, list[str]] = defaultdict(list)
    for item in snapshot.documents:
        names[common_form(item.name)].append(item.path)
        if item.twin:
            yield _fault(
                "duplicate-id", item.path, f"{item.own_id} is also in {visible_name(item.twin)}", SHARED_ID
            )
    for key, paths in names.items():
        for path in paths[1:]:
            what = f"{visible_name(key)} is also in {visible_name(paths[0])}"
            yield _fault("duplicate-name", path, what, "Rename or merge one of the two.")


def _modes(store: Store, snapshot: Snapshot) -> Iterator[Finding]:
    for path in ["", *(item.path for item in snapshot.documents)]:
        mode = stat.S_IMODE((store.root / path).stat().st_mode)
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            message = f"others can write it (mode {mode:04o})"
            yield _fault("mode", path or ".", message, f"chmod go-w {store.root / path}")


def _leftovers(store: Store) -> Iterator[Finding]:
    if store.interrupted():
        yield _fault(
            "interrupted", f"{PRIVATE}/intent.json", "a change set was not finished", "Run `reverie status`."
        )
    for item in store.history():
        if item.damaged:
            path = f"{PRIVATE}/generations/{item.run}"
            fix = "Remove its folder; that run can't be undone any more, the memories are not touched."
            yield _fault("generation", path, f"it can't be read: {item.damaged}", fix)
    fault = store.catalogue_fault()
    if fault:
        message = f"it can't be used, so every file is read at each look: {fault}"
        fix = "Run `reverie reindex`, which makes it anew; where it is still there then, remove it."
        yield Finding("note", "catalogue", f"{PRIVATE}/catalogue.sqlite", message, fix)
    graph = store.root / "graph"
    folders = [store.root, store.root / "vault", *(() if graph.is_symlink() else graph.glob("*"))]
    stray = [
        file.relative_to(store.root).as_posix()
        for folder in folders
        if folder == store.root or not folder.is_symlink()
        for file in folder.glob(f".*{TEMP_MARK}*")
    ]
    swept = {*store.leftovers(), *(path for path in stray if is_temp(PurePosixPath(path).name))}
    for path in sorted({*stray, *swept}):
        level: Level = "note" if path in swept else "error"
        fix = _SWEPT if path in swept else "Remove it."
        yield Finding(level, "temp-file", "left by a writer that was killed", fix, path)
    for file in sorted((store.root / PRIVATE / "conflicts").glob("*")):
        path = file.relative_to(store.root).as_posix()
        yield _fault(
            "conflict", path, "ours lost against a change made meanwhile", "Look at both, then remove it."
        )


def _derived(store: Store) -> Iterator[Finding]:
    """Find what hinders the files that are made of the memories."""
    for name in (INDEX_JSON, VECTORS):
        if is_anothers(store.root / name):
            message = "it is another program's, so it is left as it is and none of ours is made"
            yield Finding("note", "derived-file", message, "Move it away, and ours is made.", name)
    yield from damaged(store.root)
    yield from _taken_as_empty(store.root)
    for file in were_set_aside(store.root):
        name = file.name.rpartition(".")[0]
        message = f"{name} was damaged, and is made anew; it is kept here as it was"
        path = file.relative_to(store.root).as_posix()
        yield Finding("note", "derived-file", message, "Remove it when nothing in it is of use.", path)


def damaged(root: Path) -> Iterator[Finding]:
    """Yield what can't be read of the small files in the store at `root` that nothing can make again."""
    fault = usage.fault(root)
    if fault is not None:
        yield _fault("derived-file", usage.STATE, str(fault.args[0]), fault.fix)
    wrong = json_file.fault(root / STORE_CONFIG)
    if wrong:
        message = f"{wrong}, so the provider and models of vectors that it names don't count"
        yield _fault("derived-file", STORE_CONFIG, message, "Mend it, or remove it.")


def _taken_as_empty(root: Path) -> Iterator[Finding]:
    """Yield the derived files that can't be read, and so are made anew."""
    cues = f"{PRIVATE}/{CUES}"
    for path, what in ((VECTORS, "vectors are"), (cues, "what memories may be asked by is")):
        wrong = "" if is_anothers(root / path) else json_file.fault(root / path)
        if wrong:
            message = f"{wrong}, so {what} made anew by a model"
            yield _fault("derived-file", path, message, "Remove it; no memory is lost with it.")


def _torn_lines(store: Store) -> Iterator[Finding]:
    for file in sorted((store.root / PRIVATE).glob("*.jsonl")):
        try:
            raw = read_regular(file, MAX_DERIVED)[0]
            torn = jsonl.parse(raw).torn
        except (FileNotFoundError, StoreError):
            # Whoever needs the file says what is wrong with it.
            continue
        path = file.relative_to(store.root).as_posix()
        merged = conflicts(lines_of(raw.decode("utf-8", "replace"))) if torn else []
        for marks in merged:
            yield _fault(MERGE_CONFLICT, path, conflict_in_words(marks), _KEEP_BOTH)
        of_a_merge = {position + 1 for marks in merged for position in marks}
        for number in [number for number in torn if number not in of_a_merge]:
            message = f"line {number} was torn by a crash; it is skipped"
            yield _fault("torn-line", path, message, "Remove the line; every other one counts.")


def _index(store: Store, index_lines: int, index_bytes: int) -> Iterator[Finding]:
    for path in (INDEX, OVERFLOW):
        try:
            raw, _ = read_regular((store.root / path).resolve())
        except (FileNotFoundError, StoreError):
            continue
        for target in sorted(linked_paths(raw.decode("utf-8", "replace"))):
            if target and not target.startswith("/") and not (store.root / target).exists():
                yield _fault(
                    "dangling-link", path, f"links to {target}, which is not there", "Remove the line."
                )
        if path == INDEX and (raw.count(b"\n") > index_lines or len(raw) > index_bytes):
            lines = raw.count(b"\n")
            size = f"{lines} lines, {len(raw)} bytes"
            yield _fault(
                "index-size", path, f"{size}: the host reads less", "Shorten the lines outside our block."
            )
