"""Many transcripts into the ledger: some dozens in one transaction, and two more processes for a history.

A transaction costs as much as reading a small file, so files share one. If one of them fails in a way that
leaves the transaction in doubt, none of it is kept and each is read again by itself: nothing is lost, and
nothing is there twice. Which files need no look is told by one query and one stat each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.clock import Clock
from pipeline.core.errors import ODD_DATA, InputError, cause
from pipeline.intake.decoders import Decoders, LostError, worth_it
from pipeline.intake.ingest import (
    Here,
    Ingested,
    KnownFiles,
    Result,
    Source,
    Task,
    file_key,
    look_at,
    note_gone,
    stat_of,
    take_in,
    until_kept,
)
from pipeline.ledger import Ledger, files

if TYPE_CHECKING:
    from pipeline.config import Settings

MOST_FILES = 64
MOST_BYTES = 32 << 20
"""What one transaction takes of files and their bytes: others wait for it to write."""
Outcome = Ingested | InputError


@dataclass(slots=True)
class _Group:
    """What is next: outcomes that are known, and the positions among them of files still to be read."""

    outcomes: list[Outcome] = field(default_factory=list)
    paths: dict[int, Path] = field(default_factory=dict)
    bytes: int = 0

    def add(self, path: str, stat: os.stat_result | None) -> None:
        """Take in a file that is to be read, of which the system says `stat`, None where it is gone."""
        self.paths[len(self.outcomes)] = Path(path)
        self.outcomes.append(Ingested("", path))
        self.bytes += stat.st_size if stat else 0

    @property
    def full(self) -> bool:
        """Whether it is time to read the files."""
        return (
            len(self.paths) >= MOST_FILES or self.bytes >= MOST_BYTES or len(self.outcomes) >= _MOST_OUTCOMES
        )


_MOST_OUTCOMES = 1024


class Intake:
    """The reading of many transcripts below `root` into one ledger."""

    def __init__(
        self, ledger: Ledger, root: Path, *, settings: Settings, clock: Clock, reimport: bool = False
    ) -> None:
        self._ledger = ledger
        # Where the command was called from is nothing to remember of a file.
        self._root = root.absolute()
        self._settings = settings
        self._clock = clock
        self._reimport = reimport
        self._known = None if reimport else KnownFiles(ledger)
        if self._known is None or self._known.torn:
            files.recover_ingesting(ledger)
        self._helped = True
        self._seen: set[str] = set()

    def read(self, found: Iterable[os.DirEntry[str] | InputError]) -> Iterator[Outcome]:
        """Read the files `found`, which nobody writes any more, and yield in their order what was done.

        One that is no transcript, or can't be read, is yielded as its error.
        """
        unchanged = self._known.unchanged if self._known else _never
        group = _Group()
        for file in found:
            outcome: Outcome | None
            if isinstance(file, InputError):
                outcome = file
            else:
                self._seen.add(file.path)
                try:
                    stat: os.stat_result | None = file.stat()
                except OSError:
                    stat = None
                outcome = unchanged(file.path, stat)
                if outcome is None:
                    group.add(file.path, stat)
            if outcome is not None:
                if not group.paths:
                    yield outcome
                    continue
                group.outcomes.append(outcome)
            if group.full:
                yield from self._finish(group)
                group = _Group()
        yield from self._finish(group)
        yield from self._gone()

    def _gone(self) -> Iterator[Outcome]:
        """Mark and yield the files below the root that were read before and are no longer there."""
        below = f"{self._root}/"
        for path_text in files.paths(self._ledger):
            if path_text in self._seen or not path_text.startswith(below):
                continue
            path = Path(path_text)
            try:
                done = note_gone(self._ledger, path, file_key(path, (self._root,)), self._clock)
            except InputError as error:
                yield error
            else:
                if done is not None:
                    yield done

    def _finish(self, group: _Group) -> list[Outcome]:
        """Read the files of a group, each in the position of its outcome."""
        paths = list(group.paths.values())
        try:
            done = self._together(paths) if len(paths) > 1 or worth_it(group.bytes) else self._each(paths)
        except LostError:
            self._helped = False
            done = self._each(paths)
        except (InputError, OSError, *ODD_DATA):
            done = self._each(paths)
        for position, outcome in zip(group.paths, done, strict=True):
            group.outcomes[position] = outcome
        return group.outcomes

    def _each(self, paths: Sequence[Path]) -> list[Outcome]:
        """Read each file in a transaction of its own."""
        return [self._tried(path, self._alone) for path in paths]

    def _alone(self, path: Path) -> Outcome:
        return until_kept(lambda: self._take_in(self._look_at(path), Here))

    def _together(self, paths: Sequence[Path]) -> list[Outcome]:
        """Read the files in one transaction, of which all is kept or nothing."""
        with self._ledger.together():
            looked = [self._tried(path, self._look_at) for path in paths]
            tasks = [task for task in looked if isinstance(task, Task)]
            if len({task.key for task in tasks}) < len(tasks):
                raise LookupError("two of the files have one name")
            if not (self._helped and worth_it(sum(task.waiting for task in tasks))):
                return self._taken(looked, Here)
            with Decoders(tasks) as decoders:
                return self._taken(looked, decoders.begin)

    def _taken(self, looked: Sequence[Task | Outcome], begin: Callable[[Task], Source]) -> list[Outcome]:
        done: list[Outcome] = []
        for task in looked:
            try:
                done.append(self._take_in(task, begin))
            except InputError as error:
                if self._ledger.torn:
                    raise
                done.append(error)
        return done

    def _tried(self, path: Path, work: Callable[[Path], Result]) -> Result | InputError:
        """Return what `work` does with a file, or why it can't."""
        try:
            return work(path)
        except (InputError, OSError, *ODD_DATA) as error:
            return error if isinstance(error, InputError) else _odd(path, error)

    def _look_at(self, path: Path) -> Task | Ingested:
        if stat_of(path) is None:
            raise InputError("there is no such file", file=str(path), fix="Check the path.")
        return look_at(
            self._ledger,
            path,
            key=file_key(path, (self._root,)),
            settings=self._settings,
            clock=self._clock,
            quiet=True,
            reimport=self._reimport,
        )

    def _take_in(self, task: Task | Outcome, begin: Callable[[Task], Source]) -> Outcome:
        if not isinstance(task, Task):
            return task
        return take_in(self._ledger, task, begin, settings=self._settings, clock=self._clock)


def _never(path: str, stat: os.stat_result | None) -> None:
    """Say of a file that nothing is known of it."""


def _odd(path: Path, error: Exception) -> InputError:
    """Return the error for a transcript at `path` that fails in a way nobody thought of."""
    message = f"can't be taken in: {cause(error)}"
    return InputError(message, file=str(path), fix="Run `reverie ingest --file` with it for the details.")
