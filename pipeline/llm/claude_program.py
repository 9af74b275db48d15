"""Where the claude program is: looked for in each pass of the worker, mostly without asking it anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import UnavailableError
from pipeline.hooklib import places

if TYPE_CHECKING:
    from pipeline.config import ModelSettings

_FOLDERS = (
    *(".local/bin", ".claude/local", ".npm-global/bin", ".volta/bin", ".bun/bin", ".local/share/pnpm"),
    *("Library/pnpm", ".local/share/mise/shims", ".asdf/shims"),
)
"""Where installers of programs in JavaScript put them, below a person's own folder."""
INSTALL = "Install Claude Code, or name the program in model.claude_path."


def find_claude(settings: ModelSettings) -> Path | None:
    """Return the claude program: the one the settings name, else on PATH, else where installers put it.

    In what Claude Code starts PATH may be a project's, so the noted one counts (`places.search_path`). A
    program that is named but missing gives None; no other is taken in its place.
    """
    if settings.claude_path:
        named = Path(settings.claude_path).expanduser().absolute()
        return named if _runs(named) else None
    return installed_claude(places.search_path(places.home_dir()))


def installed_claude(path: str) -> Path | None:
    """Return the claude program on the PATH `path`, else where installers put it; None when it is nowhere."""
    from shutil import which

    on_path = which("claude", path=path)
    home = Path.home()
    candidates = [Path(on_path).absolute()] if on_path else []
    candidates += [home / folder / "claude" for folder in _FOLDERS]
    candidates += [Path("/usr/local/bin/claude"), Path("/opt/homebrew/bin/claude")]
    candidates += sorted(home.glob(".nvm/versions/node/*/bin/claude"), reverse=True)
    return next((program for program in candidates if _runs(program)), None)


def missing(settings: ModelSettings) -> UnavailableError:
    """Return the error for a program that is not there, naming it."""
    return UnavailableError(
        f"The program {settings.claude_path or 'claude'} is not there.", fix=INSTALL
    ).unsent()


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
