"""On which line of ``config.toml`` something stands, for errors that name it."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.hooklib.plain import lines_of
from pipeline.hooklib.settings import config_text


def line_of(file: Path, section: int | str, key: int | str = "") -> int | None:
    """Return the line of `file` on which `key` of `section` stands, or the section begins."""
    current = ""
    try:
        lines = lines_of(config_text(str(file)))
    except ValueError:
        return None
    for number, line in enumerate(lines, start=1):
        name = line.partition("=")[0].strip()
        if name.startswith("["):
            current = name.partition("]")[0].strip("[ ")
            if not key and current == section:
                return number
        elif (key and current == section and name == key) or (not current and name == f"{section}.{key}"):
            return number
    return None


def unreadable(file: Path, error: ValueError) -> ConfigError:
    """Return the error for a `file` that is no TOML, with the line where that shows."""
    found = re.search(r"\(at line (\d+), column \d+\)", str(error))
    return ConfigError(
        str(error),
        file=str(file),
        line=int(found[1]) if found else None,
        fix="Mend the TOML at the place named." if found else "Mend the file.",
    )
