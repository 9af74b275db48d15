"""The text that has each system's own scheduler look for a dream: systemd, launchd, cron, Windows.

All of them run ``reverie dream --all`` every four hours, and at the start of the machine where they can:
whether a dream is due, its gates decide. Once a day would not do, as a run that begins a minute earlier
than yesterday's dream ended would find the interval not over and leave that day out. Missed times are
made up for: ``Persistent=``, ``RunAtLoad``, ``@reboot``, ``StartWhenAvailable``.

Pure: nothing is read but where programs are, nothing is written.
"""

from __future__ import annotations

import plistlib
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.core.tools import background_path
from pipeline.hooklib.plain import whole_lines

NAME = "reverie-dream"
LABEL = "reverie.dream"
EVERY_HOURS = 4
MINUTE = 17
BEGIN, END = f"# {NAME}: begin", f"# {NAME}: end"


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """What is to be run: the program and its arguments word by word, and the variables set for it."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def plan(home: Path, *, python: str = "") -> SchedulePlan:
    """Return what the scheduler runs for the Reverie at `home`: this package under `python` (this one).

    The search path holds the folders of ``claude`` and ``node`` as they are found now, since a scheduler
    starts programs without the person's own. No key is ever written down. Raises InputError for a path
    that is not UTF-8.
    """
    package = paths.speakable(paths.PACKAGE.parent)
    values = {
        "REVERIE_HOME": str(paths.speakable(home.absolute())),
        "CLAUDE_CONFIG_DIR": str(paths.speakable(paths.config_dir().absolute())),
        "PYTHONPATH": str(package),
        "PYTHONSAFEPATH": "1",
        "PATH": background_path(),
    }
    interpreter = paths.speakable(Path(python or sys.executable))
    return SchedulePlan(
        (str(interpreter), "-m", "pipeline.cli.main", "dream", "--all"), tuple(values.items())
    )


# -- systemd ------------------------------------------------------------------------------------------


def systemd_service(job: SchedulePlan) -> str:
    """Return the unit that runs `job` once."""
    command = job.command
    if any(char in "\"'\\" or not char.isprintable() for char in command[0]):
        # systemd refuses such names of programs, however quoted, but not as arguments.
        command = ("/bin/sh", "-c", 'exec "$@"', "sh", *command)
    # The colon keeps systemd from replacing $NAME in the arguments.
    colon = ":" if any("$" in word for word in command) else ""
    words = [_systemd_word(colon + command[0]), *map(_systemd_word, command[1:])]
    lines = [
        "[Unit]",
        "Description=Reverie: consolidate memories where it is time",
        "",
        "[Service]",
        "Type=oneshot",
        *(f"Environment={_systemd_word(f'{name}={value}')}" for name, value in job.environment),
        f"ExecStart={' '.join(words)}",
        "Nice=10",
    ]
    return "\n".join(lines) + "\n"


def systemd_timer() -> str:
    """Return the timer for `systemd_service`; it makes up for times at which the machine was off."""
    lines = [
        "[Unit]",
        "Description=Reverie: look for a dream every few hours",
        "",
        "[Timer]",
        f"OnCalendar=*-*-* 00/{EVERY_HOURS}:{MINUTE}:00",
        "Persistent=true",
        "RandomizedDelaySec=300",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return "\n".join(lines) + "\n"


def _systemd_word(text: str) -> str:
    """Quote `text` by systemd's rules: C escapes inside double quotes, ``%%`` for a percent sign."""
    special = {"\\": "\\\\", '"': '\\"', "%": "%%"}
    shown = (special.get(c) or (c if c.isprintable() or ord(c) > 127 else f"\\x{ord(c):02x}") for c in text)
    return f'"{"".join(shown)}"'


# -- launchd ------------------------------------------------------------------------------------------


def launchd_plist(job: SchedulePlan) -> bytes:
    """Return the property list of a launch agent for `job`.

    launchd makes up for times slept through but not for those at which the machine was off, so the agent
    also runs when it is loaded. Raises InputError for a path with a control character.
    """
    hours = range(0, 24, EVERY_HOURS)
    values = {
        "Label": LABEL,
        "ProgramArguments": list(job.command),
        "EnvironmentVariables": dict(job.environment),
        "RunAtLoad": True,
        "StartCalendarInterval": [{"Hour": hour, "Minute": MINUTE} for hour in hours],
        "ProcessType": "Background",
        "LowPriorityIO": True,
    }
    try:
        return plistlib.dumps(values)
    except ValueError as error:
        raise _unspeakable("a property list", str(error)) from error


