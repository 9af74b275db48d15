"""Claude Code's settings files, read: which there are for a project, and what they say, the strongest first.

`pipeline.install.claude_settings` reads the same files to look for hooks and plugins in them, and edits them.
"""

import os

from pipeline.hooklib import jsonish, places, plain

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

    Absolute and ``~/`` paths only, as the host has it.
    """
    for file in files(root):
        named = setting(file, "autoMemoryDirectory")
        if isinstance(named, str) and named.startswith(("/", "~/")) and _can_be_a_path(named):
            return os.path.expanduser(named)
    return ""


def _can_be_a_path(named: str) -> bool:
    return "\0" not in named and plain.is_well_formed(named)


def host_loads_memory(root: str) -> bool:
    """Whether Claude Code loads the ``MEMORY.md`` of the project at `root`: not with its memory off.

    ``CLAUDE_CODE_DISABLE_AUTO_MEMORY`` decides, then ``autoMemoryEnabled`` in the settings files, the
    project's before the user's.
    """
    switch = os.environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").lower()
    if switch:
        return switch not in _OFF
    for file in files(root):
        chosen = setting(file, "autoMemoryEnabled")
        if isinstance(chosen, bool):
            return chosen
    return True
