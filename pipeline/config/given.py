"""What a person gave as settings, before anybody has looked whether it can be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.config_lines import unreadable
from pipeline.core.errors import ConfigError
from pipeline.hooklib.places import by_client
from pipeline.hooklib.settings import config_text, parsed

_PREFIX = "REVERIE_"


class Given(NamedTuple):
    """Values by section, the file they came from, and which variable gave which key instead."""

    values: dict[str, Any]
    file: Path
    named: dict[str, str]


def text_of(file: Path) -> str:
    """Return what stands in `file`, "" when there is none. Raises ConfigError when it is no text."""
    try:
        return config_text(str(file))
    except ValueError as error:
        raise ConfigError(str(error), file=str(file), fix="Make the file readable UTF-8 text.") from error


def sections(text: str, file: Path) -> dict[str, Any]:
    """Return the values that stand in `text`, which was read from `file`. Raises ConfigError."""
    if not text:
        return {}
    try:
        return parsed(text)
    except ValueError as error:
        raise unreadable(file, error) from error


def variables() -> list[tuple[str, str]]:
    """Return the variables of the environment that set something, with their values; none of a session's."""
    if by_client():
        return []
    return sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(_PREFIX) and "__" in name[len(_PREFIX) :]
    )


def together(values: dict[str, Any], file: Path, above: list[tuple[str, str]]) -> Given:
    """Return `values` of `file` with those of the variables `above` them."""
    named: dict[str, str] = {}
    for name, value in above:
        section, _, key = name.removeprefix(_PREFIX).lower().partition("__")
        below = values.get(section)
        values[section] = {**(below if isinstance(below, dict) else {}), key: value}
        named[f"{section}.{key}"] = named[section] = name
    return Given(values, file, named)


def variable_above(section: str, key: str) -> str:
    """Return the variable of the environment that stands above `key` of `section`, "" when none is set."""
    name = f"{_PREFIX}{section}__{key}".upper()
    return name if name in os.environ and not by_client() else ""
