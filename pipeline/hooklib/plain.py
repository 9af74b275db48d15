"""Text that can be encoded, on one line, within a length in characters: what every layer needs of text.

Lengths elsewhere mean something else and have their own functions: cells of a terminal (`cli.output`), lines
and bytes of a recalled body (`recall.live.fence`), a dialogue's start and end (`extraction.render`).
"""

_ENDS = (". ", "! ", "? ", ".\n", "!\n", "?\n", "。", "！", "？", "\n\n")
"""How sentences end, seen from a distance: “z. B. ” ends none, but is a place to stop at."""


def well_formed(text: str) -> str:
    """Return `text` as UTF-8 can carry it: split surrogate pairs joined, each lone half as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_well_formed(text: str) -> bool:
    """Whether UTF-8 can carry `text`; a file name that is not UTF-8 has surrogates for its odd bytes."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def clipped(text: str, limit: int) -> str:
    """Return `text`, or its start with ``…`` in place of the rest, in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def sentences_within(text: str, limit: int) -> str:
    """Return as many whole sentences of `text` as `limit` characters hold; not even one is clipped."""
    if len(text) <= limit:
        return text
    start = text[: limit + 1]
    last = max(start.rfind(end) + 1 for end in _ENDS)
    return start[: min(last, limit)].rstrip() or clipped(text, limit)


def lines_of(text: str) -> "list[str]":
    """Return the lines of `text` as editors and the client count them: ended by LF, CR LF or CR.

    `str.splitlines` also breaks at U+2028, U+0085, form feeds and others, which stand within lines of
    JSON, of logs and of people.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def whole_lines(text: str) -> "list[str]":
    """Return the lines of `text` (see `lines_of`) with their ends: joined they are `text` again."""
    lines = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    return [line.decode("utf-8", "surrogatepass") for line in lines]


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` characters, cut at a word with ``…``."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    space = head.rfind(" ")
    # Text without spaces (CJK, URLs) has no word to cut at; keep the characters instead.
    return (head[:space] if space > limit // 2 else head).rstrip(" ,;:—-") + "…"
