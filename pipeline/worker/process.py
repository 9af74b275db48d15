"""The detached process: ``python -m pipeline.worker --lock-fd N``, started by a hook.

The hook hands over the already locked ``worker.lock``, so that of any number of hooks at once exactly one
starts a worker.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import IO, NoReturn

from pipeline import config
from pipeline.core import clock as clocks
from pipeline.core import locks, network, paths, zone
from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import ConfigError, DamagedLedgerError, ReverieError, cause
from pipeline.core.home import Home
from pipeline.hooklib.plain import lines_of
from pipeline.intake import spool
from pipeline.ledger import open_ledger
from pipeline.recall.prepared import hook_state
from pipeline.worker.context import WorkerContext
from pipeline.worker.jobs import LOG, Worker
from pipeline.worker.mending import renew_ledger

_HEAVY = ("pipeline.store.repository", "pipeline.search.fts", "anthropic")
"""What a pass that found work has loaded: with it a process holds up to four times as much memory."""


class _BeginAnew(Exception):  # noqa: N818 - no error
    """The process has to wait, and holds more than it needs for that: it begins anew in its own place."""


class RotatedLog(logging.FileHandler):
    """A log whose lines go on in a new file before it has `MOST_BYTES`; the former one is kept beside it.

    ``logging.handlers`` has such a one too, and loads sockets and queues for others.
    """

    MOST_BYTES = 500_000

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of `record`, into a new file where it does not fit into this one."""
        try:
            file = Path(self.baseFilename)
            if file.is_file() and file.stat().st_size + len(self.format(record)) >= self.MOST_BYTES:
                if self.stream is not None:
                    self.stream.close()
                self.stream = None
                file.replace(f"{file}.1")
        except OSError:
            self.handleError(record)
        super().emit(record)


