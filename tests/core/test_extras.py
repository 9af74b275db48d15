"""How an extra is installed where Reverie is: in an environment of its own, or in pipx's."""

import sys
from pathlib import Path

from pipeline.core.extras import how_to_install

CHECKOUT = Path(__file__).parents[2]


def test_it_names_the_python_that_runs_and_where_the_package_comes_from(tmp_path):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / Path(sys.executable).name
    python.touch()
    said = how_to_install("web", prefix=tmp_path)
    assert said == f"Install the extra `web`: `{python} -m pip install '{CHECKOUT}[web]'`."


def test_in_an_environment_of_pipx_it_names_pipx(tmp_path):
    (tmp_path / "pipx_metadata.json").touch()
    said = how_to_install("watch", prefix=tmp_path, checkout=tmp_path / "my reverie")
    assert said == f"Install the extra `watch`: `pipx install --force '{tmp_path}/my reverie[watch]'`."
