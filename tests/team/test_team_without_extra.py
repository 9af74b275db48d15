"""Without the extra the commands of a team say what to install, and all else goes on."""

import subprocess
import sys

from pipeline.core.extras import how_to_install
from tests.architecture.source import ROOT

WITHOUT = """
import sys
sys.modules["psycopg"] = None
from pipeline.cli.main import run
sys.argv = ["reverie", *sys.argv[1:]]
run()
"""


def reverie(tmp_path, *words):
    variables = {"REVERIE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=tmp_path,
        env={**variables, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_it_says_what_to_install(tmp_path):
    done = reverie(tmp_path, "team", "join", "ours", "--database", "postgresql://ann@localhost/team")
    assert done.returncode == 1
    assert how_to_install("team") in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("state.json"))


def test_all_else_goes_on(tmp_path):
    assert reverie(tmp_path, "status").returncode == 0
