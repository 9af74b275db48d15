"""Whatever stands on stdin: the hook ends with 0, in silence, and keeps what there is to keep."""

import itertools
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.hooks import HOOKS, LIMIT, Stage, note_home

STOP = b'{"session_id":"s-1","transcript_path":"/p/s-1.jsonl","hook_event_name":"Stop"}'


@pytest.mark.parametrize("launcher", [False, True], ids=["direct", "launcher"])
@pytest.mark.parametrize(
    "data",
    [
        STOP,
        b"not json at all",
        b"{}",
        b'{"session_id":"\\ud83d"}',
        b"\xff\xfe\x00\xb2",
        b"[" * 100_000,
        b'{"last_assistant_message":"' + b"x" * (5 << 20) + b'"}',
    ],
    ids=["whole", "text", "empty object", "surrogate", "bytes", "nested", "5 MB"],
)
def test_any_bytes_are_kept_as_they_are(busy: Stage, data: bytes, launcher: bool) -> None:
    busy.run(data, launcher=launcher)
    assert [path.read_bytes() for path in busy.spooled()] == [data]


@pytest.mark.parametrize("launcher", [False, True], ids=["direct", "launcher"])
@pytest.mark.parametrize("data", [b"", b" \n"])
def test_nothing_on_stdin_leaves_nothing(busy: Stage, data: bytes, launcher: bool) -> None:
    busy.run(data, launcher=launcher)
    assert busy.spooled() == []


@pytest.mark.parametrize(
    ("redirect", "launcher"),
    [
        *itertools.product(["<&-", "</dev/null", "<&- >&- 2>&-"], [False, True]),
        ("</", True),  # Python itself won't start on a directory, so there only the launcher can help.
    ],
)
def test_a_closed_or_odd_stdin_is_no_event(busy: Stage, redirect: str, launcher: bool) -> None:
    command = f'sh "{HOOKS}/run" Stop' if launcher else " ".join(busy.command())
    done = subprocess.run(
        f"{command} {redirect}", shell=True, env=busy.env, capture_output=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert busy.spooled() == []


@pytest.mark.parametrize(
    ("event", "payload"), [("Stop", STOP), ("SessionEnd", STOP), ("PreCompact", STOP), ("SessionEnd", b"")]
)
def test_bug_028_stdin_that_is_never_closed(busy: Stage, event: str, payload: bytes) -> None:
    with subprocess.Popen(busy.command(event), stdin=subprocess.PIPE, env=busy.env) as hook:
        assert hook.stdin is not None
        hook.stdin.write(payload)
        hook.stdin.flush()
        assert hook.wait(LIMIT) == 0
    assert [path.read_bytes() for path in busy.spooled()] == ([payload] if payload else [])


@pytest.mark.parametrize("inside", ["", "1"], ids=["enabled", "sentinel"])
def test_bug_030_a_large_payload_is_read_to_the_end(busy: Stage, inside: str) -> None:
    env = {**busy.env, "REVERIE_INSIDE": inside}
    with subprocess.Popen(busy.command(), stdin=subprocess.PIPE, env=env) as hook:
        assert hook.stdin is not None
        hook.stdin.write(b'{"prompt":"' + b"x" * (20 << 20) + b'"}')  # BrokenPipeError if it leaves early
        hook.stdin.close()
        assert hook.wait(LIMIT) == 0
    assert [path.stat().st_size for path in busy.spooled()] == ([] if inside else [16 << 20])


@pytest.mark.parametrize(
    "path",
    ['"~/.claude/projects/p/S.jsonl"', '"$HOME/.claude/S.jsonl"', '"p/S.jsonl"', "null", None],
    ids=["tilde", "dollar", "relative", "null", "absent"],
)
def test_bug_035_any_transcript_path_is_taken_unlooked_at(busy: Stage, path: str | None) -> None:
    field = "" if path is None else f'"transcript_path":{path},'
    data = f'{{{field}"session_id":"S","cwd":"/w"}}'.encode()
    busy.run(data)
    assert [file.read_bytes() for file in busy.spooled()] == [data]


@pytest.mark.parametrize("event", ["Stop", "SessionEnd", "PreCompact", "StopFailure"])
def test_the_file_name_says_when_and_which(busy: Stage, event: str) -> None:
    busy.run(STOP, event)
    (file,) = busy.spooled()
    when, process, random, name = file.stem.split("-")
    assert (len(when), len(random), name) == (13, 6, event) and when.isdigit() and process.isdigit()
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert oct(file.parent.stat().st_mode & 0o777) == "0o700"


@pytest.mark.parametrize("event", ["", "../../x", "Stop;ls", "Ünknown", "x" * 300])
def test_an_odd_event_name_never_reaches_the_file_system(busy: Stage, event: str) -> None:
    busy.run(STOP, event)
    assert [file.stem.rpartition("-")[2] for file in busy.spooled()] == ["Unknown"]


def test_bug_029_nothing_on_stdout_whatever_python_is_told(busy: Stage) -> None:
    busy.env.update({"PYTHONWARNINGS": "always", "DEBUG": "1", "PYTHONPATH": str(busy.home)})
    for name in ("select", "fcntl", "sitecustomize", "usercustomize"):
        (busy.home / f"{name}.py").write_text("print('hello')")
    for event in ("Stop", "SessionEnd", "PreCompact"):
        busy.run(STOP, event)
        busy.run(b"garbage", event, launcher=True)
    assert len(busy.spooled()) == 6


@pytest.mark.parametrize("launcher", [False, True], ids=["direct", "launcher"])
def test_ctrl_c_in_the_terminal_is_not_for_the_hook(busy: Stage, launcher: bool) -> None:
    command = ["sh", str(HOOKS / "run"), "Stop"] if launcher else busy.command()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=busy.env, start_new_session=True
    ) as hook:
        assert hook.stdin and hook.stdout and hook.stderr
        hook.stdin.write(STOP[:-1] + b" " * (1 << 20))  # more than a pipe holds: it is read, so Python runs
        os.killpg(hook.pid, signal.SIGINT)
        hook.stdin.write(b"}")
        hook.stdin.close()
        told = (hook.stdout.read(), hook.stderr.read())
        assert (hook.wait(LIMIT), told) == (0, (b"", b""))
    assert len(busy.spooled()) == 1


