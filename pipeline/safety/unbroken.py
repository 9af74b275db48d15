"""Text without what breaks a secret in two: hidden characters, colours, line ends, joined strings.

A view is searched in the place of the text, and what is found there is cut out of the text itself, with all
that stood within it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from pipeline.record import record
from pipeline.safety.invisible import is_hidden
from pipeline.safety.late import late
from pipeline.safety.rule import MIXED

COLOUR = (
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|(?:\\x1b|\\u001b|\\033|\\e)\[[0-9;]*m"
)
"""What programs send to a terminal beside text, as it is or as it stands in a program."""
_MARKUP = (
    r"<wbr\s?/?>|&(?:shy|ZeroWidthSpace|zwnj|zwj|#173|#8203|#8204|#8205|#x200[b-d]);|"
    r"\\u(?:200[b-f]|00ad|2060|feff)"
)
_CONTINUED = r"[ \t]?\\\r?\n[ \t>]*(?=\S)"
_JOINED = (
    r"(?P<q>[\"'`])(?<=[\w+/=.~!?@#$%^&*-][\"'`])"
    r"(?:\s*(?:\+|\.{1,2}|&(?:[ \t]*_(?=[ \t]*\r?\n))?|~|\|\||<>|,?\s*\\)\s*(?:\r?\n\s*)?|"
    r"[ \t]*\r?\n[ \t]*|[ \t])"
    r"(?P=q)(?=[\w+/=.~!?@#$%^&*-])"
)
_SOFT = r"(?<=[\w+/-])=\r?\n(?=[\w+/=-])(?![A-Za-z_][\w.-]*\s?[:=])"
_ESCAPED = late("|".join((COLOUR, _MARKUP, _CONTINUED, _SOFT)))
_STRINGS = late(_JOINED)
_LISTED = late(r"(?P<q>[\"'])(?<=[\w+/=-][\"']),[ \t]*(?P=q)(?=[\w+/=-])")
"""What joins two strings that a call puts together: ``"".join(["…", "…"])``."""
_LINE_END = late(
    r"(?P<break>(?:[ \t]{0,3}|<br\s?/?>)\r?\n[ \t]*(?:[>|#*+-][ \t]+|//[ \t]*|"
    r"\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?[ \t]+|[\w./-]+[ \t]+\|[ \t]+)*)"
    r"(?![A-Za-z_][\w.-]*\s?[:=]\s?\S)(?P<tail>[\w+/=.-]{3,})(?=[\s\"'`,;)]|$)"
)
_JSON_ESCAPE = late(r"(?<!\\)(?P<before>(?:\\\\)*)\\(?:u(?P<code>[0-9a-fA-F]{4})|/)")
_HEAD = late(r"[\w+/=.-]{7,}\Z")
_HIDES = (
    ("\x1b", ("",)),
    ("\\", ("\\x1b", "\\u", "\\0", "\\e", "\\\n", "\\\r")),
    ("&", ("",)),
    ("<", ("<wbr",)),
    ("=", ("=\n", "=\r")),
)
"""What hides a break begins with one of these signs, which are looked for first."""


@record
class View:
    """`text` without its breaks: `_starts` says where its pieces begin, `_shifts` how far they moved."""

    text: str
    _starts: tuple[int, ...]
    _shifts: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where `start` to `end` of the view stands in the whole text."""
        return self._at(start), self._at(end - 1) + 1

    def pieces(self) -> list[str]:
        """Return what stood between the breaks."""
        return [
            self.text[start:end]
            for start, end in zip(self._starts, (*self._starts[1:], len(self.text)), strict=True)
        ]

    def _at(self, position: int) -> int:
        return position + self._shifts[bisect_right(self._starts, position) - 1]


def views(text: str, *, found: bool = False) -> Iterator[View]:
    """Yield what to search beside `text` itself: nothing where nothing breaks a word, else up to two.

    `found` says that it is a secret found across breaks, without what stands around.
    """
    broken: list[tuple[int, int]] = []
    for begin, signs in _HIDES:
        if begin in text and any(sign in text for sign in signs):
            broken = [part.span() for part in _ESCAPED.finditer(text)]
            break
    if '"' in text or "'" in text or "`" in text:
        broken += [part.span() for part in _STRINGS.finditer(text)]
        if found or "join(" in text or "concat(" in text or "implode(" in text:
            broken += [part.span() for part in _LISTED.finditer(text)]
    if not text.isascii():
        hidden = {char for char in set(text) if char > "~" and is_hidden(char)}
        broken += [(at, at + 1) for at, char in enumerate(text) if char in hidden] if hidden else []
    if broken:
        yield _without(text, broken)
    if "\n" in text:
        wrapped = list(_wraps(text))
        if wrapped:
            yield _without(text, broken + wrapped)


def clean(value: str) -> list[str]:
    """Return `value`, found across breaks, without them, and behind it each piece that is no plain word."""
    shown = list(views(value, found=True))
    if not shown:
        return [value]
    return [shown[-1].text, *(piece for piece in shown[-1].pieces() if MIXED.search(piece))]


def written_out(text: str) -> str:
    """Return `text`, which is JSON, with escapes of letters, digits and slashes written out.

    It says the same, and what is looked for in it is not hidden by ``\\u00fc``.
    """
    return _JSON_ESCAPE.sub(_written, text) if "\\u" in text or "\\/" in text else text


def _written(escape: re.Match[str]) -> str:
    char = chr(int(escape["code"], 16)) if escape["code"] else "/"
    return escape["before"] + char if char.isalnum() or char == "/" else escape[0]


def _wraps(text: str) -> Iterator[tuple[int, int]]:
    """Yield the line ends within what looks like one long made-up word."""
    at = text.find("\n")
    while at >= 0:
        line = text[max(0, at - 120) : at].rstrip(" \t\r")
        if line.endswith("<br>"):
            line = line[:-4]
        last = line[-1:]
        if last.isalnum() or (last and last in "+/=_-"):
            head = _HEAD.search(line[-100:].rpartition(" ")[2])
            found = (
                _LINE_END.match(text, max(0, at - 120) + len(line)) if head and _part(head[0], 7) else None
            )
            if found and _part(found["tail"], 3):
                yield found.span("break")
        at = text.find("\n", at + 1)


def _part(piece: str, least: int) -> bool:
    """Say whether `piece` looks like a part of a key: no word, no number, no name made of words."""
    if len(piece) < least or re.fullmatch(
        r"[a-z]+|[A-Z]?[a-z]+|\d+[.)]?|[A-Z]+|(?:[A-Z]?[a-z]+[-_./])+[a-z]+", piece
    ):
        return False
    return any(char.isdigit() for char in piece) or re.search(r"[a-z][A-Z]", piece) is not None


def _without(text: str, broken: list[tuple[int, int]]) -> View:
    pieces: list[str] = []
    starts: list[int] = []
    shifts: list[int] = []
    at = length = 0
    for start, end in [*sorted(broken), (len(text), len(text))]:
        if start > at or not pieces:
            starts.append(length)
            shifts.append(at - length)
            pieces.append(text[at:start])
            length += max(0, start - at)
        at = max(at, end)
    return View("".join(pieces), tuple(starts), tuple(shifts))
