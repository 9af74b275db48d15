"""Putting the scheduled look for a dream in place, asking about it, and taking it away again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.core import paths
from pipeline.core.atomic import ensure_dir, remove_empty_dirs, write_atomic
from pipeline.core.errors import InputError, NoSchedulerError
from pipeline.core.home import Home
from pipeline.core.tools import run_tool
from pipeline.hooklib.plain import lines_of
from pipeline.install.schedule import units as units

Kind = Literal["systemd", "launchd", "cron", "windows"]
KINDS: tuple[Kind, ...] = ("systemd", "launchd", "cron", "windows")
_TASK_NAME = "Reverie\\dream"


NO_SCHEDULER = "no scheduler was found: neither systemd for this user nor cron"
_NONE_NEEDED = "None is needed where sessions are frequent: after each, Reverie looks whether a dream is due."


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What stands with the scheduler `kind`; ``none`` says that this machine has none we know.

    `installed` says whether our job is there, `current` whether it is what we would write now: an earlier
    install may have named another interpreter or home. `files` are those written (none for cron), `answer` is
    the scheduler's own answer.
    """

    kind: Kind | Literal["none"]
    installed: bool
    current: bool
    files: tuple[Path, ...]
    answer: str = ""


def detect() -> Kind:
    """Return the scheduler of this machine. Raises InputError when there is none we know."""
    if sys.platform == "darwin":
        return "launchd"
    if sys.platform == "win32":
        return "windows"
    if shutil.which("systemctl") and run_tool(("systemctl", "--user", "show-environment"))[0] == 0:
        return "systemd"
    if shutil.which("crontab"):
        return "cron"
    raise NoSchedulerError(NO_SCHEDULER, fix=_NONE_NEEDED)


def install(home: Path, kind: Kind | None = None) -> Scheduled:
    """Have the scheduler look for a dream every few hours; doing it again brings it up to date.

    Raises InputError, with what the scheduler said and nothing left behind, when it does not take it.
    """
    kind = kind or detect()
    plan = units.plan(home)
    if kind == "cron":
        _write_crontab(units.with_block(_crontab(), units.cron_block(plan)))
        return status(home, kind)
    made = _missing_folders(home, kind)
    before = {file: file.read_bytes() if file.exists() else None for file in files(home, kind)}
    for file, data in _wanted(home, kind).items():
        ensure_dir(file.parent)
        write_atomic(file, data)
    try:
        for command in _start_commands(home, kind):
            _run(command)
    except InputError:
        for file, data_before in before.items():
            _put_back(file, data_before)
        remove_empty_dirs(made)
        raise
    _note_made(home, made)
    return status(home, kind)


def remove(home: Path, kind: Kind | None = None) -> Scheduled:
    """Take away what `install` put in place; what is not there is no error."""
    kind = kind or _detected()
    if kind is None:
        return _nowhere()
    if kind == "cron":
        old = _crontab()
        new = units.with_block(old, "")
        if new != old:
            _write_crontab(new)
        return status(home, kind)
    present = any(file.exists() for file in files(home, kind))
    for command in _stop_commands(kind) if present else ():
        run_tool(command)
    for file in files(home, kind):
        file.unlink(missing_ok=True)
    if kind == "systemd" and present:
        _run(("systemctl", "--user", "daemon-reload"))
    noted = Home(home).schedule_made
    if noted.exists():
        remove_empty_dirs(map(Path, lines_of(noted.read_text("utf-8"))))
        noted.unlink()
    return status(home, kind)


def status(home: Path, kind: Kind | None = None) -> Scheduled:
    """Return whether the look for a dream is scheduled, and whether as `install` would do it now."""
    kind = kind or _detected()
    if kind is None:
        return _nowhere()
    if kind == "cron":
        crontab, block = _crontab(), units.cron_block(units.plan(home))
        return Scheduled(kind, units.BEGIN in crontab, block in crontab, ())
    wanted = _wanted(home, kind)
    installed = all(file.exists() for file in wanted)
    current = installed and all(file.read_bytes() == data for file, data in wanted.items())
    answer = ""
    if installed:
        code, out, err = run_tool(_ask_command(kind))
        answer = (out if code == 0 else err or out).strip()
    return Scheduled(kind, installed, current, tuple(wanted), answer)


