"""Running the system's own programs: schedulers, another Python."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from pipeline.core.errors import InputError

_TOOL_SECONDS = 30.0


def run_tool(command: Sequence[str], *, given: str = "") -> tuple[int, str, str]:
    """Run one of the system's own programs with `given` on its input; return exit status, output, errors.

    Raises InputError when it is not there or does not end within half a minute.
    """
    try:
        done = subprocess.run(
            command,
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            timeout=_TOOL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"{command[0]} can't be used: {error}", fix=f"See that {command[0]} works in a terminal."
        ) from error
    # Escaped, so that what is read and given back (a crontab) keeps every byte.
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    return done.returncode, out, err
