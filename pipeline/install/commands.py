"""What a person can ask for from within a session: the plugin's skills, as commands of their own.

A plugin brings ``skills/``; with the hooks in settings.json the same texts are written into the person's
``commands/reverie/``, where Claude Code calls them by the same names (``/reverie:status``). Edits are made
and taken back as those of settings files are (`pipeline.install.hooks`).
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.core import paths
from pipeline.core.ids import digest
from pipeline.install import claude_settings
from pipeline.install.hooks import Edit, Record
from pipeline.text.humanize import count

_LAUNCHER = '"${CLAUDE_PLUGIN_ROOT}/bin/reverie"'
_NAMED = 4
_NAME = re.compile(r"^name: .*\n", re.MULTILINE)


def folder() -> Path:
    """Return where the person's commands of ours are."""
    return paths.config_dir() / "commands" / "reverie"


def plan(record: Record) -> list[Edit]:
    """Return what would change for the commands to be there, as they are in this version.

    `record` tells which of the files there are ours; one that a person made or changed is left alone.
    Raises InputError when one can't be read.
    """
    edits = []
    for skill in sorted(paths.bundled("skills").glob("*/SKILL.md")):
        file = folder() / f"{skill.parent.name}.md"
        before = claude_settings.read(file)
        noted = record.of(file)
        theirs = before is not None and (noted is None or digest(before.encode("utf-8")) != noted.wrote)
        edit = Edit(file, before, _text(skill.read_text("utf-8")))
        if edit.changes and not theirs:
            edits.append(edit)
    return edits


def summary(edits: Sequence[Edit]) -> str:
    """Return in a line which commands come into the person's folder, or leave it; "" for none.

    Of `edits` those of settings files are passed over.
    """
    names = [edit.file.stem for edit in edits if is_ours(edit.file)]
    if not names:
        return ""
    way = "out of" if all(edit.after is None for edit in edits if is_ours(edit.file)) else "into"
    shown = [f"/reverie:{name}" for name in names]
    listed = ", ".join(
        shown if len(names) <= _NAMED else [*shown[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    )
    return f"{way} {folder()}:\n  {count(len(names), 'command')} for use in a session: {listed}"


def is_ours(file: Path) -> bool:
    """Whether `file` is in the place of our commands."""
    return file.parent == folder()


def _text(skill: str) -> str:
    """Return the text of a command that does what `skill` does: named by its file, run by this Python."""
    return _NAME.sub("", skill, count=1).replace(_LAUNCHER, _program())


def _program() -> str:
    """Return how a shell runs `reverie` from anywhere: by its script, or else as a module."""
    script = Path(sys.executable).with_name("reverie")
    if script.is_file():
        return _quoted(str(script))
    return f"{_quoted(sys.executable)} -P -m pipeline.cli.main"


def _quoted(path: str) -> str:
    """Return `path` in double quotes, as the rules about tools have it, if they suffice."""
    return f'"{path}"' if not re.search(r'["$`\\]', path) else shlex.quote(path)
