"""``reverie statusline``: Reverie's part of Claude Code's status line, and the setting that shows it."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from pipeline.cli import output
from pipeline.core import paths
from pipeline.hooklib import statusline as lean

_LIMIT = 1 << 20


def statusline(
    setting: Annotated[
        bool, typer.Option("--setting", help="Print what to put into Claude Code's settings.json.")
    ] = False,
) -> None:
    """Print one line for Claude Code's status line.

    It reads the session's JSON from stdin. Claude Code should run the quicker script that --setting names.
    """
    if setting:
        script = shlex.quote(str(paths.bundled("hooks") / "statusline.py"))
        command = f"{shlex.quote(sys.executable)} -I -S {script}"
        output.data({"statusLine": {"type": "command", "command": command}}, output.line, as_json=True)
        return
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(_LIMIT)
    output.line(lean.line(data, str(paths.home_dir())))
