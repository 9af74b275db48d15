"""Claude Code's settings files: which there are, which hooks in them are ours, what else runs them.

Sources merge and never override, so a hook counts wherever it stands. Odd shapes are passed over, as Claude
Code does. What a hook may read itself is in `pipeline.hooklib.claude_settings`; `hook_edit` changes texts.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.hooklib import claude_settings
from pipeline.hooklib.events import EVENTS, TOOL
from pipeline.hooklib.jsonish import BOM
from pipeline.install import json_edit
from pipeline.install.hook_registration import is_our_hook
from pipeline.record import record

MEND = "Mend the file first: nothing was changed in it."
_NAME = "reverie"


@record
class SettingsFile:
    """What one settings file holds, {} for one that is not there; numbers are kept as text."""

    file: Path
    values: Mapping[str, Any]

    @property
    def hooks_off(self) -> bool:
        """Whether it switches all hooks off."""
        return self.values.get("disableAllHooks") is True

    @property
    def plugins(self) -> dict[str, bool]:
        """Return the plugins of our name that it speaks of, and whether it enables them."""
        enabled = self.values.get("enabledPlugins")
        named = enabled.items() if isinstance(enabled, dict) else ()
        return {str(name): on is True for name, on in named if str(name).partition("@")[0] == _NAME}

    @property
    def commands(self) -> dict[str, list[str]]:
        """Return the commands of our hooks by event."""
        found: dict[str, list[str]] = {}
        by_event = self.values.get("hooks")
        for event, groups in by_event.items() if isinstance(by_event, dict) else ():
            for group in groups if isinstance(groups, list) else ():
                handlers = group.get("hooks") if isinstance(group, dict) else None
                for handler in handlers if isinstance(handlers, list) else ():
                    command = command_of(handler)
                    if is_our_hook(command, event):
                        found.setdefault(event, []).append(command)
        return found


@record
class Wiring:
    """By what our hooks run in a project: settings `files`, the weakest first, and the `plugin`, "" for none.

    `unreadable` are the files that Claude Code can't use either.
    """

    files: tuple[SettingsFile, ...]
    unreadable: tuple[InputError, ...]
    plugin: str

    @property
    def with_hooks(self) -> tuple[SettingsFile, ...]:
        """Return the files that have a hook of ours for one of EVENTS."""
        return tuple(found for found in self.files if not found.commands.keys().isdisjoint(EVENTS))

    @property
    def before_tools(self) -> tuple[SettingsFile, ...]:
        """Return the files that have our hook before the use of a tool."""
        return tuple(found for found in self.files if TOOL in found.commands)

    @property
    def sources(self) -> list[str]:
        """Return what runs our hooks, for a person to read: files, and ``the plugin NAME``."""
        return [
            *(str(found.file) for found in self.with_hooks),
            *([f"the plugin {self.plugin}"] if self.plugin else []),
        ]


def user_file() -> Path:
    """Return the settings of the person, for all projects."""
    return Path(claude_settings.user_file())


def project_file(project: Path) -> Path:
    """Return the settings of one person in one project.

    Not ``settings.json`` beside it, which a team shares: the commands name places on this machine.
    """
    return files(project)[-1]


def files(project: Path) -> tuple[Path, ...]:
    """Return every settings file that counts for a session in `project`, the weakest first."""
    return tuple(Path(file) for file in reversed(claude_settings.files(str(project))))


def look(file: Path) -> SettingsFile:
    """Return what `file` holds. Raises InputError, naming the line, when it is no JSON object."""
    text = (read(file) or "").removeprefix(BOM)
    return SettingsFile(file, parse_object(text, file) if text.strip() else {})


def wiring(project: Path) -> Wiring:
    """Return by what our hooks run in `project`.

    A plugin runs when a settings file enables it, or when its folder stands among the person's skills, and
    no stronger file disables it.
    """
    found: list[SettingsFile] = []
    unreadable: list[InputError] = []
    plugins = {f"{_NAME}@skills-dir": True} if _is_a_skill() else {}
    for file in files(project):
        try:
            found.append(look(file))
        except InputError as error:
            unreadable.append(error)
        else:
            plugins |= found[-1].plugins
    return Wiring(tuple(found), tuple(unreadable), next((name for name, on in plugins.items() if on), ""))


def read(file: Path) -> str | None:
    """Return the text of a settings file, None when there is none; InputError when it can't be used."""
    try:
        # A repository may hold a link to a device; reading one, or a pipe, would never end.
        if not stat.S_ISREG(file.stat().st_mode):
            raise InputError("is no plain file", file=str(file), fix=MEND)
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"can't be read: {error}", file=str(file), fix=MEND) from error


def parse_object(text: str, file: Path) -> dict[str, Any]:
    """Return the object that `text` holds. Raises InputError when it is none."""
    try:
        value = json_edit.parse(text)
    except json_edit.BadJsonError as error:
        raise InputError(
            f"is no JSON: {error}, column {error.column}", file=str(file), line=error.line, fix=MEND
        ) from error
    if not isinstance(value, dict):
        raise InputError("is no JSON object", file=str(file), line=1, fix=MEND)
    return value


def command_of(handler: object) -> str:
    """Return the command of a hook's `handler`, "" where it has none."""
    return str(handler.get("command", "")) if isinstance(handler, dict) else ""


def _is_a_skill() -> bool:
    """Whether the plugin's folder stands among the person's skills."""
    for manifest in paths.config_dir().glob("skills/*/.claude-plugin/plugin.json"):
        try:
            if look(manifest).values.get("name") == _NAME:
                return True
        except InputError:
            # A plugin of somebody else's, or one that Claude Code can't load either.
            continue
    return False
