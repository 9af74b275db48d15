"""Telling a person before a terminal that something takes its time, and how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal that `what` is going on; the yielded function changes the words. Else silent."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    # Only a person who waits pays for it.
    from rich.console import Console

    with Console(stderr=True, highlight=False, soft_wrap=True).status(what) as status:
        yield lambda text: status.update(text)
