"""A person's machine to install on: a home, a project, no program of the real machine but a shell's."""

import io
import json
import os
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.cli.main import run
from tests.support.homes import everything

TOOLS = ("sh", "cat", "env", "mkdir", "rm", "uname")
LIMIT = 60


@dataclass
class Machine:
    """The machine; `env` is what its shell has."""

    home: Path
    project: Path
    env: dict[str, str] = field(default_factory=dict)
    out: str = ""
    """What the last command printed as data."""

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    @property
    def settings(self) -> Path:
        return self.config / "settings.json"

    @property
    def state(self) -> Path:
        return self.config / "reverie"

    def write(self, text: str, file: Path | None = None) -> Path:
        """Give the person a settings file with exactly this `text`."""
        place = file or self.settings
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
        return place

    def reverie(self, *arguments: str, code: int = 0) -> str:
        """Run a command as from a script, in this process; return what it printed, data and talk."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name in os.environ.keys() - self.env.keys():
                patch.delenv(name)
            for name, value in self.env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["reverie", *arguments])
            patch.setattr(sys, "stdin", io.StringIO())
            patch.chdir(self.project)
            try:
                run()
                ended = 0
            except SystemExit as end:
                ended = int(end.code or 0)
        self.out = out.getvalue()
        said = self.out + err.getvalue()
        assert ended == code, said
        assert "Traceback" not in said
        return said

    def commands(self, file: Path | None = None) -> dict[str, list[str]]:
        """Return the hook commands by event that stand in a settings file."""
        hooks = json.loads((file or self.settings).read_text("utf-8-sig")).get("hooks", {})
        return {
            event: [handler["command"] for group in groups for handler in group["hooks"]]
            for event, groups in hooks.items()
        }

    def everything(self) -> dict[str, tuple[str, int, bytes]]:
        return everything(self.home)


def make_machine(root: Path) -> Machine:
    """Make a machine below `root`, whose PATH holds a few of the system's programs and nothing else."""
    home, tools = root / "home", root / "tools"
    project = home / "work"
    for folder in (project, tools):
        folder.mkdir(parents=True)
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name) or "/nonexistent")
    env = {"HOME": str(home), "PATH": str(tools), "REVERIE_NO_LIVE_CALLS": "1"}
    return Machine(home, project, env | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with Claude Code's folder still missing."""
    return make_machine(tmp_path)
