"""The memory files of a store, looked at and read as a hook can afford it.

The search index may lag behind: a file may be gone, changed, or new. What is on disk decides, so a file
that is not as the index has it is read here. Links are never followed.
"""

import os
import stat

from pipeline.hooklib import memory_format, ownership, places, times
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.memory_format import EDGES, GRAPH, MAX_FILE, VAULT
from pipeline.hooklib.plain import lines_of
from pipeline.search.index_reader import cue_terms
from pipeline.text.tokens import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Stamp = tuple[int, int, int]

MOST_READ = 256 << 10
"""Bytes of one file that are read."""
MOST_BODY = 16_000
"""Characters of its body that are looked at."""


class Found:
    """A memory that may be recalled.

    `path` is relative to `store`; `fields` are its tokenised columns (name, description, tags, body, cues);
    `shown` is what a person would be told of it, the body included; `stamp` is the file's; `fresh` says that
    it was read from its file just now and not taken from the index, and has no `vector` (`search.meaning`).
    `stems` are the columns of stems beside `fields` (`text.stems`), or none.
    `moments` tell what a rule is about (`text.actions`), where that was asked for.
    """

    __slots__ = (
        "digest",
        "everywhere",
        "fields",
        "fresh",
        "moments",
        "path",
        "shown",
        "stamp",
        "stems",
        "store",
        "vector",
    )

    def __init__(
        self,
        store: str,
        path: str,
        digest: str,
        stamp: "Stamp",
        fields: "Sequence[str]",
        shown: "dict[str, Any]",
        fresh: bool,
        everywhere: bool,
        vector: bytes = b"",
        moments: "list[str] | None" = None,
        stems: "tuple[str, ...]" = (),
    ) -> None:
        self.moments = moments or []
        self.stems = stems
        self.store = store
        self.path = path
        self.digest = digest
        self.stamp = stamp
        self.fields = fields
        self.shown = shown
        self.fresh = fresh
        self.everywhere = everywhere
        self.vector = vector


def folders(root: str) -> "list[str]":
    """Return the folders of the store at `root` that hold memories, relative to it, the root as ""."""
    if ownership.is_team_folder(root):
        return ownership.team_folders(root)
    found = [""]
    if _is_folder(f"{root}/{VAULT}"):
        found.append(VAULT)
    if _is_folder(f"{root}/{GRAPH}"):
        names = sorted(name for name in os.listdir(f"{root}/{GRAPH}") if not name.startswith("."))
        below = [f"{GRAPH}/{name}" for name in names]
        found += [folder for folder in below if folder != EDGES and _is_folder(f"{root}/{folder}")]
    return found


def listing(root: str, *, stamps: bool = True) -> "dict[str, Stamp]":
    """Return path and stamp of every memory file of the store at `root`; without `stamps`, zeros.

    The same files as ``store.layout.memory_files``. A store that is not there holds none. Raises OSError for
    one that can't be looked at.
    """
    found: dict[str, Stamp] = {}
    if not os.path.isdir(root):
        return found
    flat = ownership.is_team_folder(root)
    for folder in folders(root):
        before = f"{folder}/" if folder else ""
        with _opened(f"{root}/{folder}") as entries:
            for entry in entries:
                name = entry.name
                if memory_format.is_memory(name, at_root=flat or not folder) and _fits(entry):
                    info = entry.stat(follow_symlinks=False) if stamps else None
                    found[before + name] = _stamp(info) if info else (0, 0, 0)
    return found


def stamp_of(root: str, path: str) -> "Stamp | None":
    """Return the stamp of the memory file at `path`, or None when there is no such regular file."""
    try:
        info = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return None
    return _stamp(info) if stat.S_ISREG(info.st_mode) else None


def folder_stamp(root: str, folder: str) -> "tuple[int, int] | None":
    """Return mtime_ns and ctime_ns of a folder of the store, or None when it is no folder."""
    try:
        info = os.lstat(f"{root}/{folder}") if folder else os.stat(root)
    except (OSError, ValueError):
        return None
    return (info.st_mtime_ns, info.st_ctime_ns) if stat.S_ISDIR(info.st_mode) else None


