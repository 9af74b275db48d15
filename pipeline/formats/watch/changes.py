"""Who tells that a file changed: the system, by the package watchfiles, or nobody: then the timer looks."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any, Protocol

from pipeline.core.errors import InputError
from pipeline.core.extras import how_to_install

_STEP_MS = 20
_GATHERED_MS = 100
_LONGEST_MS = 3_600_000


class Changes(Protocol):
    """What changed below a folder."""

    why_not: str
    """Why the system tells of no change; an empty string when it does."""

    def wait(self, seconds: float) -> set[str]:
        """Return the paths that changed, as soon as some did or the time is over."""
        ...


class Told:
    """The system tells of each change from the moment this is made. Raises OSError where it can't."""

    why_not = ""

    def __init__(self, notify: Any, stop: Event) -> None:
        self._notify = notify
        self._stop = stop

    def wait(self, seconds: float) -> set[str]:
        """Return the paths that changed, as soon as some did or the time is over."""
        milliseconds = max(1, min(int(seconds * 1000), _LONGEST_MS))
        found = self._notify.watch(_GATHERED_MS, _STEP_MS, milliseconds, self._stop)
        return {path for _, path in found} if isinstance(found, set) else set()


class Untold:
    """Nobody tells: who waits looks again when the time is over."""

    def __init__(self, why_not: str, stop: Event) -> None:
        self.why_not = why_not
        self._stop = stop

    def wait(self, seconds: float) -> set[str]:
        """Return nothing when the time is over."""
        self._stop.wait(seconds)
        return set()


def changes_below(root: Path, stop: Event) -> Changes:
    """Return who tells of changes below `root`, from now on. Raises InputError for no folder."""
    if not root.is_dir():
        raise InputError(
            "there is no such directory", file=str(root), fix="Claude Code makes it with its first session."
        )
    try:
        from watchfiles._rust_notify import RustNotify
    except ImportError:
        return Untold(f"the package watchfiles is not installed. {how_to_install('watch')}", stop)
    try:
        return Told(RustNotify([str(root)], False, False, 0, True, True), stop)
    except OSError as error:
        return Untold(f"the system can't tell of changes here: {error.strerror or error}", stop)
