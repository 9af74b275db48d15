"""The watcher: recover, catch up, then read each file that changes, and look around by the timer.

    system's word ─► queue by key ─► one worker: read on from the offset ─► ledger
    timer ─► what nobody told of, what fell silent, conversations that are over

What a crash leaves is a file marked ``ingesting`` and nothing half kept, so that starting again is enough.
Files that nobody wrote for longer than the gap between conversations are read in groups, as `ingest` does.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pipeline.core import faults, paths
from pipeline.core.clock import Clock
from pipeline.core.errors import ODD_DATA, DamagedLedgerError, InputError, LedgerError, UnreadableError, cause
from pipeline.formats.watch.changes import Changes
from pipeline.formats.watch.queue import FileQueue, Pace
from pipeline.intake.ingest import Ingested, KnownFiles, file_key, ingest_file, note_gone
from pipeline.intake.many import Intake
from pipeline.ledger import Ledger, conversations, files
from pipeline.record import changing
from pipeline.transcript import survey_of

if TYPE_CHECKING:
    from pipeline.config import Settings

LOG = logging.getLogger("reverie.watch")
EVERY = 30.0
"""Seconds between two looks around."""
_SUFFIX = ".jsonl"
_AGENT = "agent-"


@changing
class Diagnostics:
    """What `reverie health-check` shows of a watcher; times are epoch seconds."""

    pid: int
    root: str
    begun: float
    told: bool
    queue: int = 0
    hottest: str = ""
    hottest_changes: int = 0
    passes: int = 0
    rows: int = 0
    last_read: float | None = None
    last_error: str = ""


class Watcher:
    """Reads what changes below `root` into `ledger`, until `stop` is set.

    `tell` is given each pass that read something, or why it could not; `note` the diagnostics after it.
    """

    def __init__(
        self,
        ledger: Ledger,
        root: Path,
        changes: Changes,
        *,
        settings: Settings,
        clock: Clock,
        stop: Event,
        tell: Callable[[Ingested | InputError], object],
        note: Callable[[Diagnostics], object],
        pace: Pace | None = None,
        every: float = EVERY,
    ) -> None:
        self._ledger = ledger
        self._root = root
        self._changes = changes
        self._settings = settings
        self._clock = clock
        self._stop = stop
        self._tell = tell
        self._note = note
        self._every = every
        self._queue = FileQueue(pace or Pace())
        self._refused: dict[str, tuple[int, int]] = {}
        self._offsets: dict[str, int] = {}
        self._flushed: set[tuple[str, int]] = set()
        now = clock.now().timestamp()
        self._state = Diagnostics(os.getpid(), str(root), now, not changes.why_not)

    def run(self) -> None:
        """Watch until `stop` is set. Raises DamagedLedgerError."""
        files.recover_ingesting(self._ledger)
        due = time.monotonic()
        while not self._stop.is_set():
            if time.monotonic() >= due:
                self._look_around()
                due = time.monotonic() + self._every
            self._read_due()
            self._show()
            wait = self._queue.wait(time.monotonic())
            left = max(0.0, due - time.monotonic())
            for path in self._changes.wait(left if wait is None else min(wait, left)):
                self._heard(Path(path))
        self._show()

    # -- what there is to read ----------------------------------------------------------------------

    def _heard(self, path: Path) -> None:
        """Queue a session's file of which the system told."""
        depth = len(path.relative_to(self._root).parts) if path.is_relative_to(self._root) else 0
        # As `survey_of` has it: right in the folder of all projects they are strays.
        least = 2 if self._root == paths.projects_dir().absolute() else 1
        if least <= depth <= 2 and path.suffix == _SUFFIX and not path.name.startswith(_AGENT):
            self._add(path)

    def _add(self, path: Path, *, settled: bool = False) -> None:
        try:
            key = file_key(path, (self._root,))
        except InputError as error:
            self._failed(error)
            return
        self._queue.add(key, path, time.monotonic(), settled=settled)

    def _look_around(self) -> None:
        """Read or queue what nobody told of, and make ready the conversations that are over."""
        try:
            intake = Intake(self._ledger, self._root, settings=self._settings, clock=self._clock)
            for done in intake.read(self._old_ones()):
                if isinstance(done, InputError):
                    if not isinstance(done, UnreadableError) and done.file:
                        self._refuse(Path(done.file))
                    self._failed(done)
                else:
                    self._report(done)
                if self._stop.is_set():
                    return
            self._flush()
            gap = self._settings.extraction.conversation_gap_minutes
            conversations.mark_ready(self._ledger, now=self._clock.now(), gap_minutes=gap)
        except DamagedLedgerError:
            raise
        except (InputError, LedgerError, OSError) as error:
            self._failed(error)

    def _old_ones(self) -> Iterator[os.DirEntry[str] | InputError]:
        """Yield the files that nobody writes any more; the others that changed are queued."""
        known = KnownFiles(self._ledger)
        for found in survey_of(self._root, paths.projects_dir().absolute()):
            if isinstance(found, InputError):
                yield found
                continue
            try:
                stat = found.stat()
            except OSError:
                continue
            stamp = (stat.st_mtime_ns, stat.st_size)
            if self._refused.get(found.path) == stamp:
                continue
            if self._is_silent(stat.st_mtime):
                yield found
            elif known.unchanged(found.path, stat) is None:
                self._add(Path(found.path), settled=True)

    def _is_silent(self, written: float) -> bool:
        gap = self._settings.extraction.conversation_gap_minutes * 60
        return self._clock.now().timestamp() - written > gap

    def _flush(self) -> None:
        """Take in the prompts that still wait for their copy in files that fell silent."""
        for path_text, mtime_ns in files.with_waiting_prompts(self._ledger):
            if (path_text, mtime_ns) in self._flushed or not self._is_silent(mtime_ns / 1e9):
                continue
            self._flushed.add((path_text, mtime_ns))
            path = Path(path_text)
            if path.is_relative_to(self._root):
                self._read(file_key(path, (self._root,)), path, quiet=True)

    # -- reading it ---------------------------------------------------------------------------------

    def _read_due(self) -> None:
        while not self._stop.is_set() and (taken := self._queue.take(time.monotonic())):
            faults.reach("watch.taken")
            self._read(*taken)

    def _read(self, key: str, path: Path, *, quiet: bool = False) -> None:
        """Read one file on from where it was read; what goes wrong stops no other."""
        done: Ingested | None
        try:
            if path.exists():
                done = ingest_file(
                    self._ledger, path, key=key, settings=self._settings, clock=self._clock, quiet=quiet
                )
            else:
                done = note_gone(self._ledger, path, key, self._clock)
        except DamagedLedgerError:
            raise
        except (UnreadableError, LedgerError, OSError) as error:
            self._queue.failed(key, path, time.monotonic(), longest=self._every)
            self._failed(error)
        except (InputError, *ODD_DATA) as error:
            self._refuse(path)
            self._failed(error)
        else:
            self._queue.done(key, time.monotonic())
            if done is not None:
                self._report(done)

    def _refuse(self, path: Path) -> None:
        """Leave a file that is no transcript alone until it changes."""
        try:
            stat = path.stat()
        except OSError:
            return
        self._refused[str(path)] = (stat.st_mtime_ns, stat.st_size)

    def _report(self, done: Ingested) -> None:
        """Tell of a pass, unless nothing came of it."""
        if done.skipped not in ("", "gone") or (
            not done.skipped and self._offsets.get(done.key) == done.offset
        ):
            return
        self._offsets[done.key] = done.offset
        self._state.passes += 1
        self._state.rows += done.new_rows
        self._state.last_read = self._clock.now().timestamp()
        self._tell(done)

    def _failed(self, error: Exception) -> None:
        self._state.last_error = cause(error)
        LOG.info("%s", error)
        self._tell(
            error if isinstance(error, InputError) else InputError(cause(error), fix="It is tried again.")
        )

    def _show(self) -> None:
        state = self._state
        state.queue = len(self._queue)
        state.hottest, state.hottest_changes = self._queue.hottest
        self._note(state)
