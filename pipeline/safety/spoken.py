"""Passwords, PINs and keys told in plain words, in many languages: "the password is …", 密码是…, пароль: ….

No grammar of any language is kept: a name is looked for, then a value that looks made up, right behind the
name, behind a word or sign that joins the two ("is", "to", ":", "lautet", は), or before the name ("… as the
password"). A word without digits or symbols is a value only in quotes or behind "is still".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.safety.codes import codes
from pipeline.safety.plausible import (
    NOT_A_VALUE,
    likely,
    made_up,
    plain_word,
    random,
    stands_for_another,
    strong,
)
from pipeline.safety.rule import Span
from pipeline.safety.secret_rules import KEY_LEAD
from pipeline.safety.spoken_words import (
    ACCOUNT,
    AFTER_CJK,
    AHEAD,
    ASCII,
    ASIDE,
    BEFORE,
    BEFORE_OTHERS,
    BEFORE_WORDS,
    BESIDE,
    CALL,
    CHANGES,
    CLOSING,
    DIGIT,
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
    OPEN,
    OPENED,
    PAIR,
    PAIR_HINTS,
    PARTS,
    PHRASE,
    POLICY,
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


def spans(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of what `text` tells in words; `lowered` is `text` in lower case, as long."""
    ascii_only = lowered.isascii()
    for hint in [hint for hint in (WORDS if ascii_only else NAMES) if hint in lowered]:
        at = lowered.find(hint)
        while at >= 0:
            yield from _named(hint, text, at)
            at = lowered.find(hint, at + len(hint))
    if "/" in text or ":" in text or "|" in text or not ascii_only:
        hints = PAIR_HINTS if ascii_only else PAIR_HINTS + FAR_PAIR_HINTS
        for hint in [hint for hint in hints if hint in lowered]:
            at = lowered.find(hint)
            while at >= 0:
                if not (lowered[at - 1 : at].isalpha() or text[at - 1 : at] == "/") or hint in FAR_PAIR_HINTS:
                    yield from _pair(text, at)
                at = lowered.find(hint, at + len(hint))
    yield from codes(text, lowered)


