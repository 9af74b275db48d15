"""Telling a person before a terminal that something takes its time, and how far it is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 1.0
"""Seconds before anything is said: what is done by then needs no words."""
_lock = threading.Lock()
_shown: list[_Shown] = []
"""The one that stands on the terminal now, if any."""


class _Shown:
    """The words that stand on the terminal while something goes on."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._over = False
        self._status: Any = None

    def start(self) -> None:
        """Put the words there, unless it is over."""
        # Only a person who waits pays for it.
        from rich.console import Console

        with _lock:
            if not self._over:
                self._status = Console(stderr=True, highlight=False, soft_wrap=True).status(self._what)
                self._status.start()
                _shown.append(self)

    def change(self, text: str) -> None:
        """Let the words be `text`."""
        with _lock:
            self._what = text
            if self._status is not None:
                self._status.update(text)

    def print(self, text: str) -> None:
        """Print `text` above the words."""
        self._status.console.print(text, markup=False, emoji=False, end="")

    def end(self) -> None:
        """Take the words away."""
        with _lock:
            self._over = True
            if self._status is not None:
                self._status.stop()
                _shown.remove(self)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal that `what` is going on; the yielded function changes the words. Else silent."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    shown = _Shown(what)
    timer = threading.Timer(_PATIENCE, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield shown.change
    finally:
        timer.cancel()
        shown.end()


def say(text: str) -> None:
    """Write `text` to stderr, above what stands there of a progress."""
    with _lock:
        if _shown:
            _shown[-1].print(text)
            return
    sys.stderr.write(text)
    sys.stderr.flush()
