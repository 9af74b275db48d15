"""Passwords, PINs and keys told in plain words, in many languages: "the password is …", 密码是…, пароль: ….

No grammar of any language is kept: a name is looked for, then a value. How made up that must look hangs on
what says that it is one: right behind a name of most languages, behind a word or sign that joins the two
("is", "to", ":", "lautet", は), or before "as the password", little; at the end of the clause or elsewhere in
the sentence, much. What stands behind a name is read by `clause`, pairs of a login and its password here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from pipeline.safety.clause import behind, plain, quotable
from pipeline.safety.codes import HINTS as CODE_HINTS
from pipeline.safety.codes import codes
from pipeline.safety.plausible import (
    likely,
    made_up,
    random,
    strong,
)
from pipeline.safety.rule import DIGIT, Span
from pipeline.safety.secret_rules import KEY_LEAD
from pipeline.safety.spoken_words import (
    ACCOUNT,
    ADMIN,
    AFTER_CJK,
    AHEAD,
    AS,
    ASCII,
    ASIDE,
    BEFORE,
    BEFORE_WORDS,
    BESIDE,
    BESIDE_SYLLABLES,
    FAR_PAIR_HINTS,
    FOR,
    FROM_TO,
    GIVEN,
    HEX,
    KEY_HINTS,
    KEYISH,
    NAMES,
    NO_SECRET_KEY,
    OPENED,
    OPENS,
    OWNED,
    PAGES,
    PAIR,
    PAIR_HINTS,
    PARTICLES,
    SECRET_KEY,
    SHORT,
    STRIP,
    TOKEN,
    TOPIC,
    TYPED,
    UUID,
    WEAK,
    WORDS,
)

_LAST_SPACED = "\u0dff"
"""From here on scripts write words without blanks between them."""
_OPENING = ("unlock", "decrypt")
"""What a value told before it opens."""
_NAMED = {
    (ascii_only, digits): {
        hint: number
        for number, hint in enumerate(WORDS if ascii_only else NAMES)
        if digits or hint not in WEAK
    }
    for ascii_only in (True, False)
    for digits in (True, False)
}
HINTS = (*NAMES, *PAIR_HINTS, *FAR_PAIR_HINTS, *KEY_HINTS, *CODE_HINTS)
"""Whatever is looked for before anything else is."""
"""What names to look for in a text, by whether it is ASCII and has a digit, as each value of `WEAK` has."""


def spans(text: str, lowered: str, hints: Set[str], *, digits: bool) -> Iterator[Span]:
    """Yield start, end and kind of what `text` tells in words.

    `lowered` is `text` in lower case, as long; `hints` are those of `HINTS` that stand in it; `digits` says
    that a digit does.
    """
    ascii_only = lowered.isascii()
    named = _NAMED[ascii_only, digits]
    for hint in sorted([hint for hint in hints if hint in named], key=named.__getitem__):
        at = lowered.find(hint)
        while at >= 0:
            yield from _named(hint, text, at)
            at = lowered.find(hint, at + len(hint))
    if digits:
        yield from _pairs(text, lowered, hints, ascii_only=ascii_only)
        yield from codes(text, lowered, hints)


def _pairs(text: str, lowered: str, found_hints: Set[str], *, ascii_only: bool) -> Iterator[Span]:
    """Yield the passwords told together with whose they are: ``login: bob / …``, ``admin / …``."""
    hints = PAIR_HINTS if ascii_only else PAIR_HINTS + FAR_PAIR_HINTS
    for hint in [hint for hint in hints if hint in found_hints]:
        at = lowered.find(hint)
        while at >= 0:
            if not (lowered[at - 1 : at].isalpha() or text[at - 1 : at] == "/") or hint in FAR_PAIR_HINTS:
                yield from _pair(text, at)
            at = lowered.find(hint, at + len(hint))
    if (" / " in text or " | " in text) and ("admin" in lowered or "root" in lowered):
        for found in ADMIN.finditer(text):
            if made_up(found["value"]):
                yield (*found.span("value"), "password")


def keys(text: str, lowered: str, hints: Set[str]) -> Iterator[Span]:
    """Yield start, end and kind of the keys in `text` that look made by a program, each told by its name."""
    for hint in [hint for hint in KEY_HINTS if hint in hints]:
        at = lowered.find(hint)
        while at >= 0:
            found = KEYISH.match(text, at)
            value = found["value"].rstrip(".,:") if found else ""
            called = found and text[found.end() : found.end() + 1] == "("
            if found and not called and random(value) and not _of_something_else(text, at, found):
                yield found.start("value"), found.start("value") + len(value), "token"
            at = lowered.find(hint, at + len(hint))


def _of_something_else(text: str, at: int, found: re.Match[str]) -> bool:
    """Say whether the key named at `at` is a public one, or a digest by which something is looked up."""
    if NO_SECRET_KEY.search(text, max(0, at - 16), at) or PAGES.search(text, max(0, at - 16), at):
        return True
    value = found["value"].rstrip(".,:")
    if UUID.match(value) and found[0][:5].lower() != "token" and not found["value"].endswith(":fx"):
        return not SECRET_KEY.search(text, max(0, at - 16), at)
    bare = found[0][:3].lower() == "key" and found[0][: -len(found["value"])].rstrip()[-1:].isalpha()
    return bare and HEX.fullmatch(value) is not None and not SECRET_KEY.search(text, max(0, at - 16), at)


def _pair(text: str, at: int) -> Iterator[Span]:
    """Yield the password of a name and password told together: ``login: bob / …``."""
    found = PAIR.match(text, at)
    value = found["value"].rstrip(".,;:)") if found else ""
    if found and made_up(value) and "/" not in value:
        yield found.start("value"), found.start("value") + len(value), "password"
    elif ACCOUNT.match(text, at):
        start, end = max(text.rfind("\n", 0, at), at - 100), text.find("\n", at, at + AHEAD)
        for other in BESIDE.finditer(text, max(start, 0), end if end >= 0 else at + AHEAD):
            value = other["value"].rstrip(".,;:)")
            if strong(value) and OPENED.isdisjoint(value):
                yield other.start("value"), other.start("value") + len(value), "password"


def _named(hint: str, text: str, at: int) -> Iterator[Span]:
    """Yield the values told of the name at `at`, before it and behind it."""
    before = text[at - 1 : at]
    if before == "$" or (hint in WEAK and not DIGIT.search(text, at, at + AHEAD)):
        return
    if hint == "token" and PAGES.search(text, max(0, at - 16), at):
        return
    if hint == "secret" and not GIVEN.match(text, at + 6):
        return
    if hint == "key" and not KEY_LEAD.search(text[max(0, at - 12) : at].lower()):
        return
    if hint in SHORT and (before.isalnum() or before in ("_", "-", "/", ".")):
        return
    name = NAMES[hint].match(text, at)
    if name and _stands_alone(hint, name, text):
        yield from _around(hint, text, name)


def _around(hint: str, text: str, name: re.Match[str]) -> Iterator[Span]:
    """Yield the values told before `name`, beside it and behind it."""
    at = name.start()
    if hint in _OPENING:
        found = OPENS.search(text, max(0, at - 120), at)
        value = found["value"].strip(STRIP) if found else ""
        if found and likely(value):
            start = found.start("value") + found["value"].find(value)
            yield start, start + len(value), "password"
        if not name[0].endswith("with"):
            return
    if hint not in WEAK:
        yield from _told_before(text, at)
        yield from _from_to(text, name.end())
    if text[name.end() - 1] > _LAST_SPACED or text[name.end() : name.end() + 1] in TOPIC:
        yield from _in_syllables(text, at, name.end())
    yield from behind(text, name, weak=hint in WEAK)


def _stands_alone(hint: str, name: re.Match[str], text: str) -> bool:
    """Say whether `name` is no part of a longer word, nor the verb "pass"."""
    after = text[name.end() : name.end() + 1]
    if hint in ("pass", "token", "secret", "key", *SHORT) and after.isalnum() and after.isascii():
        return False
    if name[0].lower() != "pass":
        return True
    before = text[max(0, name.start() - 40) : name.start()].lower()
    return (
        GIVEN.match(text, name.end()) is not None
        or "user" in before
        or (OWNED.search(before) is not None and text[name.end() : name.end() + 4] == " to ")
    )


def _from_to(text: str, start: int) -> Iterator[Span]:
    line = text.find("\n", start, start + AHEAD)
    found = FROM_TO.search(text, start, line if line >= 0 else start + AHEAD)
    if found and made_up(found["value"]):
        yield (*found.span("value"), "password")
        second = TOKEN.match(text, found.end())
        value = second[0].rstrip(",;:.") if second else ""
        if made_up(value):
            yield found.end(), found.end() + len(value), "password"


def _told_before(text: str, at: int) -> Iterator[Span]:
    """Yield the value told before its name: "use X as the password", "X is the password"."""
    part = text[max(0, at - 140) : at]
    if "\n" in part[-1:]:
        return
    part = part[part.rfind("\n") + 1 :]
    shift = at - len(part)
    words = list(TOKEN.finditer(part))[-9:]
    if DIGIT.search(part):
        yield from _stands_out(words, shift)
    if not (part[-1:].isspace() or part[-1:] in "-("):
        return
    lowered = [word[0].lower() for word in words]
    if BEFORE_WORDS.isdisjoint(lowered) and "(" not in part:
        return
    for pattern in (BEFORE, TYPED, ASIDE):
        found = pattern.search(part)
        if found is None:
            continue
        group = "quoted" if pattern is BEFORE and found["quoted"] else "value"
        value = found[group].strip(STRIP)
        start = shift + found.start(group) + found[group].find(value)
        in_quotes = group == "quoted" and quotable(value, phrase=True)
        rest = part[found.start(group) + len(found[group]) - 1 :]
        fit = likely(value) if FOR.search(rest) else made_up(value, sure=AS.search(rest) is not None)
        if in_quotes or (fit and OPENED.isdisjoint(value)):
            yield start, start + len(value), "password"
            return


def _stands_out(words: list[re.Match[str]], shift: int) -> Iterator[Span]:
    """Yield the last of `words` before a name, in its sentence, that can be nothing but a password."""
    for word in reversed(words):
        bare = plain(word)
        if OPENED.isdisjoint(bare) and strong(bare):
            start = shift + word.start() + word[0].find(bare)
            yield start, start + len(bare), "password"
            return
        if word[0][-1] in ".!?;":
            return


def _in_syllables(text: str, at: int, start: int) -> Iterator[Span]:
    """Yield the ASCII beside the name from `at` to `start`, in a script without blanks between words."""
    before = BESIDE_SYLLABLES.search(text, max(0, at - 110), at)
    value = before["value"].strip(STRIP) if before else ""
    if before and (strong(value) or (before["between"].strip() in PARTICLES and made_up(value, sure=True))):
        begin = before.start() + before["value"].find(value)
        yield begin, begin + len(value), "password"
    lead = AFTER_CJK.match(text, start)
    found = ASCII.match(text, lead.end() if lead else start)
    if found:
        value = found[0].rstrip("\"'`),;:")
        if made_up(value, sure=lead is not None and bool(lead[0].strip())):
            yield found.start(), found.start() + len(value), "password"
