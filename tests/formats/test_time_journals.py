"""Time journals on disk: their bytes, writers that are killed or meet, and lines that are no record."""

import json
import os
import pty
import resource
import signal
import subprocess
import sys

import pytest

from pipeline.core.errors import InputError
from pipeline.formats.keisei import journals, tasks
from tests.architecture.source import ROOT
from tests.cli.conftest import make_desk

APPENDING = """
import sys
from pathlib import Path
from pipeline.formats.keisei import journals
file, writer, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for at in range(number):
    journals.append(file, [{"kind": "task", "name": f"{writer}-{at}", "filler": "x" * 300}])
    print(at, flush=True)
"""


def appending(file, writer, number):
    return subprocess.Popen(
        [sys.executable, "-c", APPENDING, str(file), writer, str(number)], cwd=ROOT, stdout=subprocess.PIPE
    )


@pytest.fixture
def file(tmp_path):
    return tmp_path / "time-metrics" / journals.TASKS


def test_the_bytes_are_those_of_the_format(file):
    lines = [
        tasks.start_line("wave10", 1777438080),
        tasks.stop_line("wave10", 1777438080, 1777438665, exit=0),
        tasks.task_line("wave10-agent", 1777438080, 1777438665, metric={"new_atomars": 25}, source="~/x/"),
    ]
    assert journals.append(file, lines) == 3
    assert file.read_bytes() == (
        b'{"kind":"start","name":"wave10","start_epoch":1777438080,"ts":"2026-04-29T04:48:00Z"}\n'
        b'{"kind":"stop","name":"wave10","start_epoch":1777438080,"end_epoch":1777438665,'
        b'"duration_s":585,"exit":0,"ts":"2026-04-29T04:57:45Z"}\n'
        b'{"kind":"task","name":"wave10-agent","start_epoch":1777438080,"end_epoch":1777438665,'
        b'"duration_s":585,"metric":{"new_atomars":25},"source":"~/x/","ts":"2026-04-29T04:57:45Z"}\n'
    )
    assert file.stat().st_mode & 0o777 == 0o600


def test_two_processes_lose_nothing(file):
    with appending(file, "a", 60) as one, appending(file, "b", 60) as other:
        assert one.stdout.read() and other.stdout.read()
    faults: list[journals.Fault] = []
    names = [line["name"] for line in journals.read(file, faults)]
    assert sorted(names) == sorted(f"{writer}-{at}" for writer in "ab" for at in range(60))
    assert not faults and b"\n\n" not in file.read_bytes()


def test_a_writer_that_is_killed_leaves_what_it_said_was_written(file):
    with appending(file, "a", 10_000) as writer:
        written = [writer.stdout.readline() for _ in range(30)]
        writer.send_signal(signal.SIGKILL)
        written += writer.stdout.read().splitlines()
    journals.append(file, [{"kind": "task", "name": "after"}])
    names = [line["name"] for line in journals.read(file)]
    assert names[: len(written)] == [f"a-{at}" for at in range(len(written))] and names[-1] == "after"


def test_a_torn_last_line_is_kept_named_and_swallows_nothing(file):
    journals.append(file, [{"kind": "task", "name": "a"}])
    with file.open("ab") as out:
        out.write(b'{"kind":"task","na')
    torn: list[journals.Fault] = []
    assert [line["name"] for line in journals.read(file, torn)] == ["a"]
    assert [(fault.line, "torn" in fault.why) for fault in torn] == [(2, True)]
    journals.append(file, [{"kind": "task", "name": "b"}])
    faults: list[journals.Fault] = []
    assert [line["name"] for line in journals.read(file, faults)] == ["a", "b"]
    assert [fault.in_words() for fault in faults] == [f"{file}:2: not JSON"]
    assert b'\n{"kind":"task","na\n' in file.read_bytes()


def test_a_last_line_without_its_end_counts(file):
    file.parent.mkdir()
    file.write_text('{"kind":"task","name":"a"}', "utf-8")
    journals.append(file, [{"kind": "task", "name": "b"}])
    assert [line["name"] for line in journals.read(file)] == ["a", "b"]


