"""Starting the worker: at most one, fully detached, and never at the cost of the hook."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.home import Home
from pipeline.core.locks import try_lock
from pipeline.hooklib.events import EVENTS
from pipeline.install.hook_registration import hook_command
from tests.support.hooks import HOOKS, LIMIT, Stage, note_home, note_python

STOP = b'{"session_id":"s-1","transcript_path":"/p/s-1.jsonl","stop_hook_active":%s}'


def test_the_worker_is_detached(stage: Stage) -> None:
    stage.env["PYTHONPATH"] = "/somewhere"
    stage.run(STOP % b"false")
    worker = stage.await_worker()
    assert stage.lines("arguments")[:3] == ["-m", "pipeline.worker", "--lock-fd"]
    assert stage.lines("directory") == [str(stage.home)]
    assert stage.lines("session") == [str(worker)], "it leads a session of its own"
    variables = stage.lines("variables")
    assert f"REVERIE_HOME={stage.home}" in variables and f"PYTHONPATH={HOOKS.parent}" in variables
    assert stage.lines("logs/worker.log") == ["made-up complaint"]
    assert stage.lines("worker.lock") == [str(worker)]
    stage.release()


def test_bug_053_the_worker_holds_no_socket_and_nothing_of_the_host(stage: Stage) -> None:
    stage.run(STOP % b"false")
    place = Path(f"/proc/{stage.await_worker()}/fd")
    held = {number: os.readlink(place / number) for number in os.listdir(place)}
    assert held[stage.lines("arguments")[3]] == str(stage.home / "worker.lock")
    ours = {"worker.lock", "worker.log", "null", "fake-python", "ready", "release"}
    assert {Path(target).name for target in held.values()} <= ours
    stage.release()


@pytest.mark.parametrize("launcher", [False, True], ids=["direct", "launcher"])
def test_no_descriptor_of_the_host_outlives_the_hook(stage: Stage, launcher: bool) -> None:
    """Claude Code waits for EOF on the pipes, so a worker that kept one would hang the session."""
    command = ["sh", str(HOOKS / "run"), "Stop"] if launcher else stage.command()
    far, near = os.pipe()
    with open(far, "rb", 0) as reader:
        done = subprocess.run(
            command, input=STOP % b"false", env=stage.env, capture_output=True, pass_fds=[near], timeout=LIMIT
        )
        os.close(near)
        stage.await_worker()
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert select.select([reader], [], [], LIMIT)[0] and reader.read() == b""
    stage.release()


def test_closed_standard_streams_do_not_cost_the_worker_its_lock(stage: Stage) -> None:
    """A lock opened as descriptor 1 or 2 would be closed by the worker's own redirections."""
    script = f"printf '{{}}' | {' '.join(stage.command())} >&- 2>&-"
    subprocess.run(script, shell=True, env=stage.env, timeout=LIMIT, check=True)
    worker, number = stage.await_worker(), stage.lines("arguments")[3]
    assert os.readlink(f"/proc/{worker}/fd/{number}") == str(stage.home / "worker.lock")
    stage.release()


def test_bug_025_forty_stops_start_one_worker(stage: Stage) -> None:
    for _ in range(20):
        stage.run(STOP % b"true")
        stage.run(STOP % b"false")
    stage.await_worker()
    assert len(stage.lines("started")) == 1 and len(stage.spooled()) == 40
    stage.release()


