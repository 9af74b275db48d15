"""Finds where secrets stand in a text: by shape, by place, by name, in words, and across what breaks them.

What a text may hold is asked first with plain searches (a long word, a name, a digit), which is what keeps
ordinary text cheap; patterns run only where such a search found something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from pipeline.safety import spoken, tables
from pipeline.safety.hints import Hints
from pipeline.safety.late import late
from pipeline.safety.numbers import cards
from pipeline.safety.placed_rules import COMMANDS, SIGNED
from pipeline.safety.plausible import (
    ALGORITHM,
    IDENTIFIER,
    NOT_A_VALUE,
    VARIABLE,
    constant,
    identifiers,
    long_name,
    made_up,
    names_a_name,
    random,
    stands_for_another,
    strong,
    telling,
)
from pipeline.safety.rule import DIGIT, MIXED, Rule, Span, lower
from pipeline.safety.secret_rules import (
    ASSIGNED,
    FAR_KEY_HINTS,
    KEY,
    KEY_AT,
    KEY_HINTS,
    KEY_LEAD,
    QUOTED,
    QUOTES,
    SHAPES,
    SHORT_KEYS,
)
from pipeline.safety.seed_phrases import phrases
from pipeline.safety.spoken_words import PAGES
from pipeline.safety.tables import columns
from pipeline.safety.unbroken import views
from pipeline.safety.unnamed_vendors import PREFIXED, of_a_vendor
from pipeline.safety.vendor_rules import TOKENS

_TRAILING = ".)]}!?:"
"""Punctuation after a bare value that belongs to the sentence or the code around it."""
_LONG, _LONG_WORD = 12, late(r"\S{12,}")
"""Characters without a blank that the shortest token has."""
_ARN = late(r"arn:\S*\Z")
"""What names a secret of a cloud and does not hold it."""
_KEY_LONG = 16
_PREFIXED_LONG = 24
_PAIRED = late(
    r"\s?(?:\+|/|,|:|&|and|und|et|y|e|plus)\s(?:(?:the\s)?secret:?\s)?(?P<value>(?=[^\sA-Z]{0,60}[A-Z])[A-Za-z0-9+/]{24,64})(?!\w)"
)
"""What is told together with a token: the secret that belongs to an id."""
_NO_BLANKS = late("[\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]")
"""A character of a script without blanks between words."""
_GIVES = (":", "=", *QUOTES, "|", "?", "\uff1a", "\u306f")
"""Of what stands between a name and the value given to it one is there, or the value is in quotes."""
_OPTION = late(r"(?:\s[\"']?|^)--?[A-Za-z]")
_CARD_LIKE = late(r"[2-6]\d{3}[ \u00a0-]?\d\d")


def find(text: str) -> list[Span]:
    """Return where secrets stand in `text`, none overlapping, in order."""
    spans = list(_found(text))
    for view in views(text):
        spans += [(*view.span(start, end), kind) for start, end, kind in _found(view.text)]
    return _apart(spans)


def _apart(spans: list[Span]) -> list[Span]:
    """Return `spans` in order, overlapping ones made one, which has the kind of the first."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if merged and start < merged[-1][1]:
            first, last, named = merged[-1]
            merged[-1] = (first, max(last, end), named)
        elif end > start:
            merged.append((start, end, kind))
    return merged


def _found(text: str) -> Iterator[Span]:
    lowered = lower(text)
    words = lowered.split()
    hints, digits = HINTS.found_in(lowered, words), DIGIT.search(text) is not None
    yield from _shaped(text, lowered, hints, words, digits=digits)
    yield from _quoted(text, hints)
    yield from _assigned(text, lowered, hints)
    yield from spoken.spans(text, lowered, hints, digits=digits)
    yield from columns(text, lowered, hints)
    yield from phrases(lowered, words)


def _holds(text: str, hints: tuple[str, ...]) -> bool:
    """Say whether one of `hints` is in `text`; a plain loop, since this decides what redaction costs."""
    for hint in hints:  # noqa: SIM110 - any() takes three times as long
        if hint in text:
            return True
    return False


_Groups = dict[str, tuple[int, tuple[tuple[str, int], ...]]]


def _grouped(rules: tuple[Rule, ...]) -> tuple[tuple[Rule, ...], _Groups]:
    """Return `rules` with their hints (each with its rule's place), those with a common part behind it.

    Each group has its number, since the first rule that finds a secret names its kind.
    """
    groups: dict[str, list[tuple[str, int]]] = {}
    for at, rule in enumerate(rules):
        for hint in rule.hints:
            part = rule.gate or next((common for common in _COMMON if common in hint), hint)
            groups.setdefault(part, []).append((hint, at))
    return rules, {part: (number, tuple(hints)) for number, (part, hints) in enumerate(groups.items())}


