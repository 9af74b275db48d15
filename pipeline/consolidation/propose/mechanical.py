"""What the dream does without a model: exact and near-exact doubles, and retention.

These rules are deterministic and narrow. A double is a memory whose every sentence another of the same type
has too; the fuller one stays, with the names of both. Retention is seed 1's (S-14): learnings
nobody used for 90 days and tasks done for 30 days leave for the archive; everything else only leaves when
somebody says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from pipeline.core.clock import parse_time
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation
from pipeline.text.clauses import denies, sentences
from pipeline.text.specifics import specifics

_WORD = re.compile(r"\w+", re.UNICODE)


def doubles(memories: Sequence[Memory], groups: Iterable[Sequence[str]]) -> list[Operation]:
    """Return a merge for each memory of which others of its group say nothing beyond it.

    `groups` are ids of memories that lie near each other; only those are compared. The survivor keeps its
    text; of two equal ones it is the older.
    """
    by_id = {memory.id: memory for memory in memories}
    merges: list[Operation] = []
    for group in groups:
        keepers: dict[str, list[Memory]] = {}
        for memory in sorted((by_id[memory_id] for memory_id in group if memory_id in by_id), key=_fullest):
            keeper = next((memory_id for memory_id in keepers if _covers(by_id[memory_id], memory)), None)
            if keeper is None:
                keepers[memory.id] = []
            else:
                keepers[keeper].append(memory)
        merges += [_merge(by_id[memory_id], doubled) for memory_id, doubled in keepers.items() if doubled]
    return merges


def _merge(keeper: Memory, doubled: Sequence[Memory]) -> Operation:
    names = ", ".join(memory.name for memory in doubled)
    return Operation(
        op="merge",
        ids=(keeper.id, *(memory.id for memory in doubled)),
        into=keeper.id,
        reason=f"{names}: nothing that {keeper.name} does not say",
    )


def expired(
    memories: Iterable[Memory],
    used: Mapping[str, datetime],
    now: datetime,
    *,
    since: datetime | None,
    learning_days: int,
    task_days: int,
) -> list[Operation]:
    """Return a retirement for each learning and each finished task whose time is over.

    `used` is when a memory was last of use, by id; one that never was counts from its last change. `since`
    is since when uses are counted: what was not used before that could not be, and with None nobody counts,
    so that no learning is taken for unused.
    """
    found = []
    for memory in memories:
        reason = _unused(memory, used.get(memory.id), since, now, learning_days) or _done(
            memory, now, task_days
        )
        if reason:
            found.append(Operation(op="retire", ids=(memory.id,), reason=reason))
    return found


def _unused(
    memory: Memory, used: datetime | None, since: datetime | None, now: datetime, learning_days: int
) -> str:
    if memory.type_row.tier != "learning" or since is None:
        return ""
    last = max((moment for moment in (used, memory.updated, memory.created) if moment), default=None)
    if last and now - (last := max(last, since)) > timedelta(days=learning_days):
        return f"a learning that nobody used since {last.date().isoformat()}"
    return ""


def _done(memory: Memory, now: datetime, task_days: int) -> str:
    if memory.type_row.tier == "task":
        done = parse_time(memory.extra.get("completed_at"))
        if done and now - done > timedelta(days=task_days):
            return f"a task that was done on {done.date().isoformat()}"
    return ""


def _fullest(memory: Memory) -> tuple[int, str, str]:
    created = memory.created.isoformat() if memory.created else "9999"
    return (-len(memory.body), created, memory.name)


def _covers(keeper: Memory, other: Memory) -> bool:
    """Whether `keeper` has every sentence of `other`, word for word, and none that turns it round."""
    if keeper.type != other.type or keeper.id == other.id:
        return False
    mine, theirs = _sentences(keeper.body), _sentences(other.body)
    # Sentence by sentence: one word more, or another order, may say something else (the old shop; spaces,
    # not tabs), and so may one sentence more that holds a "not" or an "except".
    if not theirs or not {*theirs} <= {*mine} or len(theirs) * 2 < len(mine):
        return False
    more = [part for part in sentences(keeper.body) if _words(part) not in theirs]
    if any(denies(part) or not _TURNING.isdisjoint(_words(part)) for part in more):
        return False
    known_words = {word for sentence in (*mine, *_sentences(keeper.description)) for word in sentence}
    if any(not known_words.issuperset(part) for part in _sentences(other.description)):
        return False
    return specifics(other.body) <= specifics(keeper.body)


_TURNING = frozenset(
    {
        *("not", "no", "never", "none", "nobody", "without", "except", "unless", "only", "instead"),
        *("don", "doesn", "isn", "won", "cannot", "longer", "nicht", "kein", "nie"),
    }
)
"""Words that turn what the other sentences say, also where they are only quoted or lost an apostrophe."""


def _sentences(text: str) -> list[tuple[str, ...]]:
    """Return the words of each sentence of `text`, without case and marks."""
    return [words for part in sentences(text) if (words := _words(part))]


def _words(sentence: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(sentence.casefold()))