def _detected() -> Kind | None:
    try:
        return detect()
    except NoSchedulerError:
        return None


def _nowhere() -> Scheduled:
    return Scheduled("none", False, False, (), f"{NO_SCHEDULER}. {_NONE_NEEDED}")


def _missing_folders(home: Path, kind: Kind) -> list[Path]:
    """Return the folders that are not there yet and will be, ours or the scheduler's, the outermost first."""
    folders = {file.parent for file in files(home, kind)}
    if kind == "systemd":
        folders |= {folder / "timers.target.wants" for folder in folders}
    wanted = {path for folder in folders for path in (folder, *folder.parents)}
    return sorted(path for path in wanted if not path.exists() and home not in (path, *path.parents))


def _note_made(home: Path, made: list[Path]) -> None:
    noted = Home(home).schedule_made
    old = lines_of(noted.read_text("utf-8")) if noted.exists() else []
    new = list(dict.fromkeys([*old, *map(str, made)]))
    if new != old:
        write_atomic(noted, "".join(f"{line}\n" for line in new).encode())


def files(home: Path, kind: Kind) -> tuple[Path, ...]:
    """Return the files that `install` writes for `kind`."""
    if kind == "systemd":
        folder = paths.user_config_dir() / "systemd" / "user"
        return (folder / f"{units.NAME}.service", folder / f"{units.NAME}.timer")
    if kind == "launchd":
        return (Path.home() / "Library" / "LaunchAgents" / f"{units.LABEL}.plist",)
    return (Home(home).windows_task,) if kind == "windows" else ()


def _wanted(home: Path, kind: Kind) -> dict[Path, bytes]:
    plan = units.plan(home)
    make: dict[str, Callable[[], Sequence[bytes]]] = {
        "systemd": lambda: (units.systemd_service(plan).encode(), units.systemd_timer().encode()),
        "launchd": lambda: (units.launchd_plist(plan),),
        "windows": lambda: (units.windows_task(plan),),
    }
    return dict(zip(files(home, kind), make[kind](), strict=True))


def _start_commands(home: Path, kind: Kind) -> list[tuple[str, ...]]:
    if kind == "systemd":
        timer = f"{units.NAME}.timer"
        return [("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "enable", "--now", timer)]
    (file,) = files(home, kind)
    if kind == "launchd":
        # A label that is loaded can't be loaded again.
        run_tool(_stop_commands(kind)[0])
        return [("launchctl", "bootstrap", _domain(), str(file))]
    return [("schtasks", "/Create", "/TN", _TASK_NAME, "/XML", str(file), "/F")]


def _stop_commands(kind: Kind) -> list[tuple[str, ...]]:
    if kind == "systemd":
        return [("systemctl", "--user", "disable", "--now", f"{units.NAME}.timer")]
    if kind == "launchd":
        return [("launchctl", "bootout", f"{_domain()}/{units.LABEL}")]
    return [("schtasks", "/Delete", "/TN", _TASK_NAME, "/F")]


def _ask_command(kind: Kind) -> tuple[str, ...]:
    if kind == "systemd":
        return ("systemctl", "--user", "is-active", f"{units.NAME}.timer")
    if kind == "launchd":
        return ("launchctl", "print", f"{_domain()}/{units.LABEL}")
    return ("schtasks", "/Query", "/TN", _TASK_NAME)


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _run(command: Sequence[str], *, given: str = "") -> str:
    code, out, err = run_tool(command, given=given)
    if code:
        raise InputError(
            f"{' '.join(command)} failed: {(err or out).strip()}",
            fix="`reverie dream --all` can be put into any other scheduler by hand.",
        )
    return out


def _crontab() -> str:
    code, out, err = run_tool(("crontab", "-l"))
    if code == 0:
        return out
    # Anything else may mean that there is a crontab, which must then not be replaced.
    if any(answer in err.lower() for answer in ("no crontab", "no such file")):
        return ""
    raise InputError(f"crontab -l failed: {err.strip()}", fix="See that `crontab -l` works in a terminal.")


def _write_crontab(text: str) -> None:
    _run(("crontab", "-") if text else ("crontab", "-r"), given=text)


def _put_back(file: Path, data: bytes | None) -> None:
    if data is None:
        file.unlink(missing_ok=True)
    else:
        write_atomic(file, data)