_COMMON = ("pass", "auth", "key", "token", "login", "factor", "value", "sql")
_SHAPES = {
    (signed, digits): _grouped(
        tuple(
            rule
            for rule, sign in (*((rule, False) for rule in SHAPES), *((rule, True) for rule in SIGNED))
            if (signed or not sign) and (digits or not rule.digits)
        )
    )
    for signed in (True, False)
    for digits in (True, False)
}
"""What to try on a text, by whether it has a sign as `SIGNED` has, and a digit."""
_COMMANDS, _TOKENS = _grouped(COMMANDS), _grouped(TOKENS)


HINTS = Hints(
    (
        *(hint for rule in (*SHAPES, *SIGNED, *COMMANDS, *TOKENS) for hint in (*rule.hints, rule.gate)),
        *_COMMON,
        *QUOTED[0].hints,
        *KEY_HINTS,
        *FAR_KEY_HINTS,
        *spoken.HINTS,
        *tables.HINTS,
        *tables.FAR_HINTS,
    )
)
"""Whatever is looked for before a pattern is tried."""


def _by_hints(rules: tuple[Rule, ...], groups: _Groups, found: Set[str], text: str) -> Iterator[Span]:
    """Yield what those of `rules` find in `text` whose hints were `found` in it."""
    likely = sorted([groups[part] for part in found if part in groups])
    for at in dict.fromkeys([at for _, hints in likely for hint, at in hints if hint in found]):
        yield from _matches(rules[at], text)


def _shaped(text: str, lowered: str, hints: Set[str], words: list[str], *, digits: bool) -> Iterator[Span]:
    signed = ":" in text or "=" in text or "<" in text
    yield from _by_hints(*_SHAPES[signed, digits], hints, text)
    if digits and _CARD_LIKE.search(text):
        yield from cards(text)
    if "-" in text and _OPTION.search(text):
        yield from _by_hints(*_COMMANDS, hints, text)
    longest = max(map(len, words), default=0)
    if longest >= _LONG:
        yield from _in_long_words(text)
        if longest >= _KEY_LONG:
            yield from spoken.keys(text, lowered, hints)


def _in_long_words(text: str) -> Iterator[Span]:
    """Yield the tokens in `text`, of which only the long words are looked at."""
    places = [found.span() for found in _LONG_WORD.finditer(text) if MIXED.search(found[0])]
    if not places:
        return
    joined = " ".join([text[start:end] for start, end in places])
    for start, end, kind in _by_hints(*_TOKENS, HINTS.found_in(joined.lower()), joined):
        if MIXED.search(joined, start, end):
            shift = _shift(places, start)
            yield start + shift, end + shift, kind
            other = _PAIRED.match(text, end + shift)
            if other and random(other["value"]):
                yield (*other.span("value"), "token")
    for start, end in places:
        if end - start >= _PREFIXED_LONG:
            for found in PREFIXED.finditer(text, start, end):
                if of_a_vendor(found):
                    yield (*found.span(), "token")


def _shift(places: list[tuple[int, int]], position: int) -> int:
    """Return how far before its place in the text `position` is in the words at `places`, joined."""
    at = 0
    for start, end in places:
        if position < at + end - start:
            return start - at
        at += end - start + 1
    raise AssertionError("a match lies within the words")


def _matches(rule: Rule, text: str) -> Iterator[Span]:
    """Yield the span and kind of each secret that `rule` finds in `text`."""
    for outer in re.finditer(rule.pattern, text):
        if outer.groupdict().get("name") and names_a_name(outer["name"]):
            continue
        for found in re.finditer(rule.inner, outer[0]) if rule.inner else (outer,):
            shift = outer.start() if rule.inner else 0
            group = next((name for name in ("value", "value2", "value3") if found.groupdict().get(name)), 0)
            if not stands_for_another(found[group]) and found[group].lower() not in NOT_A_VALUE:
                yield found.start(group) + shift, found.end(group) + shift, rule.kind


def _quoted(text: str, found_hints: Set[str]) -> Iterator[Span]:
    """Yield quoted values on lines that hold a quote and a name for a secret."""
    hints = QUOTED[0].hints
    at = 0
    if found_hints.isdisjoint(hints) or not _holds(text, QUOTES):
        return
    for line in text.split("\n"):
        if _holds(line, QUOTES) and _holds(line.lower(), hints):
            for rule in QUOTED:
                for found in re.finditer(rule.pattern, line):
                    start, end = found.span("value")
                    before = line[found.start() : start]
                    # In brackets stands the name to look it up by: `password = environ["X"];`.
                    about = _about(before) and not strong(found["value"])
                    if _quoted_value(found["value"]) and "[" not in before and not about:
                        yield at + start, at + end, rule.kind
        at += len(line) + 1


def _about(before: str) -> bool:
    name = re.match(r"[\w-]+", before)
    return name is not None and names_a_name(name[0])


