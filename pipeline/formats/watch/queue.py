"""The one queue of files to be read, each in it once by its key, and when each is due.

A file is read when it has been left alone for a moment; one that changes over and over is left alone for
longer, since each reading is a transaction, but never for ever. Time is any clock that only goes forward.
"""

from __future__ import annotations

from pathlib import Path

from pipeline.record import changing, record

_HOT_CHANGES = 3
_NEVER = float("-inf")


@record
class Pace:
    """How patient the queue is, in seconds, all told from how long a file is left alone before it is read."""

    settle: float = 2.0

    @property
    def hot(self) -> float:
        """How long a file is left alone that changed three times or more."""
        return 2.5 * self.settle

    @property
    def longest(self) -> float:
        """After how long a file is read that is never left alone."""
        return 7.5 * self.settle

    @property
    def between(self) -> float:
        """How long after a file was read it is read again."""
        return 1.5 * self.settle

    @property
    def again(self) -> float:
        """How long after a failure a file is tried again; twice as long each time."""
        return self.settle


@changing
class _Waiting:
    path: Path
    first: float
    last: float
    changes: int = 0
    settled: bool = False


class FileQueue:
    """Files that wait to be read, by their keys, oldest first."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._waiting: dict[str, _Waiting] = {}
        self._read_at: dict[str, float] = {}
        self._held_until: dict[str, float] = {}
        self._failures: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: str, path: Path, at: float, *, settled: bool = False) -> None:
        """Put a file in, or note one change more of it; `settled` says that there is nothing to wait for."""
        found = self._waiting.get(key)
        if found is None:
            found = self._waiting[key] = _Waiting(path, at, at)
        found.path, found.last, found.changes = path, at, found.changes + 1
        found.settled = found.settled or settled

    def take(self, at: float) -> tuple[str, Path] | None:
        """Take out the file that is due for longest, None when none is."""
        due = {key: self._due(key) for key in self._waiting}
        key = min(due, key=due.__getitem__, default=None)
        if key is None or due[key] > at:
            return None
        return key, self._waiting.pop(key).path

    def wait(self, at: float) -> float | None:
        """Return in how many seconds the next file is due, None when the queue is empty."""
        return max(0.0, min(map(self._due, self._waiting)) - at) if self._waiting else None

    def done(self, key: str, at: float) -> None:
        """Note that a file was read."""
        self._read_at[key] = at
        self._held_until.pop(key, None)
        self._failures.pop(key, None)

    def failed(self, key: str, path: Path, at: float, *, longest: float) -> None:
        """Put a file back that could not be read, for a while that doubles up to `longest`."""
        number = self._failures[key] = self._failures.get(key, 0) + 1
        self._held_until[key] = at + min(longest, self._pace.again * 2 ** min(number - 1, 30))
        self.add(key, path, at, settled=True)

    @property
    def hottest(self) -> tuple[str, int]:
        """Return the key of the waiting file that changed most often, and how often."""
        key = max(self._waiting, key=lambda name: self._waiting[name].changes, default="")
        return key, self._waiting[key].changes if key else 0

    def _due(self, key: str) -> float:
        item = self._waiting[key]
        alone = self._pace.hot if item.changes >= _HOT_CHANGES else self._pace.settle
        quiet = item.first if item.settled else min(item.last + alone, item.first + self._pace.longest)
        return max(
            quiet,
            self._read_at.get(key, _NEVER) + (0.0 if item.settled else self._pace.between),
            self._held_until.get(key, _NEVER),
        )
