"""How agent-memory's files are kept: limits, days, backups. Defaults, then a file, variables, the caller.

The file is ``.memory-config.json`` in the folder. Variables count where a person set them in a shell: what
Claude Code starts may have a project's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.errors import cause
from pipeline.formats.agent_memory.errors import invalid
from pipeline.formats.agent_memory.layout import CONFIG
from pipeline.formats.agent_memory.schema import CORE, LEARNING, TASK
from pipeline.hooklib import places

_MEGABYTE = 1_000_000
MOST_BYTES: Mapping[str, int] = {CORE: 10 * _MEGABYTE, LEARNING: 5 * _MEGABYTE, TASK: 2 * _MEGABYTE}
HARD = frozenset({CORE})
"""Types whose limit blocks a write; those of others archive what is old, and else only warn."""
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values by which a folder is kept; `lock_seconds` is how long a write waits for another's."""

    max_core: int = 1_000
    max_learnings: int = 500
    max_tasks: int = 200
    learning_days: int = 90
    task_days: int = 30
    auto_archive: bool = True
    backup: bool = True
    max_backups: int = 5
    cache_size: int = 100
    cache_seconds: int = 300
    rebuild_at_start: bool = False
    log_level: str = "INFO"
    log_file: str = ""
    lock_seconds: float = 10.0

    def most(self, kind: str) -> int:
        """Return how many memories of `kind` there may be."""
        return {CORE: self.max_core, LEARNING: self.max_learnings, TASK: self.max_tasks}[kind]


def _number(value: Any, name: str) -> int:
    try:
        number = value if type(value) is int else int(str(value).strip())
    except ValueError:
        number = -1
    if number < 0:
        raise invalid(f"{name} is a whole number of at least 0, not {value!r}")
    return number


def _truth(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise invalid(f"{name} is true or false, not {value!r}")


def _level(value: Any, name: str) -> str:
    word = str(value).strip().upper()
    if word not in _LEVELS:
        raise invalid(f"{name} is one of {', '.join(_LEVELS)}, not {value!r}")
    return word


def _text(value: Any, _: str) -> str:
    return str(value)


_READ: Mapping[str, tuple[str, str, Callable[[Any, str], Any]]] = {
    "max_core": ("MAX_CORE_MEMORIES", "limits.max_core_memories", _number),
    "max_learnings": ("MAX_LEARNINGS", "limits.max_learnings", _number),
    "max_tasks": ("MAX_TASKS", "limits.max_tasks", _number),
    "learning_days": ("AUTO_ARCHIVE_LEARNINGS_DAYS", "archival.learnings_days", _number),
    "task_days": ("AUTO_ARCHIVE_TASKS_DAYS", "archival.tasks_days", _number),
    "auto_archive": ("ENABLE_AUTO_ARCHIVAL", "archival.enabled", _truth),
    "backup": ("BACKUP_ENABLED", "backup.enabled", _truth),
    "max_backups": ("MAX_BACKUPS", "backup.max_backups", _number),
    "cache_size": ("CACHE_SIZE", "performance.cache_size", _number),
    "cache_seconds": ("", "performance.cache_ttl", _number),
    "rebuild_at_start": ("INDEX_REBUILD_ON_STARTUP", "performance.index_rebuild_on_startup", _truth),
    "log_level": ("LOG_LEVEL", "logging.level", _level),
    "log_file": ("LOG_FILE", "logging.file", _text),
}
"""Each option's variable, its key in the file, and how either is read."""
VARIABLES = ("MEMORY_DIR", *(variable for variable, _, _ in _READ.values() if variable))


def default_folder(named: str = "") -> Path:
    """Return the folder of the files: by MEMORY_DIR, else `named` by a setting, else in Claude Code's."""
    chosen = places.variable("MEMORY_DIR") or named
    return Path(chosen).expanduser().absolute() if chosen else paths.config_dir() / "agents" / "memories"


def load(root: Path, **given: Any) -> Options:
    """Return the options of the folder `root`; what is `given` and not None stands above all.

    Raises INVALID_INPUT that names the file or variable for a value that can't be used.
    """
    values: dict[str, Any] = {}
    held = _file_values(root / CONFIG)
    for name, (variable, key, read) in _READ.items():
        section, _, word = key.partition(".")
        part = held.get(section)
        if isinstance(part, dict) and word in part:
            values[name] = read(part[word], f"{key} in {root / CONFIG}")
        text = places.variable(variable) if variable else ""
        if text:
            values[name] = read(text, f"${variable}")
    known = {field.name for field in fields(Options)}
    values |= {key: value for key, value in given.items() if key in known and value is not None}
    return replace(Options(), **values)


def _file_values(file: Path) -> dict[str, Any]:
    try:
        held = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        why = cause(error) if isinstance(error, OSError) else f"it is no JSON ({error})"
        raise invalid(f"{file}: {why}", "Mend it, or take it away: then the defaults count.") from error
    if not isinstance(held, dict):
        raise invalid(f"{file}: it is no JSON object", "Mend it, or take it away: then the defaults count.")
    return held
