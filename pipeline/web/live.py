"""Server-sent events: a page is told that something changed, as long as its tab is open.

Nothing is read but the stamps of a few files, at most once a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from starlette.responses import Response, StreamingResponse

from pipeline.core.home import Home

SECONDS = 1.0
"""Between two looks."""
_STILL = 3
"""Looks without a change after which it is told again: a worker lets go of its lock after its last word."""
_ANYHOW = 60
"""Looks after which a change is told all the same, as “3 min ago” grows old."""
_BEAT = 15
"""Looks after which a line without meaning is sent: only who writes notices that nobody listens."""
CHANGED = b"event: changed\ndata: \n\n"
BEAT = b": here\n\n"

Pause = Callable[[float], Awaitable[object]]


def files_of(home: Path, store: Path) -> list[Path]:
    """Return the files whose stamps change with the state of the work and of the memories in `store`."""
    own = Home(home)
    log = own.ledger.with_name(f"{own.ledger.name}-wal")
    mine = [own.ledger, log, own.spool, own.quarantine, own.worker_lock, own.hook_log, own.config]
    return [*mine, own.watch_state, store]


def stamps(files: Sequence[Path]) -> tuple[tuple[int, int], ...]:
    """Return size and time of each of `files`; what is empty or not there looks the same."""
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[int, int]:
    # Who only looks at the ledger may leave an empty log beside it for a moment.
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns) if found.st_size else (0, 0)


async def changes(files: Sequence[Path], pause: Pause = asyncio.sleep) -> AsyncIterator[bytes]:
    """Yield an event after each change of `files`, and a beat where there was none for long; never ends."""
    known, still, quiet = stamps(files), _STILL, 0
    yield BEAT
    while True:
        await pause(SECONDS)
        now = stamps(files)
        changed, known = now != known, now
        still = 0 if changed else still + 1
        quiet += 1
        if changed or still == _STILL or quiet >= _ANYHOW:
            yield CHANGED
            quiet = 0
        elif quiet % _BEAT == 0:
            yield BEAT


def stream(files: Sequence[Path]) -> Response:
    """Return an answer that goes on until the browser closes it."""
    return StreamingResponse(changes(files), media_type="text/event-stream")