def read(
    root: str, path: str, everywhere: bool, *, rules: bool = False, stemmed: bool = False
) -> "Found | None":
    """Return the memory in the file at `path` as it is now, or None when no memory can be read from it.

    With `rules` its moments are looked for as well, with `stemmed` the stems of its words.
    None is a file that is gone, is no regular file, is over two megabytes, or is not to be told (`describe`).
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | places.OPEN
    try:
        handle = os.open(f"{root}/{path}", flags)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
            return None
        raw = os.read(handle, MOST_READ)
        digest = sha256(raw if info.st_size <= MOST_READ else raw + b"%d" % info.st_size)
    except OSError:
        return None
    finally:
        os.close(handle)
    shown = describe(memory_format.decoded(raw), path)
    if not shown:
        return None
    texts = (
        f"{shown['name']} {shown['title']}",
        shown["description"],
        " ".join(shown["tags"]),
        shown["body"],
    )
    fields = [" ".join(terms(text, index=True)) for text in texts]
    cues = shown.pop("cues")
    fields.append(cue_terms(cues))
    moments: list[str] = []
    if rules:
        from pipeline.search.moments import (
            moments_of,  # Few prompts order something, and meet a changed file.
        )

        anchors = shown["anchors"]
        moments = moments_of(shown["type"], shown["name"], shown["description"], shown["body"], cues, anchors)
    found = Found(root, path, digest, _stamp(info), fields, shown, True, everywhere, moments=moments)
    if stemmed:
        found.stems = _stems(texts, cues)
    return found


def _stems(texts: "Sequence[str]", cues: "Sequence[str]") -> "tuple[str, ...]":
    from pipeline.text import languages, stems  # A question in English has no use for them.

    written = languages.languages_written("\n".join(texts))
    return stems.beside(texts, cues, written) if written else ()


def describe(text: str, path: str) -> "dict[str, Any]":
    """Return what the text of a memory file says of itself, or {} when it is not to be told.

    That is one that says it is retired, one that holds both sides of a merge's conflict, and one whose front
    matter can't be read, or not by a hook.
    """
    from pipeline.hooklib import front_matter as fields  # Most prompts meet no changed file.

    if "<<<<<<< " in text and memory_format.conflicts(lines_of(text)):
        return {}
    fenced, below = memory_format.split_front_matter(text)
    try:
        front = None if fenced is None else fields.read(fenced)
    except fields.UNREAD:
        # What needs a whole YAML parser the store reads, and the index has it from there.
        return {}
    body = text if front is None else below  # Rules around prose are no front matter.
    front = front or {}

    def get(key: str) -> "Any":
        return fields.field(front, key)

    if memory_format.is_retired(get("archived"), get("status")):
        return {}
    ident, origin = fields.text_of(get("id")), fields.text_of(get("origin"))
    name, title = memory_format.name_and_title(
        path, fields.text_of(get("name")), fields.text_of(get("title")), ident, body
    )
    sources = [item for item in _items(get("sources")) if isinstance(item, dict)]
    dated = [(times.parse(at), at) for item in sources if (at := fields.text_of(item.get("at")))]
    moments = [(moment, at) for moment, at in dated if moment is not None]
    noted = [fields.text_of(item.get("session")) for item in [*sources, {"session": get("originSessionId")}]]
    quotes = _quotes(sources, fields.text_of)
    return {
        "id": ident,
        "name": name,
        "title": title,
        "type": fields.text_of(get("type")),
        "description": fields.text_of(get("description")),
        "tags": fields.texts_of(get("tags")),
        "cues": fields.texts_of(get("cues")),
        "origin": origin,
        "author": fields.text_of(get("author")),
        "said": max(moments, key=_first)[1] if moments else _first_time(get, origin),
        "importance": fields.share_of(get("importance"), 0.5),
        "pinned": memory_format.is_true(get("pinned")) or path.startswith(f"{VAULT}/"),
        "anchors": fields.texts_of(get("anchors")),
        "quote": memory_format.own_words(fields.text_of(get("type")), quotes),
        "sessions": [session for session in noted if session],
        "body": body[:MOST_BODY],
        "cut": len(body) > MOST_BODY,
    }


def _quotes(
    sources: "list[dict[str, Any]]", text_of: "Callable[[object], str]"
) -> "list[tuple[str, str, str]]":
    return [
        (item.get("speaker") or "person", text_of(item.get("at")), str(item.get("quote") or ""))
        for item in sources
        if item.get("session") and item.get("uuid")  # as in the store: nobody can follow another
    ]


class _opened:  # noqa: N801 - used like a function; contextlib would cost a hook 3 ms
    """The entries of a folder, read through its handle: a file's stamp then takes half as long."""

    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_RDONLY | places.OPEN) if os.scandir in os.supports_fd else -1
        self._entries: Any = None
        try:
            self._entries = os.scandir(path if self._handle < 0 else self._handle)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "Iterator[os.DirEntry[str]]":
        return self._entries  # type: ignore[no-any-return]

    def __exit__(self, *_: object) -> None:
        if self._entries is not None:
            self._entries.close()
        if self._handle >= 0:
            os.close(self._handle)


def _fits(entry: "os.DirEntry[str]") -> bool:
    return not memory_format.odd_name(entry.name) and entry.is_file(follow_symlinks=False)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _stamp(info: os.stat_result) -> "Stamp":
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _items(value: object) -> "list[Any]":
    return value if isinstance(value, list) else []


def _first_time(get: "Callable[[str], Any]", origin: str) -> str:
    dictated = origin == "hand-written"  # `Memory.dictated_at`
    names = ("created", "updated", "modified") if dictated else ("updated", "modified", "created")
    return next((str(get(key)) for key in names if _moment(str(get(key) or ""))), "")


def _first(pair: "tuple[float, str]") -> float:
    return pair[0]


def _moment(text: str) -> float:
    return times.parse(text) or 0.0
