"""The memory folder that a project's own settings name: whether it waits for a person's yes, and the yes."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.core import paths
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.hooklib import claude_settings, places


def waiting(cwd: Path) -> tuple[str, str]:
    """Return the folder that waits in the project `cwd` is in, and the file that names it; "" for none."""
    return claude_settings.waiting_store(str(paths.project_root(cwd)))


def allow(home: Path, cwd: Path) -> str:
    """Let the folder count that waits in the project `cwd` is in; return it.

    Raises InputError when none waits, or Claude Code started this command: only a person says yes.
    """
    root = str(paths.project_root(cwd))
    folder, _ = waiting(cwd)
    if not folder:
        raise InputError(
            "no memory folder waits for a yes here", fix="`reverie status` shows which folder is used."
        )
    _require_person()
    rows = [*claude_settings.allowed(str(home)), [root, folder]]
    _write(home, rows)
    return folder


def disallow(home: Path, cwd: Path) -> bool:
    """Take back what was allowed for the project `cwd` is in; return whether anything was."""
    root = str(paths.project_root(cwd))
    before = claude_settings.allowed(str(home))
    rows = [row for row in before if row[0] != root]
    if rows != before:
        _write(home, rows)
    return rows != before


def _require_person() -> None:
    if places.by_client():
        raise InputError(
            "only a person says yes to this, and Claude Code started this command",
            fix="Type it in a terminal of your own.",
        )


def _write(home: Path, rows: list[list[str]]) -> None:
    lines = [json.dumps({"root": root, "folder": folder}) + "\n" for root, folder in rows]
    write_atomic(Home(home).allowed, "".join(lines).encode())
