"""Dialogue as numbered lines: what the model reads, and the map from a line back to its entry.

    [7] 2026-03-02 09:14 PERSON: keep the retries at 3,
        the gateway bans us at 5
    [8] 2026-03-02 09:15 ASSISTANT (used Bash, edited src/retry.py): Done.

Only a real utterance starts at the left margin; every further line is indented, so that text quoted
inside an utterance can't pass for another speaker. What nobody sees (hidden characters) is left out.
Lines that a person pasted are marked, and only where there are some a line before the dialogue says so.
Nothing is cut while there is room; then what nobody was asked in goes first (`shortening.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from pipeline.core import zone
from pipeline.domain.speech import EDITED, FORMS, TOUCHING, WROTE, Utterance
from pipeline.extraction.shortening import shortened, size
from pipeline.record import record
from pipeline.safety.invisible import visible
from pipeline.text.pasted import LEGEND, MARK, marked

MOST_NAMES = 8
"""Names of tools and files in one line."""

_MANNER = {
    "queued": " (typed while the assistant was working)",
    "slash": " (as a slash command)",
    "answer": " (answering the assistant's question)",
    "refusal": " (refusing a tool call the assistant wanted to make)",
    "beside_tool": " (while a tool call was shown)",
}


@record
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


def render(
    context: Sequence[Utterance],
    new: Sequence[Utterance],
    *,
    room: int | None = None,
    context_room: int | None = None,
) -> Rendering:
    """Return `context` and `new` as numbered lines, counted through from 1.

    `room` is how many characters the new lines may take, `context_room` the others, None for any number.
    """
    both = [*context, *new]
    lines = dict(enumerate(both, start=1))
    cut = len(context)
    follows = both[cut].speaker if cut < len(both) else None
    texts = shortened(_marked(context), context_room, follows=follows, longest=room)
    texts += shortened(_marked(new), room)
    shown = [_line(number, lines[number], text) for number, text in enumerate(texts, start=1)]
    return Rendering(_explained(shown[:cut]), _explained(shown[cut:]), lines, cut + 1, words_of(both))


def _marked(spoken: Sequence[Utterance]) -> list[Utterance]:
    """Return `spoken` with the lines that a person pasted marked."""
    return [
        replace(utterance, text=marked(visible(utterance.text)))
        if utterance.speaker == "person"
        else utterance
        for utterance in spoken
    ]


def _explained(shown: Sequence[str]) -> str:
    """Return the lines of a dialogue, below what the mark of a paste means if one stands in them."""
    text = "\n".join(shown)
    return f"({LEGEND})\n{text}" if f"    {MARK}" in text or f": {MARK}" in text else text


def words_of(spoken: Sequence[Utterance]) -> str:
    """Return all that was said, with the names of the folders it was said in."""
    folders = dict.fromkeys(PurePath(utterance.cwd).name for utterance in spoken if utterance.cwd)
    return "\n".join([*folders, *(utterance.text for utterance in spoken)])


def day_of(utterance: Utterance) -> str:
    """Return the local day on which something was said."""
    return zone.day(utterance.at, "(day unknown)")


def windows(utterances: Sequence[Utterance], max_chars: int) -> list[list[Utterance]]:
    """Split `utterances` into runs that can be rendered in about `max_chars`, none of them empty.

    A cut is made before a person's utterance where there is one in the last third, so that an answer is
    not parted from what follows it.
    """
    found: list[list[Utterance]] = []
    current: list[Utterance] = []
    used = 0
    for number, utterance in enumerate(utterances):
        following = utterances[number + 1].speaker if number + 1 < len(utterances) else None
        needed = size(utterance, follows=following)
        if current and used + needed > max_chars:
            window, carried = _break(current)
            found.append(window)
            current, used = carried, sum(size(item) for item in carried)
        current.append(utterance)
        used += needed
    if current:
        found.append(current)
    return found


def _break(run: list[Utterance]) -> tuple[list[Utterance], list[Utterance]]:
    for at in range(len(run) - 1, len(run) * 2 // 3, -1):
        if run[at].speaker == "person":
            return run[:at], run[at:]
    return run, []


def _line(number: int, utterance: Utterance, text: str) -> str:
    stamp = zone.minute(utterance.at, "(time unknown)")
    if utterance.speaker == "person":
        who = "PERSON" + _MANNER.get(utterance.channel, "")
    else:
        who = "ASSISTANT" + _deeds(utterance)
    text = text.replace("\r", "").strip().replace("\n", "\n    ")
    return f"[{number}] {stamp} {who}: {text}".rstrip()


def paths_shown(utterance: Utterance) -> list[str]:
    """Return the paths that stand in brackets with `utterance`."""
    if utterance.speaker == "person":
        return []
    return [path for _, _, path in (file.partition(" ") for file in _named(utterance)[3])]


def _named(utterance: Utterance) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return all tools and files of an utterance, and those of either that are named."""
    files = list(dict.fromkeys(utterance.files))
    # Which tool touched a file is said by what was done to it.
    silent = FORMS | (TOUCHING if files else frozenset())
    tools = [name for name in dict.fromkeys(utterance.tool_names) if name not in silent]
    tools_shown = tools[: max(MOST_NAMES - len(files), 2)]
    return tools, files, tools_shown, files[: MOST_NAMES - len(tools_shown)]


def _deeds(utterance: Utterance) -> str:
    """Return the names of the tools used and of the files touched, in brackets."""
    tools, files, tools_shown, files_shown = _named(utterance)
    parts = [f"used {', '.join(tools_shown)}"] if tools_shown else []
    for verb in (EDITED, WROTE):
        paths = [path for done, _, path in (file.partition(" ") for file in files_shown) if done == verb]
        parts += [f"{verb} {', '.join(paths)}"] if paths else []
    more = len(tools) + len(files) - len(tools_shown) - len(files_shown)
    parts += [f"and {more} more"] if more else []
    return f" ({visible(', '.join(parts))})" if parts else ""
