"""``_state.json``: how often and when each memory was asked for, or put before a prompt by recall.

The one derived file that can't be made again from the memories. Source: schema v3, checklist C-08. Beside
the seed's `access_count` and `last_accessed` an entry has `injected_count` and `last_injected`: being put
before a prompt is no access, so it keeps nothing young. Keys we don't know stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from pipeline.store.files.versions import NewerVersionError, require_version, set_aside

STATE = "_state.json"
STATE_VERSION = 1
_SIDES = b"<<<<<<< "
BY_PATH = "path:"
"""What the key of a file begins with that had no id when its use was counted."""
_BEGUN = "last_accessed"
_KINDS = (("access_count", "last_accessed"), ("injected_count", "last_injected"))
"""How often, and when last: asked for, and put before a prompt."""
DECAYED = "decayed"
"""When the scores were last written."""
PAUSE = timedelta(days=30)
"""Nothing put before a prompt for so long: recall was off, or nobody was there, and nothing could be used."""


class _TornError(ValueError):
    """The file is no JSON, and no merge that a person can settle; `raw` is what is in it."""

    def __init__(self, raw: bytes) -> None:
        super().__init__("it is no JSON")
        self.raw = raw


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


def access_of(state: Mapping[str, dict[str, Any]], memory_id: str, path: str) -> dict[str, Any]:
    """Return what `state` has of the memory of that id, or of the file at `path` where it had none."""
    by_id = state.get(memory_id) if memory_id else None
    return by_id or state.get(f"{BY_PATH}{path}") or {}


def noted(root: Path, key: str) -> object:
    """Return what ``_state.json`` has for `key` beside its entries."""
    return _read_file(root).get(key)


def write_scores(root: Path, scores: Mapping[str, float], now: datetime) -> bool:
    """Write the decay `scores`, by the keys of their entries; True if any changed, else nothing is written.

    Counts stay as they are; a memory that nobody asked for gets a count of 0. Raises StoreError as
    `count_uses` does.
    """
    state = _to_go_on(root, now)
    entries = dict(state["entries"])
    for key, score in scores.items():
        known = entries.get(key)
        entry = dict(known) if isinstance(known, dict) else {}
        entries[key] = {"access_count": 0, **entry, "decay_score": round(score, 4)}
    if entries == state["entries"]:
        return False
    state |= {"updated": iso(now), DECAYED: iso(now), "entries": entries}
    write_atomic(root / STATE, orjson.dumps(state))
    return True


def fault(root: Path) -> StoreError | None:
    """Return why ``_state.json`` can't be read, None where it can or is not there."""
    try:
        _understood(root)
    except _TornError:
        fix = "`reverie reindex` sets it aside, where it is kept, and counting begins anew."
        return StoreError("it is damaged, and is no JSON", file=str(root / STATE), fix=fix)
    except StoreError as error:
        return error
    return None


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
    """Create ``_state.json`` if there is none, or a damaged one; else it is never reset. True if written."""
    if (root / STATE).exists() and _torn(root) is None:
        return False
    _set_aside(root)
    write_atomic(root / STATE, orjson.dumps(_new(now)))
    return True


def count_uses(root: Path, uses: Sequence[Use], ledger: str, now: datetime) -> int:
    """Add `uses` to ``_state.json`` and return how many were new; `ledger` tells which one they come from.

    The number of the last one is kept in the same file, so that a use told again after a crash is not
    counted again. Times after `now` count as now. Raises StoreError when the file can't be understood; it
    is left as it is.
    """
    state = _to_go_on(root, now)
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