class FieldFormatter(logging.Formatter):
    """Puts the fields that a line has behind its text, as in ``… job=7 run=01ab session=5c1e``.

    They come from `extra`; one that is missing or empty is left out.
    """

    FIELDS = ("job", "run", "session")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the line without a traceback, which follows it."""
        values = {name: getattr(record, name, "") for name in self.FIELDS}
        fields = [f"{name}={value}" for name, value in values.items() if value]
        return " ".join([super().formatMessage(record), *fields])


def main(arguments: list[str] | None = None) -> int:
    """Run as the detached process: pass after pass until nothing is due soon, then exit 0."""
    given = sys.argv[1:] if arguments is None else arguments
    lock_fd, is_anew = _options(given)
    os.umask(0o077)  # what no helper makes, such as the log when it is begun anew, is nobody else's either
    try:
        home = ensure_dir(paths.home_dir())
        os.chdir(home)
        _log_to(home)
    except OSError as error:
        sys.stderr.write(f"Reverie's home can't be used: {error}\n")
        return 1
    try:
        _work(home, lock_fd, is_anew=is_anew)
    except (ReverieError, OSError) as error:
        _complain(home, _described(error))
    except BaseException as error:
        LOG.error("ends by an error that nobody expected: %s: %s", type(error).__name__, error)
        raise
    return 0


def _options(given: list[str]) -> tuple[int, bool]:
    """Return the handle of ``worker.lock``, -1 for none, and whether this process has just begun anew.

    By hand: what parses command lines for people takes as long to load as the ledger to ask.
    """
    at = given.index("--lock-fd") + 1 if "--lock-fd" in given else len(given)
    return int(given[at]) if at < len(given) else -1, "--anew" in given


def _work(home: Path, lock_fd: int, *, is_anew: bool) -> None:
    held = _hold(home, lock_fd)
    left: set[str] = set()
    while held is not None:
        LOG.info("begins")
        with held:
            try:
                sound = _passes(home, left, is_anew=is_anew)
            except _BeginAnew:
                _begin_anew(held.fileno())
        LOG.info("ends")
        # An event may have come between the last look and the release; its hook saw the lock and left.
        if not sound or not _event_waits(home, left):
            return
        held = locks.try_lock(Home(home).worker_lock)


def _begin_anew(lock: int) -> NoReturn:
    """Put a fresh worker in the place of this one, which keeps the lock."""
    LOG.info("waits in a new process")
    os.set_inheritable(lock, True)
    os.execv(sys.executable, [sys.executable, "-m", "pipeline.worker", "--lock-fd", str(lock), "--anew"])


def _event_waits(home: Path, left: set[str]) -> bool:
    """Whether an event waits that this process has not tried in vain."""
    return any(file.id not in left for file in spool.pending(home))


def _hold(home: Path, lock_fd: int) -> IO[bytes] | None:
    if lock_fd >= 0:
        return os.fdopen(lock_fd, "r+b", 0)
    return locks.try_lock(Home(home).worker_lock)


def _passes(home: Path, left: set[str], *, is_anew: bool) -> bool:
    """Work until nothing is near; False when something is wrong that another round would not mend.

    The ids of events that could not be taken are added to `left`: they wait for another process.
    """
    try:
        settings = config.load(home, keep=True)
        network.use(**settings.network.model_dump())
        clock = clocks.from_environment()
        try:
            zone.note(home, clock.now())
        except OSError as error:
            LOG.warning("the zone of this machine can't be noted: %s", cause(error))
        zone.use(settings.extraction.time_zone, home)
        try:
            return _pass_by_pass(home, settings, clock, left, is_anew=is_anew)
        except DamagedLedgerError as error:
            _complain(home, _described(error))
            if not renew_ledger(home, settings, clock):
                raise  # Sound, as it seems now: nothing is set aside, and the next worker tries again.
        return _pass_by_pass(home, settings, clock, left, is_anew=is_anew)
    except (ReverieError, OSError) as error:
        if isinstance(error, ConfigError):
            hook_state.note_config(home)
        else:
            hook_state.note(home, "trouble", _described(error), clocks.SystemClock().now())
        _complain(home, _described(error))
        return False


def _pass_by_pass(
    home: Path, settings: config.Settings, clock: clocks.Clock, left: set[str], *, is_anew: bool
) -> bool:
    with open_ledger(Home(home).ledger) as ledger:
        spool.sweep(home, now=clock.now().timestamp())
        worker = Worker(WorkerContext(home, settings, clock, ledger))
        while True:
            done = worker.run()
            left |= worker.left
            LOG.info(
                "pass: %d events, %d left, %d runs, %d failures, waiting: %s",
                done.events,
                done.left,
                len(done.outcomes),
                len(done.failures),
                done.waiting or "no",
            )
            # One that has just begun anew does so again only for work, or it might do nothing else.
            worked = done.events or done.outcomes or done.dreams or done.batches
            is_heavy = bool(worked or not is_anew) and _is_heavy()
            if not _linger(home, worker, left, is_heavy=is_heavy):
                return True


def _described(error: ReverieError | OSError) -> str:
    return f"{error}. {error.fix}" if isinstance(error, ReverieError) else cause(error)


def _complain(home: Path, cause: str) -> None:
    """Log what keeps every worker from its work once, not again for each hook that starts one."""
    lines = lines_of(Home(home).worker_log.read_text("utf-8", "replace"))[-20:]
    errors = [line for line in lines if " ERROR " in line]
    if not errors or not errors[-1].endswith(cause):
        LOG.error("%s", cause)


def _is_heavy() -> bool:
    return os.name != "nt" and any(name in sys.modules for name in _HEAVY)


def _linger(home: Path, worker: Worker, left: set[str], *, is_heavy: bool) -> bool:
    """Wait for the next job or event if one is near; False when there is nothing to wait for.

    Raises _BeginAnew instead of waiting in a process that `is_heavy`.
    """
    longest = worker.context.settings.worker.linger_seconds
    # Who wants no waiting gets none.
    deadline = time.monotonic() + (max(longest, worker.in_step.longest_wait) if longest else 0)
    while True:
        if _event_waits(home, left):
            return True
        due = worker.next_due()
        if due is None or time.monotonic() + due > deadline:
            return False
        if due <= 0:
            return True
        if is_heavy:
            raise _BeginAnew
        time.sleep(min(due, 0.5))


def _log_to(home: Path) -> None:
    ensure_dir(Home(home).logs)
    handler = RotatedLog(Home(home).worker_log, encoding="utf-8")
    handler.setFormatter(FieldFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    # The parent of every area's logger: reverie.intake, reverie.worker, reverie.recall, …
    # A log on a full disk is no reason to stop, nor to say so at each of its lines: `hook_state.note` tells.
    logging.raiseExceptions = False
    root = logging.getLogger("reverie")
    root.addHandler(handler)
    root.setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main())
