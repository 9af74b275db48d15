"""Dialogue as numbered lines: what the model reads, and the map from a line back to its entry.

    [7] 2026-03-02 09:14 PERSON: keep the retries at 3,
        the gateway bans us at 5
    [8] 2026-03-02 09:15 ASSISTANT (used Edit): Done.

Only a real utterance starts at the left margin; every further line is indented, so that text quoted
inside an utterance can't pass for another speaker. What nobody sees (hidden characters) is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from pipeline.core import zone
from pipeline.domain.speech import Utterance
from pipeline.safety.invisible import visible

PERSON_CHARS = 6_000
"""Most of one person's utterance shown; pastes are longer, and the comment on them is at either end."""
ASKING_CHARS = 3_000
"""Most of an assistant's utterance that a person answers next: it may hold the menu they chose from."""
WORKING_CHARS = 500
"""Most of any other assistant's utterance: narration between tool calls."""

_MANNER = {
    "queued": " (typed while the assistant was working)",
    "slash": " (as arguments of a slash command)",
    "answer": " (answering the assistant's question)",
    "refusal": " (refusing a tool call the assistant wanted to make)",
    "beside_tool": " (while a tool call was shown)",
}


@dataclass(frozen=True, slots=True)
class Rendering:
    """Numbered dialogue. `lines` maps each number to its utterance; `first_new` is the first new number.

    `words` is all that was said in it, with the name of the project's folder.
    """

    context: str
    new: str
    lines: dict[int, Utterance]
    first_new: int
    words: str = ""

    def is_new(self, line: int) -> bool:
        """Whether `line` belongs to the new material."""
        return line >= self.first_new


def render(context: Sequence[Utterance], new: Sequence[Utterance]) -> Rendering:
    """Return `context` and `new` as numbered lines, counted through from 1."""
    both = [*context, *new]
    lines = dict(enumerate(both, start=1))
    asked = [i + 1 < len(both) and both[i + 1].speaker == "person" for i in range(len(both))]
    texts = [_line(number, utterance, asked[number - 1]) for number, utterance in lines.items()]
    cut = len(context)
    return Rendering("\n".join(texts[:cut]), "\n".join(texts[cut:]), lines, cut + 1, words_of(both))


def words_of(spoken: Sequence[Utterance]) -> str:
    """Return all that was said, with the names of the folders it was said in."""
    folders = dict.fromkeys(PurePath(utterance.cwd).name for utterance in spoken if utterance.cwd)
    return "\n".join([*folders, *(utterance.text for utterance in spoken)])


def day_of(utterance: Utterance) -> str:
    """Return the local day on which something was said."""
    return zone.day(utterance.at, "(day unknown)")


def size(utterance: Utterance) -> int:
    """Return how many characters `utterance` takes at most when rendered."""
    limit = PERSON_CHARS if utterance.speaker == "person" else ASKING_CHARS
    return min(len(utterance.text), limit) + 60


def windows(utterances: Sequence[Utterance], max_chars: int) -> list[list[Utterance]]:
    """Split `utterances` into runs that render to at most about `max_chars`, none of them empty.

    A cut is made before a person's utterance where there is one in the last third, so that an answer is
    not parted from what follows it.
    """
    found: list[list[Utterance]] = []
    current: list[Utterance] = []
    used = 0
    for utterance in utterances:
        if current and used + size(utterance) > max_chars:
            window, carried = _break(current)
            found.append(window)
            current, used = carried, sum(size(item) for item in carried)
        current.append(utterance)
        used += size(utterance)
    if current:
        found.append(current)
    return found


def _break(run: list[Utterance]) -> tuple[list[Utterance], list[Utterance]]:
    for at in range(len(run) - 1, len(run) * 2 // 3, -1):
        if run[at].speaker == "person":
            return run[:at], run[at:]
    return run, []


def _line(number: int, utterance: Utterance, asked: bool) -> str:
    spoken = visible(utterance.text)
    stamp = zone.minute(utterance.at, "(time unknown)")
    if utterance.speaker == "person":
        who = "PERSON" + _MANNER.get(utterance.channel, "")
        text = shorten(spoken, PERSON_CHARS)
    else:
        tools = f" (used {', '.join(utterance.tool_names[:4])})" if utterance.tool_names else ""
        who = "ASSISTANT" + tools
        text = shorten(spoken, ASKING_CHARS if asked else WORKING_CHARS)
    return f"[{number}] {stamp} {who}: " + text.replace("\r", "").strip().replace("\n", "\n    ")


def shorten(text: str, limit: int) -> str:
    """Return `text`, or its start and its (longer) end with a note of what was left out between them.

    The end is favoured: questions, menus and comments on a paste mostly stand there.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"
