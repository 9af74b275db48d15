"""Which projects Reverie leaves alone, neither read nor recalled into: one rule for hooks, worker, commands.

A person says it in ``[projects]`` of ``config.toml`` by path, or with a file ``.reverie-ignore`` in the
project or in any folder above it. As in a ``.gitignore``, ``*`` stands for anything, what names a folder
holds for all below it, and a name without a slash holds wherever it stands. An empty ``.reverie-ignore``
holds for its whole folder; with lines in it, for the folders that they name.
"""

import os

from pipeline.hooklib import places

IGNORE_FILE = ".reverie-ignore"
_LONGEST_LIST = 64 << 10


def why_ignored(cwd: str, only: "list[str] | tuple[str, ...]", ignore: "list[str] | tuple[str, ...]") -> str:
    """Return why sessions in `cwd` are left alone, as a clause, or "" when they are not.

    `only` are the patterns of which one must hold, if there are any; of `ignore` none may. The folder itself
    counts, where links in it lead, and the root of its repository.
    """
    folders = _folders(cwd)
    for pattern in ignore:
        if any(_holds(pattern, folder) for folder in folders):
            return f"projects.ignore in config.toml has {pattern!r}"
    if only and not any(_holds(pattern, folder) for pattern in only for folder in folders):
        return "projects.only in config.toml does not name it"
    for folder in folders:
        file = _ignore_file(folder)
        if file:
            return f"{file} is there"
    return ""


def _folders(cwd: str) -> "list[str]":
    try:
        real = os.path.realpath(cwd)
        return list(dict.fromkeys((os.path.normpath(cwd), real, places.project_root(cwd))))
    except (OSError, ValueError):
        return [cwd]  # a name that no folder can have


def _holds(pattern: str, folder: str) -> bool:
    """Whether `pattern` names `folder` or one above it."""
    import fnmatch  # only where somebody has patterns

    wanted = os.path.expanduser(pattern).rstrip("/") or "/"
    if not wanted.startswith("/"):
        wanted = "*/" + wanted
    return any(fnmatch.fnmatchcase(above, wanted) for above in _upwards(folder))


def _ignore_file(folder: str) -> str:
    """Return the ``.reverie-ignore`` that holds for `folder`, "" when none does."""
    for above in _upwards(folder):
        file = f"{above.rstrip('/')}/{IGNORE_FILE}"
        if not os.path.isfile(file):
            continue
        try:
            text = places.read_file(file, _LONGEST_LIST).decode("utf-8", "replace")
        except OSError:
            return file  # it is there to keep us out
        lines = [line.strip() for line in text.splitlines()]
        patterns = [line for line in lines if line and not line.startswith("#")]
        if not patterns or any(_names(line, above, folder) for line in patterns):
            return file
    return ""


def _names(line: str, above: str, folder: str) -> bool:
    """Whether a line of the ignore file in `above` names `folder`, or one between them."""
    pattern = line.removeprefix("./").rstrip("/")
    if pattern in ("", ".", "*", "**"):
        return True
    return _holds(f"{above.rstrip('/')}/{pattern.lstrip('/')}" if "/" in pattern else pattern, folder)


def _upwards(folder: str) -> "list[str]":
    """Return `folder` and all above it."""
    found = [folder]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found
