"""What in a text must not be lost or invented: numbers, paths, flags, addresses, names. Pure text work.

A specific is compared in a plain form: width folded, lower case, units spelled one way, so that ``30 s``,
``30s`` and ``30 seconds`` are one and ``30 minutes`` is another. Where a rule is unsure it finds a
specific too many: then a text is kept that could have been shortened, and nothing is lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from pipeline.domain.body import LABEL
from pipeline.safety.late import late
from pipeline.text.dates import DAY
from pipeline.text.scripts import HANGUL, PUNCTUATION, UNSPACED

_UNITS = {
    "ms": "ms millisecond milliseconds 毫秒 ミリ秒",
    "s": "s sec secs second seconds 秒 秒間",
    "min": "m min mins minute minutes 分 分間 分钟",
    "h": "h hr hrs hour hours 時間 小时",
    "day": "d day days 天 日間",
    "week": "w week weeks wk wks 週間 周",
    "month": "month months か月 ヶ月 个月",
    "year": "year years yr yrs 年間",
    "b": "b byte bytes",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb megabyte megabytes",
    "gb": "gb gigabyte gigabytes",
    "tb": "tb terabyte terabytes",
    "kib": "kib",
    "mib": "mib",
    "gib": "gib",
    "%": "% percent パーセント",
    "px": "px pixel pixels",
    "usd": "usd dollar dollars",
    "eur": "eur euro euros",
    "yen": "yen 円",
    "hz": "hz",
    "k": "k",
}
_CANON = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings.split()}
_UNIT = "|".join(sorted(map(re.escape, _CANON), key=len, reverse=True))
_END = r"(?![A-Za-z0-9_])"
_START = r"(?<![A-Za-z0-9_])"

_LONG = re.compile(r"[!-~]{200,}")
"""A token this long is one specific; taking it apart could take minutes in a hostile text."""
_CODE = re.compile(r"`{1,3}([^`\n]{1,300})`{1,3}")
_QUOTED = re.compile(r'"([^"\n]{2,80})"|“([^”\n]{2,80})”|「([^」\n]{1,80})」')
_SHAPES = late(
    rf"""
      (?P<url>\b[a-z][a-z0-9+.-]*://[^\s<>"'`)\]{PUNCTUATION}]+)
    | (?P<email>[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)
    | (?P<windows>\b[A-Za-z]:\\[^\s"'`,;{PUNCTUATION}]+)
    | (?P<path>(?:(?<![\w.])(?:~|\.{{1,2}})?/|{_START}@?[\w.-]+/)(?:[\w.@+*-]+/?)+)
    | (?P<package>(?<!\w)@[a-z0-9][\w-]*)
    | (?P<flag>(?<![\w-])--?[A-Za-z][A-Za-z0-9-]*(?:=[^\s,;`"'){PUNCTUATION}]+)?)
    | (?P<variable>\$\{{?[A-Za-z_]\w*\}}?)
    | (?P<reference>(?<!\w)\#\d+)
    | (?P<hash>{_START}(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,40}}{_END})
    | (?P<date>{_START}\d{{4}}-\d\d-\d\d{_END})
    | (?P<time>{_START}\d{{1,2}}:\d\d(?::\d\d)?{_END})
    | (?P<host>{_START}(?:(?:[A-Za-z0-9-]+\.)*[A-Za-z][\w-]*\.[A-Za-z]{{2,10}}|localhost)(?::\d+)?{_END})
    | (?P<snake>{_START}\w*[A-Za-z0-9]_\w+)
    | (?P<camel>{_START}(?:[a-z]+[A-Z]|[A-Z][a-z0-9]+[A-Z]|[A-Z]{{2,}}[a-z]+[A-Z])[A-Za-z0-9]*)
    | (?P<mixed>{_START}(?:[A-Za-z]+-)?[A-Za-z]+\d[A-Za-z0-9]*(?:\.\d+)*(?:-[A-Za-z0-9]+)*{_END})
    """,
    re.VERBOSE | re.ASCII,
)
_NUMBER = late(
    rf"(?<![A-Za-z0-9_])(?<!\d[.,])(?P<money>[$€£¥])?(?P<sign>(?<![\w.])[-+−])?v?"
    rf"(?P<digits>\d{{1,3}}(?: \d{{3}})+(?![\d.,:]*\d)|\d+(?:[.,:]\d+)*)(?:[ -]?(?P<unit>{_UNIT}){_END})?",
    re.IGNORECASE,
)
_MONEY = {"$": "usd", "€": "eur", "£": "gbp", "¥": "yen"}
_KINDS = {
    unit: kind
    for kind, units in {
        "time": "ms s min h day week month year",
        "size": "b kb mb gb tb kib mib gib",
        "money": "usd eur gbp yen",
    }.items()
    for unit in units.split()
}
_CLOCK = re.compile(r"\d+(?::\d\d)+")
# A name written in Latin letters ends where another script begins, Hangul too: its particles change from one
# sentence to the next.
_OTHER = UNSPACED + HANGUL
_INSIDE = rf"(?:(?<=[^\W_A-Z] )|(?<=[,;)] )|(?<=[{_OTHER}]))"
_LETTER = rf"(?:[^\W{_OTHER}]|['’-])"
_NAME = late(rf"{_INSIDE}(?:[A-Z]{_LETTER}+)(?: [A-Z]{_LETTER}+)*")
_AS_THEY_ARE = frozenset(("long", "code", "quoted", "number", "name"))
_NOT_NAMES = frozenset(("i", "i'm", "i'll", "i'd", "i've", "why", "how", "ok"))
_GERMAN = late(
    r"\b(?:der|das|dem|und|oder|nicht|ist|sind|wird|werden|wurden?|für|eine?[nmr]?|keine?n?|zu[mr]|vo[nm]|beim?|mit|nach|"
    r"über|auch|nur|noch|schon|sich|weil|wenn|dass)\b"
)
_ENGLISH = late(r"\b(?:the|and|is|are|for|of|to|with|that|this|was|were|not|by|at|it|be)\b")
_LEAST_GERMAN = 2
"""So many of these words, and more than English ones: each noun has a capital letter."""
_TITLE_SHARE = 0.3
"""Above this share of capitals inside sentences a capital marks a noun (German) or a title, not a name."""


def plain(text: str) -> str:
    """Return `text` in the form that is compared: width folded, quotes straight, one space, lower case."""
    folded = unicodedata.normalize("NFKC", text).translate({0x2018: "'", 0x2019: "'", 0x2212: "-"})
    return " ".join(folded.split()).lower()


def specifics(text: str) -> frozenset[str]:
    """Return the specifics of `text` in their plain form; see `shapes` for what they are."""
    return frozenset(
        re.sub(r"^v(?=\d)", "", plain(shape)) if kind not in _AS_THEY_ARE else plain(shape)
        for kind, shape in shapes(text)
    )


def shapes(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and words of the specifics of `text`, as they stand there but for their width.

    They are: code in backticks, quoted phrases, URLs, mail addresses, hosts, paths, flags, variables,
    identifiers in snake or camel case, references, hashes, versions, dates, times, numbers with their
    unit (``30 s`` for any spelling of it), and names (capitals inside a sentence). A kind is ``long``,
    ``code``, ``quoted``, ``number``, ``name`` or a group of `_SHAPES`.
    """
    text = unicodedata.normalize("NFKC", LABEL.sub(" ", text))
    yield from (("long", match.group()) for match in _LONG.finditer(text))
    text = _LONG.sub(" ; ", text)
    yield from (("code", match[1]) for match in _CODE.finditer(text))
    for match in _QUOTED.finditer(text):
        yield "quoted", match[1] or match[2] or match[3]
    rest = _QUOTED.sub(" ; ", _CODE.sub(" ; ", text))
    for match in _SHAPES.finditer(rest):
        shape = match.group().rstrip(".,;:!?*-+")
        if match.lastgroup and (match.lastgroup != "path" or _is_path(shape)):
            yield match.lastgroup, shape
    rest = _SHAPES.sub(_without, rest)
    yield from (("number", number) for number in _numbers(rest))
    yield from (("name", name) for name in _names(_NUMBER.sub(" ; ", rest)))


def _without(match: re.Match[str]) -> str:
    """Blank what is a specific already, but leave ``30/60`` and ``and/or`` to the other rules."""
    if match.lastgroup == "path" and not _is_path(match.group()):
        return match.group().replace("/", " ")
    return " ; "


def _is_path(text: str) -> bool:
    """Whether slashes make a path, not a choice (``and/or``) and not a fraction."""
    parts = [part for part in text.split("/") if part]
    if text.startswith(("/", "~", ".", "@")) or len(parts) > 2 or text.endswith("/"):
        return True
    return any(re.search(r"[._*-]", part) for part in parts)


def _numbers(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        digits = match["digits"]
        # “1,000”, “1 000” and “1000” are one number; the comma of “1,5” is a decimal one and stays.
        if re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+", digits):
            digits = re.sub(r"\D", "", digits)
        sign = "-" if match["sign"] in ("-", "−") else ""
        unit = _MONEY.get(match["money"] or "") or _CANON.get((match["unit"] or "").lower(), "")
        yield f"{sign}{digits} {unit}".rstrip()


def capitals_mark_nouns(text: str) -> bool:
    """Whether `text` is German, in which a capital letter tells no name."""
    german = _GERMAN.findall(text)
    return len(set(german)) >= _LEAST_GERMAN and len(german) > len(_ENGLISH.findall(text))


def _names(text: str) -> Iterator[str]:
    if capitals_mark_nouns(text):
        return
    inside = re.findall(rf"{_INSIDE}[A-Za-z]\w*", text)
    capitals = [word for word in inside if word[0].isupper()]
    if len(capitals) > 3 and len(capitals) > _TITLE_SHARE * len(inside):
        return
    for match in _NAME.finditer(text):
        for word in match.group().split():
            if plain(word) not in _NOT_NAMES:
                yield word.translate({0x2019: "'"}).removesuffix("'s").rstrip("-'")


def is_value(specific: str) -> bool:
    """Whether `specific` is a number, with or without unit, or a date or time."""
    return re.match(r"-?\d[\d.,:-]*(?: [a-z%]+)?$", specific) is not None


def kind_of(specific: str) -> str:
    """Return what `specific` (in its plain form) is; two of one kind can't both hold for one matter.

    ``time``, ``size``, ``money``, ``date``, ``clock``, another unit's own name, ``number`` without a unit (a
    port, a version, a count), and for what is no value ``path`` or ``word``.
    """
    if not is_value(specific):
        return "path" if "/" in specific else "word"
    if DAY.fullmatch(specific):
        return "date"
    if _CLOCK.fullmatch(specific):
        return "clock"
    unit = specific.partition(" ")[2]
    return _KINDS.get(unit, unit or "number")
