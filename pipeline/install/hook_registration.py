"""What Claude Code must be told so that it runs our hooks, for people who install by settings.json."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.atomic import write_atomic
from pipeline.core.home import Home
from pipeline.core.paths import bundled
from pipeline.hooklib import home_files, places
from pipeline.hooklib.events import ANSWERED, EVENTS, TOOL, TOOLS
from pipeline.hooklib.plain import lines_of
from pipeline.safety.late import late

TIMEOUT_SECONDS = 10

_OURS = late(r" -I -S \S.*[/\\]hooks[/\\](?:capture|recall)\.py['\"]* (\w+)")


def hook_command(event: str, *, python: str = "", hooks: Path | None = None) -> str:
    """Return the shell command for `event`, one of EVENTS or TOOL.

    It names `python` (default: the running one) and the `hooks` folder (default: the bundled one)
    absolutely and quoted. Should that Python go away, the launcher finds another; should the whole
    package go away, the command still succeeds, as a session must not suffer from what is left of us.
    """
    import shlex  # Most only look which hooks are there.

    folder = hooks or bundled("hooks")
    interpreter = shlex.quote(python or sys.executable)
    script = shlex.quote(str(folder / ("recall.py" if event in ANSWERED else "capture.py")))
    launcher = shlex.quote(str(folder / "run"))
    # The name comes first, doing nothing: Claude Code's list of hooks shows how a command begins.
    # Ctrl-C is meant for the session; it would reach Python before our first line can say that we ignore it.
    return f": Reverie; trap '' INT; {interpreter} -I -S {script} {event} || sh {launcher} {event} || :"


def is_our_hook(command: str, event: str) -> bool:
    """Whether `command` is one that `hook_command` made for `event`, with whatever Python and folder."""
    return event in _OURS.findall(command)


def events_for(*, before_tools: bool) -> tuple[str, ...]:
    """Return the events that an installation has hooks for; `before_tools` is the setting of this name."""
    return (*EVENTS, *((TOOL,) if before_tools else ()))


def settings_snippet(
    events: Sequence[str] = EVENTS, *, python: str = "", hooks: Path | None = None
) -> dict[str, Any]:
    """Return the ``hooks`` object to merge into Claude Code's settings.json; arguments as `hook_command`."""
    return {
        "hooks": {
            event: [
                {
                    **({"matcher": "|".join(TOOLS)} if event == TOOL else {}),
                    "hooks": [
                        {
                            "type": "command",
                            "command": hook_command(event, python=python, hooks=hooks),
                            "timeout": TIMEOUT_SECONDS,
                        }
                    ],
                }
            ]
            for event in events
        }
    }


def note_if_none(home: Path) -> None:
    """Note the running interpreter where the hooks would find none that runs: any command may know better.

    Only in a home in which Reverie has worked; one that can't be written is left as it is.
    """
    if not places.needs_note(str(home)):
        return
    # A file that may not be written stops no command.
    with suppress(OSError):
        if places.runs_python(str(home)):
            _note_path(home)
        else:
            note_interpreter(home)


def note_interpreter(home: Path, python: str = "") -> None:
    """Write the interpreter that can import this package to ``<home>/python``, where the hooks look."""
    write_atomic(Home(home).python, f"{python or sys.executable}\n".encode())
    _note_path(home)


def _note_path(home: Path) -> None:
    """Note where this shell has the programs that the worker needs; in a session PATH may be a project's."""
    if not places.by_client():
        from pipeline.core.tools import background_path

        write_atomic(Home(home).noted_path, os.fsencode(background_path() + "\n"))


def note_home(home: Path) -> None:
    """Note `home` where the hooks look for it, as they go by no variables; the usual one needs no note.

    Homes that it was before stand below it, as long as they are there: what is in them is Reverie's as well.
    What Claude Code starts notes nothing: there ``REVERIE_HOME`` does not count either.
    """
    here = home.absolute()
    if places.by_client() or here == Path(places.hooks_home()):
        return
    former = former_homes(home)
    note = _home_note()
    if former or here != _usual_home():
        write_atomic(note, b"".join(os.fsencode(f"{path}\n") for path in [here, *former]))
    else:
        note.unlink(missing_ok=True)


def former_homes(home: Path) -> list[Path]:
    """Return the other homes of Reverie that are known and still there, when `home` is the present one."""
    try:
        noted = lines_of(os.fsdecode(_home_note().read_bytes()))
    except OSError:
        noted = []
    known = [Path(line) for line in noted if Path(line).is_absolute()] + [_usual_home()]
    resolved = {home.resolve()}
    found = []
    for path in known:
        if path.resolve() not in resolved and _is_home(path):
            resolved.add(path.resolve())
            found.append(path)
    return found


def forget_home(home: Path) -> None:
    """Take away the note that `home` is where the hooks keep all."""
    note = _home_note()
    if places.first_line(str(note)) == str(home.absolute()):
        note.unlink()


def _home_note() -> Path:
    return paths.config_dir() / places.HOME_NOTE


def _usual_home() -> Path:
    return paths.config_dir().absolute() / "reverie"


def _is_home(path: Path) -> bool:
    """Whether there is anything at `path` that only a home of Reverie's has."""
    return any((path / name).exists() for name in (home_files.LEDGER, home_files.SPOOL, home_files.INSTALLED))
