"""Entries and passes over them, as the transcript reader would give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline.domain.speech import Entry
from pipeline.ledger.connection import Ledger
from pipeline.ledger.entries import IngestResult, commit_ingest
from pipeline.ledger.files import begin_ingest
from pipeline.transcript.branch import Link

KEY = "-w-shop/5e55.jsonl"
SESSION = "5e55"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def at(minutes: float = 0, seconds: float = 0) -> str:
    return (START + timedelta(minutes=minutes, seconds=seconds)).isoformat()


def later(minutes: float = 0, seconds: float = 0) -> datetime:
    return START + timedelta(minutes=minutes, seconds=seconds)


def said(number: int, text: str = "", *, when: str | None = None, **more: Any) -> Entry:
    """The entry at place `number` of a file: a person's typed line unless `more` says otherwise."""
    values: dict[str, Any] = {
        "offset": number * 100,
        "length": 100,
        "block": 0,
        "type": "user",
        "uuid": f"u{number}",
        "parent_uuid": f"u{number - 1}" if number else None,
        "session_id": SESSION,
        "text": text or f"line {number}",
        "speaker": "person",
        "channel": "typed",
        "at": when,
        "at_source": "own" if when else "unknown",
    }
    return Entry(**(values | more))


def reply(number: int, text: str = "", **more: Any) -> Entry:
    return said(number, text, **({"type": "assistant", "speaker": "assistant", "channel": "prose"} | more))


def silent(number: int, **more: Any) -> Entry:
    return replace(said(number, "x", speaker=None, channel=None, **more), text="")


def none_abandoned(links: Iterable[Link]) -> set[str]:
    return set()


def ingest(
    led: Ledger,
    entries: Iterable[Entry],
    *,
    key: str = KEY,
    restarted: str = "",
    bad: Sequence[tuple[int, str]] = (),
    counts: dict[str, int] | None = None,
    abandoned: Callable[[Iterable[Link]], set[str]] = none_abandoned,
    gap_minutes: float = 60,
    now: datetime = START,
) -> IngestResult:
    read: list[Entry] = []

    def passing() -> Iterable[Entry]:
        for entry in entries:
            read.append(entry)
            yield entry

    def end() -> int:
        return max((entry.offset + entry.length for entry in read), default=0)

    begin_ingest(led, key, f"/t/{key}", size=1, mtime_ms=1)
    return commit_ingest(
        led,
        key,
        passing(),
        cursor_json=lambda: f'{{"offset": {end()}}}',
        offset=end,
        size=10_000,
        mtime_ms=5,
        restarted=restarted,
        bad=bad,
        type_counts=counts or {},
        abandoned=abandoned,
        gap_minutes=gap_minutes,
        now=now,
    )


def live_rows(led: Ledger, key: str) -> int:
    """Return how many entries the file `key` still holds."""
    counted = (
        "SELECT count(*) FROM memory_transcript_entries WHERE superseded = 0"
        " AND file_id = (SELECT id FROM memory_file_states WHERE file_path = ?)"
    )
    return int(led.value(counted, (key,)))


def lease_owner(led: Ledger, store: str, now: float) -> str | None:
    """Return the owner whose lease on `store` has not run out at `now` (epoch seconds), or None."""
    held = led.value("SELECT owner FROM dream_leases WHERE store = ? AND expires_at > ?", (store, now))
    return None if held is None else str(held)
