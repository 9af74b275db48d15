"""Append-only files with one JSON value a line, and the one rule for a line that was torn.

A power loss, a full disk or a killed process can leave the start of a line. The rule is the same for every
such file:

- `append` puts a line break in front of what it adds, so that a torn line swallows nothing that comes
  after it. It does not look whether one is needed: between the look and the write another process may
  append.
- All lines of one call are one write at the end of the file, flushed to the disk before the call returns,
  so that lines of two processes are not mixed.
- `parse` skips what is no JSON, and says which lines those are. An empty line is nothing. A last line
  without its line break counts when it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.record import changing, field

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | system.NO_LINK | system.NO_WAIT | system.OPEN


@changing
class Lines:
    """What a file holds: the values in its order, and the numbers (from 1) of the lines that are no JSON."""

    values: list[Any] = field(default_factory=list)
    torn: list[int] = field(default_factory=list)


def append(file: Path, values: Iterable[Any]) -> None:
    """Add one line per value to `file`, which is made, mode 0600, with its folder; nothing for no values.

    Raises OSError when the disk refuses, and for a link or a pipe in the file's place.
    """
    lines = dump(values)
    if not lines:
        return
    ensure_dir(file.parent)
    handle = os.open(file, _FLAGS, 0o600)
    try:
        rest = memoryview(b"\n" + lines)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def dump(values: Iterable[Any]) -> bytes:
    """Return one line per value, each with its line break."""
    return b"".join(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for value in values
    )


def parse(data: bytes, loads: Callable[[str], Any] = json.loads) -> Lines:
    """Return the values of the lines in `data`, as `loads` reads them, and which lines hold none."""
    found = Lines()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            found.values.append(loads(line.decode()))
        except (ValueError, RecursionError):
            found.torn.append(number)
    return found
