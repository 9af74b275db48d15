"""Passwords, PINs and keys told in plain words, in many languages: "the password is …", 密码是…, пароль: ….

No grammar of any language is kept: a name is looked for, then a value that looks made up, right behind the
name, behind a word or sign that joins the two ("is", "to", ":", "lautet", は), or before the name ("… as the
password"). A word without digits or symbols is a value only in quotes or behind "is still".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.safety.plausible import (
    NOT_A_VALUE,
    made_up,
    plain_word,
    random,
    stands_for_another,
    unmistakable,
)
from pipeline.safety.rule import DIGIT, Span
from pipeline.safety.secret_rules import KEY_LEAD
from pipeline.safety.spoken_words import (
    ADMIN,
    AFTER_CJK,
    AHEAD,
    ASCII,
    BEFORE,
    BEFORE_WORDS,
    BESIDE_SYLLABLES,
    CLOSING,
    FAR_PAIR_HINTS,
    FROM_TO,
    GIVEN,
    GIVES,
    HEX,
    JOINS,
    KEY_HINTS,
    KEYISH,
    NAMES,
    NO_SECRET_KEY,
    NUMBER,
    OPEN,
    OPENED,
    PAIR,
    PAIR_HINTS,
    PARTICLES,
    PHRASE,
    PIN,
    PIN_HINTS,
    PRODUCT,
    QUOTE,
    SECRET_KEY,
    SHORT,
    STILL,
    STRIP,
    SURE,
    TOKEN,
    TYPED,
    UUID,
    WEAK,
    WORDS,
)

_TOPIC = frozenset("はがをは是为為")
"""What follows a name in Latin letters in Japanese or Chinese."""
_FAR = 0x0370
"""From here on scripts are not Latin, and a made-up word in Latin letters stands out."""
_FIRST_SYLLABLES = 0x0E00
"""From here on scripts write words without blanks between them."""


def spans(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of what `text` tells in words; `lowered` is `text` in lower case, as long."""
    ascii_only = lowered.isascii()
    for hint in WORDS if ascii_only else NAMES:
        at = lowered.find(hint)
        while at >= 0:
            yield from _named(hint, text, at)
            at = lowered.find(hint, at + len(hint))
    if "/" in text or ":" in text or "|" in text or not ascii_only:
        for hint in PAIR_HINTS if ascii_only else PAIR_HINTS + FAR_PAIR_HINTS:
            at = lowered.find(hint)
            while at >= 0:
                if not (lowered[at - 1 : at].isalpha() or text[at - 1 : at] == "/") or hint in FAR_PAIR_HINTS:
                    yield from _pair(text, at)
                at = lowered.find(hint, at + len(hint))
    yield from _of_admin(text, lowered)
    if NUMBER.search(text) and _any(lowered, PIN_HINTS):
        for found in PIN.finditer(text):
            yield (*found.span("value" if found["value"] else "alone"), "pin")


def _of_admin(text: str, lowered: str) -> Iterator[Span]:
    """Yield the password of ``admin / …``."""
    if (" / " in text or " | " in text) and ("admin" in lowered or "root" in lowered):
        for found in ADMIN.finditer(text):
            if made_up(found["value"]):
                yield (*found.span("value"), "password")


