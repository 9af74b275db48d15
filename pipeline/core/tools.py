"""Running the system's own programs: schedulers, another Python."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

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


def edit_text(text: str) -> str:
    """Let a person change `text` in the editor of their own, ``$VISUAL`` or ``$EDITOR``, else ``vi``.

    Raises InputError when the editor is not there or says that it failed; then nothing was changed.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="reverie-edit-") as folder:
        file = Path(folder) / "memory.md"
        file.write_text(text, "utf-8")
        try:
            code = subprocess.run([*command, str(file)], check=False).returncode
        except OSError as error:
            raise InputError(
                f"the editor {command[0]} can't be started: {error.strerror}",
                fix="Set EDITOR, or give the text by --text.",
            ) from error
        if code:
            raise InputError(
                f"the editor {command[0]} ended with {code}, so nothing was changed", fix="Try again."
            )
        return file.read_text("utf-8", "replace")
