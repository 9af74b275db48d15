"""A store written out as schema v3 lays one out, for another machine, another tool, or version control.

Memories keep their bytes, and files of edges too; only secrets are left out, and counted.
Types that the schema has not lie in folders of their own
under ``graph/``, and links of the diary follow. The views are made of what was written, so that equal stores
give equal bytes on the same day.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.app.application import App
from pipeline.app.secrets_out import file_without_secrets, text_without_secrets
from pipeline.context import look_at_store
from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import InputError, StoreError, cause
from pipeline.formats.front_matter_notes import folder_of
from pipeline.hooklib.memory_format import CORE
from pipeline.safety.invisible import visible_name
from pipeline.safety.redaction import redact
from pipeline.store import Document, Store, diary_days
from pipeline.store.catalogue.index_json import write_gitignore
from pipeline.store.derived import core_page, reflection_page, usage
from pipeline.store.files.layout import EDGES, EPISODES, Problem, files_in, inside, read_regular
from pipeline.store.files.names import common_form, moved_path

MOST_PAGE = 20_000_000
"""Bytes of the largest page of a diary that is taken along."""
ZIP = ".zip"
_LINK = re.compile(rb"(?<=\]\(\.\./)[^()\r\n]+(?=\))")
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can hold: so equal stores give equal archives."""


@dataclass(frozen=True, slots=True)
class Left:
    """A file that was not taken along, by its name as a person can read it, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written to `target`, and which files of the store were left out of it."""

    target: Path
    memories: int
    edges: int
    episodes: int
    left: Sequence[Left]
    redacted: int = 0
    """Secrets that were left out of memories, edges and pages."""


@dataclass(slots=True)
class _Going:
    """What is left out on the way: files, and how many secrets of the others."""

    left: list[Left]
    redacted: int = 0


def export(app: App, target: Path) -> Exported:
    """Write the store of `app` to `target`: a folder that is not there yet or empty, or a ``.zip`` file.

    Memories in the archive and what Reverie keeps for itself stay where they are. Raises InputError where
    something is in the way, or the store is a team's.
    """
    if app.is_team:
        raise InputError("a team's folder is shared as it is", file=str(app.store_path), fix="Copy it.")
    store, target = app.open_store(), target.expanduser().absolute()
    is_file = target.suffix.lower() == ZIP
    _require_room(target, store.root, is_file=is_file)
    if is_file:
        with TemporaryDirectory() as temp:
            folder = Path(temp, "export")
            done = _write(app, store, folder)
            _guarded(target, _zipped(folder))
    else:
        done = _write(app, store, target)
    return Exported(target, *done)


def placed(documents: Sequence[Document]) -> dict[str, str]:
    """Return where each of `documents` lies in an export, by its path in the store."""
    taken = {common_form(document.path) for document in documents}
    found: dict[str, str] = {}
    for document in sorted(documents, key=lambda item: item.path):
        path = document.path
        if "/" not in path:
            path = moved_path(path, folder_of(document.head.type), taken)
            taken.add(common_form(path))
        found[document.path] = path
    return found


def relinked(page: bytes, paths: Mapping[str, str]) -> bytes:
    """Return a page of the diary whose links to memories lead where these lie now; `paths`: old to new."""

    def moved(link: re.Match[bytes]) -> bytes:
        return paths.get(link[0].decode("utf-8", "replace"), "").encode() or link[0]

    return _LINK.sub(moved, page)


def edge_paths(root: Path, left: list[Left]) -> Iterator[str]:
    """Yield the path of each file of an edge in the store at `root`; `left` gets those that are none."""
    problems: list[Problem] = []
    yield from (path for path, _ in files_in(root, EDGES, problems, stamps=False))
    left += [Left(visible_name(problem.path), problem.message) for problem in problems]


def bytes_of(root: Path, path: str, limit: int, left: list[Left]) -> bytes | None:
    """Return the bytes of the file at `path`; None, with a line in `left`, where it can't be taken."""
    try:
        return read_regular(inside(root, path), limit)[0]
    except (OSError, StoreError) as error:
        left.append(Left(visible_name(path), cause(error)))
        return None


def _require_room(target: Path, root: Path, *, is_file: bool) -> None:
    real = target.resolve()
    if real == root or root in real.parents:
        raise InputError("that is in the store itself", file=str(target), fix="Name a place outside it.")
    if is_file:
        if target.exists() or target.is_symlink():
            raise InputError("there is such a file already", file=str(target), fix="Name another one.")
        return
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(
            "that is no folder", file=str(target), fix=f"Name a folder, or a file that ends in {ZIP}."
        )
    if target.is_dir() and any(target.iterdir()):
        raise InputError("the folder is not empty", file=str(target), fix="Name an empty or a new one.")


def _write(app: App, store: Store, target: Path) -> tuple[int, int, int, list[Left], int]:
    snapshot = store.scan()
    going = _Going([Left(visible_name(problem.path), problem.message) for problem in snapshot.problems])
    paths = placed(snapshot.documents)
    _guarded_folder(target)
    written = [item for item in snapshot.documents if _memory_out(item, target, paths[item.path], going)]
    edges = _copied(store.root, target, list(edge_paths(store.root, going.left)), {}, going)
    pages = [f"{EPISODES}/{day}.md" for day in diary_days(store.root)]
    episodes = _copied(store.root, target, pages, paths, going)
    _write_views(app, store, target, [document.id for document in written if document.own_id])
    return len(written), edges, episodes, going.left, going.redacted


def _memory_out(document: Document, target: Path, path: str, going: _Going) -> bool:
    """Write the file of `document`, its own bytes where it holds no secret; False where it stays here."""
    named = redact(path)
    data, found = file_without_secrets(document)
    if named.found or data is None:
        why = "its name holds a secret" if named.found else "a secret can't be taken out of it"
        going.left.append(Left(visible_name(named.text), why))
        return False
    going.redacted += found
    _guarded(target / path, data)
    return True


def _copied(root: Path, target: Path, paths: Sequence[str], links: Mapping[str, str], going: _Going) -> int:
    number = 0
    for path in paths:
        data = bytes_of(root, path, MOST_PAGE, going.left)
        if data is not None:
            data, found = text_without_secrets(relinked(data, links) if links else data)
            going.redacted += found
            _guarded(target / path, data)
            number += 1
    return number


def _write_views(app: App, store: Store, target: Path, ids: Sequence[str]) -> None:
    counts = usage.portable(store.root, {*ids})
    if counts is not None:
        _guarded(target / usage.STATE, counts)
    now, documents = app.clock.now(), look_at_store(target).scan().documents
    page = core_page.core_text([item.head for item in documents], usage.read_state(target), now)
    _guarded(target / CORE, page.encode("utf-8", "replace"))
    # What other projects are about is theirs: none is named in what goes elsewhere.
    reflection_page.write(target, documents, {}, now)
    write_gitignore(target)


def _zipped(folder: Path) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _FIRST_DAY)
            name.external_attr = 0o600 << 16
            name.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(name, file.read_bytes())
    return held.getvalue()


def _guarded(file: Path, data: bytes) -> None:
    """Write a new file. It can be written out again, so nothing waits until the disk has it."""
    try:
        ensure_dir(file.parent)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.NO_LINK | system.OPEN, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
    except OSError as error:
        raise InputError(f"it can't be written: {cause(error)}", file=str(file), fix="Make room.") from error


def _guarded_folder(folder: Path) -> None:
    try:
        ensure_dir(folder)
    except OSError as error:
        raise InputError(
            f"it can't be made: {cause(error)}", file=str(folder), fix="Name another."
        ) from error
