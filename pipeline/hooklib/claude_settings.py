"""Claude Code's settings files, read: which there are for a project, and what they say, the strongest first.

`pipeline.install.claude_settings` reads the same files to look for hooks and plugins in them, and edits them.
"""

import os

from pipeline.hooklib import home_files, jsonish, places, plain

_MOST_BYTES = 4 << 20
_OFF = ("1", "true", "yes", "on")


def files(root: str) -> "tuple[str, ...]":
    """Return the settings files for the project at `root`, there or not, the one that wins first.

    They are those of one person in this project, of all in this project, and of the person.
    """
    own = root + "/.claude/"
    return own + "settings.local.json", own + "settings.json", user_file()


def user_file() -> str:
    """Return the settings file of the person, for all projects."""
    return places.config_dir() + "/settings.json"


def setting(file: str, key: str) -> "object":
    """Return what the settings file `file` has for `key`, None when nothing can be told."""
    try:
        value = jsonish.loads(jsonish.decode(places.read_file(file, _MOST_BYTES)), strict=True)
    except (OSError, ValueError):
        # An unreadable settings file is the host's to report; it says nothing.
        return None
    return value.get(key) if isinstance(value, dict) else None


def chosen_store(root: str) -> str:
    """Return the folder that ``autoMemoryDirectory`` names for the project at `root`, "" when none does.

    Absolute and ``~/`` paths only, as the host has it. The host believes a project's own settings; here a
    folder they name counts only once a person let it (`waiting_store`), since who wrote them may not be who
    works there. That holds inside of the project too: a repository can bring the folder along, with memories
    in it, and with notes that claim they are ours.
    """
    for file in files(root):
        folder = _named_store(file)
        if folder and (file == user_file() or _counts(folder, root)):
            return folder
    return ""


def waiting_store(root: str) -> "tuple[str, str]":
    """Return the folder that the own settings of the project at `root` name, and the file that does.

    Both are "" when there is none, or a person let it count.
    """
    for file in files(root):
        folder = _named_store(file)
        if file == user_file():
            break
        if folder and not _counts(folder, root):
            return folder, file
    return "", ""


def is_allowed(root: str, folder: str) -> bool:
    """Whether a person let `folder` be where the memories of the project at `root` are."""
    return [root, folder] in allowed(places.home_dir())


def is_brought(folder: str) -> bool:
    """Whether a repository brought the memory folder `folder` along and a person let it count.

    Then whoever writes in the repository writes there too. A folder that the person's own settings name, or
    one outside of the project, is the person's.
    """
    rows = allowed(places.home_dir())
    real = os.path.realpath(folder) if rows else ""
    return any(
        os.path.realpath(named) == real and real.startswith(os.path.realpath(root) + "/")
        for root, named in rows
    )


def allowed(home: str) -> "list[list[str]]":
    """Return root and folder of each that a person let count; what can't be read lets nothing count."""
    try:
        raw = places.read_file(f"{home}/{home_files.ALLOWED}", _MOST_BYTES)
    except OSError:
        return []
    found = []
    for line in jsonish.decode(raw).split("\n"):
        try:
            value = jsonish.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append([str(value.get("root")), str(value.get("folder"))])
    return found


def _named_store(file: str) -> str:
    named = setting(file, "autoMemoryDirectory")
    if isinstance(named, str) and named.startswith(("/", "~/")) and _can_be_a_path(named):
        return os.path.normpath(os.path.expanduser(named))
    return ""


def _counts(folder: str, root: str) -> bool:
    """Whether a person let `folder` count, or it is the one that the project at `root` has anyway."""
    usual = f"{places.project_folder(root)}/{places.PROJECT_STORE}"
    return is_allowed(root, folder) or os.path.realpath(folder) == os.path.realpath(usual)


def _can_be_a_path(named: str) -> bool:
    return "\0" not in named and plain.is_well_formed(named)


def host_loads_memory(root: str) -> bool:
    """Whether Claude Code loads the ``MEMORY.md`` of the project at `root`: not with its memory off.

    Nor where ``CLAUDE_MEMORY_STORES`` names stores that are shared: it then shows their indexes alone.
    ``CLAUDE_CODE_DISABLE_AUTO_MEMORY`` decides, then ``autoMemoryEnabled`` in the settings files, the
    project's before the user's.
    """
    if os.environ.get("CLAUDE_MEMORY_STORES", "").strip():
        return False
    switch = os.environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").lower()
    if switch:
        return switch not in _OFF
    for file in files(root):
        chosen = setting(file, "autoMemoryEnabled")
        if isinstance(chosen, bool):
            return chosen
    return True
