"""Which Python has Reverie's packages: one rule for hooks, worker and command, whoever installed it."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHONS = Path(__file__).resolve().parents[2] / "hooks" / "pythons"
LIMIT = 60
SHELLS = [shell for shell in ("sh", "dash", "bash", "busybox") if shutil.which(shell)]


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder with interpreters at `venv`, at `a b` (blanks in its path), and as `python3.12` on PATH."""
    for name in ("venv/bin/python", "a b/bin/python", "tools/python3.12"):
        make_python(tmp_path / name)
    for folder in ("home", "scripts", "state", "root"):
        (tmp_path / folder).mkdir()
    return tmp_path


def make_python(place: Path, answer: str = f'exec {shlex.quote(sys.executable)} "$@"') -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    place.chmod(0o755)
    return place


def call(box: Path, *arguments: object, shell: str = "sh", path: str = "") -> list[str]:
    """Call a function of the file; return the lines that it prints. It must print nothing on stderr."""
    words = [shell, *(["sh"] if shell == "busybox" else []), "-c", '. "$1"; shift; "$@"', "sh", str(PYTHONS)]
    env = {"HOME": str(box / "home"), "PATH": f"{box / 'tools'}:{path}:/usr/bin:/bin"}
    done = subprocess.run(
        [*words, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


FORMS = {
    "pip, uv": "#!{venv}\n",
    "pipx": "#!{venv} -E\n",
    "Fedora": "#!{venv} -sP\n",
    "Nix": "#! {venv}\n",
    "made on Windows": "#!{venv}\r\n",
    "env": "#!/usr/bin/env python3.12\n",
    "env -S": "#!/usr/bin/env -S {venv} -E\n",
    "env -S, a variable": "#!/usr/bin/env -S -i LANG=C {venv}\n",
    "env -S, a name": "#!/usr/bin/env -S python3.12 -P\n",
    "long path": "#!/bin/sh\n'''exec' {venv} \"$0\" \"$@\"\n' '''\n",
    "quoted path": "#!/bin/sh\n'''exec' \"{venv}\" \"$0\" \"$@\"\n' '''\n",
    "blanks": "#!/bin/sh\n'''exec' \"{blanks}\" \"$0\" \"$@\"\n' '''\n",
    "blanks, uv": "#!/bin/sh\n'''exec' '{blanks}' \"$0\" \"$@\"\n' '''\n",
    "blanks, older pip": "#!{blanks}\n",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("form", FORMS)
def test_the_first_lines_that_installers_write_are_understood(box: Path, form: str, shell: str) -> None:
    venv, blanks = box / "venv/bin/python", box / "a b/bin/python"
    script = box / "scripts" / "reverie"
    script.write_bytes(FORMS[form].format(venv=venv, blanks=blanks).encode() + b"import x\n")
    wanted = blanks if "{blanks}" in FORMS[form] else venv
    wanted = box / "tools/python3.12" if "python3.12" in FORMS[form] else wanted
    assert call(box, "interpreter_of", script, shell=shell)[:1] == [str(wanted)]


OTHERS = {
    "a shell script": b"#!/bin/sh\nexec python3 -m reverie\n",
    "another language": b"#!/usr/bin/env node\n",
    "a program": b"\x7fELF\0\0\n\0",
    "nothing": b"",
    "a Python that is gone": b"#!/gone/bin/python -E\n",
    "hostile": b"#!/usr/bin/env -S $(touch /tmp/x) `id`\n",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_of_other_files_none_is_told(box: Path, text: bytes) -> None:
    (box / "scripts" / "reverie").write_bytes(text)
    assert call(box, "interpreter_of", box / "scripts" / "reverie") == []


def test_a_script_that_says_nothing_is_followed_to_where_it_lies(box: Path) -> None:
    """As uv's, which finds its Python beside itself, and a link that pipx puts on PATH."""
    real = box / "venv/bin/reverie"
    real.write_text('#!/bin/sh\n\'\'\'exec\' "$(dirname -- "$(realpath -- "$0")")"/\'python\' "$0" "$@"\n')
    (box / "scripts" / "reverie").symlink_to(real)
    assert call(box, "interpreter_of", box / "scripts" / "reverie") == [str(box / "venv/bin/python")]


PLACES = {
    "noted": "state/python",
    "checkout": "root/.venv/bin/python",
    "pipx": "home/.local/share/pipx/venvs/reverie/bin/python",
    "uv": "home/.local/share/uv/tools/reverie/bin/python",
    "on PATH": "more/reverie",
    "its own": "state/environment/bin/python",
}


@pytest.mark.parametrize("place", PLACES)
def test_each_place_alone_is_enough(box: Path, place: str) -> None:
    file = box / PLACES[place]
    wanted = box / "venv/bin/python"
    if place == "noted":
        file.write_text(f"{wanted}\n")
    elif place == "on PATH":
        make_python(file).write_text(f"#!{wanted} -E\n")
    else:
        wanted = make_python(file)
    if place == "its own":
        assert call(box, "find_python", box / "state", box / "root") == [], "it is not finished"
        (box / "state/environment/made-for").write_text("x\n")
    (box / "root/pipeline").mkdir()
    assert call(box, "find_python", box / "state", box / "root", path=str(box / "more")) == [str(wanted)]


def test_one_that_lacks_the_packages_or_is_too_old_is_passed_over(box: Path) -> None:
    for number, answer in enumerate(("exit 1", "echo 'unknown option -P' >&2; exit 2", "kill -9 $$")):
        place = ("state/python", "root/.venv/bin/python", "home/.local/share/pipx/venvs/reverie/bin/python")
        bad = make_python(box / f"bad{number}" / "python", answer)
        file = box / place[number]
        file.parent.mkdir(parents=True, exist_ok=True)
        if number:
            file.symlink_to(bad)
        else:
            file.write_text(f"{bad}\n")
    good = make_python(box / "home/.local/share/uv/tools/reverie/bin/python")
    (box / "root/pipeline").mkdir()
    assert call(box, "find_python", box / "state", box / "root") == [str(good)]


def test_a_worker_that_does_not_lie_beside_the_hooks_needs_the_package_itself(box: Path) -> None:
    (box / "state/python").write_text(
        f"{make_python(box / 'x/python', 'case $5 in *pipeline*) exit 1 ;; esac')}\n"
    )
    assert call(box, "find_python", box / "state", box / "root") == []
    (box / "root/pipeline").mkdir()
    assert call(box, "find_python", box / "state", box / "root") == [str(box / "x/python")]


def test_shims_are_passed_over(box: Path) -> None:
    shims = box / "home/.pyenv/shims"
    make_python(shims / "python3")
    real = make_python(box / "home/.pyenv/versions" / "3.12.1" / "bin/python3")
    found = call(box, "any_python", path=str(shims))
    assert str(shims / "python3") not in found and str(real) in found
    assert all(os.access(python, os.X_OK) for python in found)
