"""The schedulers' texts, each read back by the rules of the system it is for."""

from __future__ import annotations

import json
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.install.schedule import units as units

STRANGE = "José’s home (x) & 100% \"of\" $HOME 'co'; ü #1 日本 \\n %h <b>"
"""A folder's name that each of the systems would take for something of its own."""
TAME = STRANGE.replace("\\", "")
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('REVERIE_HOME')]))"


def job(home: Path | str, python: str = sys.executable) -> units.SchedulePlan:
    return units.SchedulePlan(
        (python, "-c", SHOW, "$A", str(home)), (("REVERIE_HOME", str(home)), ("X", "a=b"))
    )


def test_the_plan_names_everything_absolutely(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "conf")
    plan = units.plan(Path("home"))
    values = dict(plan.environment)
    assert plan.command == (sys.executable, "-m", "pipeline.cli.main", "dream", "--all")
    assert values["REVERIE_HOME"] == str(tmp_path / "home")
    assert values["CLAUDE_CONFIG_DIR"] == str(tmp_path / "conf")
    assert values["PATH"].split(":") == [str(tmp_path), "/usr/local/bin", "/usr/bin", "/bin"]
    assert "sk-secret" not in repr(plan)


def test_a_path_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        units.plan(Path("/home/\udcff"))


# -- systemd ------------------------------------------------------------------------------------------


def unquoted(text: str) -> str:
    """Undo systemd's quoting: C escapes, then specifiers."""
    assert text.startswith('"') and text.endswith('"')
    plain = re.sub(
        r"\\(x[0-9a-f]{2}|.)",
        lambda found: chr(int(found[1][1:], 16)) if found[1][0] == "x" else found[1],
        text[1:-1],
    )
    assert not re.search(r'(?<!\\)(?:\\\\)*"', text[1:-1])
    assert not re.search(r"(?<!%)(?:%%)*%(?!%)", plain)
    return plain.replace("%%", "%")


@pytest.mark.parametrize("name", ["plain", STRANGE, "a\nb\tc", "$x", "ends in \\"])
def test_bug_032_a_systemd_unit_holds_any_path(name: str) -> None:
    text = units.systemd_service(job(f"/h/{name}", f"/h/{name}/python"))
    settings = [line.split("=", 1)[1] for line in text.splitlines() if line.startswith("Environment=")]
    assert [unquoted(value) for value in settings] == [f"REVERIE_HOME=/h/{name}", "X=a=b"]
    (line,) = (line for line in text.splitlines() if line.startswith("ExecStart="))
    words = re.findall(r'"(?:[^"\\]|\\.)*"', line)
    found = [unquoted(word) for word in words]
    # "$A" is among the arguments, so nothing may be replaced there.
    assert found[0].startswith(":")
    command = [found[0][1:], *found[1:]]
    if command[0] == "/bin/sh":
        assert command[1:4] == ["-c", 'exec "$@"', "sh"]
        command = command[4:]
    assert command == [f"/h/{name}/python", "-c", SHOW, "$A", f"/h/{name}"]


def verify(folder: Path, plan: units.SchedulePlan) -> subprocess.CompletedProcess[str]:
    service, timer = folder / f"{units.NAME}.service", folder / f"{units.NAME}.timer"
    service.write_text(units.systemd_service(plan), "utf-8")
    timer.write_text(units.systemd_timer(), "utf-8")
    return subprocess.run(
        ["systemd-analyze", "--user", "verify", str(service), str(timer)],
        capture_output=True, text=True, check=False,
        env={"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)},
    )  # fmt: skip


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd's own checker is not here")
@pytest.mark.parametrize("name", ["plain", "José’s 日本 (x) & 100% $HOME %h; #1 <b>"])
def test_bug_032_systemd_itself_finds_the_program(tmp_path: Path, name: str) -> None:
    """It says so when the program of a unit is missing: so it read the path as it was meant."""
    program = tmp_path / name / "python"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    done = verify(tmp_path, job(tmp_path / name, str(program)))
    assert (done.returncode, done.stderr) == (0, "")
    program.unlink()
    assert "is not executable" in verify(tmp_path, job(tmp_path / name, str(program))).stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd's own checker is not here")
@pytest.mark.parametrize("name", ['"', "'", "\\", "\t", STRANGE])
def test_a_program_systemd_would_refuse_is_run_by_the_shell(tmp_path: Path, name: str) -> None:
    done = verify(tmp_path, job(tmp_path / name, str(tmp_path / name / "python")))
    assert (done.returncode, done.stderr) == (0, "")


def test_bug_057_every_scheduler_makes_up_for_missed_times() -> None:
    plan = job("/h")
    assert "Persistent=true" in units.systemd_timer().splitlines()
    assert plistlib.loads(units.launchd_plist(plan))["RunAtLoad"] is True
    assert [line[:7] for line in units.cron_block(plan).splitlines()[1:3]] == ["17 */4 ", "@reboot"]
    assert "<StartWhenAvailable>true<" in units.windows_task(plan).decode("utf-16")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd's own checker is not here")
def test_the_timer_fires_six_times_a_day() -> None:
    (when,) = re.findall(r"OnCalendar=(.*)", units.systemd_timer())
    done = subprocess.run(
        ["systemd-analyze", "calendar", "--base-time=2026-03-02 00:00:00", "--iterations=7", when],
        capture_output=True, text=True, check=True, env={"TZ": "UTC"},
    )  # fmt: skip
    found = re.findall(r"2026-03-0\d (\d\d:\d\d:\d\d)", done.stdout.split("Next elapse", 1)[1])
    assert found == [f"{hour:02}:17:00" for hour in (0, 4, 8, 12, 16, 20, 0)]


# -- launchd ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", STRANGE])
def test_bug_032_a_property_list_holds_any_path(name: str) -> None:
    plan = job(f"/h/{name}", f"/h/{name}/python")
    value = plistlib.loads(units.launchd_plist(plan))
    assert value["ProgramArguments"] == [f"/h/{name}/python", "-c", SHOW, "$A", f"/h/{name}"]
    assert value["EnvironmentVariables"]["REVERIE_HOME"] == f"/h/{name}"
    times = [(time["Hour"], time["Minute"]) for time in value["StartCalendarInterval"]]
    assert times == [(hour, 17) for hour in (0, 4, 8, 12, 16, 20)]


def test_a_property_list_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(InputError, match="property list"):
        units.launchd_plist(job("/h/a\x01b"))


# -- cron ---------------------------------------------------------------------------------------------


def by_cron(line: str) -> str:
    """What cron hands to the shell of one entry: after the time, up to a percent sign that is not escaped."""
    times = re.match(r"(?:@reboot|(?:[\d*/,-]+ ){4}[\d*/,-]+) ", line)
    assert times
    command = line[times.end() :]
    assert not re.search(r"(?<!\\)%", command)
    return command.replace("\\%", "%")


def test_bug_032_a_crontab_line_does_its_work(tmp_path: Path) -> None:
    program = tmp_path / TAME / "python"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    for line in units.cron_block(job(program.parent, str(program))).splitlines()[1:3]:
        command = by_cron(line).removesuffix(" >/dev/null 2>&1")
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True, env={})
        assert json.loads(done.stdout) == [["$A", str(program.parent)], str(program.parent)]


