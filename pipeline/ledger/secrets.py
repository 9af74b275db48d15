"""Secrets recognised once in this home, as salted digests, and the masking of what was stored before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.safety.recognised import Fingerprint, Recognised

_STORED = {
    "memory_transcript_entries": ("content", "note", "branch", "files", "memory_writes"),
    "events": ("payload_json",),
}
"""What a session has said that stays in the ledger, by table."""
_PAGE = 200


def recognised(ledger: Ledger) -> Recognised:
    """Return the values known in the home of `ledger`."""
    rows = ledger.rows("SELECT digest, length, spaced FROM secret_marks")
    fingerprints = [Fingerprint(row["digest"], row["length"], bool(row["spaced"])) for row in rows]
    return Recognised(ledger.value("SELECT salt FROM secret_salt"), fingerprints)


def masking(ledger: Ledger) -> Callable[[str], str]:
    """Return what takes out of a text the values that are known at the time it is called."""
    return lambda text: recognised(ledger).mask(text)


def keep(
    ledger: Ledger,
    known: Recognised,
    fingerprints: Sequence[Fingerprint],
    sessions: Iterable[str],
    *,
    now: Moment,
) -> None:
    """Keep `fingerprints`, and take what `known` knows out of all that `sessions` had said before."""
    rows = [
        (fingerprint.digest, fingerprint.length, fingerprint.spaced, seconds(now))
        for fingerprint in fingerprints
    ]
    ledger.executemany("INSERT OR IGNORE INTO secret_marks VALUES (?, ?, ?, ?)", rows)
    changed = False
    for session in sessions:
        # What is overwritten must not stay readable in the file's free space.
        ledger.execute("PRAGMA secure_delete = ON")
        for table, columns in _STORED.items():
            changed |= _mask(ledger, known, table, columns, session)
    if changed:
        ledger.note_rewrite()


def _mask(ledger: Ledger, known: Recognised, table: str, columns: Sequence[str], session: str) -> bool:
    """Mask what one session has in a table; return whether anything was there to mask."""
    # Some rows at a time: a long session has more than should be held. No id is 0 or "".
    last: int | str = "" if table == "events" else 0
    any_changed = False
    page = f"SELECT id, {', '.join(columns)} FROM {table} WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?"
    while stored := ledger.rows(page, (session, last, _PAGE)):
        for row in stored:
            masked = {name: known.mask(row[name]) for name in columns if row[name]}
            changed = {name: text for name, text in masked.items() if text != row[name]}
            if changed:
                names = ", ".join(f"{name} = ?" for name in changed)
                ledger.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*changed.values(), row["id"]))
                any_changed = True
        last = stored[-1]["id"]
    return any_changed
