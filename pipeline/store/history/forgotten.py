"""What a person had forgotten, rejected or undone, known by its sources and kept beside the memories.

    .reverie/forgotten.jsonl    {"session", "uuid", "quote", "said", "name", "reason", "day"}
                                {"sentences", "name", "reason", "day"}

One line a source. The file survives the loss of the ledger and a new install. The same words never bring
such a memory back, under whatever name; words said later do. What was written by hand has no source: its
line keeps the name and a digest of each sentence, so that no quote of the same sentence brings it back. A
line with ``"lifted": true`` takes earlier ones of the same words (without a source: of the same name) and
the same reason back, without a reason those of any.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import jsonl
from pipeline.core.clock import iso, parse_time
from pipeline.core.ids import digest
from pipeline.domain.memory import Evidence
from pipeline.domain.sentences import sentences
from pipeline.store.files.layout import MAX_DERIVED, PRIVATE, read_regular

FILE = "forgotten.jsonl"
ON_REQUEST = "forgotten on request"
"""The reason for which a memory leaves that a person has forgotten."""
_LEAST = 0.5
"""Share of the shorter of two quotes of one entry that lies in the other when both are about the same."""
_LEAST_CHARS = 12
"""Characters of a quote from which on it tells of itself what it is about: “yes” does not."""


@dataclass(frozen=True, slots=True)
class Line:
    """Words that bring nothing back: what was quoted, when it was forgotten, and why.

    `sentences` are the digests (see `_digests`) of what had no source to quote.
    """

    quote: str
    at: datetime
    reason: str
    sentences: frozenset[str] = frozenset()


@dataclass(slots=True)
class Forgotten:
    """The sources that bring nothing back, by entry, and the names of what had none, each with its lines."""

    quotes: dict[str, list[Line]] = field(default_factory=dict)
    names: dict[str, list[Line]] = field(default_factory=dict)

    def bars(self, sources: Sequence[Evidence], name: str = "") -> bool:
        """Whether `sources` hold words that were forgotten and nothing that a person said after that.

        `name` is that of the memory which they would make or withdraw.
        """
        moments = [line.at for line in self.names.get(name, ())]
        moments += [
            line.at
            for source in sources
            for line in self.quotes.get(source.uuid, ())
            if _alike(line.quote, source.quote)
        ]
        if any(self.names.values()):
            quoted = {known for source in sources for known in _digests(source.quote)}
            moments += [line.at for lines in self.names.values() for line in lines if line.sentences & quoted]
        if not moments:
            return False
        last = max(moments)
        return not any(
            source.speaker == "person" and (at := parse_time(source.at)) and at > last for source in sources
        )

    def told_in(self, text: str) -> bool:
        """Whether `text`, which comes without sessions that could speak for it, tells what was forgotten."""
        known = [line.sentences for lines in self.names.values() for line in lines if line.sentences]
        if known and any(map(_digests(text).intersection, known)):
            return True
        quotes = [_plain(line.quote) for lines in self.quotes.values() for line in lines]
        plain = f" {_plain(text)} " if quotes else ""
        return any(len(quote) >= _LEAST_CHARS and f" {quote} " in plain for quote in quotes)


def note(
    root: Path,
    sources: Iterable[Evidence],
    *,
    name: str,
    reason: str,
    now: datetime,
    text: str = "",
    lifted: bool = False,
    quoted: bool = True,
) -> None:
    """Write down that what rests on `sources` is forgotten, or with `lifted` that it is not any more.

    Without sources the name is kept, and what tells the sentences of `text` again. So it is where others read
    the notes, and nothing may be `quoted`: what the sources say is then known by what tells it again.
    """
    if not quoted:
        text = text or "\n".join(source.quote for source in sources)
        sources = ()
    about: dict[str, Any] = {"name": name, "reason": reason, "day": iso(now)}
    if lifted:
        about["lifted"] = True
    lines: list[dict[str, Any]] = [
        {"session": source.session, "uuid": source.uuid, "quote": source.quote, "said": source.at or ""}
        for source in sources
    ]
    without = {"sentences": sorted(_digests(text))} if text else {}
    jsonl.append(root / PRIVATE / FILE, [{**line, **about} for line in lines or [without]])


@dataclass(frozen=True, slots=True)
class Told:
    """One line without a word of what it is about, for other machines: digests stand for what was quoted."""

    name: str
    reason: str
    day: str
    sentences: tuple[str, ...]
    lifted: bool = False


def for_others(root: Path) -> list[Told]:
    """Return every line of the store at `root` as other machines may have it, in the order of the file."""
    found = []
    for value in _values(root):
        match value:
            case {"day": str(day)}:
                quote, given = value.get("quote"), value.get("sentences")
                known = _digests(quote) if isinstance(quote, str) else map(str, given or ())
                name, reason = (str(value.get(key) or "") for key in ("name", "reason"))
                item = Told(name, reason, day, tuple(sorted(known)), bool(value.get("lifted")))
                found.append(item)
    return found


def take(root: Path, notes: Iterable[Told]) -> None:
    """Write down what was told by another machine; what it lifts no longer bars here, by whatever line."""
    lines: list[dict[str, Any]] = []
    for note in notes:
        about: dict[str, Any] = {"name": note.name, "reason": note.reason, "day": note.day}
        if not note.lifted:
            lines.append({**({"sentences": list(note.sentences)} if note.sentences else {}), **about})
            continue
        lines.append({**about, "lifted": True})
        for value in _values(root):
            if value.get("name") == note.name and "uuid" in value and not value.get("lifted"):
                lines.append({**{k: value.get(k, "") for k in ("session", "uuid", "quote")}, **lines[-1]})
    jsonl.append(root / PRIVATE / FILE, lines)


def _values(root: Path) -> list[dict[str, Any]]:
    try:
        data = read_regular(root / PRIVATE / FILE, MAX_DERIVED)[0]
    except FileNotFoundError:
        return []
    return [value for value in jsonl.parse(data).values if isinstance(value, dict)]


def read(root: Path) -> Forgotten:
    """Return all that is forgotten in the store at `root`; a line that can't be read is passed over."""
    found = Forgotten()
    for value in _values(root):
        match value:
            case {"uuid": str(uuid), "quote": str(quote), "day": str(day)}:
                lines = found.quotes.setdefault(uuid, [])
            case {"name": str(name), "day": str(day)} if "uuid" not in value:
                lines, quote = found.names.setdefault(name, []), ""
            case _:
                continue
        moment, reason = parse_time(day), str(value.get("reason") or "")
        if moment is None:
            continue
        if value.get("lifted"):
            lines[:] = [line for line in lines if line.quote != quote or reason not in ("", line.reason)]
        else:
            digests = value.get("sentences")
            known = frozenset(map(str, digests)) if isinstance(digests, list) else frozenset()
            lines.append(Line(quote, moment, reason, known))
    return found


def _alike(quote: str, other: str) -> bool:
    """Whether two quotes of one entry are the same words: one holds the other, or they overlap by half.

    A quote stands word for word in its entry, so two that share words at any other place are two places.
    """
    shorter, longer = sorted((_plain(quote), _plain(other)), key=len)
    if shorter in longer:
        return bool(shorter) or not longer
    least = max(1, int(len(shorter) * _LEAST))
    return any(
        shorter[-size:] == longer[:size] or shorter[:size] == longer[-size:]
        for size in range(least, len(shorter))
    )


def _digests(text: str) -> set[str]:
    """Return 16 hex digits for each sentence of `text`, equal where only case, marks and spacing differ.

    A sentence of marks alone has none.
    """
    found = {_plain(part.text) for part in sentences(text)} - {""}
    return {digest(plain.encode("utf-8", "surrogatepass"))[:16] for plain in found}


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(char if char.isalnum() else " " for char in folded).split())