@pytest.mark.parametrize("name", ["back\\slash", "line\nbreak", "bell\x07"])
def test_a_crontab_refuses_what_it_cannot_hold(name: str) -> None:
    with pytest.raises(InputError, match="crontab") as caught:
        units.cron_block(job(f"/h/{name}"))
    assert "REVERIE_HOME" in caught.value.fix


BLOCK = units.cron_block(job("/h"))
OTHER = "MAILTO=me\n0 5 * * * backup 50\\%\n"


@pytest.mark.parametrize(
    ("before", "block", "after"),
    [
        ("", BLOCK, BLOCK),
        (OTHER, BLOCK, OTHER + BLOCK),
        (OTHER.rstrip("\n"), BLOCK, OTHER + BLOCK),
        (OTHER + units.cron_block(job("/old")) + "# mine\n", BLOCK, OTHER + "# mine\n" + BLOCK),
        (OTHER + BLOCK + "# mine", "", OTHER + "# mine"),
        (BLOCK, "", ""),
        (OTHER.rstrip("\n"), "", OTHER.rstrip("\n")),
    ],
)
def test_a_crontab_keeps_every_other_line(before: str, block: str, after: str) -> None:
    assert units.with_block(before, block) == after
    assert units.with_block(after, block) == after


def test_a_crontab_with_half_a_block_is_left_to_the_person() -> None:
    with pytest.raises(InputError, match="first mark without its last"):
        units.with_block(BLOCK.replace(units.END, "") + OTHER, BLOCK)


# -- Windows ------------------------------------------------------------------------------------------

NS = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}


def test_bug_032_a_windows_task_runs_python_with_its_environment(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(SHOW)
    home = f"C:\\Users\\{STRANGE}"
    values = (("REVERIE_HOME", home), ("PYTHONPATH", str(tmp_path)), ("PATH", "/x"))
    task = units.windows_task(units.SchedulePlan((sys.executable, "-m", "shown", "dream", "--all"), values))
    assert task.startswith(b"\xff\xfe")
    root = ET.fromstring(task.decode("utf-16"))
    arguments = root.findtext("t:Actions/t:Exec/t:Arguments", "", NS)
    # Nothing that the task scheduler or the command line would change.
    assert "%" not in arguments and arguments.count('"') == 2 and arguments.isascii()
    (code,) = re.findall(r'^-I -c "(.*)"$', arguments)
    command = [root.findtext("t:Actions/t:Exec/t:Command", "", NS), "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["dream", "--all"], home]


def test_a_windows_task_names_its_program_in_sound_xml() -> None:
    program = "C:\\Tools & <Co>\\python.exe"
    root = ET.fromstring(units.windows_task(job("/h", program)).decode("utf-16"))
    assert root.findtext("t:Actions/t:Exec/t:Command", "", NS) == program


def test_a_windows_task_refuses_a_percent_sign_in_the_interpreter() -> None:
    with pytest.raises(InputError, match="scheduled task"):
        units.windows_task(job("/h", "C:\\50%\\python.exe"))


def test_shell_words_survive() -> None:
    words = shlex.split(by_cron(units.cron_block(job(f"/h/{TAME}")).splitlines()[1]))
    assert words[:2] == [f"REVERIE_HOME=/h/{TAME}", "X=a=b"]
