"""Whether we may write in a store, and whose store it is: asked before a model call is paid for.

The rule is that of `pipeline.hooklib.ownership`; here another project is refused with an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.core import clock
from pipeline.core.atomic import ensure_dir, write_atomic, write_temp
from pipeline.core.errors import LockError, StoreError
from pipeline.hooklib import ownership, places
from pipeline.store.files.layout import INDEX, private_folder


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError inside the block into a StoreError that names the file, or `path`."""
    try:
        yield
    except LockError as error:
        raise StoreError(str(error.args[0]), file=error.file, fix=error.fix) from error
    except OSError as error:
        raise StoreError(
            f"the store can't be written: {error.strerror or error}",
            file=str(error.filename or path),
            fix="Make the folder writable and see that the disk has room.",
        ) from error


def shared(path: Path, root: Path) -> tuple[bool, bool]:
    """Return whether others write in the store at `path`, in truth `root`, and whether it is a team's folder.

    Such a folder gets nothing that a person did not ask for: no index, no files made from memories.
    """
    names = (str(path), str(root))
    return any(map(ownership.is_team, names)), any(map(ownership.is_team_folder, names))


def require_fit(path: Path) -> None:
    """Raise StoreError where `path`, which a person named, goes through a link in a memory folder.

    Who else writes there, a team or a repository, could lead the person's words anywhere by it. A link to a
    memory folder, or one anywhere else, is the person's own. So deep in a team's folder that nobody reads
    there, it would be taken for the person's alone: that is refused too.
    """
    way = [*reversed(path.parents), path]
    for at, link in enumerate(way):
        if link.is_symlink() and any(map(is_memory_folder, way[:at], way[1 : at + 1])):
            import shlex

            itself = shlex.quote(os.path.realpath(path))
            raise StoreError(
                "a link in a memory folder is not followed",
                file=str(link),
                fix=f"If you mean the folder it leads to, name that: `--store {itself}`.",
            )

    if not ownership.is_team_folder(str(path)) and not ownership.holds_memories(str(path)):
        above = next((team for team in path.parents if ownership.is_team_folder(str(team))), None)
        if above is not None:
            raise StoreError(
                "no memories are read so deep in a team's folder",
                file=str(path),
                fix=f"Name one that is at most as deep as {above}.",
            )


def is_memory_folder(folder: Path, below: Path) -> bool:
    """Whether `folder` is one of memories; where only its name says so, the next `below` counts."""
    if folder.name != places.PROJECT_STORE:
        return ownership.holds_memories(str(folder)) or ownership.is_team(str(folder))
    kept = any(os.path.lexists(folder / name) for name in (places.PRIVATE, INDEX))
    theirs = below.name == ownership.TEAM or ownership.is_team(str(folder))
    return kept or theirs or folder.parent.parent.name == "projects"


def require_person(path: Path) -> None:
    """Raise StoreError where Claude Code started this command: what others read waits for a person's word."""
    if places.by_client():
        raise StoreError(
            "a team's folder is changed at a person's word only, and Claude Code started this command",
            file=str(path),
            fix="Type it in a terminal of your own.",
        )


def private_dir(root: Path) -> Path:
    """Return the folder of our own files in the store at `root`, made at first use and hidden from git.

    Whoever writes there comes by here first: StoreError for a link in it, as in `private_folder`.
    """
    private = private_folder(root)
    if not private.exists():
        ensure_dir(private)
        write_atomic(private / ".gitignore", b"*\n")
    return private


def can_be_made(root: Path) -> bool:
    """Whether nothing is at `root`, and what it would be made in is a folder."""
    above = next((path for path in (root, *root.parents) if os.path.lexists(path)), root)
    return above != root and above.is_dir()


def require_writable(root: Path) -> None:
    """Raise StoreError unless files can be made in the store at `root` and in our own folder there.

    A file is really made and removed again, since permissions alone don't show a full disk. Where the store
    is not there yet, that is tried in the nearest folder above it, and the store is not made.
    """
    above = next(folder for folder in (root, *root.parents) if folder.is_dir())
    with writing(root):
        if above != root:
            write_temp(above / "probe", b"").unlink()
            return
        if not os.access(root, os.W_OK | os.X_OK):
            raise PermissionError(0, "no permission to make files", str(root))
        write_temp(private_dir(root) / "probe", b"").unlink()


def owner(root: Path) -> str:
    """Return the root of the project that the store at `root` belongs to, empty when none has claimed it."""
    try:
        return ownership.owner(str(root))
    except OSError as error:
        raise StoreError(
            f"can't tell whose store this is: {error.strerror}",
            file=str(root / ownership.OWNER),
            fix="Make the folder readable and writable.",
        ) from error


def note_move(root: Path, old: str, new: str) -> None:
    """Note that the project of the store at `root` was at `old` and is at `new` now."""
    entry = {"from": old, "to": new, "at": clock.from_environment().now().timestamp()}
    lines = [*ownership.moves(str(root)), entry]
    write_atomic(root / ownership.MOVED, "".join(json.dumps(line) + "\n" for line in lines).encode())


def require_owner(root: Path, project: Path, *, claim: bool) -> None:
    """Raise StoreError when the store at `root` belongs to another project than the one at `project`.

    With `claim` a store that belongs to nobody is claimed for `project`, as is that of a project which is
    gone from where it was: it moved here, which is noted. A link in our own folder is refused first.
    """
    if claim:
        private_folder(root)
    mine, theirs = ownership.composed(str(project)), owner(root)
    if not ownership.may_use(theirs, str(project)):
        raise StoreError(
            f"this folder holds the memories of {theirs}; {mine} has the same folder name and would share it",
            file=str(root),
            fix="Keep them apart: name a folder with --store, or give one of the projects an "
            "autoMemoryDirectory in its .claude/settings.json and type `reverie allow` there. If the project "
            "only moved, and its old folder is there for something else, delete "
            f"{ownership.OWNER} in the memory folder.",
        )
    if claim and theirs != mine:
        with writing(root):
            private_dir(root)
            if theirs:
                note_move(root, theirs, mine)
            write_atomic(root / ownership.OWNER, os.fsencode(mine) + b"\n")