def test_bug_043_twenty_hooks_at_once_start_one_worker(stage: Stage) -> None:
    hooks = [
        subprocess.Popen(stage.command(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=stage.env)
        for _ in range(20)
    ]
    for hook in hooks:  # all of them wait at stdin by now, or will find it full
        assert hook.stdin is not None
        hook.stdin.write(STOP % b"false")
        hook.stdin.close()
    assert [hook.wait(LIMIT) for hook in hooks] == [0] * 20
    stage.await_worker()
    assert len(stage.lines("started")) == 1 and len(stage.spooled()) == 20
    stage.release()


def test_a_worker_that_ended_is_followed_by_another(stage: Stage) -> None:
    for expected in (1, 2):
        stage.run(STOP % b"false")
        stage.await_worker()
        assert len(stage.lines("started")) == expected
        stage.release()


def test_bug_036_killing_the_session_spares_event_and_worker(stage: Stage) -> None:
    script = f'printf "{{}}" | sh "{HOOKS}/run" SessionEnd; read -r line <"$REVERIE_HOME/never"'
    os.mkfifo(stage.home / "never")
    with subprocess.Popen(["sh", "-c", script], env=stage.env, start_new_session=True) as session:
        worker = stage.await_worker()
        os.killpg(session.pid, signal.SIGKILL)
        assert session.wait(LIMIT) == -signal.SIGKILL
    os.kill(worker, 0)  # raises if it is gone
    assert [path.read_bytes() for path in stage.spooled()] == [b"{}"]
    stage.release()


@pytest.mark.parametrize("content", [b"", bytes(range(128, 192)), b'{"pid": 1}', b"999999\n"])
def test_bug_045_a_damaged_lock_file_is_taken_over(stage: Stage, content: bytes) -> None:
    (stage.home / "worker.lock").write_bytes(content)
    stage.run(STOP % b"false")
    assert stage.lines("worker.lock") == [str(stage.await_worker())]
    stage.release()


def _directory_as_lock(home: Path) -> None:
    (home / "worker.lock").mkdir()


def _file_as_spool(home: Path) -> None:
    (home / "spool").write_bytes(b"")


def _no_interpreter(home: Path) -> None:
    note_python(home, "#!/python-gone\n").rename(home.parent / "python-gone")
    (home / "python").write_text(f"{home.parent}/python-gone\n")


@pytest.mark.parametrize(
    ("damage", "named", "kept"),
    [
        (_directory_as_lock, "worker.lock", 5),
        (_file_as_spool, "spool", 0),
        (_no_interpreter, "python-gone", 5),
    ],
)
def test_bug_026_a_cause_is_logged_once(busy: Stage, damage, named: str, kept: int) -> None:
    damage(busy.home)
    for _ in range(5):
        busy.run(STOP % b"false")
    (line,) = busy.lines("logs/hook.log")
    assert named in line and " Stop: " in line
    assert len(busy.spooled()) == kept


def test_bug_026_a_home_that_is_a_file_or_missing_is_survived(busy: Stage, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    root = tmp_path / "root"
    shutil.copytree(HOOKS, root / "hooks")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(note_python(busy.home))
    command = [sys.executable, "-I", "-S", str(root / "hooks" / "capture.py"), "Stop"]
    for home in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "a" / "b" / "c"):
        note_home(Path(busy.env["CLAUDE_CONFIG_DIR"]), home)
        done = subprocess.run(
            command, input=STOP % b"false", env=busy.env, capture_output=True, timeout=LIMIT
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert len(list((tmp_path / "a/b/c/spool").glob("*.json"))) == 1


def test_the_hook_log_stays_small(busy: Stage) -> None:
    (busy.home / "worker.lock").mkdir()
    (busy.home / "logs").mkdir()
    (busy.home / "logs" / "hook.log").write_bytes(b"old line\n" * 20_000)
    busy.run(STOP % b"false")
    assert (busy.home / "logs" / "hook.log").stat().st_size < 1000


ODD = "José’s home (x) & co/ü"


@pytest.fixture
def odd_place(stage: Stage, tmp_path: Path) -> Path:
    """A plugin folder with a Python of its own under a home with an odd name."""
    root = tmp_path / ODD / "plug in"
    shutil.copytree(HOOKS, root / "hooks")
    (root / "python").symlink_to(os.path.realpath(sys.executable))
    stage.env["HOME"] = str(tmp_path / ODD)
    return root


@pytest.mark.parametrize("event", [event for event in EVENTS if event != "UserPromptSubmit"])
def test_bug_032_odd_paths_in_the_settings_command(stage: Stage, odd_place: Path, event: str) -> None:
    command = hook_command(event, python=str(odd_place / "python"), hooks=odd_place / "hooks")
    cwd = odd_place / "a b" / "日本"
    cwd.mkdir(parents=True)
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env=stage.env, cwd=cwd, timeout=LIMIT)
    assert done.returncode == 0
    assert [file.stem.rpartition("-")[2] for file in stage.spooled()] == [event]
    stage.await_worker()
    stage.release()


@pytest.mark.parametrize("kind", ["launcher", "plugin", "plugin, filled in"])
def test_bug_032_odd_paths_in_the_launcher(stage: Stage, odd_place: Path, kind: str) -> None:
    """The client fills the plugin's folder into the command, or leaves that to the shell."""
    command = f'sh "{odd_place}/hooks/run" Stop'
    if kind != "launcher":
        registered = json.loads((odd_place / "hooks" / "hooks.json").read_text("utf-8"))
        command = registered["hooks"]["Stop"][0]["hooks"][0]["command"]
    if kind == "plugin, filled in":
        command = command.replace("${CLAUDE_PLUGIN_ROOT}", str(odd_place))
        assert str(odd_place) in command
    else:
        stage.env["CLAUDE_PLUGIN_ROOT"] = str(odd_place)
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env=stage.env, timeout=LIMIT)
    assert done.returncode == 0
    stage.await_worker()
    assert len(stage.spooled()) == 1
    stage.release()


