"""What the ledger keeps of dreams: when they ran, what they looked at, why they did not, who is at it.

`store` is the store's path as text. Everything here is by store, so that no project waits for
another. Among our own processes the lease decides who consolidates; the folder's ``.consolidate-lock``
only keeps Claude Code and us apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.core.clock import parse_time
from pipeline.core.ids import new_id
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import record

if TYPE_CHECKING:
    import sqlite3

REFUSALS_KEPT = 200
"""Rows of the history of closed gates, for each store."""


@record
class DreamState:
    """When a store was last consolidated, last tried, and last searched for sessions.

    Epoch seconds, None for never. A time may lie ahead of now, when the clock was set back since.
    """

    last_success: float | None
    last_attempt: float | None
    last_scan: float | None


@record
class GateRow:
    """What one gate answered, in words, when it was last asked (epoch seconds)."""

    name: str
    open: bool
    reason: str
    at: float


def state(ledger: Ledger, store: str) -> DreamState:
    """Return what is known of the dreams of `store`."""
    row = ledger.row(
        "SELECT last_success, last_attempt, last_scan FROM dream_states WHERE store = ?", (store,)
    )
    return DreamState(None, None, None) if row is None else DreamState(*row)


def note_scan(ledger: Ledger, store: str, *, now: Moment) -> None:
    """Note that the sessions of `store` were counted."""
    _note(ledger, store, "last_scan", seconds(now))


def note_attempt(ledger: Ledger, store: str, *, now: Moment) -> None:
    """Note that a dream of `store` begins, however it may end."""
    _note(ledger, store, "last_attempt", seconds(now))


def note_success(ledger: Ledger, store: str, *, now: Moment) -> None:
    """Note that a dream of `store` did all it set out to do. A partial one did not."""
    _note(ledger, store, "last_success", seconds(now))


def _note(ledger: Ledger, store: str, column: str, at: float) -> None:
    ledger.execute(
        f"INSERT INTO dream_states (store, {column}) VALUES (?, ?)"
        f" ON CONFLICT (store) DO UPDATE SET {column} = excluded.{column}",
        (store, at),
    )


# -- what was looked at -------------------------------------------------------------------------------


def seen(ledger: Ledger, store: str) -> dict[str, str]:
    """Return the digest of each memory of `store` when a dream last looked at it, by id (or path)."""
    sql = "SELECT memory, digest FROM dream_seen WHERE store = ? ORDER BY memory"
    return dict(ledger.plain_rows(sql, (store,)))


def seen_ids(ledger: Ledger, store: str) -> set[str]:
    """Return the ids of `seen` alone."""
    found = ledger.plain_rows("SELECT memory FROM dream_seen WHERE store = ?", (store,))
    return {memory for (memory,) in found}


def carried_over(ledger: Ledger, store: str) -> list[str]:
    """Return the ids of `seen` that have no digest, sorted: an earlier dream did not get to them."""
    sql = "SELECT memory FROM dream_seen WHERE store = ? AND digest = '' ORDER BY memory"
    return [row["memory"] for row in ledger.rows(sql, (store,))]


def mark_seen(ledger: Ledger, store: str, digests: Mapping[str, str]) -> None:
    """Note what a dream has looked at; what it carried over is left out, and so comes next time."""
    with ledger.transaction():
        ledger.executemany(
            "INSERT INTO dream_seen (store, memory, digest) VALUES (?, ?, ?)"
            " ON CONFLICT (store, memory) DO UPDATE SET digest = excluded.digest"
            " WHERE digest <> excluded.digest",
            [(store, memory, digest) for memory, digest in sorted(digests.items())],
        )


def forget_seen(ledger: Ledger, store: str, memories: Iterable[str]) -> None:
    """Drop the notes on `memories`, which are gone or are to be looked at again."""
    with ledger.transaction():
        ledger.executemany(
            "DELETE FROM dream_seen WHERE store = ? AND memory = ?",
            [(store, memory) for memory in sorted(set(memories))],
        )


# -- why no dream ran ---------------------------------------------------------------------------------


def log_gates(ledger: Ledger, store: str, gates: Sequence[tuple[str, bool, str]], *, now: Moment) -> None:
    """Keep what each gate answered: name, whether it is open, and the reason, in the order given.

    Takes the place of the answers before. A gate that is closed also has a line in the history: one for as
    long as it stays closed, with its latest reason, so that each Stop of a busy day adds nothing.
    """
    at = seconds(now)
    with ledger.transaction():
        before = {gate.name for gate in last_gates(ledger, store) if not gate.open}
        ledger.execute("DELETE FROM dream_gates WHERE store = ?", (store,))
        ledger.executemany(
            "INSERT OR REPLACE INTO dream_gates (store, name, place, open, reason, at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (store, name, position, int(is_open), reason, at)
                for position, (name, is_open, reason) in enumerate(gates)
            ],
        )
        for name, is_open, reason in gates:
            if not is_open:
                _refuse(ledger, store, name, reason, at, still=name in before)


def _refuse(ledger: Ledger, store: str, name: str, reason: str, at: float, *, still: bool) -> None:
    known = ledger.value("SELECT max(id) FROM dream_refusals WHERE store = ? AND name = ?", (store, name))
    if still and known is not None:
        ledger.execute("UPDATE dream_refusals SET reason = ? WHERE id = ?", (reason, known))
        return
    ledger.execute(
        "INSERT INTO dream_refusals (store, name, reason, at) VALUES (?, ?, ?, ?)", (store, name, reason, at)
    )
    ledger.execute(
        "DELETE FROM dream_refusals WHERE store = ? AND id NOT IN"
        " (SELECT id FROM dream_refusals WHERE store = ? ORDER BY id DESC LIMIT ?)",
        (store, store, REFUSALS_KEPT),
    )


def last_gates(ledger: Ledger, store: str) -> list[GateRow]:
    """Return what each gate answered when they were last asked, in that order; empty if they never were."""
    rows = ledger.rows(
        "SELECT name, open, reason, at FROM dream_gates WHERE store = ? ORDER BY place", (store,)
    )
    return [GateRow(row["name"], bool(row["open"]), row["reason"], row["at"]) for row in rows]


def refusals(ledger: Ledger, store: str, *, limit: int = 20) -> list[GateRow]:
    """Return the latest closed gates of `store`, newest first; `at` is since when that gate was closed."""
    rows = ledger.rows(
        "SELECT name, reason, at FROM dream_refusals WHERE store = ? ORDER BY id DESC LIMIT ?", (store, limit)
    )
    return [GateRow(row["name"], False, row["reason"], row["at"]) for row in rows]


def sessions_since(ledger: Ledger, store: str, *, since: float | None, exclude: str = "") -> int:
    """Return how many sessions of `store` spoke later than `since` (None: ever), but for `exclude`.

    A session's last activity is its newest entry's own time, or the file's when no entry tells one, so
    that neither a copied transcript nor what Reverie writes itself counts as activity (bug 58).
    """
    rows = ledger.rows(
        "SELECT session_id, file_path, last_entry_timestamp, last_modified FROM memory_file_states"
        " WHERE store = ?",
        (store,),
    )
    found = set()
    for row in rows:
        spoken_at = parse_time(row["last_entry_timestamp"])
        last = spoken_at.timestamp() if spoken_at else row["last_modified"] / 1000
        if since is None or last > since:
            found.add(row["session_id"] or row["file_path"])
    return len(found - {exclude})


# -- the lease ----------------------------------------------------------------------------------------


def take_lease(
    ledger: Ledger,
    store: str,
    *,
    owner: str,
    boot_id: str,
    lease_seconds: float,
    now: Moment,
    alive: Callable[[str], bool] | None = None,
) -> str | None:
    """Take `store` for one dream and return a token for it; None while another owner has it.

    A lease is void when it has run out, when its machine has been booted since, when it was renewed in a
    far future (the clock was set back), and when `alive`, asked about an owner of this same boot, denies
    it. `boot_id` is `machine.boot_id()`: what follows its last ``@`` names the machine, and the lease of
    another machine is respected until it runs out.
    """
    at, token = seconds(now), new_id()
    with ledger.transaction():
        held = ledger.row("SELECT * FROM dream_leases WHERE store = ?", (store,))
        if held is not None and not _void(held, boot_id, at, alive):
            return None
        ledger.execute(
            "INSERT OR REPLACE INTO dream_leases"
            " (store, token, owner, boot_id, taken_at, beat_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (store, token, owner, boot_id, at, at, at + lease_seconds),
        )
    return token


def _void(held: sqlite3.Row, boot_id: str, at: float, alive: Callable[[str], bool] | None) -> bool:
    length = held["expires_at"] - held["beat_at"]
    # Up to one length ahead is a clock set back a little; so no lease blocks for longer than two.
    if not held["beat_at"] - length <= at < held["expires_at"]:
        return True
    if held["boot_id"] == boot_id:
        return alive is not None and not alive(held["owner"])
    return _machine(held["boot_id"]) == _machine(boot_id)


def _machine(boot_id: str) -> str:
    return boot_id.rpartition("@")[2] if "@" in boot_id else ""


def confirm_lease(ledger: Ledger, store: str, token: str, *, lease_seconds: float, now: Moment) -> bool:
    """Renew the lease, and tell whether it is still ours; ask right before the store is changed.

    False once anyone took it over, even if they have finished: an owner that was suspended never wins. One
    that overslept but that nobody followed has lost nothing and goes on.
    """
    at = seconds(now)
    changed = ledger.execute(
        "UPDATE dream_leases SET beat_at = ?, expires_at = ? WHERE store = ? AND token = ?",
        (at, at + lease_seconds, store, token),
    )
    return changed.rowcount == 1


def release_lease(ledger: Ledger, store: str, token: str) -> None:
    """Give the lease back; one that is no longer ours is left alone."""
    ledger.execute("DELETE FROM dream_leases WHERE store = ? AND token = ?", (store, token))
