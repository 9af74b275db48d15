"""stdout and stderr as plain streams: what every command needs, and what loads nothing."""

import os
import sys

USUAL = 80
"""Columns that a terminal is taken to have where nobody can tell."""


def utf8() -> None:
    """Write UTF-8 whatever the locale says: memories hold every script.

    A stream that whoever started us has closed leads nowhere from here on.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def write(text: str) -> None:
    """Write `text` to stdout; where its reader left, end the process in peace."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output left (`reverie list | head`); nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def columns() -> int:
    """Return the columns of the terminal, USUAL where nobody can tell; COLUMNS stands above what it says."""
    try:
        named = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        named = 0
    if named > 0:
        return named
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or USUAL  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return USUAL


def colours() -> bool:
    """Whether a terminal may be written to in colours."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def completes() -> bool:
    """Whether a shell asks what could be typed next."""
    return bool(os.environ.get("_REVERIE_COMPLETE"))
