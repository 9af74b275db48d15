"""Which projects Reverie leaves alone, neither read nor recalled into: one rule for hooks, worker, commands.

A person says it in ``[projects]`` of ``config.toml`` by path, or with a file ``.reverie-ignore`` in the
project or in any folder above it. As in a ``.gitignore``, ``*`` stands for anything, what names a folder
holds for all below it, and a name without a slash holds wherever it stands. An empty ``.reverie-ignore``
holds for its whole folder; with lines in it, for the folders that they name.

Sessions in the folder in which Reverie runs the client are its own calls, should one ever leave a trace.
"""

import os

from pipeline.hooklib import home_files, places
from pipeline.hooklib.plain import lines_of

IGNORE_FILE = ".reverie-ignore"
_LONGEST_LIST = 1 << 20


def why_ignored(cwd: str, only: "list[str] | tuple[str, ...]", ignore: "list[str] | tuple[str, ...]") -> str:
    """Return why sessions in `cwd` are left alone, as a clause, or "" when they are not.

    `only` are the patterns of which one must hold, if there are any; of `ignore` none may. The folder itself
    counts, where links in it lead, and the root of its repository.
    """
    folders = _folders(cwd)
    own = os.path.realpath(f"{places.home_dir()}/{home_files.CLAUDE_FOLDER}")
    if any(folder == own or folder.startswith(own + "/") for folder in folders):
        return "Reverie's own calls of a model run there"
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


def _holds(pattern: str, folder: str, base: str = "") -> bool:
    """Whether `pattern` names `folder` or one above it; with a `base`, of those in that folder.

    A folder is named by any path that leads to it: through links, in either of Unicode's forms, and as it is
    spelt where brackets in it could be a pattern's.
    """
    import fnmatch  # only where somebody has patterns

    inside = f"{base.rstrip('/')}/{pattern.lstrip('/')}" if base else os.path.expanduser(pattern)
    wanted = _composed(os.path.normpath(inside))
    above = [_composed(path) for path in _upwards(folder)]
    if not wanted.startswith("/"):
        globs = [f"*/{_literal(wanted)}", f"*/{_spelt(wanted)}", f"*/{wanted}"]
    else:
        wanted = wanted.replace("//", "/", 1) if wanted.startswith("//") else wanted
        if wanted in above or any(_is_same(wanted, path) for path in above):
            return True
        globs = _globs(wanted, base)
    return any(fnmatch.fnmatchcase(path, glob) for glob in globs for path in above)


def _globs(wanted: str, base: str) -> "list[str]":
    """Return what to hold folders against, with all before the first part with a star as where it leads."""
    parts = wanted.split("/")
    fixed = next((at for at, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts))
    fixed = max(fixed, len(base.rstrip("/").split("/")) if base else 1)
    head, rest = "/".join(parts[:fixed]), "/".join(parts[fixed:])
    starts = [_literal(head), _literal(_composed(os.path.realpath(head or "/")).rstrip("/"))]
    return [f"{start}/{ending}" for start in starts for ending in (rest, _spelt(rest))] if rest else []


def _literal(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _spelt(pattern: str) -> str:
    """Return `pattern` with its brackets as part of names."""
    return pattern.replace("[", "[[]")


def _composed(path: str) -> str:
    if path.isascii():
        return path
    import unicodedata

    return unicodedata.normalize("NFC", path)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False  # one of them is not there


def _ignore_file(folder: str) -> str:
    """Return the ``.reverie-ignore`` that holds for `folder`, "" when none does.

    What is called so and is no list that can be read is there to keep us out of all.
    """
    for above in _upwards(folder):
        file = f"{above.rstrip('/')}/{IGNORE_FILE}"
        if not os.path.lexists(file):
            continue
        try:
            raw = places.read_file(file, _LONGEST_LIST + 1)
        except OSError:
            return file
        text = _listed(raw)
        if len(raw) > _LONGEST_LIST or "\0" in text:
            return file
        lines = [line.strip() for line in lines_of(text)]
        patterns = [line for line in lines if line and not line.startswith("#")]
        if not patterns or any(_names(line, above, folder) for line in patterns):
            return file
    return ""


def _listed(raw: bytes) -> str:
    """Return the text of an ignore file, also one that an editor on Windows wrote."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    return os.fsdecode(raw.removeprefix(b"\xef\xbb\xbf"))


def _names(line: str, above: str, folder: str) -> bool:
    """Whether a line of the ignore file in `above` names `folder`, or one between them."""
    pattern = line.removeprefix("./").rstrip("/")
    if pattern in ("", ".", "*", "**"):
        return True
    return _holds(pattern, folder, above if "/" in pattern else "")


def _upwards(folder: str) -> "list[str]":
    """Return `folder` and all above it."""
    found = [folder]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found
