"""A plugin on a machine with Python and nothing else: it installs what it needs, once, and says so."""

import ast
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.hooks import FAKE_WORKER, LIMIT, Stage

ROOT = Path(__file__).resolve().parents[2]
STOP = b'{"session_id":"s-1","transcript_path":"/p/s-1.jsonl"}'
DAY = 86_400

UV = """#!/bin/sh
echo "$@" >>"$REVERIE_HOME/uv"
case $1 in
venv)
  for place; do :; done
  mkdir -p "$place/bin" && cp {worker} "$place/bin/python" ;;
pip)
  echo installing >"$REVERIE_HOME/installing"
  read -r answer <"$REVERIE_HOME/answer"
  [ "$answer" = go ] || {{ echo "error: $answer"; exit 1; }} ;;
esac
"""
BARE = """import sys
if {"venv", "pip"} & {*sys.orig_argv}:
    sys.exit("No module named venv")
"""


class Plugin:
    """A plugin's folder, a Python that lacks packages and can make no environment, and a uv that waits."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.root = folder / "plugin cache" / "0.1.0"
        self.copy_to(self.root)
        bare, tools = folder / "bare", folder / "tools"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True, timeout=LIMIT)
        (site,) = bare.glob("lib/python*/site-packages")
        (site / "sitecustomize.py").write_text(BARE)
        worker = folder / "worker"
        worker.write_text(FAKE_WORKER)
        tools.mkdir()
        (tools / "uv").write_text(UV.format(worker=shlex.quote(str(worker))))
        for file in (worker, tools / "uv"):
            file.chmod(0o755)
        for name in ("answer", "installing"):
            os.mkfifo(stage.home / name)
        self.bare = bare / "bin" / "python3"
        (stage.home / "python").unlink()
        (stage.home / "path").write_text(f"{self.bare.parent}:{tools}:/usr/bin:/bin\n")
        stage.env.update({"HOME": str(folder / "home"), "CLAUDE_PLUGIN_ROOT": str(self.root)})

    def copy_to(self, root: Path) -> None:
        shutil.copytree(ROOT / "hooks", root / "hooks")
        (root / "pipeline").symlink_to(ROOT / "pipeline")
        shutil.copy(ROOT / "pyproject.toml", root)

    def fire(self, event: str = "Stop", **fields: str) -> dict[str, str]:
        """Run the plugin's hook for `event`; return what it prints."""
        data = json.dumps({"session_id": "s-1", "cwd": str(self.root), **fields}).encode()
        done = subprocess.run(
            ["sh", self.root / "hooks" / "run", event],
            input=data, env=self.stage.env, capture_output=True, timeout=LIMIT,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else {}

    def start(self, session: str) -> str:
        """Start a session; return what the person reads."""
        return self.fire("SessionStart", session_id=session, source="startup").get("systemMessage", "")

    def await_install(self) -> None:
        """Wait until uv installs."""
        told = os.open(self.stage.home / "installing", os.O_RDWR)
        try:
            assert select.select([told], [], [], LIMIT)[0], "uv was not asked to install"
            assert os.read(told, 100) == b"installing\n"
        finally:
            os.close(told)

    def answer(self, word: str) -> None:
        """Let uv end: well with "go", else with `word` as its complaint."""
        answer = os.open(self.stage.home / "answer", os.O_RDWR)
        try:
            os.write(answer, f"{word}\n".encode())
            # Until it is read: what is in a pipe that nobody has open is gone.
            subprocess.run(["flock", self.stage.home / "setup.lock", "true"], timeout=LIMIT, check=False)
        finally:
            os.close(answer)

    def await_end(self) -> None:
        """Wait until nothing sets up any more."""
        subprocess.run(["flock", self.stage.home / "setup.lock", "true"], timeout=LIMIT, check=True)
        subprocess.run(["flock", self.stage.home / "worker.lock", "true"], timeout=LIMIT, check=True)

    def preparing(self) -> list[int]:
        """Return the processes that look for a Python or set one up."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):  # gone meanwhile
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                if b"prepare_worker.py" in words and os.fsencode(self.stage.home) in words:
                    found.append(int(entry.name))
        return found

    def await_prepared(self) -> None:
        """Wait until none of them is there any more."""
        for number in self.preparing():
            subprocess.run(["tail", f"--pid={number}", "-f", "/dev/null"], timeout=LIMIT, check=True)

    def said(self) -> list[str]:
        return self.stage.lines("setup")

    def uv(self) -> list[str]:
        return [line.split()[0] for line in self.stage.lines("uv")]


@pytest.fixture
def plugin(stage: Stage, tmp_path: Path) -> Iterator[Plugin]:
    """The plugin; what a failed test leaves at work is ended."""
    yield Plugin(stage, tmp_path)
    home = os.fsencode(stage.home)
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # gone meanwhile
            if entry.name.isdigit() and home in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)


def test_the_first_event_ends_in_a_worker_under_an_environment_of_its_own(plugin: Plugin) -> None:
    plugin.fire()
    plugin.await_install()
    assert plugin.said()[0].startswith("working ")
    plugin.answer("go")
    plugin.stage.await_worker()
    own = plugin.stage.home / "environment" / "bin" / "python"
    assert plugin.stage.lines("python") == [str(own)]
    assert f"PYTHONPATH={plugin.root}" in plugin.stage.lines("variables")
    installed = plugin.stage.lines("uv")[1]
    assert f"--python {own}" in installed and "pydantic>=" in installed
    assert own.parent.parent.stat().st_mode & 0o077 == 0
    plugin.stage.release()
    assert "Reverie is set up" in plugin.start("s-2")
    assert plugin.start("s-3") == "", "it is said once a day"
    plugin.stage.await_worker()
    plugin.stage.release()
    assert len(plugin.uv()) == 2, "the environment is taken as it is"


def test_while_it_is_set_up_the_person_is_told_once_and_nothing_is_done_twice(plugin: Plugin) -> None:
    plugin.fire()
    plugin.await_install()
    assert "sets itself up in the background" in plugin.start("s-2")
    assert plugin.start("s-3") == ""
    plugin.fire()
    subprocess.run(["flock", plugin.stage.home / "worker.lock", "true"], timeout=LIMIT, check=True)
    assert plugin.uv() == ["venv", "pip"] and len(plugin.stage.spooled()) == 4
    plugin.answer("go")
    plugin.stage.await_worker()
    plugin.stage.release()


def test_a_setup_that_failed_is_told_with_its_cause_and_tried_again_the_next_day(plugin: Plugin) -> None:
    plugin.fire()
    plugin.await_install()
    plugin.answer("dns error: no such host")
    plugin.await_end()
    assert plugin.said()[0].startswith("failed ") and not (plugin.stage.home / "environment").exists()
    said = plugin.start("s-2")
    assert "could not set itself up: no network." in said and f"pipx install '{plugin.root}'" in said
    assert "Traceback" not in said and "Error" not in said
    plugin.await_end()
    plugin.fire()
    plugin.await_end()
    assert plugin.uv() == ["venv", "pip"], "not before a day has passed"
    state, _, rest = plugin.said()[0].partition(" ")
    _, _, rest = rest.partition(" ")
    text = f"{state} {int(time.time()) - DAY - 60} {rest}\n{plugin.said()[1]}\n"
    (plugin.stage.home / "setup").write_text(text)
    plugin.fire()
    plugin.await_install()
    plugin.answer("go")
    plugin.stage.await_worker()
    plugin.stage.release()


def test_a_setup_that_was_cut_off_is_begun_anew_three_times_a_day(plugin: Plugin) -> None:
    setup = plugin.stage.home / "setup"
    for tries, done in ((3, []), (2, ["venv", "pip"])):
        setup.write_text(f"working {int(time.time())} {tries} {plugin.root}\nReverie sets itself up.\n")
        plugin.fire()
        if done:
            plugin.await_install()
            assert plugin.said()[0].split()[2] == "3"
            plugin.answer("go")
            plugin.stage.await_worker()
            plugin.stage.release()
        else:
            plugin.await_end()
        assert plugin.uv() == done


def test_what_a_killed_setup_left_at_work_is_waited_for(plugin: Plugin) -> None:
    """Two that install into one folder leave neither's packages whole."""
    plugin.fire()
    plugin.await_install()
    (number,) = plugin.preparing()
    os.kill(number, signal.SIGKILL)
    plugin.await_prepared()
    plugin.fire()
    plugin.await_prepared()
    assert plugin.uv() == ["venv", "pip"], "its installer still writes there"
    plugin.answer("go")
    plugin.fire()
    plugin.await_install()
    plugin.answer("go")
    plugin.stage.await_worker()
    assert plugin.uv() == ["venv", "pip", "venv", "pip"]
    plugin.stage.release()


def test_settings_that_are_a_pipe_are_waited_for_by_nobody(plugin: Plugin) -> None:
    os.mkfifo(plugin.stage.home / "config.toml")
    plugin.fire()
    plugin.await_install()
    plugin.answer("go")
    plugin.stage.await_worker()
    plugin.stage.release()


FORBIDDEN = {
    "setting": "[worker]\nown_environment = false  # mine\n",
    "dotted": "worker.own_environment=false\n",
    "odd": "[worker]\nown_environment = 2\n",
    "braces": "worker = { lease_seconds = 9, own_environment = false }\n",
    "quoted": '[worker]\n"own_environment" = false\n',
    "Windows": "\ufeffworker.own_environment=false\r\n",
    "mode in braces": "store = {mode='off'}\n",
    "mode": '[store]\nmode = "off"\n',
}


@pytest.mark.parametrize("config", FORBIDDEN.values(), ids=FORBIDDEN)
def test_it_can_be_forbidden(plugin: Plugin, config: str) -> None:
    (plugin.stage.home / "config.toml").write_text(config)
    plugin.fire()
    plugin.await_end()
    assert plugin.uv() == [] and plugin.said()[0].startswith("off ")
    said = plugin.start("s-2")
    assert ("pipx install" in said) == ("mode" not in config)


def test_a_noted_python_that_lacks_a_package_is_not_taken_again(plugin: Plugin) -> None:
    """As after `pipx install` of something else, or an upgrade of the system's Python."""
    stage = plugin.stage
    (stage.home / "config.toml").write_text("[worker]\nown_environment = false\n")
    (stage.home / "python").write_text(f"{plugin.bare}\n")
    plugin.fire()
    plugin.await_end()
    assert "No module named" in stage.lines("logs/worker.log")[-1]
    good = Path(stage.env["HOME"]) / ".local/share/pipx/venvs/reverie/bin/python"
    good.parent.mkdir(parents=True)
    good.write_text(FAKE_WORKER)
    good.chmod(0o755)
    plugin.fire()
    stage.await_worker()
    assert stage.lines("python") == [str(good)]
    stage.release()


def test_another_version_of_the_plugin_adds_what_it_needs(plugin: Plugin, tmp_path: Path) -> None:
    plugin.fire()
    plugin.await_install()
    plugin.answer("go")
    plugin.stage.await_worker()
    plugin.stage.release()
    plugin.root = tmp_path / "plugin cache" / "0.2.0"
    plugin.copy_to(plugin.root)
    plugin.fire()
    plugin.await_install()
    plugin.answer("go")
    plugin.stage.await_worker()
    assert plugin.uv() == ["venv", "pip", "pip"]
    assert plugin.stage.lines("environment/made-for") == [str(plugin.root)]
    assert f"PYTHONPATH={plugin.root}" in plugin.stage.lines("variables")
    plugin.stage.release()


TOO_OLD = {
    "too old": ("import os\nos._exit(3)\n", "found only Python 3."),
    "none": ("import os\nos._exit(1)\n", "found none"),
}


@pytest.mark.parametrize(("hook", "told"), TOO_OLD.values(), ids=TOO_OLD)
def test_without_a_python_that_is_new_enough_it_says_so_once_a_day(
    plugin: Plugin, hook: str, told: str
) -> None:
    (plugin.root / "hooks" / "recall.py").write_text(hook)
    said = plugin.start("s-1")
    assert "needs Python 3.11 or newer" in said and told in said
    assert plugin.start("s-2") == "" and plugin.fire("UserPromptSubmit", prompt="hello") == {}
    (plugin.stage.home / "told-python").write_text("2026-01-01\n")
    assert plugin.start("s-3") == said
    plugin.stage.env["REVERIE_INSIDE"] = "1"
    (plugin.stage.home / "told-python").unlink()
    assert plugin.start("s-4") == ""


def test_what_is_going_on_comes_before_a_python_that_is_too_old(plugin: Plugin) -> None:
    (plugin.root / "hooks" / "recall.py").write_text(TOO_OLD["too old"][0])
    (plugin.stage.home / "setup").write_text('working 1 1 /x\nReverie sets "itself" up \\ now.\n')
    assert plugin.start("s-1") == "Reverie sets 'itself' up / now."


def test_a_python_that_comes_later_is_taken_at_once(plugin: Plugin) -> None:
    state = f"failed {int(time.time())} -1 {plugin.root}"
    (plugin.stage.home / "setup").write_text(f"{state}\nReverie learns nothing yet: it needs Python 3.11.\n")
    plugin.fire()
    plugin.await_install()
    plugin.answer("go")
    plugin.stage.await_worker()
    plugin.stage.release()


def test_the_hooks_can_be_read_by_a_python_that_is_too_old_for_the_package() -> None:
    for name in ("capture.py", "spooling.py", "start_worker.py", "prepare_worker.py"):
        ast.parse((ROOT / "hooks" / name).read_text(), feature_version=(3, 7))
