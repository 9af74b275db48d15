"""Reverie's part of Claude Code's status line: put into the text of a settings file, and taken out again."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from pipeline.core.paths import bundled
from pipeline.hooklib.jsonish import BOM
from pipeline.install import json_edit
from pipeline.install.claude_settings import parse_object

_KEY = "statusLine"
_OURS = re.compile(r" -I -S \S.*[/\\]hooks[/\\]statusline\.py['\"]*(?: \|\| :)?$")


def setting() -> dict[str, Any]:
    """Return what to put into Claude Code's settings.json for the line."""
    script = shlex.quote(str(bundled("hooks") / "statusline.py"))
    command = f"{shlex.quote(sys.executable)} -I -S {script} || :"
    return {_KEY: {"type": "command", "command": command}}


def is_free(text: str, file: Path) -> bool:
    """Whether the settings `text` have no status line yet. Raises InputError when they are no JSON object."""
    plain = text.removeprefix(BOM)
    return not plain.strip() or _KEY not in parse_object(plain, file)


def with_status_line(text: str, file: Path) -> str:
    """Return `text` with our status line, if it has none. Raises InputError when it is no JSON object."""
    if not is_free(text, file):
        return text
    lead = BOM if text.startswith(BOM) else ""
    plain = text.removeprefix(BOM)
    if not plain.strip():
        return lead + json.dumps(setting(), ensure_ascii=False, indent=2) + "\n"
    return lead + json_edit.put_in(plain, json_edit.first(plain), setting()[_KEY], key=_KEY)


def without_status_line(text: str, file: Path) -> str:
    """Return `text` without our status line; another one stays. Raises InputError as `with_status_line`."""
    lead = BOM if text.startswith(BOM) else ""
    plain = text.removeprefix(BOM)
    value = parse_object(plain, file).get(_KEY) if plain.strip() else None
    if not (isinstance(value, dict) and _OURS.search(str(value.get("command", "")))):
        return text
    root = json_edit.first(plain)
    number = next(n for n, item in enumerate(json_edit.items(plain, root)) if item.key == _KEY)
    return lead + json_edit.take_out(plain, root, number)
