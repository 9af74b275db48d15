"""``_index.json``, which mirrors the front matter of all memories, and the ``.gitignore`` beside it.

Nothing of ours reads it: it is there for others. So it is written at the end of a pass or a command, not with
each change, and only when something it shows changed. It can be deleted and made again, identical but for
its time. Source: schema v3, checklist C-13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import orjson

from pipeline.core.atomic import install, mode_for, write_atomic, write_temp
from pipeline.core.clock import iso
from pipeline.hooklib.ownership import WRITTEN
from pipeline.hooklib.plain import lines_of
from pipeline.store.catalogue import database, index_parts
from pipeline.store.catalogue.asking import Asker
from pipeline.store.catalogue.index_parts import CHUNK, Copy, PartKey, Parts
from pipeline.store.files.kept import Kept
from pipeline.store.files.layout import FileStamp, derived_bytes
from pipeline.store.files.scanning import Document
from pipeline.store.files.versions import OURS, STORE_CONFIG, VECTORS, is_anothers, set_aside_unread
from pipeline.store.graph.edge_files import Listing
from pipeline.store.ownership import identities

INDEX_JSON = "_index.json"
IGNORED = (INDEX_JSON, "_state.json", VECTORS, STORE_CONFIG)
_SHOWN = "index.json"
"""Under this the catalogue keeps what the file was made from."""
_HEAD = 200


def write_index_json(
    root: Path, asker: Asker, documents: Sequence[Document], now: datetime, *, anew: bool = False
) -> bool:
    """Write ``_index.json`` if anything but its time would change; True if it was written.

    A file of that name which another program wrote stays as it is. Unless it is made `anew`, the entries of
    memories that did not change are copied from the last one.
    """
    file, edges = root / INDEX_JSON, Listing(root)
    shown = _made_from(root, asker, edges)
    last = asker.try_to_ask(lambda found: database.value(found, _SHOWN), str)
    if shown and last == f"{shown} {_stamp(file)}":
        return False
    if is_anothers(file):
        return False
    copy = Copy(file, Parts() if anew else index_parts.kept(root, _stamp(file)))
    made = Parts()
    temp = write_temp(file, _parts(edges, asker, documents, now, copy, made), mode=mode_for(file))
    differs = _differs(temp, file)
    if differs:
        set_aside_unread(root, INDEX_JSON)
        install(temp, file)
        made.keep(root, _stamp(file))
    else:
        temp.unlink()
    if shown:
        asker.keep_value(_SHOWN, f"{shown} {_stamp(file)}")
    return differs


def write_gitignore(root: Path) -> bool:
    """Make sure ``.gitignore`` names the four derived files; other lines stay. True if written."""
    file = root / ".gitignore"
    old = derived_bytes(file) or b""
    have = {line.strip() for line in lines_of(old.decode("utf-8", "replace"))}
    missing = [name for name in IGNORED if name not in have]
    if not missing:
        return False
    gap = b"\n" if old and not old.endswith(b"\n") else b""
    write_atomic(file, old + gap + "".join(f"{name}\n" for name in missing).encode())
    return True


def _made_from(root: Path, asker: Asker, edges: Listing) -> str:
    """Return what is another text as soon as the file would show anything else, "" where nobody can say."""
    changes = asker.try_to_ask(database.changes, str)
    beside = [root / WRITTEN, root / identities.FILE]
    return " ".join([changes, *map(_stamp, beside), edges.stamp()]) if changes else ""


def _stamp(file: Path) -> str:
    try:
        found = FileStamp.of(file.lstat())
    except FileNotFoundError:
        return "-"
    return f"{file.name}:{found.size}:{found.mtime_ns}:{found.ctime_ns}"


def _parts(
    edges: Listing, asker: Asker, documents: Sequence[Document], now: datetime, copy: Copy, made: Parts
) -> Iterator[bytes]:
    """Yield the file in parts, so that that of a large store is never in memory as a whole."""
    yield orjson.dumps(
        {
            "version": OURS[INDEX_JSON],
            "updated": iso(now),
            "count": len(documents),
            "edges": edges.shown(keep=True),
        }
    )[:-1]
    yield b',"entries":'
    seen = set[str]()
    for at in range(0, len(documents), database.AT_ONCE):
        some = [(item, PartKey.of(item, _key(item, seen))) for item in documents[at : at + database.AT_ONCE]]
        paths = [item.path for item, part in some if not copy.size_of(part)]
        asked = partial(database.kept, paths=paths)
        kept = asker.try_to_ask(asked, dict[str, Kept]) if paths else {}
        for item, part in some:
            size = copy.size_of(part)
            if size:
                yield from copy.take(part)
            else:
                yield from copy.flush()
                held = kept.get(item.path)
                entry = _entry(item, item.kept() if held is None or held.digest != item.digest else held)
                whole = copy.gap() + orjson.dumps(part.key) + b":" + entry
                size = len(whole)
                yield whole
            made.add(part, size)
    yield from copy.flush()
    yield b"}}" if documents else b"{}}"


def _key(item: Document, seen: set[str]) -> str:
    """Return under what `item` stands: its id, and its path where it has none or another has it."""
    key = item.id if item.id and item.id not in seen else f"path:{item.path}"
    seen.add(key)
    return key


def _entry(item: Document, kept: Kept) -> bytes:
    """Return the entry of a memory: its front matter, its id, path and how it begins."""
    more: dict[str, Any] = {"path": item.path, "content_preview": kept.preview}
    if item.id and item.id != item.own_id:
        more = {"id": item.id, **more}
    if any(f'"{key}":'.encode() in kept.front for key in more):
        return orjson.dumps({**orjson.loads(kept.front), **more})
    return kept.front[:-1] + b"," + orjson.dumps(more)[1:]


def _differs(new: Path, old: Path) -> bool:
    """Whether two files are not the same but for their times."""
    try:
        held = open(old, "rb")  # noqa: PTH123, SIM115 - closed below, and missing as a rule the first time
    except FileNotFoundError:
        return True
    with held, new.open("rb") as made:
        if not (_pass_over_time(held) and _pass_over_time(made)):
            return True
        while True:
            before, after = held.read(CHUNK), made.read(CHUNK)
            if before != after:
                return True
            if not before:
                return False


def _pass_over_time(file: IO[bytes]) -> bool:
    """Go to where the file says more than when it was made; False if that is nowhere."""
    at = file.read(_HEAD).find(b'"count"')
    file.seek(max(0, at))
    return at >= 0
