"""P14: a project with a package named like ours, or modules named like those we use, changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "import sys; sys.argv = ['reverie', 'list']; from _reverie_start import run; sys.exit(run())"


@pytest.mark.parametrize("named", [".", "{project}", ":{project}", "{project}:{root}", "{project}/"])
def test_p14_a_project_on_the_python_path_stands_for_nothing_of_ours(tmp_path: Path, named: str) -> None:
    project = tmp_path / "project"
    (project / "pipeline").mkdir(parents=True)
    for name in ("pipeline/__init__.py", "typer.py", "pydantic.py", "yaml.py"):
        (project / name).write_text("raise RuntimeError('the project was imported')")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["PYTHONPATH"] = named.format(project=project, root=ROOT)
    # As the script does that pip makes: its own folder comes first.
    code = f"import sys; sys.path[0] = {str(tmp_path)!r}; {SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "") or "no memories yet" in done.stdout, done.stderr
    assert "the project was imported" not in done.stderr