def portable(root: Path, ids: Collection[str]) -> bytes | None:
    """Return a ``_state.json`` with how often and when the memories with `ids` were of use, None for nothing.

    Nothing in it is of today, so that the same counts always give the same bytes.
    """
    keys = [key for kind in _KINDS for key in kind]
    state = read_state(root)
    found = {
        memory: {key: state[memory][key] for key in keys if key in state[memory]} for memory in sorted(state)
    }
    counts = [count for count, _ in _KINDS]
    found = {
        memory: entry
        for memory, entry in found.items()
        if memory in ids and any(entry.get(count) for count in counts)
    }
    if not found:
        return None
    last = max((str(entry.get(key, "")) for entry in found.values() for _, key in _KINDS), default="")
    held = {"version": 1, "updated": last, "entries": found}
    return orjson.dumps(held, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def take_over(root: Path, entries: Mapping[str, dict[str, Any]], now: datetime) -> int:
    """Add `entries`, counted elsewhere, of memories that were never of use here; return how many those are.

    Times after `now` count as now. Raises StoreError as `count_uses` does.
    """
    state = _to_go_on(root, now)
    known, fresh = read_state(root), {}
    for memory, entry in entries.items():
        here, given = known.get(memory, {}), _joined({}, entry)
        if not _tells(here) and (_tells(given) or (given.get(_BEGUN) and not here.get(_BEGUN))):
            times = {key: parse_time(given.get(key)) for _, key in _KINDS}
            counts = {count: given[count] for count, _ in _KINDS if count in given}
            fresh[memory] = {**here, **counts, **{key: iso(min(at, now)) for key, at in times.items() if at}}
    if fresh:
        state |= {"updated": iso(now), "entries": {**state["entries"], **fresh}}
        write_atomic(root / STATE, orjson.dumps(state))
    return len(fresh)


def _tells(entry: Mapping[str, Any]) -> bool:
    return any(entry.get(count) for count, _ in _KINDS)


def begun(now: datetime) -> dict[str, Any]:
    """Return the entry of a memory that decays from `now` on, without an access."""
    return {_BEGUN: iso(now)}


def carry_over(root: Path, look: Callable[[], Mapping[str, str]], now: datetime) -> bool:
    """Count under its id what was counted under the path of a file that had none; True if there was such.

    `look` gives the id of each path, and is asked only where it is needed. Uses of a path that is not in it
    stay where they are. Raises StoreError as `count_uses` does.
    """
    state = _read_file(root)
    entries = dict(state.get("entries", {}))
    by_path = [key for key in entries if key.startswith(BY_PATH)]
    ids = look() if by_path else {}
    moving = {key: memory for key in by_path if (memory := ids.get(key.removeprefix(BY_PATH)))}
    for key, memory in moving.items():
        old = entries.pop(key)
        known = entries.get(memory)
        entries[memory] = _joined(
            known if isinstance(known, dict) else {}, old if isinstance(old, dict) else {}
        )
    if moving:
        write_atomic(root / STATE, orjson.dumps({**state, "updated": iso(now), "entries": entries}))
    return bool(moving)


def _joined(entry: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the uses of `entry` and of `more`, which tell of one memory."""
    found = {**more, **entry}
    for count, last in _KINDS:
        number = _number(entry.get(count)) + _number(more.get(count))
        times = [moment for each in (entry, more) if (moment := parse_time(each.get(last))) is not None]
        found |= {count: min(number, MOST_EXACT)} if number else {}
        found |= {last: iso(max(times))} if times else {}
    return found


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < MOST_EXACT else 0


def _counted(entry: dict[str, Any], use: Use, at: datetime) -> dict[str, Any]:
    count, last = _KINDS[0] if use.asked else _KINDS[1]
    known, before = _number(entry.get(count)), parse_time(entry.get(last))
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
    return {"version": STATE_VERSION, "updated": iso(now), "entries": {}}


def _torn(root: Path) -> bytes | None:
    """Return the bytes of a ``_state.json`` that is no JSON, None for any other."""
    try:
        _loaded(root)
    except _TornError as error:
        return error.raw
    except (OSError, StoreError, ValueError):
        return None
    return None


def _loaded(root: Path) -> Any:
    raw = read_regular(root / STATE, MAX_DERIVED)[0]
    try:
        return orjson.loads(raw)
    except ValueError as error:
        # One with both sides of a merge is not torn: a person can settle it.
        if _SIDES in raw:
            raise
        raise _TornError(raw) from error


def _set_aside(root: Path) -> None:
    """Keep a damaged file where it is out of the way."""
    raw = _torn(root)
    if raw is not None:
        set_aside(root, STATE, raw)


def _to_go_on(root: Path, now: datetime) -> dict[str, Any]:
    """Return what is in the file, to be written again; a damaged one is set aside."""
    _set_aside(root)
    return {**_new(now), **_read_file(root)}


def _read_file(root: Path) -> dict[str, Any]:
    try:
        return _understood(root)
    except _TornError:
        return {}  # Whoever writes it next sets it aside; until then `status` tells of it.


def _understood(root: Path) -> dict[str, Any]:
    """Return what the file holds, {} where there is none; raises StoreError, or _TornError for a torn one."""
    try:
        state = _loaded(root)
        require_version(root / STATE, state, STATE_VERSION)
        if not isinstance(state, dict) or not isinstance(state.get("entries"), dict):
            raise ValueError("there are no entries in it")
    except FileNotFoundError:
        return {}
    except (NewerVersionError, _TornError):
        raise
    except (OSError, StoreError, ValueError) as error:
        raise StoreError(
            f"can't be read: {error}",
            file=str(root / STATE),
            fix="Mend or remove it; it holds access counts.",
        ) from error
    return state
