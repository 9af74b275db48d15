"""What the second reader is shown: each candidate beside its lines, and the memories nearest to it."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.zone import day
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import sentences
from pipeline.domain.speech import Utterance
from pipeline.extraction.known_memories import Known
from pipeline.extraction.render import day_of
from pipeline.extraction.screen import Case, Screen
from pipeline.hooklib.plain import one_line
from pipeline.safety.invisible import visible, visible_line
from pipeline.text.pasted import MARK, pasted_lines
from pipeline.verify.provenance import said_at

CITED_CHARS = 400
"""A cited line is shown whole up to here; of a longer one what stands around its quotes."""
QUOTE_MARGIN = 140
AROUND_CHARS = 60
NEAR_CHARS = 240
LEGEND = (
    "(What stands between two “¦” the person pasted: other people's words, or a program's, not the person's.)"
)
Span = tuple[int, int]
"""From where to where in a text."""


class Page:
    """The items of one question; a line that several of them rest on is written out once."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._whole: set[int] = set()
        self.has_pasted = False
        """Whether a line that was shown holds what a person pasted."""
        self._day = ""

    def item(self, case: Case, near: Sequence[Known]) -> str:
        """Return a candidate with its lines and the memories nearest to it."""
        item, old = case.item, case.old
        kind = f"update of {visible_line(old.name)}, said {_day(old)}" if old else "new"
        rows = [f"## {case.id} ({kind}; {item.type})"]
        if old:
            changed = dict(item.replaces)
            for number, sentence in enumerate(sentences(old.body), start=1):
                after = changed.get(sentence.text)
                gone = "" if after is None else f" => {after}" if after else " => (left out)"
                rows.append(row(f"old {number}", sentence.text + gone))
            rows.append(row("name", item.name))
        parts = (("statement", item.statement), ("why", item.why), ("how to apply", item.how_to_apply))
        rows += [row(f"added {part}" if old else part, text) for part, text in parts if text]
        if case.missing.elsewhere:
            rows.append(row("elsewhere", ", ".join(case.missing.elsewhere)))
        if case.missing.nowhere:
            rows.append(row("nowhere", ", ".join(case.missing.nowhere)))
        rows += self.lines(case.cited, item.sources)
        rows += [_memory(known) for known in near if old is None or known.memory.name != old.name]
        return "\n".join(rows) + "\n"

    def lines(self, cited: Sequence[int], sources: Sequence[Evidence]) -> list[str]:
        """Return the lines `cited`, marked, and those around them that explain them."""
        numbers = [n for n in self._screen.around(cited) if n in cited or self._explains(n, cited)]
        self._day = ""
        above = [f"{'>' if n in cited else ''}[{n}]" for n in numbers if n in self._whole]
        rows = [self._line(n, n in cited, sources) for n in numbers if n not in self._whole]
        return [f"as above: {' '.join(above)}", *rows] if above else rows

    def _explains(self, number: int, cited: Sequence[int]) -> bool:
        """Whether an uncited line may change what cited ones mean: what a person says, or is asked there.

        What the assistant tells while it works may not, and is half of what stands around.
        """
        lines = self._screen.rendering.lines
        answered = number + 1 in cited and lines[number + 1].speaker == "person"
        return answered or lines[number].speaker == "person"

    def _line(self, number: int, cited: bool, sources: Sequence[Evidence]) -> str:
        utterance = self._screen.rendering.lines[number]
        head = f"{'>' if cited else ' '} [{number}]"
        quotes = [source.quote for source in sources if source.uuid == utterance.uuid] if cited else []
        text, pasted = _in_one_line(utterance)
        pieces = _near(text, quotes) if cited else _ends(text, AROUND_CHARS)
        short = " … ".join(_marked(text, start, end, pasted) for start, end in pieces)
        self.has_pasted = self.has_pasted or short != " … ".join(text[start:end] for start, end in pieces)
        if pieces == [(0, len(text))]:
            self._whole.add(number)
        who = "PERSON" if utterance.speaker == "person" else "ASSISTANT"
        day, self._day = self._day, day_of(utterance)
        return f"{head} {who}: {short}" if day == self._day else f"{head} {self._day} {who}: {short}"


def _in_one_line(utterance: Utterance) -> tuple[str, list[Span]]:
    """Return what was said on one line, and where in it stands what a person pasted."""
    whole = visible(utterance.text)
    flags = pasted_lines(whole) if utterance.speaker == "person" else []
    if True not in flags:
        return " ".join(whole.split()), []
    text, pasted = "", list[Span]()
    for line, is_pasted in zip(whole.split("\n"), flags, strict=True):
        # A paste that holds the mark would seem to end there.
        words = " ".join(line.replace(MARK.strip(), " ").split())
        start = len(text) + bool(text) if words else len(text)
        text = f"{text} {words}" if text and words else text + words
        if is_pasted and words:
            joined = pasted and pasted[-1][1] + 1 == start
            pasted[-1:] = [(pasted[-1][0], len(text))] if joined else [*pasted[-1:], (start, len(text))]
    return text, pasted


def _marked(text: str, start: int, end: int, pasted: Sequence[Span]) -> str:
    """Return ``text[start:end]`` with the mark of a paste around what of it was pasted."""
    found, at = "", start
    for first, last in pasted:
        first, last = max(first, at), min(last, end)
        if first < last:
            found += f"{text[at:first]}{MARK}{text[first:last]} {MARK.strip()}"
            at = last
    return found + text[at:end]


def _near(text: str, quotes: Sequence[str]) -> list[Span]:
    """Return where `text` is shown: all of it, or of a long one what stands around `quotes`."""
    if len(text) <= CITED_CHARS:
        return [(0, len(text))]
    found = [(at, at + len(quote)) for quote in quotes if (at := text.find(quote)) >= 0]
    pieces: list[Span] = []
    for start, end in sorted((max(0, at - QUOTE_MARGIN), end + QUOTE_MARGIN) for at, end in found):
        if pieces and start <= pieces[-1][1]:
            start, end = pieces[-1][0], max(end, pieces.pop()[1])
        pieces.append((start, min(end, len(text))))
    return pieces or _ends(text, CITED_CHARS)


def _ends(text: str, limit: int) -> list[Span]:
    """Return all of `text`, or its start and its longer end: questions and menus mostly stand there."""
    head = limit // 3
    return [(0, len(text))] if len(text) <= limit else [(0, head), (len(text) - limit + head, len(text))]


def row(label: str, text: str) -> str:
    """Return a text under its label, with lines after the first indented: none can pass for another row."""
    return f"{label}: " + visible(text.strip()).replace("\n", "\n    ")


def _memory(known: Known) -> str:
    text = one_line(known.memory.body.replace("**", ""), NEAR_CHARS)
    return row(f"memory {visible_line(known.memory.name)} ({_day(known.memory)})", text)


def _day(memory: Memory) -> str:
    return day(said_at(memory), "day unknown")
