"""What is left out of a dialogue that is too long for its room, and what never is.

In this order, the longest first: what the assistant told while it worked, what it told a person who went on
from there, what it asked or listed without an answer, and then a person's pastes. What a person is asked
next, with its options, and plans stay whole; only what is longer than all the room is cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

from pipeline.domain.speech import FORMS, Speaker, Utterance
from pipeline.safety.invisible import visible
from pipeline.text.pasted import MARK

PERSON_CHARS = 6_000
"""What at least is shown of a person's utterance: pastes are longer, and the comment is at either end."""
ASKING_CHARS = 3_000
"""What at least is shown of an assistant's utterance that asks, or that a person goes on from."""
WORKING_CHARS = 500
"""What at least is shown of any other assistant's utterance: narration between tool calls."""
LEAST_LEFT_OUT = 200
"""A cut that would leave out fewer characters is not worth its note."""
_OVERHEAD = 60

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUESTION = re.compile(r"[?？؟](?=[\s\"'”’»)\]*_]|\Z)")
_OPTION = re.compile(r"^[ \t]*(?:\*\*)?\(?(?:\d{1,2}|[A-Za-z])[.):、](?:\*\*)?[ \t]+\S", re.MULTILINE)


class _Kind(IntEnum):
    """How gladly an utterance is cut, lowest first."""

    WORKING = 0
    FOLLOWED = 1
    ASKING = 2
    PERSON = 3
    OPEN = 4


_FLOOR = {
    _Kind.WORKING: WORKING_CHARS,
    _Kind.FOLLOWED: ASKING_CHARS,
    _Kind.ASKING: ASKING_CHARS,
    _Kind.PERSON: PERSON_CHARS,
}


def asks(text: str) -> bool:
    """Say whether a text holds a question or a list to choose from, code aside."""
    prose = _CODE.sub(" ", text)
    return bool(_QUESTION.search(prose)) or len(_OPTION.findall(prose)) > 1


def _kind(utterance: Utterance, follows: Speaker | None) -> _Kind:
    if utterance.speaker == "person":
        return _Kind.PERSON
    if FORMS.intersection(utterance.tool_names):
        return _Kind.OPEN
    if asks(utterance.text):
        return _Kind.ASKING if follows == "assistant" else _Kind.OPEN
    return _Kind.WORKING if follows == "assistant" else _Kind.FOLLOWED


def size(utterance: Utterance, *, follows: Speaker | None = None) -> int:
    """Return how many characters `utterance` needs at least when rendered; `follows` is who speaks next."""
    floor = _FLOOR.get(_kind(utterance, follows))
    chars = len(utterance.text)
    return (chars if floor is None else min(chars, floor + LEAST_LEFT_OUT)) + _OVERHEAD


def shortened(
    spoken: Sequence[Utterance],
    room: int | None,
    *,
    follows: Speaker | None = None,
    longest: int | None = None,
) -> list[str]:
    """Return the texts of `spoken`, cut so that they fit into about `room` characters.

    `follows` is who speaks after the last. `longest` (`room` unless given) is how long all that must stay
    whole may be.
    """
    texts = [visible(utterance.text) for utterance in spoken]
    over = 0 if room is None else sum(len(text) + _OVERHEAD for text in texts) - room
    if over <= 0:
        return texts
    after = [*(utterance.speaker for utterance in spoken[1:]), follows]
    kinds = [_kind(utterance, then) for utterance, then in zip(spoken, after, strict=True)]
    for kind, floor in _FLOOR.items():
        over -= _cut(texts, [number for number, found in enumerate(kinds) if found is kind], floor, over)
    whole = [number for number, found in enumerate(kinds) if found is _Kind.OPEN]
    limit = longest or room or 0
    over = sum(len(texts[number]) + _OVERHEAD for number in whole) - limit
    _cut(texts, whole, min(ASKING_CHARS, limit), over)
    return texts


def _cut(texts: list[str], chosen: list[int], floor: int, over: int) -> int:
    """Cut those `chosen` of `texts`, the longest first and none below `floor`; return what was left out."""
    if over <= 0 or not chosen:
        return 0
    level = _level([len(texts[number]) for number in chosen], floor, over)
    left_out = 0
    for number in chosen:
        before = len(texts[number])
        texts[number] = shorten(texts[number], level)
        left_out += before - len(texts[number])
    return left_out


def _level(lengths: list[int], floor: int, over: int) -> int:
    """Return the length to which the longer ones are cut so that `over` is gained; `floor` if it can't be."""
    sizes = sorted(lengths, reverse=True)
    total = 0
    for count, chars in enumerate(sizes, start=1):
        total += chars
        # A note stands for what each of them loses.
        level = (total - over) // count - _OVERHEAD
        if count == len(sizes) or level >= sizes[count]:
            return max(level, floor)
    return floor


def shorten(text: str, limit: int) -> str:
    """Return `text`, or its start and its (longer) end with a note of what was left out between them.

    The end is favoured: questions, menus and comments on a paste mostly stand there. A text that is hardly
    longer than `limit` is cut by a little more, or stays whole when it is itself short.
    """
    if len(text) <= limit:
        return text
    if len(text) - limit < LEAST_LEFT_OUT:
        limit = len(text) - LEAST_LEFT_OUT
        if limit < LEAST_LEFT_OUT:
            return text
    head = limit // 3
    tail = limit - head
    start = len(text) - tail
    # The rest of a pasted line is pasted too.
    line = text.rfind("\n", 0, start) + 1
    pasted = MARK if line < start and text.startswith(MARK, line) else ""
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{pasted}{text[start:]}"