def keys(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of the keys in `text` that look made by a program, each told by its name."""
    for hint in [hint for hint in KEY_HINTS if hint in lowered]:
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
    if NO_SECRET_KEY.search(text, max(0, at - 16), at):
        return True
    if UUID.match(found["value"]) and found[0][:5].lower() != "token" and not found["value"].endswith(":fx"):
        return not SECRET_KEY.search(text, max(0, at - 16), at)
    bare = found[0][:3].lower() == "key" and found[0][: -len(found["value"])].rstrip()[-1:].isalpha()
    return (
        bare
        and HEX.fullmatch(found["value"]) is not None
        and not SECRET_KEY.search(text, max(0, at - 16), at)
    )


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
    if text[name.end() - 1] >= "\u0e00":
        yield from _in_syllables(text, name.end())
    yield from _behind(
        text,
        name.end(),
        phrase="phrase" in name[0].lower(),
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
    """Yield the value told before its name: "use X as the password", "X is the password"."""
    part = text[max(0, at - 140) : at]
    if not (part[-1:].isspace() or part[-1:] in "-(") or "\n" in part[-1:]:
        return
    part = part[part.rfind("\n") + 1 :]
    shift = at - len(part)
    words = list(TOKEN.finditer(part))[-9:]
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
        quotable = group == "quoted" and _quotable(value, phrase=True)
        if quotable or (made_up(value) and OPENED.isdisjoint(value)):
            yield start, start + len(value), "password"
            return


def _in_syllables(text: str, start: int) -> Iterator[Span]:
    """Yield the run of ASCII that follows a name of a script without blanks between words."""
    lead = AFTER_CJK.match(text, start)
    found = ASCII.match(text, lead.end() if lead else start)
    if found:
        value = found[0].rstrip("\"'`),;:")
        if made_up(value):
            yield found.start(), found.start() + len(value), "password"


def _behind(text: str, start: int, *, phrase: bool, weak: bool, plain: bool) -> Iterator[Span]:
    """Yield the values in what is left of the sentence behind the name."""
    foreign = text[start - 1] > "\u0250"
    closing = CLOSING.match(text, start)
    start = closing.end() if closing else start
    if start < len(text) and not text[start].isspace() and text[start] not in ":：=，,?-—|":
        return
    clause = _Clause(text, start, phrase=phrase, weak=weak, plain=plain, foreign=foreign)
    for word in TOKEN.finditer(text, start, min(len(text), start + AHEAD + 120)):
        if word.start() - start > AHEAD or not _same_line(text, start, word):
            return
        if word[0][0] in "\"'" and word[0][-2:] in ('":', "':"):
            return  # the next name of a list of them
        if word.start() == start and word[0][0] in ":：=" and len(word[0]) > 1:
            yield from () if weak else _attached(word)
            return
        yield from clause.values(word)
        if not clause.goes_on(word):
            return


class _Clause:
    """What has been read of a clause behind a name, and so whether its next word can be a value.

    Behind a first value only what a word of change leads to is another: "was X, but now it's Y".
    """

    def __init__(
        self, text: str, start: int, *, phrase: bool, weak: bool, plain: bool, foreign: bool
    ) -> None:
        self._text, self._start = text, start
        self._phrase, self._weak, self._plain, self._foreign = phrase, weak, plain, foreign
        self._joined = self._still = self._told = self._changed = self._over = False
        self._beside, self._before = not weak, ""
        self._sure = "'" in text[start - 2 : start]

    def values(self, word: re.Match[str]) -> Iterator[Span]:
        """Yield the value that `word` is or begins, if any."""
        span = self._line(word) or self._quoted(word) or self._joined_to(word) or self._alone(word)
        if span:
            self._told, self._changed = True, False
            yield (*span, "password")

    def goes_on(self, word: re.Match[str]) -> bool:
        """Take `word` in, and say whether the clause goes on behind it."""
        if self._over:
            return False
        if word[0][-1] in ".!?;" and len(word[0]) > 1:
            self._before, self._joined, self._sure = ":", True, True
            return word[0][-1] == "?" and word[0][:-1].isalpha() and _last_on_line(self._text, word.end())
        before = self._before = word[0].lower()
        self._changed = self._changed or before in CHANGES or before in ("but", "aber", "mais", "pero")
        self._sure = before in SURE or before[-1] in ":：=" or (self._sure and before in JOINS)
        self._joined = before in JOINS or before[-1] in ":：="
        self._still = before in STILL and (self._still or self._joined)
        self._beside = False
        return True

    def _line(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return a passphrase of plain words, which fills the line behind `word`."""
        rest = PHRASE.match(self._text, word.end()) if self._phrase and word[0] in (":", "=", "is") else None
        if rest is None or not POLICY.isdisjoint(rest["value"].split()):
            return None
        self._over = True
        return rest.span("value")

    def _quoted(self, word: re.Match[str]) -> tuple[int, int] | None:
        if word.start() == self._start or word[0][0] not in OPEN or (self._weak and not self._joined):
            return None
        quote = QUOTE.match(self._text, word.start())
        if quote is None or (self._told and not self._changed):
            return None
        value, near = quote["value"], self._joined or self._beside
        fit = self._foreign or (near or DIGIT.search(value) is not None)
        if self._given(value) or (fit and made_up(value, sure=self._sure or self._foreign)):
            return quote.span("value")
        self._over = near
        return None

    def _given(self, value: str) -> bool:
        """Say whether a quoted text of plain letters or words is the value."""
        if self._weak or not self._plain or not (self._joined or self._foreign or " " in value):
            return False
        if not (self._sure or self._beside or self._before in GIVES):
            return False
        return _quotable(value, phrase=self._phrase or self._before in SURE)

    def _joined_to(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return `word` as the value, if it stands beside the name or behind what joins the two."""
        if self._over or not (self._joined or self._beside) or (self._told and not self._changed):
            return None
        sure = self._sure or (self._foreign and self._beside)
        if (self._before in BEFORE_OTHERS and not self._sure and not likely(_plain(word))) or CALL.search(
            word[0]
        ):
            return None
        bare = word[0].strip(STRIP)
        if not bare or (self._weak and (not sure or PRODUCT.fullmatch(bare))):
            return None
        if not (
            self._number(bare, word, sure=sure)
            or self._words(bare)
            or _fits(bare, joined=self._joined, still=self._still, sure=sure)
        ):
            return None
        at = word.start() + word[0].find(bare)
        return at, at + len(_untrailed(bare))

    def _number(self, bare: str, word: re.Match[str], *, sure: bool) -> bool:
        digits = bare.isdigit() and 4 <= len(bare) <= 12
        return digits and sure and self._plain and not self._weak and _closes(word)

    def _words(self, bare: str) -> bool:
        return self._phrase and self._joined and "-" in bare and _quotable(bare, phrase=True)

    def _alone(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return `word` as the value, if it looks like nothing else, or ends the clause and looks made up."""
        if self._over or self._told or self._weak:
            return None
        bare = _plain(word)
        last = self._before not in BEFORE_OTHERS and "=" not in bare and _ends(self._text, word.end())
        known = strong(bare) or (((self._foreign and bare.isascii()) or last) and likely(bare))
        if not known or not OPENED.isdisjoint(bare):
            return None
        at = word.start() + word[0].find(bare)
        return at, at + len(bare)


def _ends(text: str, at: int) -> bool:
    """Say whether a clause ends at `at`."""
    return text[at - 1] in ".,;!?" or text[at : at + 1] in ("", "\n", "\r")


def _last_on_line(text: str, at: int) -> bool:
    """Say whether one word alone is left of the line at `at`."""
    end = text.find("\n", at)
    return len(text[at : end if end >= 0 else len(text)].split()) == 1


def _plain(word: re.Match[str]) -> str:
    return _untrailed(word[0].strip(STRIP))


def _attached(word: re.Match[str]) -> Iterator[Span]:
    """Yield the value of ``=value``, which follows its name without a blank."""
    bare = re.split(r"[&;，。]", word[0].lstrip(STRIP + "="))[0].rstrip(STRIP)
    if _fits(bare, joined=True, still=False, sure=True):
        at = word.start() + word[0].find(bare)
        yield at, at + len(_untrailed(bare)), "password"


def _closes(word: re.Match[str]) -> bool:
    """Say whether no other word goes on behind `word`, as "characters" does behind a number."""
    after = word.string[word.end() : word.end() + 2].strip(" \t")
    return not word[0][-1].isdigit() or not after[:1].isalpha()


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


def _quotable(value: str, *, phrase: bool) -> bool:
    if len(value) < 4 or stands_for_another(value) or value.lower() in NOT_A_VALUE:
        return False
    words = PARTS.split(value)
    if len(words) >= 3 and all(word.isalpha() and len(word) >= 3 for word in words):
        return phrase and POLICY.isdisjoint(value.lower().split())
    if " " in value:
        return False
    return made_up(value) or (value.isalnum() and len(value) >= 6)
