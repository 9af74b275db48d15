"""A table of a TOML file, appended or taken out; the rest of the text stays as it was, comments too."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from pipeline.hooklib.plain import whole_lines


class BadTomlError(ValueError):
    """The text is no TOML, or holds the table in a form that can't be changed for a person."""


def with_table(text: str, outer: str, key: str, values: Mapping[str, Any]) -> str:
    """Return `text` with the table ``[outer.key]`` behind all others. Raises BadTomlError."""
    before = _parsed(text)
    held = before.get(outer, {})
    if isinstance(held, dict) and held.get(key) == values:
        return text
    rest = without_table(text, outer, key)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{outer}.{key}]", *(f"{name} = {_value(value)}" for name, value in values.items())]
    apart = "" if not rest else newline if rest.endswith("\n") else newline * 2
    new = rest + apart + newline.join(lines) + newline
    _require(
        new, {**before, outer: {**(held if isinstance(held, dict) else {}), key: dict(values)}}, outer, key
    )
    return new


def without_table(text: str, outer: str, key: str) -> str:
    """Return `text` without the table ``[outer.key]`` and those below it. Raises BadTomlError."""
    before = _parsed(text)
    held = before.get(outer)
    if not isinstance(held, dict) or key not in held:
        return text
    kept: list[str] = []
    inside = False
    for line in whole_lines(text):
        head = line.strip().split("#")[0].strip()
        if head.startswith("["):
            inside = head == f"[{outer}.{key}]" or head.startswith(f"[{outer}.{key}.")
            if inside and kept and not kept[-1].strip():
                kept.pop()  # The line that set it apart.
        if not inside or line.lstrip().startswith("#"):
            kept.append(line)
    new = "".join(kept)
    rest = {name: value for name, value in held.items() if name != key}
    after = {**before, outer: rest} if rest or outer in _parsed(new) else _less(before, outer)
    _require(new, after, outer, key)
    return new


def _require(text: str, wanted: dict[str, Any], outer: str, key: str) -> None:
    if _parsed(text) != wanted:
        raise BadTomlError(f"{outer}.{key} stands there in a form that can't be changed for you")


def _less(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise BadTomlError(f"is no TOML: {error}") from error


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