def test_lines_that_are_no_record_are_named(file):
    file.parent.mkdir()
    long = b'"' + b"x" * (journals.LONGEST_LINE + 5) + b'"\n'
    file.write_bytes(b'[1]\n\n{"kind":"task","name":"a"}\n\xff\n' + long + b'{"kind":"task","name":"b"}\n')
    faults: list[journals.Fault] = []
    assert [line["name"] for line in journals.read(file, faults)] == ["a", "b"]
    assert [fault.line for fault in faults] == [1, 4, 5]


def test_a_full_disk_leaves_the_journal_as_it_was(file):
    journals.append(file, [{"kind": "task", "name": "a"}])
    before = file.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
    try:
        with pytest.raises(OSError, match="large"):
            journals.append(file, [{"kind": "task", "name": "x" * 100}])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_bytes() == before


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_only_a_plain_file_is_written(file, kind):
    file.parent.mkdir()
    if kind == "link":
        file.symlink_to(file.parent / "elsewhere")
    else:
        file.mkdir()
    with pytest.raises(InputError, match="can't be written"):
        journals.append(file, [{"kind": "task"}])
    assert not (file.parent / "elsewhere").exists()


def test_a_stop_ends_the_latest_start_that_is_open(file):
    for moment in (100, 200):
        tasks.start(file, "build", moment)
    assert tasks.stop(file, "build", 260)["start_epoch"] == 200
    assert tasks.stop(file, "build", 300)["start_epoch"] == 100
    with pytest.raises(InputError, match="no task 'build' is open"):
        tasks.stop(file, "build", 400)


def test_a_clock_that_went_back_gives_no_negative_time(file):
    tasks.start(file, "build", 500)
    assert tasks.stop(file, "build", 400)["duration_s"] == 0


def test_tasks_of_other_writers_are_read(file):
    tasks.start(file, "mine", 100)
    others: list[journals.Line] = [
        {"kind": "task", "desc": "audit it", "id": "a1", "duration_s": 7.0},
        {"kind": "task"},
    ]
    journals.append(file, [*others, {"kind": "stop", "name": "mine", "start_epoch": 9, "exit": "x"}])
    found = [(item.name, item.state, item.duration_s) for item in tasks.tasks(file, [])]
    expected = [("audit it", "done", 7), ("", "done", None), ("mine", "done", None), ("mine", "open", None)]
    assert found == expected


@pytest.fixture
def desk(tmp_path):
    return make_desk(tmp_path)


@pytest.fixture
def commands(tmp_path):
    """Run ``reverie task`` in a process of its own, in a folder of its own journals."""
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path)}

    def run(*words, **more):
        command = [sys.executable, "-m", "pipeline.cli.main", "task", *words]
        return subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)  # fmt: skip

    return run


def journal_of(folder):
    return [
        json.loads(line) for line in (folder / "memory/time-metrics/tasks.jsonl").read_text().splitlines()
    ]


def test_a_wrapped_command_has_our_streams_and_we_its_exit_code(commands, tmp_path):
    script = (
        "import sys; sys.stdout.write(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(7)"
    )
    running = commands("wrap", "--metric", "files=3", "build-it", "--", sys.executable, "-c", script)
    out, err = running.communicate(b"abc\n", timeout=60)
    assert (out, err, running.returncode) == (b"ABC\n", b"e\n", 7)
    start, stop = journal_of(tmp_path)
    assert (start["kind"], stop["kind"], stop["exit"], stop["metric"]) == ("start", "stop", 7, {"files": 3})


def test_a_signal_reaches_the_command_and_ends_us_likewise(commands, tmp_path):
    script = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: print('usr1', flush=True));" \
             "print('up', flush=True)\nwhile True: signal.pause()"  # fmt: skip
    running = commands("wrap", "serve", "--", sys.executable, "-c", script, start_new_session=True)
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGUSR1)
    assert running.stdout.readline() == b"usr1\n"
    running.send_signal(signal.SIGTERM)
    assert (running.communicate(timeout=60)[0], running.returncode) == (b"", -signal.SIGTERM)
    assert journal_of(tmp_path)[-1]["exit"] == 128 + signal.SIGTERM