def keys(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of the keys in `text` that look made by a program, each told by its name."""
    for hint in KEY_HINTS:
        at = lowered.find(hint)
        while at >= 0:
            found = KEYISH.match(text, at)
            if found and random(found["value"].rstrip(".,:")) and not _of_something_else(text, at, found):
                start = found.start("value")
                yield start, start + len(found["value"].rstrip(".,:")), "token"
            at = lowered.find(hint, at + len(hint))


def _of_something_else(text: str, at: int, found: re.Match[str]) -> bool:
    """Say whether the key named at `at` is a public one, an id (in capitals), or a digest."""
    if NO_SECRET_KEY.search(text, max(0, at - 16), at):
        return True
    name = found[0][: -len(found["value"])].rstrip()
    if UUID.match(found["value"]) and not SECRET_KEY.search(text, max(0, at - 16), at):
        return True
    bare = found[0][:3].lower() == "key" and (name[-1:].isalpha() or found["value"].isupper())
    return (
        bare
        and HEX.fullmatch(found["value"]) is not None
        and not SECRET_KEY.search(text, max(0, at - 16), at)
    )


def _any(lowered: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:  # noqa: SIM110 - any() takes three times as long
        if hint in lowered:
            return True
    return False


def _pair(text: str, at: int) -> Iterator[Span]:
    """Yield the password of a name and password told together: ``login: bob / …``."""
    found = PAIR.match(text, at)
    value = found["value"].rstrip(".,;:)") if found else ""
    if found and made_up(value):
        yield found.start("value"), found.start("value") + len(value), "password"


def _named(hint: str, text: str, at: int) -> Iterator[Span]:
    """Yield the values told of the name at `at`, before it and behind it."""
    before = text[at - 1 : at]
    if before == "$" or (hint in WEAK and not DIGIT.search(text, at, at + AHEAD)):
        return
    if hint == "secret" and not GIVEN.match(text, at + 6):
        return
    if hint == "key" and not KEY_LEAD.search(text[max(0, at - 12) : at].lower()):
        return
    if hint in SHORT and (before.isalnum() or before in ("_", "-", "/", ".")):
        return
    name = NAMES[hint].match(text, at)
    if name is None or not _stands_alone(hint, name, text):
        return
    if hint not in WEAK:
        yield from _told_before(text, at)
        yield from _from_to(text, name.end())
    if ord(text[name.end() - 1]) >= _FIRST_SYLLABLES or text[name.end() : name.end() + 1] in _TOPIC:
        yield from _in_syllables(text, at, name.end())
    yield from _behind(
        text,
        name.end(),
        far=ord(text[name.end() - 1]) >= _FAR,
        pair=hint in WEAK and hint not in ("secret", "token", "key"),
        weak=hint in WEAK,
        plain=name[0].lower() != "pass",
    )


def _stands_alone(hint: str, name: re.Match[str], text: str) -> bool:
    """Say whether `name` is no part of a longer word, nor the verb "pass"."""
    after = text[name.end() : name.end() + 1]
    if hint in ("pass", "token", "secret", "key", *SHORT) and after.isalnum() and after.isascii():
        return False
    if name[0].lower() != "pass":
        return True
    return (
        GIVEN.match(text, name.end()) is not None
        or "user" in text[max(0, name.start() - 40) : name.start()].lower()
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
    part = text[max(0, at - 140) : at]
    if DIGIT.search(part):
        yield from _stands_out(part.rpartition("\n")[2], at)
    if (part[-1:].isspace() or part[-1:] == "-") and not BEFORE_WORDS.isdisjoint(part.lower().split()[-8:]):
        for pattern in (BEFORE, TYPED):
            found = pattern.search(part)
            if found is None:
                continue
            group = "value" if pattern is TYPED else "quoted" if found["quoted"] else "bare"
            value = found[group].strip(STRIP)
            start = max(0, at - 140) + found.start(group) + found[group].find(value)
            if made_up(value) or (group == "quoted" and _quotable(value)):
                yield start, start + len(value), "password"


def _stands_out(line: str, end: int) -> Iterator[Span]:
    """Yield the last word of `line` (up to `end` of the text) that looks like nothing but a password."""
    for word in reversed(list(TOKEN.finditer(line))[-9:]):
        bare = _untrailed(word[0].strip(STRIP))
        if OPENED.isdisjoint(bare) and unmistakable(bare):
            start = end - len(line) + word.start() + word[0].find(bare)
            yield start, start + len(bare), "password"
            return


def _in_syllables(text: str, at: int, start: int) -> Iterator[Span]:
    """Yield the ASCII beside the name from `at` to `start`, in a script without blanks between words."""
    before = BESIDE_SYLLABLES.search(text, max(0, at - 110), at)
    value = before["value"].strip(STRIP) if before else ""
    if before and (unmistakable(value) or (before["between"].strip() in PARTICLES and made_up(value))):
        begin = before.start() + before["value"].find(value)
        yield begin, begin + len(value), "password"
    lead = AFTER_CJK.match(text, start)
    found = ASCII.match(text, lead.end() if lead else start)
    if found:
        value = found[0].rstrip("\"'`),;:")
        if made_up(value):
            yield found.start(), found.start() + len(value), "password"


def _behind(text: str, start: int, *, pair: bool, far: bool, weak: bool, plain: bool) -> Iterator[Span]:
    """Yield the first value in what is left of the sentence: beside the name, or behind what joins."""
    start = next(CLOSING.finditer(text, start)).end()
    if start < len(text) and not text[start].isspace() and text[start] not in ":=：，,-—→;.":
        return
    ended = text[start : start + 1] in (";", ".")
    joined, beside, still, sure, before = False, not weak, False, "'" in text[start - 2 : start], ""
    for word in TOKEN.finditer(text, start, min(len(text), start + AHEAD + 120)):
        if word.start() - start > AHEAD or not _same_line(text, start, word):
            return
        if word.start() == start and word[0][0] in ":：=" and len(word[0]) > 1:
            yield from () if weak else _attached(word)
            return
        if (joined or beside) and not ended:
            quote = QUOTE.match(text, word.start()) if word.start() > start and word[0][0] in OPEN else None
            if quote:
                given = (
                    plain and (sure or before in GIVES or beside) and _quotable(quote["value"], beside=beside)
                )
                yield from [(*quote.span("value"), "password")] * (
                    given or made_up(quote["value"], sure=sure)
                )
                return
            found = _bare(word, joined=joined, still=still, sure=sure, weak=weak)
            if found:
                yield found
                return
        if (pair or not weak) and (found := _alone(word, far=far)):
            yield found
            return
        ends = word[0][-1] in ".!?;" and len(word[0]) > 1
        if ends and ended:
            return
        ended = ended or ends  # in the sentence after it only what is nothing but a password
        before = word[0].lower().lstrip("([{") or word[0]
        sure = before in SURE or before[-1] in ":：=" or (sure and before in JOINS)
        joined = before in JOINS or before[-1] in ":：="
        still = before in STILL and (still or joined)
        beside = False


def _alone(word: re.Match[str], *, far: bool) -> Span | None:
    """Return where `word` looks like nothing but a password; in a text in a `far` script less is asked."""
    bare = _untrailed(word[0].strip(STRIP))
    if not OPENED.isdisjoint(bare) or not (unmistakable(bare) or (far and bare.isascii() and made_up(bare))):
        return None
    at = word.start() + word[0].find(bare)
    return at, at + len(bare), "password"


def _attached(word: re.Match[str]) -> Iterator[Span]:
    """Yield the value of ``=value``, which follows its name without a blank."""
    bare = re.split(r"[&;，。]", word[0].lstrip(STRIP + "="))[0].rstrip(STRIP)
    if _fits(bare, joined=True, still=False, sure=True):
        at = word.start() + word[0].find(bare)
        yield at, at + len(_untrailed(bare)), "password"


def _bare(word: re.Match[str], *, joined: bool, still: bool, sure: bool, weak: bool) -> Span | None:
    bare = word[0].strip(STRIP)
    if not bare or (weak and (not sure or PRODUCT.fullmatch(bare))):
        return None
    if not _fits(bare, joined=joined, still=still, sure=sure):
        return None
    at = word.start() + word[0].find(bare)
    return at, at + len(_untrailed(bare)), "password"


def _same_line(text: str, start: int, word: re.Match[str]) -> bool:
    """Say whether `word` goes on the line at `start`, or stands alone on the one after a colon."""
    between = text[start : word.start()]
    if "\n" not in between:
        return True
    end = word.end()
    return (
        between.strip() in (":", "：", "")
        and ":" in between + text[start - 1]
        and text[end : end + 1] in ("", "\n", "\r")
    )


def _fits(value: str, *, joined: bool, still: bool, sure: bool) -> bool:
    value = _untrailed(value)
    if not OPENED.isdisjoint(value):
        return False
    return (made_up(value, sure=sure) and not (not joined and "=" in value)) or (
        still and plain_word(value) and value not in NOT_A_VALUE
    )


def _untrailed(value: str) -> str:
    return value.rstrip(".") if not value.endswith("!") else value


def _quotable(value: str, *, beside: bool = False) -> bool:
    """Say whether `value`, in quotes, can be one; right `beside` its name only several words."""
    if len(value) < 4 or stands_for_another(value) or value.lower() in NOT_A_VALUE:
        return False
    if " " in value:
        return PHRASE.fullmatch(value) is not None
    if beside:
        return made_up(value)
    return made_up(value) or (value.isalnum() and len(value) >= 6)
