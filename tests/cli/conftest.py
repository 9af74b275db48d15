"""A `reverie` to call as a person does, in a home of its own."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.cli.main import run as reverie
from tests.support.transcripts import Transcript
from tests.support.warm import shared_workers

SAID = "naïve – 日本 🚀"


@dataclass
class Desk:
    """A project directory and the environment in which its commands run."""

    project: Path
    env: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments, code=0, **env):
        """Run one command in a process of its own; it must exit with `code`, and never with a traceback."""
        done = shared_workers().reverie([*map(str, arguments)], {**self.env, **env}, self.project)
        return said(done.returncode, done.stdout, done.stderr, code)

    def anew(self, *arguments, code=0, **env):
        """Run one command as `run` does in a Python started for it, which takes ten times as long."""
        done = subprocess.run(
            [sys.executable, "-m", "pipeline.cli.main", *map(str, arguments)],
            cwd=self.project, env={**self.env, **env}, capture_output=True, timeout=60,
        )  # fmt: skip
        return said(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"), code)

    def here(self, *arguments, code=0, **env):
        """Run one command in this process, which takes a twentieth of the time."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(os, "environ", {**self.env, **env})
            patch.setattr(sys, "argv", ["reverie", *map(str, arguments)])
            patch.chdir(self.project)
            try:
                reverie()
                ended = 0
            except SystemExit as end:
                ended = int(end.code or 0)
        return said(ended, out.getvalue(), err.getvalue(), code)

    @property
    def store(self):
        return Path(self.here("status", "--json").json["store"])


def said(ended, out, err, code):
    assert ended == code, out + err
    assert "Traceback" not in err
    return Said(out, err)


@dataclass
class Said:
    """What a command printed: data on `out`, talk on `err`."""

    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def make_desk(root):
    names = ("PATH", "TZ", "PYTHONPATH", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env |= {"HOME": str(root), "REVERIE_NO_LIVE_CALLS": "1", "REVERIE_MODEL__PROVIDER": "offline"}
    project = root / "shop"
    project.mkdir(parents=True)
    return Desk(project, env)


def session(cwd):
    talk = Transcript(cwd=str(cwd), start="2026-11-20T09:00:00Z")
    talk.user(f"Always write {SAID} into the banner.")
    talk.assistant("The banner has it.")
    talk.user("From now on name branches after the ticket, because the board links them.")
    talk.assistant("Branches carry the ticket's name now.")
    talk.user("thanks, that is all")
    talk.assistant("Good.")
    return talk


@pytest.fixture
def desk(tmp_path):
    """An empty home and a project."""
    return make_desk(tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A home whose ledger and store hold one session's two memories; tests only look at it."""
    made = make_desk(tmp_path_factory.mktemp("filled"))
    sessions = (
        made.project.parent / ".claude" / "projects" / str(made.project).replace("/", "-").replace("_", "-")
    )
    sessions.mkdir(parents=True)
    made.here("extract", "--transcript", session(made.project).write(sessions))
    return made
