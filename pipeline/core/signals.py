"""Passing on the signals by which this process is asked to end, while a child of it does the work."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.core import system

_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_BY_KEYS = ("SIGINT", "SIGQUIT")


@contextmanager
def signals_to(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Give `handler` the signals that a person or a program ends this process by; what is ignored stays so.

    What the keys of a terminal send reaches a child of this process by itself, and is only withheld here.
    """
    by_keys = _BY_KEYS if _has_terminal() else ()
    before = {}
    for name in _PASSED_ON:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            # A function, not SIG_IGN, which the child would inherit.
            before[number] = signal.signal(number, _withheld if name in by_keys else handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _withheld(number: int, frame: object) -> None:
    pass


def _has_terminal() -> bool:
    """Whether this process is in the group that a terminal's keys signal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | system.OPEN)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