# -- cron ---------------------------------------------------------------------------------------------


def cron_block(job: SchedulePlan) -> str:
    """Return the lines for a crontab, between two marks; they say nothing, so that cron sends no mail.

    A percent sign is a line break to cron and is escaped. Raises InputError for a path with a backslash,
    which crons treat differently, or with a line break.
    """
    setting = " ".join(f"{name}={shlex.quote(value)}" for name, value in job.environment)
    line = f"{setting} {shlex.join(job.command)} >/dev/null 2>&1"
    if "\\" in line or any(char < " " or char == "\x7f" for char in line):
        raise _unspeakable("a crontab", line)
    line = line.replace("%", "\\%")
    times = (f"{MINUTE} */{EVERY_HOURS} * * *", "@reboot")
    return "\n".join((BEGIN, *(f"{when} {line}" for when in times), END)) + "\n"


def with_block(crontab: str, block: str) -> str:
    """Return `crontab` with `block` in place of an earlier one, or at its end; "" removes it.

    All other lines stay as they are.
    """
    kept, inside = [], False
    for line in whole_lines(crontab):
        inside = inside or line.rstrip() == BEGIN
        if not inside:
            kept.append(line)
        inside = inside and line.rstrip() != END
    if inside:
        raise InputError(
            "the crontab has Reverie's first mark without its last", fix=f"Mend it by hand: {BEGIN} … {END}."
        )
    text = "".join(kept)
    return text + "\n" * bool(text and block and not text.endswith("\n")) + block


# -- Windows ------------------------------------------------------------------------------------------

_TASK = (
    '<?xml version="1.0" encoding="UTF-16"?>\n'
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">\n'
    "  <Triggers><CalendarTrigger>\n"
    "    <Repetition><Interval>PT{hours}H</Interval><Duration>P1D</Duration></Repetition>\n"
    "    <StartBoundary>2026-01-01T00:{minute}:00</StartBoundary><Enabled>true</Enabled>\n"
    "    <ScheduleByDay><DaysInterval>1</DaysInterval></ScheduleByDay>\n"
    "  </CalendarTrigger></Triggers>\n"
    '  <Principals><Principal id="Author"><LogonType>InteractiveToken</LogonType>'
    "<RunLevel>LeastPrivilege</RunLevel></Principal></Principals>\n"
    "  <Settings>\n"
    "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\n"
    "    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n"
    "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\n"
    "    <StartWhenAvailable>true</StartWhenAvailable>\n"
    "    <Hidden>true</Hidden>\n"
    "  </Settings>\n"
    '  <Actions Context="Author"><Exec><Command>{command}</Command>'
    "<Arguments>{arguments}</Arguments></Exec></Actions>\n"
    "</Task>\n"
)


def windows_task(job: SchedulePlan) -> bytes:
    """Return the XML of a scheduled task for `job`, in UTF-16 as ``schtasks /XML`` wants it.

    A task has no environment of its own, so Python sets it. Percent signs there are escaped, as the
    system would look for a variable. Raises InputError for one in the interpreter's path.
    """
    program, _, module, *rest = job.command
    if "%" in program or '"' in program:
        raise _unspeakable("a scheduled task", program)
    values = ", ".join(
        f"{_python_text(name)}: {_python_text(value)}" for name, value in job.environment if name != "PATH"
    )
    arguments = ", ".join(map(_python_text, rest))
    code = (
        f"import runpy, sys; from os import environ; environ.update({{{values}}}); "
        "sys.path.insert(0, environ['PYTHONPATH']); "
        f"sys.argv[1:] = [{arguments}]; runpy.run_module('{module}', run_name='__main__')"
    )
    text = _TASK.format(
        hours=EVERY_HOURS, minute=MINUTE, command=escape(program), arguments=escape(f'-I -c "{code}"')
    )
    return text.encode("utf-16")


def _python_text(text: str) -> str:
    """Return a Python literal without a percent sign, a double quote or anything beyond ASCII."""
    plain = text.encode("unicode_escape").decode("ascii")
    for char in "'\"%":
        plain = plain.replace(char, f"\\x{ord(char):02x}")
    return f"'{plain}'"


def _unspeakable(what: str, text: str) -> InputError:
    return InputError(
        f"{what} can't hold this path: {text!a}", fix="Set REVERIE_HOME to a folder with a plainer name."
    )