def test_a_home_where_nothing_can_be_made_is_no_event(busy: Stage) -> None:
    """``/proc/1/x`` answers that its folder does not exist, which it does, however often it is asked."""
    note_home(Path(busy.env["CLAUDE_CONFIG_DIR"]), Path("/proc/1/no-such-place"))
    busy.run(STOP)
    assert busy.spooled() == []


def test_other_locales_keep_the_bytes(busy: Stage) -> None:
    busy.env.update({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    data = '{"session_id":"s","cwd":"/naïve – 日本 🚀"}'.encode()
    busy.run(data)
    assert [file.read_bytes() for file in busy.spooled()] == [data]


def test_the_hook_imports_next_to_nothing(busy: Stage) -> None:
    def imported(*arguments: str) -> set[str]:
        command = [busy.command()[0], "-I", "-S", "-X", "importtime", *arguments]
        done = subprocess.run(command, input=STOP, env=busy.env, capture_output=True, timeout=LIMIT)
        return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}

    import fcntl

    with open(busy.home / "worker.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        extra = imported(str(HOOKS / "capture.py"), "Stop") - imported("-c", "pass")
    assert "select" in extra
    assert extra <= {"select", "fcntl", "time", "spooling", *imported("-c", "import os")}
    assert len(busy.spooled()) == 1


def test_without_any_home_the_hook_still_ends_well(busy: Stage, tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": "~no-such-user-made-up/x", "PATH": os.defpath}
    done = subprocess.run(
        busy.command(), input=STOP, env=env, cwd=tmp_path, capture_output=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


WAITS = """
import sys
sys.path.insert(0, sys.argv[1])
import spooling
spooling.by_poll = lambda: lambda seconds: print(round(seconds)) or b""
spooling.take(sys.argv[2])
"""


@pytest.mark.parametrize(
    ("event", "waits"), [("Stop", b"5\n"), ("PreCompact", b"5\n"), ("SessionEnd", b"1\n")]
)
def test_bug_043_a_host_on_a_busy_machine_may_be_late(busy: Stage, event: str, waits: bytes) -> None:
    """Only where the host itself gives up after a second or two, the hook gives up as early."""
    command = [busy.command()[0], "-c", WAITS, str(HOOKS), event]
    assert subprocess.run(command, env=busy.env, capture_output=True, timeout=LIMIT).stdout == waits
