"""Deaths by SIGKILL that no point in the code foresees: before any call that touches the disk or starts a
program, and in each call of git.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.stores import forked

_TOUCHES = {
    *("open", "write", "fsync", "rename", "replace", "link", "symlink", "unlink", "remove", "mkdir", "rmdir"),
    *("truncate", "ftruncate", "chmod", "flock", "fork_exec", "execute", "executemany", "commit"),
}
"""Calls between which a process that dies leaves something else behind."""
_MODULES = ("posix", "_posixsubprocess", "fcntl", "io", "_io")
_KINDS = ("Connection", "Cursor", "FileIO", "BufferedWriter", "BufferedRandom", "TextIOWrapper")

HOWS = ("before", "left alone", "midway", "after")
"""How a sync dies with the git that it started: both before it did anything; the git goes on alone; both,
the git first, a moment after it began; and once the git was done.
"""
_SCRIPT = """#!/bin/sh
here=${0%/*}
echo "$*" >>"$here/calls"
read -r wanted how moment <"$here/plan"
[ "$(wc -l <"$here/calls")" -eq "$wanted" ] || exec GIT "$@"
case $how in
before) kill -9 $PPID; exit 1;;
left) kill -9 $PPID; exec GIT "$@";;
midway) timeout --foreground -s KILL "$moment" GIT "$@"; kill -9 $PPID;;
after) GIT "$@"; code=$?; kill -9 $PPID; exit $code;;
esac
"""


def die_at_touch(number: int, action: Callable[[], object], told: Path) -> str:
    """Run `action` in a process that dies before its touch `number`; return which that was, "" for none.

    The name is written to `told`.
    """
    told.unlink(missing_ok=True)

    def counted() -> object:
        left = number

        def see(_: Any, event: str, called: Any) -> None:
            nonlocal left
            if event == "c_call" and _is_touch(called):
                left -= 1
                if not left:
                    sys.setprofile(None)
                    told.write_text(called.__name__, encoding="utf-8")
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(see)
        return action()

    died = os.waitstatus_to_exitcode(os.waitpid(forked(counted), 0)[1]) == -signal.SIGKILL
    return told.read_text(encoding="utf-8") if died else ""


def _is_touch(called: Any) -> bool:
    """Whether `called` is one of `_TOUCHES`: a function of the system's, or a file's or a database's."""
    if called.__name__ not in _TOUCHES:
        return False
    return called.__module__ in _MODULES or type(getattr(called, "__self__", None)).__name__ in _KINDS


class Gits:
    """A git of our own before the real one in PATH, in whose nth call a process dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        real = shutil.which("git")
        assert real is not None
        (folder / "git").write_text(_SCRIPT.replace("GIT", real))
        (folder / "git").chmod(0o755)

    def die(self, number: int, how: str, action: Callable[[], object], *, moment: float = 0.004) -> str:
        """Run `action` in a process that dies in its call `number` of git, as `how` says.

        Returns what git was to do there, "" where there are not so many calls.
        """
        (self.folder / "calls").write_text("")
        (self.folder / "plan").write_text(f"{number} {how.split()[0]} {moment:.3f}\n")
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        died = os.waitstatus_to_exitcode(os.waitpid(forked(action, PATH=path), 0)[1]) == -signal.SIGKILL
        return self.verbs()[number - 1] if died else ""

    def verbs(self) -> list[str]:
        """Return what git was called for, in order."""
        found = []
        for line in (self.folder / "calls").read_text().splitlines():
            words = iter(line.split())
            verb = ""
            for word in words:
                if word in ("-c", "--git-dir"):
                    next(words)
                elif word:
                    verb = word
                    break
            found.append(verb)
        return found