PASSING = """
import signal
from pipeline.core.signals import signals_to
seen = []
with signals_to(lambda number, _: seen.append(number)):
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
print("seen", *seen, "end", flush=True)
"""


def test_what_the_keys_of_a_terminal_send_is_not_passed_on_twice():
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", PASSING])
    shown = b""
    while b"end" not in shown:
        shown += os.read(terminal, 4096)
    os.close(terminal)
    os.waitpid(process, 0)
    assert shown.split() == [b"seen", b"15", b"end"]
    alone = subprocess.run(
        [sys.executable, "-c", PASSING], cwd=ROOT, capture_output=True, start_new_session=True
    )
    assert alone.stdout.split() == [b"seen", b"2", b"15", b"end"]


@pytest.mark.parametrize(("name", "code"), [("no-such-command", 127), (str(ROOT / "LICENSE"), 126)])
def test_a_command_that_can_not_be_started_ends_as_in_a_shell(desk, name, code):
    done = desk.run("task", "wrap", "x", "--", name, code=code)
    assert not done.out and name in done.err
    assert desk.here("task", "list", "--json").json[-1]["exit"] == code


def test_a_journal_that_can_not_be_written_keeps_no_command_from_running(desk):
    (desk.project / "journals").write_text("in the way", "utf-8")
    done = desk.run("task", "wrap", "--journals", "journals", "x", "--", "echo", "done")
    assert done.out == "done\n" and "could not be noted" in done.err


def test_tasks_are_listed_with_what_is_wrong_in_the_journal(desk):
    desk.here("task", "start", "later", REVERIE_NOW="2026-04-29T04:00:00Z")
    desk.here(
        "task", "add", "audit-1", "--seconds", "90", "--metric", "rules=2", "--to", "2026-04-29T05:00:00Z"
    )
    file = desk.project.parent / ".claude/memory/time-metrics/tasks.jsonl"
    with file.open("ab") as out:
        out.write(b'{"kind"')
    done = desk.here("task", "list")
    assert [line.split() for line in done.out.splitlines()[1:]] == [
        ["audit-1", "done", "2026-04-29T04:58:30Z", "90", "rules", "2"],
        ["later", "open", "2026-04-29T04:00:00Z"],
    ]
    assert f"{file}:3: the last line is torn" in done.err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["stop", "nobody"], "no task 'nobody' is open"),
        (["start", "two\nlines"], "no name of a task"),
        (["add", "x"], "--seconds or --from"),
        (["add", "x", "--from", "noon"], "'noon' is no time"),
        (["add", "x", "--from", "2026-04-29", "--to", "2026-04-28"], "the end is before the start"),
        (["stop", "x", "--metric", "rules"], "KEY=NUMBER"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_can_not_be_noted_is_refused(desk, words, names):
    assert names in desk.here("task", *words, code=2).err


def test_a_variable_names_the_journal_in_a_shell_alone(desk, tmp_path):
    desk.here("task", "start", "x", KEI_TLOG_JOURNAL=str(tmp_path / "own.jsonl"))
    assert (tmp_path / "own.jsonl").exists()
    desk.here("task", "start", "x", KEI_TLOG_JOURNAL=str(tmp_path / "projects.jsonl"), CLAUDECODE="1")
    assert not (tmp_path / "projects.jsonl").exists()


def test_a_wrapped_task_without_a_name_is_called_as_its_program(desk):
    assert desk.run("task", "wrap", "--metric", "n=1", "--", "/bin/echo", "--", "x").out == "-- x\n"
    assert desk.here("task", "list", "--json").json[-1]["name"] == "echo"
    for given in ([], ["--"], ["build"], ["build", "--"]):
        assert "task wrap build -- make" in desk.here("task", "wrap", *given, code=2).err
