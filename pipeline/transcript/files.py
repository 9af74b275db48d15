"""Finding session files: the one a hook names, and all there are."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

from pipeline.core.errors import UnreadableError
from pipeline.safety.late import late

_SESSION = late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EBADF, errno.EINVAL)
"""What the system answers when there is no such file; any other error only says that it can't be seen now."""


def unreadable(path: Path | str, error: OSError) -> UnreadableError:
    """Return the error for `path`, which the system does not let us read."""
    return UnreadableError(
        f"can't be read: {error.strerror or error}", file=str(path), fix="Check the path and its permissions."
    )


def _is_file(path: Path) -> bool:
    """Say whether `path` is an existing plain file; a name the system can't take is none.

    Raises UnreadableError when that can't be told, since a file out of reach is not a file that is gone.
    """
    try:
        return path.is_file()
    except ValueError:
        return False
    except OSError as error:
        if error.errno in _NO_FILE:
            return False
        raise unreadable(path, error) from error


def _advertised(text: str | None) -> Path | None:
    """Return the file a hook named, if it is there. Only ``~`` is expanded; relative paths are refused."""
    if not text:
        return None
    path = Path(text)
    if text.startswith("~"):
        try:
            path = path.expanduser()
        except RuntimeError:
            return None
    return path if path.is_absolute() and _is_file(path) else None


def _searched(name: str, projects: Path) -> tuple[list[Path], UnreadableError | None]:
    """Return the files called `name` in the folders of `projects`, and why one of those can't be seen."""
    found: list[Path] = []
    hidden: UnreadableError | None = None
    for folder in _folders(projects):
        path = Path(folder.path) / name
        try:
            found += [path] if _is_file(path) else []
        except UnreadableError as error:
            hidden = hidden or error
    return found, hidden


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def find(session_id: str, advertised: str | None, projects: Path) -> Path | None:
    """Return the transcript of `session_id`, or None. Creates nothing.

    `advertised` is the path a hook gave; it may be absent, stale, or never have existed (bug cases 34
    and 35). Then every folder of `projects` is searched for ``<session_id>.jsonl``; of several, the one
    written last. An advertised file of another name is taken only when that search finds nothing. Raises
    UnreadableError when nothing is found and a place where it may be can't be looked into.
    """
    named, hidden = None, None
    try:
        named = _advertised(advertised)
    except UnreadableError as error:
        hidden = error
    if named and named.stem == session_id:
        return named
    found: list[Path] = []
    if _SESSION.fullmatch(session_id):
        found, out_of_sight = _searched(f"{session_id}.jsonl", projects)
        hidden = hidden or out_of_sight
    path = max(found, key=_written, default=named)
    if path is None and hidden is not None:
        raise hidden
    return path


def _folders(projects: Path) -> list[os.DirEntry[str]]:
    """Return the project folders, real ones before links to them, each group by name."""
    try:
        with os.scandir(projects) as listing:
            folders = [entry for entry in listing if _leads_to(entry.is_dir)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unreadable(projects, error) from error
    return sorted(folders, key=lambda entry: (entry.is_symlink(), entry.name))


def _leads_to(kind: Callable[[], bool]) -> bool:
    """Return what `kind` says of an entry; False where a link leads nowhere, round in a circle say."""
    try:
        return kind()
    except OSError as error:
        if error.errno in _NO_FILE:
            return False
        raise


def _sessions(folder: str) -> tuple[list[os.DirEntry[str]], list[os.DirEntry[str]]]:
    """Return the session files right in `folder`, and the links to such, each group by name.

    Its sub-folders hold memory and sidecars, no sessions.
    """
    try:
        with os.scandir(folder) as listing:
            found = [
                entry
                for entry in listing
                # As `_is_session`, without a call for each of thousands.
                if (name := entry.name)[-6:] == ".jsonl" and name[:6] != "agent-"
                if entry.is_file(follow_symlinks=False) or (entry.is_symlink() and _leads_to(entry.is_file))
            ]
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise unreadable(folder, error) from error
    found.sort(key=attrgetter("name"))
    links = [entry for entry in found if entry.is_symlink()]
    return [entry for entry in found if not entry.is_symlink()] if links else found, links


def _is_session(name: str) -> bool:
    return name[-6:] == ".jsonl" and name[:6] != "agent-"


def survey(projects: Path) -> Iterator[os.DirEntry[str] | UnreadableError]:
    """Yield every session file under `projects` once, whichever links lead to it, in a stable order.

    Paths are as seen below `projects`. Subagents' files (``agent-*``) are left out. A folder that can't be
    looked into is yielded as its error; for `projects` itself that error is raised.
    """
    seen: set[str] = set()
    listed: set[str] = set()
    linked: set[str] = set()
    for folder in _folders(projects):
        identity = os.path.realpath(folder.path)
        if identity in seen:
            continue
        seen.add(identity)
        try:
            files, links = _sessions(folder.path)
        except UnreadableError as error:
            yield error
            continue
        listed.add(identity)
        # Only a link leads to a file that is seen elsewhere, so that no other needs a name of its own.
        yield from [file for file in files if f"{identity}/{file.name}" not in linked] if linked else files
        for link in links:
            real = os.path.realpath(f"{identity}/{link.name}")
            where, _, name = real.rpartition("/")
            if real not in linked and not (where in listed and _is_session(name)):
                linked.add(real)
                yield link


def survey_of(folder: Path, projects: Path) -> Iterator[os.DirEntry[str] | UnreadableError]:
    """Yield what `survey` does of `folder`, then the session files right in it, as in one project's folder.

    Right in `projects`, where the client has a folder for each project, such files are strays.
    """
    yield from survey(folder)
    if folder != projects:
        yield from _sessions(str(folder))[0]


def scan(projects: Path) -> Iterator[Path | UnreadableError]:
    """Yield the path of every file of `survey`."""
    for found in survey(projects):
        yield found if isinstance(found, UnreadableError) else Path(found.path)
