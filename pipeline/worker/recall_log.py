"""What recall did, from the hooks' files into the ledger, and from there into each store's counts.

The hooks append to ``<home>/recall/sessions/<session>.jsonl`` and look at nothing else. `take` copies what
is new, whatever stands in it; a file whose session has been silent for a month is removed. `count` then
adds to ``_state.json``, exactly once: what was put before a prompt, and what somebody asked for.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from pipeline.context import open_store
from pipeline.core import faults, paths, system
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.hooklib.places import PROJECT_STORE
from pipeline.ledger import Ledger, lookups, recalls
from pipeline.ledger.recalls import BadLine, Line, Logged, Progress
from pipeline.recall.prepared import log_parser
from pipeline.store import Use, foreign_dream_running
from pipeline.worker.extraction_runner import ExtractionRunner
from pipeline.worker.index_refresh import ONE_STORE

LOG = logging.getLogger("reverie.worker")
KEEP_SECONDS = 30 * 86_400
MOST_LINE = 1 << 20
MOST_AT_ONCE = 8 << 20
"""Bytes taken of one file in one go; the rest comes with the next."""
_LINES_AT_ONCE = 500
_ROWS_AT_ONCE = 20_000
_HEAD = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION = re.compile(r"([A-Za-z0-9_-]{1,80})\.jsonl")


def take(ledger: Ledger, home: Path, now: float) -> int:
    """Take every new line of the hooks' files into `ledger` and return how many there were.

    A file that can't be read is left, and told of in the log. Files of sessions silent for `KEEP_SECONDS`
    before `now` (epoch seconds) are removed once the ledger has all of them.
    """
    folder = Home(home).recall_sessions
    known = recalls.progress(ledger)
    taken = 0
    for file, session in _files(folder):
        try:
            taken += _take_file(ledger, file, session, known.get(session), now)
        except OSError as error:
            LOG.warning("%s: what recall did can't be read: %s", file, error.strerror or error)
    return taken


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - a name may be no text
    except FileNotFoundError:
        return
    for name in names:
        match = _SESSION.fullmatch(name)
        if match:
            yield folder / name, match[1]


def _take_file(ledger: Ledger, file: Path, session: str, known: Progress | None, now: float) -> int:
    info = file.lstat()
    if not stat.S_ISREG(info.st_mode):
        raise OSError(0, "it is no regular file")
    taken = 0
    if known is None or known.taken != info.st_size:
        handle = os.open(file, os.O_RDONLY | system.NO_LINK | system.NO_WAIT | system.OPEN)
        with os.fdopen(handle, "rb") as opened:
            known, taken = _follow(ledger, opened, session, known, now)
    if known is not None and info.st_mtime < now - KEEP_SECONDS:
        _remove(ledger, file, session, known)
    return taken


def _follow(
    ledger: Ledger, opened: BinaryIO, session: str, known: Progress | None, now: float
) -> tuple[Progress | None, int]:
    """Read on from `known`; return how far that came, None when another process is at it, and the lines."""
    at = known or Progress()
    size = os.fstat(opened.fileno()).st_size
    if at.taken > size or opened.read(len(at.head)) != at.head:
        # Removed and begun anew, so what we know of it is about another file.
        at = Progress(base=at.base + at.taken)
    opened.seek(0)
    head = opened.read(_HEAD)
    stop = min(size, at.taken + MOST_AT_ONCE)
    found = 0
    before = known
    while at.taken < stop:
        lines, bad, end = _batch(opened, at, now)
        if end == at.taken:
            break
        after = Progress(end, at.base, head[:end])
        if not recalls.add_lines(ledger, session, lines, bad, before=before, after=after):
            return None, found
        found += len(lines)
        before = at = after
    return at, found


def _batch(opened: BinaryIO, at: Progress, now: float) -> tuple[list[Line], list[BadLine], int]:
    """Return the next whole lines from `at`, what in them is wrong, and where they end."""
    lines: list[Line] = []
    bad: list[BadLine] = []
    end = at.taken
    opened.seek(end)
    for _ in range(_LINES_AT_ONCE):
        if end - at.taken >= MOST_LINE:
            break
        raw = opened.readline(MOST_LINE)
        place = at.base + end
        length = len(raw)
        if not raw.endswith(b"\n"):
            length += _rest(opened) if length == MOST_LINE else 0
            if length <= MOST_LINE:
                break  # Its end has not been written yet.
            bad.append(log_parser.bad(place, f"longer than {MOST_LINE:,} bytes", raw))
        else:
            line, wrong = log_parser.parse(raw, place, now)
            lines += [line] if line else []
            bad += wrong
        end += length
    return lines, bad, end


def _rest(opened: BinaryIO) -> int:
    """Return how many bytes the line that is being read still has, 0 when its end is not there yet."""
    found = 0
    while raw := opened.readline(MOST_LINE):
        found += len(raw)
        if raw.endswith(b"\n"):
            return found
    return 0


def _remove(ledger: Ledger, file: Path, session: str, known: Progress) -> None:
    """Remove a silent session's file, unless something in it is still to be read.

    A hook that wakes the session between the last look and the removal loses its line: the memory may then
    be sent once more, which after a month does no harm.
    """
    with file.open("rb") as opened:
        opened.seek(known.taken)
        rest = opened.read(MOST_LINE)
    if b"\n" in rest:
        return
    if rest:
        torn = log_parser.bad(known.base + known.taken, "torn: it has no end", rest)
        recalls.add_bad(ledger, session, [torn])
    file.unlink(missing_ok=True)
    file.with_name(f"{session}.picks.json").unlink(missing_ok=True)
    recalls.begin_anew(ledger, session)


# -- counting -----------------------------------------------------------------------------------------


def count(runner: ExtractionRunner) -> None:
    """Add what the log has and no store's counts have yet; a store that can't be written now has to wait.

    Counted only where memories are known to be ours: in stores the ledger knows, the user-scope store and
    Claude Code's own memory folders. A folder that only a session's file names is never written to.
    """
    rows = recalls.uncounted(runner.ledger, limit=_ROWS_AT_ONCE)
    if not rows:
        return
    trusted = _trusted(runner)
    by_store: dict[Path, list[tuple[Logged, str]]] = defaultdict(list)
    left_out = []
    for row in rows:
        place, path = _home_of(row, trusted)
        if place is None:
            left_out.append(row.id)
        else:
            by_store[place].append((row, path))
    recalls.set_counted(runner.ledger, left_out, recalls.LEFT_OUT)
    for place, found in sorted(by_store.items()):
        try:
            _count_in(runner, place, found)
        except (StoreError, OSError, *ONE_STORE) as error:
            LOG.warning("%s: uses are not counted yet: %s: %s", place, type(error).__name__, error)


def _count_in(runner: ExtractionRunner, place: Path, found: Sequence[tuple[Logged, str]]) -> None:
    now = runner.clock.now()
    if foreign_dream_running(place, now):
        return
    store = open_store(place, runner.settings)
    by_path = (
        {d.path: d.id for d in store.scan().documents} if any(not row.memory for row, _ in found) else {}
    )
    uses: list[Use] = []
    for row, path in found:
        if row.use and not row.memory and path not in by_path:
            continue  # Read, but no memory: MEMORY.md, or one that has left since.
        memory = row.memory or by_path.get(path) or f"path:{path}"
        uses.append(Use(row.id, memory, _EPOCH + timedelta(seconds=row.at), bool(row.use)))
    if uses:
        store.count_uses(uses, recalls.identity(runner.ledger), now=now)
    faults.reach("recall.after_counts")
    recalls.set_counted(runner.ledger, [row.id for row, _ in found])


def _trusted(runner: ExtractionRunner) -> set[Path]:
    places = [*lookups.stores(runner.ledger), str(Home(runner.home).user_store), str(runner.store or "")]
    return {Path(os.path.realpath(place)) for place in places if place}


def _home_of(row: Logged, trusted: set[Path]) -> tuple[Path | None, str]:
    """Return the store of ours that holds the memory of `row`, None for none, and the memory's path there."""
    named = Path(row.store or row.path)
    if not named.is_absolute():
        return None, ""
    real = Path(os.path.realpath(named))
    for place in [real] if row.store else real.parents:
        if (place in trusted or _is_project_memory(place)) and place.is_dir():
            return place, row.path if row.store else real.relative_to(place).as_posix()
    return None, ""


def _is_project_memory(place: Path) -> bool:
    return place.name == PROJECT_STORE and place.parent.parent == Path(os.path.realpath(paths.projects_dir()))