def test_bug_037_a_nearly_empty_environment_is_enough(busy: Stage, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    note_python(tmp_path / ".claude" / "reverie")
    for command in (["sh", str(HOOKS / "run"), "Stop"], busy.command()):
        done = subprocess.run(command, input=b"{}", env=env, capture_output=True, timeout=LIMIT)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list((tmp_path / ".claude/reverie/spool").glob("*.json"))) == 2


@pytest.mark.parametrize("kind", ["missing", "directory", "failing"])
def test_the_launcher_passes_over_a_python_that_does_not_run(busy: Stage, tmp_path: Path, kind: str) -> None:
    broken = tmp_path / "broken"
    if kind == "directory":
        broken.mkdir()
    if kind == "failing":
        broken.write_text("#!/bin/sh\nexit 1\n")
        broken.chmod(0o755)
    held = try_lock(Home(busy.home).worker_lock)  # so that no worker is started under the next one
    assert held is not None
    with held:
        (busy.home / "python").write_text(f"{broken}\n")
        busy.run(b"{}", launcher=True)
    assert len(busy.spooled()) == 1


def test_the_launcher_without_any_python_reads_all_and_succeeds(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text((HOOKS / "run").read_text().replace("capture.py", "no-such-file.py"))
    env = {"PATH": "/nonexistent", "HOME": str(tmp_path)}
    with subprocess.Popen(["/bin/sh", str(script), "Stop"], stdin=subprocess.PIPE, env=env) as hook:
        assert hook.stdin is not None
        hook.stdin.write(b"x" * (1 << 20))  # BrokenPipeError unless it is read
        hook.stdin.close()
        assert hook.wait(LIMIT) == 0


@pytest.mark.parametrize("where", ["noted", "venv", "command"])
def test_which_python_runs_the_worker(stage: Stage, tmp_path: Path, where: str) -> None:
    """Each place alone is enough."""
    fake = stage.home.parent / "fake-python"
    (stage.home / "python").unlink()
    root = tmp_path / "plugin"
    shutil.copytree(HOOKS, root / "hooks")
    if where == "noted":
        (stage.home / "python").write_text(f"{fake}\n")
    if where == "venv":
        (root / ".venv" / "bin").mkdir(parents=True)
        (root / ".venv" / "bin" / "python").symlink_to(fake)
    if where == "command":
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "reverie").write_text(f"#!{fake}\nprint()\n")
        (stage.home / "path").write_text(f"{tmp_path / 'bin'}:/usr/bin:/bin\n")
    command = [sys.executable, "-I", "-S", str(root / "hooks" / "capture.py"), "Stop"]
    subprocess.run(command, input=b"{}", env=stage.env, timeout=LIMIT, check=True)
    stage.await_worker()
    stage.release()
