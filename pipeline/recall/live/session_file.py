"""What one session was given: ``<home>/recall/sessions/<session>.jsonl``, a line for each time.

The hooks append and read, the worker copies the lines to the ledger. A line is written with one call, so
two hooks never mix theirs, and a torn line costs only itself.
"""

import os

from pipeline.hooklib import home_files, jsonish, places
from pipeline.hooklib.plain import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_NAME = 80
_MOST_READ = 2 << 20
_MOST_PICKS = 64 << 10
_SAME_START = 5.0
_MOST_STARTS = 50


class Given:
    """What the context of a session holds since it was last made anew.

    `sent` maps each memory (its id, store and path) to the digest it had; `chars` counts what was put
    in; `end` is the size of the file that tells it, in bytes. `renewed` is when it was made anew, and `heard`
    up to when it heard of what others changed (epoch seconds, 0 for never).
    """

    __slots__ = ("chars", "end", "heard", "renewed", "sent")

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}
        self.chars = 0
        self.end = 0
        self.heard = self.renewed = 0.0

    def become(self, other: "Given") -> None:
        """Take over all that `other` knows."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))


def session_path(home: str, session: str) -> str:
    """Return the file of `session`, or "" when its name can't be one."""
    if not _is_name(session):
        return ""
    return f"{home}/{home_files.RECALL_SESSIONS}/{session}.jsonl"


def read(home: str, session: str) -> Given:
    """Return what `session` was given since its last reset; nothing, for one that is not known."""
    found = Given()
    path = session_path(home, session)
    if path:
        _read_on(found, path)
    return found


def append(home: str, session: str, line: "dict[str, Any]", given: "Given | None" = None) -> bool:
    """Add `line` to the file of `session`; return whether that was done and its text may be printed.

    With `given`, what the caller knew when it chose: when another hook has meanwhile put one of the same
    memories in, nothing is written and the answer is no, so that two installs don't say everything twice. It
    is kept in step with what is written. A session without a usable name is kept nowhere, and the answer is
    yes. Raises OSError.
    """
    path = session_path(home, session)
    if not path:
        return True
    handle = _open(path)
    try:
        if given is not None and not _is_first(handle, path, line, given):
            return False
        size = os.fstat(handle).st_size
        torn = size > 0 and _read_at(handle, size - 1, 1) != b"\n"
        data = (b"\n" if torn else b"") + jsonish.dumps(line).encode("ascii") + b"\n"
        if os.write(handle, data) != len(data):
            raise OSError(28, "the disk is full", path)
        if given is not None:
            _take(given, data)
            given.end = size + len(data)
    finally:
        os.close(handle)
    return True


def reset(home: str, session: str, source: str, at: float) -> None:
    """Note that the context of `session` was made anew, so that everything may be sent once more.

    A session that was given nothing yet has no file, and gets none.
    """
    if os.path.exists(session_path(home, session)):
        append(home, session, {"k": "reset", "at": round(at, 3), "source": source})


def is_first_start(home: str, session: str, source: str, now: float) -> bool:
    """Whether no other hook has taken the start of `session` from `source`, and take it. Raises OSError.

    With settings and plugin both there, two hooks run for one start; the second finds it taken in the
    seconds before.
    """
    start = f"{session} {source}"
    handle = _open(f"{home}/{home_files.STARTS}")
    try:
        _wait_for(handle)
        lines = lines_of(_read_at(handle, 0, _MOST_PICKS).decode("utf-8", "replace"))
        recent = [line for line in lines if _is_recent(line, now)][-_MOST_STARTS:]
        if any(line.partition(" ")[2] == start for line in recent):
            return False
        os.ftruncate(handle, 0)
        os.write(handle, "\n".join([*recent, f"{now:.3f} {start}", ""]).encode("utf-8", "surrogatepass"))
    finally:
        os.close(handle)
    return True


def picks(home: str, session: str, store: str) -> "list[str]":
    """Return the names of memories that the worker chose in advance for `session` in `store`."""
    if not _is_name(session):
        return []
    try:
        raw = places.read_file(f"{home}/{home_files.RECALL_SESSIONS}/{session}.picks.json", _MOST_PICKS)
        value = jsonish.loads(jsonish.decode(raw))
    except (OSError, ValueError):
        # None were made, or the file is being written by something we don't know: words decide alone.
        return []
    chosen_in = value.get("store") if isinstance(value, dict) else None
    if not isinstance(chosen_in, str) or os.path.realpath(chosen_in) != os.path.realpath(store):
        return []
    names = value.get("names")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _is_name(session: str) -> bool:
    plain = session.replace("-", "").replace("_", "")
    return 0 < len(session) <= _LONGEST_NAME and session.isascii() and (plain.isalnum() or not plain)


def _is_recent(line: str, now: float) -> bool:
    try:
        return 0 <= now - float(line.partition(" ")[0]) < _SAME_START
    except ValueError:
        return False  # torn by a crash


def _wait_for(handle: int) -> None:
    """Wait for the file's lock, which nobody holds longer than a read and a write."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
    except ImportError:
        return  # Windows has no such lock; both may answer


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | places.OPEN
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        places.make_dirs(os.path.dirname(path))
        return os.open(path, flags, 0o600)


def _is_first(handle: int, path: str, line: "dict[str, Any]", given: Given) -> bool:
    """Take the file's lock and say whether nobody else has put one of `line`'s memories in since `given`.

    The lock goes with the handle. Who finds it taken is second.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass  # Windows has no such lock; both may write, and the same memory is said twice
    except BlockingIOError:
        return False
    if os.fstat(handle).st_size == given.end:
        return True
    known = given.sent
    now = Given()
    _read_on(now, path)
    given.become(now)
    if 0 < _moment(line, "heard") <= now.heard:
        return False
    new = {digest for key, digest in now.sent.items() if known.get(key) != digest}
    return not any(item.get("digest") in new for item in line.get("items", ()))


def _read_on(found: Given, path: str) -> None:
    try:
        size = os.stat(path).st_size
        handle = os.open(path, os.O_RDONLY | places.OPEN)
    except OSError:
        return  # nothing was given yet
    try:
        start = max(0, size - _MOST_READ)
        raw = _read_at(handle, start, _MOST_READ)
    finally:
        os.close(handle)
    found.end = start + len(raw)
    for line in raw.split(b"\n"):
        if line:
            _take(found, line)


def _read_at(handle: int, offset: int, most: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, most)


def _take(found: Given, line: bytes) -> None:
    try:
        value = jsonish.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return  # torn by a crash; whatever it told of may be sent again
    if not isinstance(value, dict):
        return
    if value.get("k") == "reset":
        found.sent.clear()
        found.chars = 0
        found.renewed = _moment(value, "at")
        return
    found.heard = max(found.heard, _moment(value, "heard"))
    chars = value.get("chars")
    if isinstance(chars, int):
        found.chars += max(0, chars)
    items = value.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get("digest"), str):
            # A copy has the same id, so that the id alone would not do.
            where = f"{item.get('store')}/{item.get('path')}"
            key = f"{item['id']} {where}" if item.get("id") else where
            found.sent[str(key)] = item["digest"]


def _moment(value: "dict[str, Any]", name: str) -> float:
    at = value.get(name)
    return float(at) if isinstance(at, int | float) else 0.0
