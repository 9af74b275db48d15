"""``_state.json``: how often and when each memory was asked for, or put before a prompt by recall.

The one derived file that can't be made again from the memories. Source: schema v3, checklist C-08. Beside
the seed's `access_count` and `last_accessed` an entry has `injected_count` and `last_injected`: being put
before a prompt is no access, so it keeps nothing young. Keys we don't know stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.clock import iso, parse_time
from pipeline.core.errors import StoreError
from pipeline.hooklib.jsonish import MOST_EXACT
from pipeline.store.files.layout import MAX_DERIVED, read_regular

STATE = "_state.json"
PAUSE = timedelta(days=30)
"""Nothing put before a prompt for so long: recall was off, or nobody was there, and nothing could be used."""


@dataclass(frozen=True, slots=True)
class Use:
    """One time a memory was put before a prompt or, if `asked`, asked for.

    `memory` is its id, or ``path:`` and its path; `number` is that of the row that tells of it, ascending
    in the ledger it comes from.
    """

    number: int
    memory: str
    at: datetime
    asked: bool


def read_state(root: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of ``_state.json`` by memory id; empty when there are none."""
    entries = _read_file(root).get("entries", {})
    return {memory_id: entry for memory_id, entry in entries.items() if isinstance(entry, dict)}


def last_uses(root: Path) -> dict[str, datetime]:
    """Return when each memory was last of use, by id: asked for, or put before a prompt."""
    found = {}
    for memory_id, entry in read_state(root).items():
        times = (parse_time(entry.get(key)) for key in ("last_accessed", "last_injected"))
        last = max((moment for moment in times if moment is not None), default=None)
        if last is not None:
            found[memory_id] = last
    return found


def counted_since(root: Path, now: datetime) -> datetime | None:
    """Return since when uses are counted without a pause up to `now`, None where they are not.

    Before that moment nobody could use a memory, so none was left unused.
    """
    state = _read_file(root)
    since, last = parse_time(state.get("counting_since")), parse_time(state.get("last_counted"))
    return None if since is None or last is None or now - last > PAUSE else since


def write_state(root: Path, now: datetime) -> bool:
    """Create ``_state.json`` if there is none; it is never reset. True if it was written."""
    if (root / STATE).exists():
        return False
    write_atomic(root / STATE, orjson.dumps(_new(now)))
    return True


def count_uses(root: Path, uses: Sequence[Use], ledger: str, now: datetime) -> int:
    """Add `uses` to ``_state.json`` and return how many were new; `ledger` tells which one they come from.

    The number of the last one is kept in the same file, so that a use told again after a crash is not
    counted again. Times after `now` count as now. Raises StoreError when the file can't be understood; it
    is left as it is.
    """
    state = {**_new(now), **_read_file(root)}
    counted = state.get("counted")
    counted = dict(counted) if isinstance(counted, dict) else {}
    through = counted.get(ledger)
    through = through if isinstance(through, int) else 0
    fresh = sorted((use for use in uses if use.number > through), key=lambda use: use.number)
    if not fresh:
        return 0
    entries = dict(state["entries"])
    for use in fresh:
        known = entries.get(use.memory)
        entries[use.memory] = _counted(known if isinstance(known, dict) else {}, use, min(use.at, now))
    state |= _stretch(state, (min(use.at, now) for use in fresh if not use.asked))
    state |= {
        "updated": iso(now),
        "counted": {**counted, ledger: fresh[-1].number},
        "entries": entries,
    }
    write_atomic(root / STATE, orjson.dumps(state))
    return len(fresh)


def _counted(entry: dict[str, Any], use: Use, at: datetime) -> dict[str, Any]:
    count, last = ("access_count", "last_accessed") if use.asked else ("injected_count", "last_injected")
    number, before = entry.get(count), parse_time(entry.get(last))
    known = number if isinstance(number, int) and 0 <= number < MOST_EXACT else 0
    return {**entry, count: known + 1, last: iso(at if before is None else max(before, at))}


def _stretch(state: dict[str, Any], moments: Iterable[datetime]) -> dict[str, str]:
    """Return since when and until when recall is at work without a pause, once it was so at `moments`."""
    since, last = parse_time(state.get("counting_since")), parse_time(state.get("last_counted"))
    for at in sorted(moments):
        if since is None or last is None or at - last > PAUSE:
            since = at
        last = at if last is None else max(last, at)
    if since is None or last is None:
        return {}
    return {"counting_since": iso(since), "last_counted": iso(last)}


def _new(now: datetime) -> dict[str, Any]:
    return {"version": 1, "updated": iso(now), "entries": {}}


def _read_file(root: Path) -> dict[str, Any]:
    try:
        state = orjson.loads(read_regular(root / STATE, MAX_DERIVED)[0])
        if not isinstance(state, dict) or not isinstance(state.get("entries"), dict):
            raise ValueError("there are no entries in it")
    except FileNotFoundError:
        return {}
    except (OSError, StoreError, ValueError) as error:
        raise StoreError(
            f"can't be read: {error}",
            file=str(root / STATE),
            fix="Mend or remove it; it holds access counts.",
        ) from error
    return state
