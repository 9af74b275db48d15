"""What was said, as it is read for memories: with what the assistant did meanwhile, and what came before.

Tools stand in rows of their own, one for each block the client writes; here they are gathered to the words
they follow. What comes before a file's first words may stand in another file: a fork goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.domain.speech import FORMS, Utterance
from pipeline.ledger import lineage, utterances
from pipeline.ledger.connection import Ledger

if TYPE_CHECKING:
    import sqlite3

_DEEPEST = 4
"""Forks of forks that are followed."""
_TOOL_ROWS = "tool_names <> '' AND speaker IS NULL AND superseded = 0 AND abandoned = 0"


def dialogue(ledger: Ledger, key: str, *, after_row: int) -> list[Utterance]:
    """Return what was said and done in the file `key` after row `after_row`, oldest first."""
    spoken = utterances.utterances(ledger, key, after_row=after_row)
    if not spoken:
        return []
    return _with_tools(ledger, key, spoken, _before_first(ledger, key, after_row))


def dialogue_of_conversation(ledger: Ledger, conversation_id: int) -> list[Utterance]:
    """Return what was said and done in one conversation. Raises LedgerError for an unknown id."""
    spoken = utterances.utterances_of_conversation(ledger, conversation_id)
    key = ledger.value("SELECT source_file FROM memory_conversations WHERE id = ?", (conversation_id,))
    return _with_tools(ledger, str(key), spoken, None)


def context_before(ledger: Ledger, key: str, *, row: int, max_chars: int) -> list[Utterance]:
    """Return the end of what came before row `row` of the file `key`, of about `max_chars` characters.

    The nearest words are there whatever their length. Where the file begins before that, and it is a fork,
    what was said in the session it comes from stands before them.
    """
    spoken = utterances.utterances_before(ledger, key, row=row, max_chars=max_chars, at_least_one=True)
    found = _with_tools(ledger, key, spoken, None, before=row)
    for _ in range(_DEEPEST):
        room = max_chars - sum(len(utterance.text) for utterance in found)
        first = found[0].row if found else row
        origin = lineage.origin(ledger, key) if room > 0 else None
        if origin is None or _last_before(ledger, key, first):
            break
        key, last = origin
        spoken = utterances.utterances_before(
            ledger, key, row=last + 1, max_chars=room, at_least_one=not found
        )
        found = [*_with_tools(ledger, key, spoken, None), *found]
        if not spoken:
            break
    return found


def _last_before(ledger: Ledger, key: str, row: int) -> list[Utterance]:
    """Return the last thing said in the file before `row`, nothing when `row` is before all of it."""
    return utterances.utterances_before(ledger, key, row=row, max_chars=0, at_least_one=True)


def _before_first(ledger: Ledger, key: str, after_row: int) -> int | None:
    """Return the row behind which tools belong to what is read, None when they belong to nothing of it."""
    last = _last_before(ledger, key, after_row + 1)
    return after_row if last and last[-1].speaker == "person" else None


def _with_tools(
    ledger: Ledger,
    key: str,
    spoken: Sequence[Utterance],
    after_row: int | None,
    *,
    before: int | None = None,
) -> list[Utterance]:
    """Return `spoken` with the tools used from its first words (or behind `after_row`) to the next ones."""
    if not spoken:
        return []
    start = spoken[0].row if after_row is None else after_row
    following = utterances.row_after(ledger, key, spoken[-1].row)
    end = min(filter(None, (before, following)), default=None)
    rows = ledger.rows(
        "SELECT id, session_id, uuid, timestamp, cwd, tool_names, files FROM memory_transcript_entries"
        " INDEXED BY entries_tools WHERE file_id = (SELECT id FROM memory_file_states WHERE file_path = ?)"
        f" AND {_TOOL_ROWS} AND id > ? AND id < coalesce(?, id + 1) ORDER BY id",
        (key, start, end),
    )
    deeds = [_deed(row) for row in rows]
    return gather(spoken, [deed for deed in deeds if deed.tool_names])


def _deed(row: sqlite3.Row) -> Utterance:
    """Return a row of tools as an utterance without words."""
    return Utterance(
        row=row["id"],
        session_id=row["session_id"],
        uuid=row["uuid"],
        speaker="assistant",
        channel="prose",
        text="",
        at=utterances.second_of(row),
        cwd=row["cwd"],
        tool_names=tuple(name for name in row["tool_names"].split(",") if name not in FORMS),
        files=utterances.files_of(row),
    )


def gather(spoken: Sequence[Utterance], deeds: Sequence[Utterance]) -> list[Utterance]:
    """Return `spoken` with each of `deeds` at the words of the assistant's that it follows.

    Where none stand before it since the person spoke, it goes to the assistant's next words; where the person
    speaks next, all between become an utterance without words. What is done after the last words is left out
    unless they are the assistant's: what it is about may come yet.
    """
    found: list[Utterance] = []
    waiting: list[Utterance] = []
    for utterance in sorted([*spoken, *deeds], key=lambda item: item.row):
        if not utterance.text:
            if found and found[-1].speaker == "assistant":
                found[-1] = _joined(found[-1], [utterance])
            else:
                waiting.append(utterance)
        elif waiting:
            if utterance.speaker == "assistant":
                found.append(_joined(utterance, waiting, before=True))
            else:
                found += [_joined(waiting[-1], waiting[:-1], before=True), utterance]
            waiting = []
        else:
            found.append(utterance)
    return found


def _joined(utterance: Utterance, deeds: Iterable[Utterance], *, before: bool = False) -> Utterance:
    order = [*deeds, utterance] if before else [utterance, *deeds]
    names = dict.fromkeys(name for item in order for name in item.tool_names)
    files = dict.fromkeys(file for item in order for file in item.files)
    return replace(utterance, tool_names=tuple(names), files=tuple(files))
