"""The memory files of a store, looked at and read as a hook can afford it.

The search index may lag behind: a file may be gone, changed, or new. What is on disk decides, so a file
that is not as the index has it is read here, by a reader of front matter that knows the common forms and
takes everything else for plain text. Links are never followed.
"""

import os
import re
import stat

from pipeline.hooklib import jsonish, memory_format, ownership, places, times
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.memory_format import EDGES, GRAPH, MAX_FILE, VAULT
from pipeline.hooklib.plain import is_well_formed, lines_of
from pipeline.text.tokens import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Stamp = tuple[int, int, int]

MOST_READ = 256 << 10
"""Bytes of one file that are read."""
MOST_BODY = 16_000
"""Characters of its body that are looked at."""

# Compiled by `re` when they are first used: most prompts meet no changed file.
_KEY = r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$"
_NESTED = r"[ \t]+([A-Za-z_][\w-]*)[ \t]*:[ \t]+(.*)$"
_ITEM = r"[ \t]*-[ \t]+(.*)$"
_QUOTE = r"""(?s)\bquote:[ \t]*(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
_AT = r"\bat:[ \t]*[\"']?([0-9T:.+Zz-]{10,35})"
_OPTIONAL = ("id", "title", "type", "origin", "tags", "anchors")
_SESSION = r"\b(?:session|originSessionId):[ \t]*[\"']?([\w-]{1,80})"


class Found:
    """A memory that may be recalled.

    `path` is relative to `store`; `fields` are its four tokenised columns (name, description, tags, body);
    `shown` is what a person would be told of it, the body included; `stamp` is the file's; `fresh` says that
    it was read from its file just now and not taken from the index.
    """

    __slots__ = ("digest", "everywhere", "fields", "fresh", "path", "shown", "stamp", "store")

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
    ) -> None:
        self.store = store
        self.path = path
        self.digest = digest
        self.stamp = stamp
        self.fields = fields
        self.shown = shown
        self.fresh = fresh
        self.everywhere = everywhere


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


def read(root: str, path: str, everywhere: bool) -> "Found | None":
    """Return the memory in the file at `path` as it is now, or None when no memory can be read from it.

    None is a file that is gone, is no regular file, is over two megabytes, or says that it is retired.
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
    shown = describe(raw.decode("utf-8", "replace"), path)
    if not shown:
        return None
    fields = [
        " ".join(terms(text, index=True))
        for text in (
            f"{shown['name']} {shown['title']}",
            shown["description"],
            " ".join(shown["tags"]),
            shown["body"],
        )
    ]
    return Found(root, path, digest, _stamp(info), fields, shown, True, everywhere)


def describe(text: str, path: str) -> "dict[str, Any]":
    """Return what the text of a memory file says of itself, or {} when it is not to be told.

    That is one that says it is retired, and one that holds both sides of a merge's conflict.

    Front matter that can't be made out counts as text, and the file's name as the memory's.
    """
    text = text.removeprefix("\ufeff")
    if "<<<<<<< " in text and memory_format.conflicts(lines_of(text)):
        return {}
    fenced, below = memory_format.split_front_matter(text)
    front = fenced or ""
    keys = _keys(front)
    # Rules around prose are no front matter; the store takes the whole for the text then, too.
    body = below if keys or _says_nothing(front) else text
    if memory_format.is_retired(keys.get("archived", ""), keys.get("status", "")):
        return {}
    for key in _OPTIONAL:
        if keys.get(key) in memory_format.NULLS:
            del keys[key]
    ident = keys.get("id", "")
    name, title = memory_format.name_and_title(path, keys.get("name", ""), keys.get("title", ""), ident, body)
    sources = re.sub(_QUOTE, "", front)  # a quote may say anything, also a time
    moments = [moment for moment in re.findall(_AT, sources) if times.parse(moment) is not None]
    return {
        "id": ident,
        "name": name,
        "title": title,
        "type": keys.get("type", ""),
        "description": keys.get("description", ""),
        "tags": _list(keys.get("tags", "")),
        "origin": keys.get("origin", ""),
        "said": max(moments, key=_moment) if moments else _first_time(keys),
        "importance": _share(keys.get("importance", ""), 0.5),
        "pinned": memory_format.is_true(keys.get("pinned", "")) or path.startswith(f"{VAULT}/"),
        "anchors": _list(keys.get("anchors", "")),
        "sessions": re.findall(_SESSION, sources),
        "body": body[:MOST_BODY],
        "cut": len(body) > MOST_BODY,
    }


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
    return is_well_formed(entry.name) and entry.is_file(follow_symlinks=False)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _stamp(info: os.stat_result) -> "Stamp":
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _keys(front: str) -> "dict[str, str]":
    """Return the keys of front matter as texts; those below ``metadata`` where the top has none."""
    found: dict[str, str] = {}
    below: dict[str, str] = {}
    key = ""
    for line in front.splitlines():
        top = re.match(_KEY, line)
        if top:
            key, value = top.group(1), (top.group(2) or "").strip()
            if value.startswith("{") and key == "metadata":
                below.update(_flow(value))
            found[key] = "" if value.startswith(("|", ">")) else _scalar(value)
            continue
        nested = re.match(_NESTED, line) if key == "metadata" else None
        if nested:
            below[nested.group(1)] = _scalar(nested.group(2).strip())
        elif key and line[:1] in (" ", "\t", "-"):
            item = re.match(_ITEM, line)
            more = _scalar((item.group(1) if item else line).strip())
            found[key] = f"{found[key]}{', ' if item and found[key] else ' '}{more}".strip()
    return {**below, **{key: value for key, value in found.items() if value or key not in below}}


def _says_nothing(front: str) -> bool:
    """Whether YAML sees in `front` nothing but blank lines and comments."""
    lines = [line.strip() for line in front.splitlines()]
    return all(not line or line.startswith("#") for line in lines)


def _scalar(value: str) -> str:
    if value.startswith('"'):
        end = value.rfind('"')
        try:
            return str(jsonish.loads(value[: end + 1])) if end else value
        except ValueError:
            return value[1:end]
    if value.startswith("'"):
        end = value.rfind("'")
        return value[1:end].replace("''", "'") if end else value[1:]
    return value.partition(" #")[0].strip()


def _flow(value: str) -> "dict[str, str]":
    pairs = [part.partition(":") for part in value.strip("{} ").split(",")]
    return {key.strip(): _scalar(text.strip()) for key, _, text in pairs if key.strip()}


def _list(value: str) -> "list[str]":
    return [text for text in (_scalar(item.strip()) for item in value.strip("[] ").split(",")) if text]


def _share(value: str, default: float) -> float:
    try:
        number = float(value)
    except ValueError:
        return default
    return min(1.0, max(0.0, number)) if number == number else default


def _first_time(keys: "dict[str, str]") -> str:
    dictated = keys.get("origin") == "hand-written"  # `Memory.dictated_at`
    names = ("created", "updated", "modified") if dictated else ("updated", "modified", "created")
    return next((keys[key] for key in names if _moment(keys.get(key, ""))), "")


def _moment(text: str) -> float:
    return times.parse(text) or 0.0
