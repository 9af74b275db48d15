"""Prompts typed while the assistant worked, which older clients keep only as a queue operation.

An ``enqueue`` has the words but no uuid. Most are delivered and then stand in the file again, as a typed
prompt or a ``queued_command`` attachment; that copy has a uuid to cite, so it is the one kept. An enqueue
without a copy speaks for itself, under a uuid derived from it, as soon as it is clear that none will come:
the assistant went on after a ``remove``, the person typed something else, or the file has gone quiet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pipeline.core.clock import iso_exact, parse_time
from pipeline.core.ids import derived_id, digest
from pipeline.domain.speech import Entry
from pipeline.record import changing
from pipeline.safety.late import late
from pipeline.transcript import speech
from pipeline.transcript.lines import Piece
from pipeline.transcript.records import Context, session_of, text_field

MOST_WAITING = 32

_WAITING = "w"
_REMOVED = "r"
_DEQUEUED = "d"
# An offset, a length and a state, as `Queue.dump` puts them into the cursor.
_POSITION = late(r"(\d+)\+(\d+)([wrd])")


@changing
class _Item:
    entry: Entry
    state: str = _WAITING


def _key(text: str) -> str:
    return digest(" ".join(text.split()))[:16]


def enqueued(record: dict[str, Any], piece: Piece, context: Context) -> Entry | None:
    """Return the speech of an ``enqueue`` record, or None when nobody speaks in it.

    Its time is its own or unknown, never inherited, so that reading it again later gives the same entry.
    """
    content = record.get("content")
    words = speech.queued_words(content) if isinstance(content, str | list) else ""
    if not words or not speech.is_from_person(record):
        return None
    session = session_of(record, context)
    stamp = text_field(record, "timestamp") or ""
    moment = parse_time(stamp)
    known = moment is not None and moment <= context.latest
    return Entry(
        offset=piece.offset,
        length=piece.length,
        block=0,
        type="queue-operation",
        uuid=derived_id(session, "queue", stamp, words),
        parent_uuid=None,
        session_id=session,
        text=words,
        speaker="person",
        channel="queued",
        at=iso_exact(moment) if moment and known else None,
        at_source="own" if known else "unknown",
        chained=False,
    )


class Queue:
    """The prompts whose copy has not been seen yet, and the ones already told without it."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._released: list[str] = []

    def _release(self, chosen: Callable[[_Item], bool]) -> list[Entry]:
        """Take the chosen prompts out and return them as speech of their own."""
        released = [item.entry for item in self._items if chosen(item)]
        self._items = [item for item in self._items if not chosen(item)]
        self._released = (self._released + [_key(entry.text) for entry in released])[-MOST_WAITING:]
        return released

    def _set_state(self, state: str) -> None:
        for item in self._items:
            if item.state == _WAITING:
                item.state = state
                return

    def operate(self, record: dict[str, Any], piece: Piece, context: Context) -> list[Entry]:
        """Take in one queue operation; return speech that it shows to be without a copy."""
        operation = record.get("operation")
        if operation == "enqueue":
            entry = enqueued(record, piece, context)
            if entry:
                self._items.append(_Item(entry))
            first = self._items[0] if len(self._items) > MOST_WAITING else None
            return self._release(lambda item: item is first)
        if operation == "remove":
            self._set_state(_REMOVED)
        elif operation == "dequeue":
            self._set_state(_DEQUEUED)
        elif operation == "popAll":
            # The words went back to the prompt's edit field and come again when they are sent.
            self._items = [item for item in self._items if item.state != _WAITING]
        return []

    def hear(self, entries: list[Entry]) -> list[Entry]:
        """Return one record's entries with what must be told before them, and without words already told."""
        if not self._items and not self._released:
            return entries
        if entries and entries[0].type == "assistant" and not entries[0].sidechain:
            return self.pass_over() + entries
        for number, entry in enumerate(entries):
            if entry.speaker == "person" and entry.channel in ("typed", "queued", "slash"):
                before, delivered = self._copy(entry)
                return before + entries[:number] + [delivered] + entries[number + 1 :]
        return entries

    @property
    def waits(self) -> bool:
        """Say whether a prompt waits for its copy."""
        return bool(self._items)

    def pass_over(self) -> list[Entry]:
        """Return what must be told before the assistant goes on."""
        if not self._items:
            return []
        self._items = [item for item in self._items if item.state != _DEQUEUED]
        return self._release(lambda item: item.state == _REMOVED)

    def _copy(self, entry: Entry) -> tuple[list[Entry], Entry]:
        """Weigh a delivered prompt against the queue: return what to tell first, and the entry to keep."""
        if _key(entry.text) in self._released:
            self._released.remove(_key(entry.text))
            return [], replace(entry, text="", speaker=None, channel=None)
        lines = f"\n{entry.text}\n"
        rest = [item for item in self._items if f"\n{item.entry.text}\n" not in lines]
        matched = len(rest) < len(self._items)
        self._items = rest
        if entry.channel == "queued" or matched:
            return [], entry
        self._items = [item for item in self._items if item.state != _DEQUEUED]
        before = self._release(lambda item: True)
        self._released = []
        return before, entry

    def flush(self) -> list[Entry]:
        """Return everything still waiting: nobody writes to the file now, so no copy will follow."""
        return self._release(lambda item: True)

    def dump(self) -> str:
        """Return the state as text for a cursor: places in the file and digests, never the words."""
        items = ",".join(f"{i.entry.offset}+{i.entry.length}{i.state}" for i in self._items)
        return f"{items}|{','.join(self._released)}" if items or self._released else ""

    def load(self, text: str, fetch: Callable[[int, int], Entry | None]) -> None:
        """Take up the state that `dump` gave; `fetch` reads the enqueue at an offset and length again."""
        items, _, keys = text.partition("|")
        self._released = [key for key in keys.split(",") if key]
        for offset, length, state in _POSITION.findall(items):
            entry = fetch(int(offset), int(length))
            if entry:
                self._items.append(_Item(entry, state))
