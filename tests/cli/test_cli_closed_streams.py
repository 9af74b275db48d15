"""A person or a cron line that closed a stream: the work is done, and nothing calls itself a fault."""

import subprocess
import sys

import pytest

from tests.support.hooks import LIMIT

START = "import sys; sys.argv[0] = 'reverie'; from _reverie_start import run; run()"


def run(desk, closed, *arguments):
    line = f'exec "$@" {closed}'
    command = ["/bin/sh", "-c", line, "sh", sys.executable, "-c", START, *arguments]
    return subprocess.run(command, env=desk.env, cwd=desk.project, capture_output=True, timeout=LIMIT)


ALL = ">&- 2>&- <&-"
SWEEP = [
    # Each stream of one command, and all of each; the others if the whole is run.
    pytest.param(command, closed, marks=[] if command == ["status"] or closed == ALL else [pytest.mark.whole])
    for command in (["--version"], ["status"], ["statusline"], ["list", "--json"])
    for closed in (">&-", "2>&-", "<&-", ALL)
]


@pytest.mark.parametrize(("command", "closed"), SWEEP)
def test_a_closed_stream_is_no_fault(desk, closed, command):
    done = run(desk, closed, *command)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_was_asked_for_is_done(desk):
    done = run(desk, ">&-", "add", "Giraffes sleep standing.", "--name", "giraffe")
    assert done.returncode == 0 and b"fault" not in done.stderr
    assert [row["name"] for row in desk.here("list", "--json").json] == ["giraffe"]


@pytest.mark.parametrize("setting", ["recall.floor", "spend.dollars_per_day"])
@pytest.mark.parametrize("value", ["inf", "1e400", "nan"])
def test_a_number_without_end_is_no_setting(desk, setting, value):
    said = desk.here("config", "set", setting, value, code=2)
    assert "finite number" in said.err