def _assigned(text: str, lowered: str, hints: Set[str]) -> Iterator[Span]:
    if not _holds(text, _GIVES):
        return
    for start in names(text, lowered, hints):
        found = ASSIGNED.match(text, start)
        if found and found["key"].lower() == "token" and PAGES.search(text, max(0, start - 16), start):
            continue
        if found and not _ARN.search(text, max(0, start - 80), start):
            yield from _value(found, text)


def names(text: str, lowered: str, found_hints: Set[str]) -> list[int]:
    """Return where the names begin that a value may be assigned to, in order, none within another.

    Plain searches for what every name holds come first: the pattern itself, tried at every character,
    took half of all redaction's time. `lowered` is `text` in lower case; `found_hints` stand in it.
    """
    positions: set[int] = set()
    hints = KEY_HINTS if lowered.isascii() else KEY_HINTS + FAR_KEY_HINTS
    for hint in [hint for hint in hints if hint in found_hints]:
        at = lowered.find(hint)
        while at >= 0:
            lead = KEY_LEAD.search(lowered, max(0, at - 12), at) if hint == "key" else None
            positions.add(lead.start() if lead else at)
            at = lowered.find(hint, at + 1)
    found: list[int] = []
    end = 0
    for position in sorted(positions):
        key = KEY_AT.match(text, position) if position >= end else None
        if key:
            found.append(position)
            end = key.end()
    return found


def _value(found: re.Match[str], text: str) -> Iterator[Span]:
    """Yield the span of the value that `found` gives to its name, if it is one."""
    part = "quoted" if found["quoted"] else "bare"
    if found["more"] and names_a_name(found["key"] + found["more"]) and not _fits_any_name(found[part]):
        return
    if _given(found) if part == "quoted" else _bare_value(found, text):
        start, end = found.span(part)
        if part == "bare":
            end = start + len(_ended(found[part], text, start).rstrip(_TRAILING))
        yield start, end, "token" if "token" in found["key"].lower() else "password"


def _fits_any_name(value: str) -> bool:
    return random(value) or strong(value)


def _given(found: re.Match[str]) -> bool:
    """Say whether the quoted text that `found` gives to its name is its value.

    Behind a comma stands a default or the next of a list, and no key is a lone word: ``"token": "Zeichen"``.
    """
    value = found["quoted"]
    if found["sep"] in (",", "or") and not (found["close"] and made_up(value) and " " not in value):
        return False
    if found["key"].lower().endswith(("token", "key")) and value.isalpha() and len(value) < _KEY_LONG:
        return False
    return _quoted_value(value)


def _ended(value: str, text: str, start: int) -> str:
    """Return `value` up to the next one of a URL, or to a word that follows it without a blank."""
    if "&" in value and "?" in text[max(0, start - 200) : start].split(" ")[-1]:
        value = value.partition("&")[0]
    foreign = _NO_BLANKS.search(value) if value[0].isascii() else None
    return value[: foreign.start()] if foreign else value


def _quoted_value(value: str) -> bool:
    """Say whether a quoted text is a value and not a placeholder, a type or a variable's name."""
    if len(value) < 4 or stands_for_another(value) or VARIABLE.fullmatch(value):
        return False
    return value.strip().lower() not in NOT_A_VALUE and not re.fullmatch(r"[Xx]-[A-Za-z-]+", value)


def _bare_value(found: re.Match[str], text: str) -> bool:
    """Say whether what follows ``password =`` or ``token:`` is a value and not code, a type or prose."""
    value = found["bare"].rstrip(_TRAILING)
    elided = found["bare"].endswith(("...", "…")) and value[-1:] in ("_", "-")
    if elided or constant(value) or found["sep"] == "," or value.startswith("?"):
        return False
    if found["sep"] == "=" and value.isalpha() and value.istitle() and text[found.end("sep")] == " ":
        return False
    if len(value) < 4 or stands_for_another(value) or "(" in value or "[" in value or _NO_BLANKS.match(value):
        return False
    if value.lower() in NOT_A_VALUE or (value.isdigit() and found["key"].lower() in ("token", "pass")):
        return False
    if found["key"].lower() in SHORT_KEYS and not made_up(value, sure=True):
        return False
    if "." in value and identifiers(value):
        return False
    if IDENTIFIER.fullmatch(value) and re.search(KEY, value, re.I) and sum(map(str.isdigit, value)) < 3:
        return False
    if long_name(value) and (found["sep"] == ":" or text[found.end("sep")].isspace()):
        return False
    if found["sep"] in (":", "：", "は"):
        rest = text[found.end() : text.find("\n", found.end()) % (len(text) + 1)].strip(" \t\r.*`'\"")
        alone = len(value) >= 6 and not rest and value.isalpha() and found["key"].isascii()
        return (telling(value) and not ALGORITHM.match(value)) or made_up(value) or alone
    return len(value) >= 6 or telling(value)
