"""What shares a costly set-up is run by one process (``pytest --dist loadgroup``)."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTES = """
import os, pathlib, pytest
@pytest.mark.parametrize("number", range(4))
def test_one(number):
    with pathlib.Path(os.environ["NOTED"], __name__).open("a") as file:
        print(os.getpid(), file=file)
"""


def test_what_stays_together_is_run_by_one_process(tmp_path: Path) -> None:
    names = ("tests/docs/test_first.py", "tests/docs/test_second.py", "tests/text/test_apart.py")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(NOTES)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_xdist_make_scheduler\n")
    (tmp_path / "noted").mkdir()
    options = ["-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NOTED": str(tmp_path / "noted")}
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second, apart = ((tmp_path / "noted" / Path(name).stem).read_text().split() for name in names)
    assert len({*first, *second}) == 1
    assert [len(first), len(second), len(apart)] == [4, 4, 4]
