"""What runs a team's worker as a service says a command that there is."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.workshop import Workshop

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
UNIT = (DEPLOY / "reverie-team-worker.service").read_text("utf-8")
CONTAINER = (DEPLOY / "Containerfile").read_text("utf-8")


def commands():
    unit = re.search(r"^ExecStart=\S+/reverie (.*)$", UNIT, re.MULTILINE)
    container = re.search(r"^ENTRYPOINT (\[.*\])$", CONTAINER, re.MULTILINE)
    assert unit and container
    return {"unit": shlex.split(unit[1]), "container": json.loads(container[1])[1:]}


@pytest.mark.parametrize("which", ["unit", "container"])
def test_its_command_has_these_options(tmp_path, which):
    shop = Workshop(tmp_path / "place", {"COLUMNS": "200"})
    words = commands()[which]
    shown = shop.reverie(words[0], "--help").stdout
    assert all(word in shown for word in words if word.startswith("--"))


def test_a_service_that_lacks_a_team_says_so(tmp_path):
    shop = Workshop(tmp_path / "place", {})
    done = shop.reverie(*commands()["unit"])
    assert "no project here is in a team" in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_takes_the_unit(tmp_path):
    file = tmp_path / "reverie-team-worker.service"
    file.write_text(UNIT.replace("%h/.local/bin/reverie", "/bin/true"), "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True, timeout=60
    )
    assert "reverie-team-worker" not in done.stderr, done.stderr


def test_the_variables_that_they_name_are_read(tmp_path):
    shop = Workshop(tmp_path / "place", {"COLUMNS": "200"})
    done = shop.reverie("worker", "--team", REVERIE_TEAM="shop")
    assert "go together" in done.stderr
    assert {"REVERIE_TEAM", "REVERIE_TEAM_DATABASE"} <= set(re.findall(r"REVERIE_TEAM\w*", CONTAINER))
