"""A compiled file of the worker's that broke stops it at most once: it is removed, and the source is read."""

import json
import marshal
import shutil
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest

from tests.support.hooks import HOOKS, LIMIT

PACKAGE = HOOKS.parent / "pipeline"
TELL = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); import start_worker;"
    "print(json.dumps(start_worker.environment(*sys.argv[2:])))"
)
"""Prints what a hook starts a worker with."""


class Copy:
    """A copy of the package, with all that is compiled of it, and a home to run a worker in."""

    def __init__(self, place: Path) -> None:
        self.root, self.home = place / "root", place / "home"
        (self.home / "logs").mkdir(parents=True)
        shutil.copytree(PACKAGE, self.root / "pipeline")

    def compiled(self, name: str) -> Path:
        source = self.root / "pipeline" / f"{name}.py"
        return source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"

    def given(self) -> dict[str, str]:
        command = [sys.executable, "-c", TELL, str(HOOKS), str(self.home), str(self.root)]
        found: dict[str, str] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        return {**found, "HOME": str(self.home.parent)}

    def work(self) -> int:
        with (self.home / "logs" / "worker.log").open("ab") as log:
            command = [sys.executable, "-m", "pipeline.worker"]
            run = subprocess.run(command, env=self.given(), cwd=self.home, stderr=log, timeout=LIMIT)
        return run.returncode


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("compiled"))
    assert made.work() == 0
    return made


@pytest.mark.parametrize("name", ["ledger/jobs", "worker/process"])
@pytest.mark.parametrize("left", ["half", "zeros"])
def test_a_module_whose_compiled_file_broke_is_read_from_its_source(copy: Copy, name: str, left: str) -> None:
    place = copy.compiled(name)
    sound = place.read_bytes()
    place.write_bytes(sound[: len(sound) // 2] if left == "half" else sound[:16] + bytes(len(sound)))
    assert copy.work() == 0
    assert not place.exists()
    assert copy.work() == 0
    assert isinstance(marshal.loads(place.read_bytes()[16:]), CodeType)


@pytest.mark.parametrize("name", ["__init__", "worker/__init__", "worker/__main__", "worker/compiled"])
def test_one_of_its_first_modules_stops_one_worker_and_not_the_next(copy: Copy, name: str) -> None:
    place = copy.compiled(name)
    sound = place.read_bytes()
    place.write_bytes(sound[:-20])
    assert copy.work() == 1
    assert copy.given()["PYTHONPYCACHEPREFIX"] == "/dev/null"
    assert copy.work() == 0
    assert "PYTHONPYCACHEPREFIX" not in copy.given()
    assert copy.work() == 0
    assert isinstance(marshal.loads(place.read_bytes()[16:]), CodeType)
