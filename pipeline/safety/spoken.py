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
    identifiers,
    likely,
    made_up,
    plain_word,
    plain_words,
    random,
    stands_for_another,
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
    BEFORE_OTHERS,
    BEFORE_WORDS,
    BESIDE,
    BESIDE_SYLLABLES,
    CALL,
    CHANGED,
    CHANGES,
    CLOSING,
    ENGLISH,
    FAR_PAIR_HINTS,
    FOR,
    FROM_TO,
    GIVEN,
    GIVES,
    HEX,
    JOINS,
    KEY_HINTS,
    KEYISH,
    LINE_ENDS,
    NAMES,
    NO_SECRET_KEY,
    OPEN,
    OPENED,
    OPENS,
    OWNED,
    PAGES,
    PAIR,
    PAIR_HINTS,
    PAIRED,
    PARTICLES,
    PARTS,
    POLICY,
    PRODUCT,
    QUOTE,
    RELEASE,
    RUN,
    SECRET_KEY,
    SHORT,
    SMALL,
    STILL,
    STRIP,
    SURE,
    TOKEN,
    TOPIC,
    TYPED,
    UUID,
    WEAK,
    WHERE,
    WORDS,
    WORDS_JOINED,
)

_FIRST_SYLLABLES = "\u0e00"
"""From here on scripts write words without blanks between them."""
_LEAST_WORDS = 4
_OPENING = ("unlock", "decrypt")
_NAMED = {
    (ascii_only, digits): tuple(hint for hint in (WORDS if ascii_only else NAMES) if digits or hint not in WEAK)
    for ascii_only in (True, False)
    for digits in (True, False)
}
"""What names to look for in a text, by whether it is ASCII and has a digit, as each value of `WEAK` has."""


def spans(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of what `text` tells in words; `lowered` is `text` in lower case, as long."""
    ascii_only, digits = lowered.isascii(), DIGIT.search(text) is not None
    for hint in [hint for hint in _NAMED[ascii_only, digits] if hint in lowered]:
        at = lowered.find(hint)
        while at >= 0:
            yield from _named(hint, text, at)
            at = lowered.find(hint, at + len(hint))
    if digits:
        yield from _pairs(text, lowered, ascii_only=ascii_only)
        yield from codes(text, lowered)


def _pairs(text: str, lowered: str, *, ascii_only: bool) -> Iterator[Span]:
    """Yield the passwords told together with whose they are: ``login: bob / …``, ``admin / …``."""
    hints = PAIR_HINTS if ascii_only else PAIR_HINTS + FAR_PAIR_HINTS
    for hint in [hint for hint in hints if hint in lowered]:
        at = lowered.find(hint)
        while at >= 0:
            if not (lowered[at - 1 : at].isalpha() or text[at - 1 : at] == "/") or hint in FAR_PAIR_HINTS:
                yield from _pair(text, at)
            at = lowered.find(hint, at + len(hint))
    if (" / " in text or " | " in text) and ("admin" in lowered or "root" in lowered):
        for found in ADMIN.finditer(text):
            if made_up(found["value"]):
                yield (*found.span("value"), "password")


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
    if NO_SECRET_KEY.search(text, max(0, at - 16), at) or PAGES.search(text, max(0, at - 16), at):
        return True
    value = found["value"].rstrip(".,:")
    if UUID.match(value) and found[0][:5].lower() != "token" and not found["value"].endswith(":fx"):
        return not SECRET_KEY.search(text, max(0, at - 16), at)
    bare = found[0][:3].lower() == "key" and found[0][: -len(found["value"])].rstrip()[-1:].isalpha()
    return (
        bare
        and HEX.fullmatch(value) is not None
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
    if hint == "token" and PAGES.search(text, max(0, at - 16), at):
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
    if hint in _OPENING:
        found = OPENS.search(text, max(0, at - 120), at)
        value = found["value"].strip(STRIP) if found else ""
        if found and likely(value):
            start = found.start("value") + found["value"].find(value)
            yield start, start + len(value), "password"
    if hint not in WEAK:
        yield from _told_before(text, at)
        yield from _from_to(text, name.end())
    if text[name.end() - 1] >= _FIRST_SYLLABLES or text[name.end() : name.end() + 1] in TOPIC:
        yield from _in_syllables(text, at, name.end())
    yield from _behind(text, name, weak=hint in WEAK)


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
        quotable = group == "quoted" and _quotable(value, phrase=True)
        behind = part[found.start(group) + len(found[group]) - 1 :]
        fit = likely(value) if FOR.search(behind) else made_up(value, sure=AS.search(behind) is not None)
        if quotable or (fit and OPENED.isdisjoint(value)):
            yield start, start + len(value), "password"
            return


def _stands_out(words: list[re.Match[str]], shift: int) -> Iterator[Span]:
    """Yield the last of `words` before a name, in its sentence, that can be nothing but a password."""
    for word in reversed(words):
        bare = _plain(word)
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


def _behind(text: str, name: re.Match[str], *, weak: bool) -> Iterator[Span]:
    """Yield the values in what is left of the sentence behind `name`, and the plainest in the next one."""
    closing = CLOSING.match(text, name.end())
    start = closing.end() if closing else name.end()
    if start < len(text) and not text[start].isspace() and text[start] not in ":：=，,?-—|→;.":
        return
    if text[start : start + 1] == "-" and text[start + 1 : start + 2].isalpha():
        return  # the first half of another name: "password-protected"
    paired = PAIRED.search(text, max(0, name.start() - 90), name.start()) is not None
    clause = _Clause(text, start, name[0].lower(), weak=weak, paired=paired)
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

    def __init__(self, text: str, start: int, name: str, *, weak: bool, paired: bool) -> None:
        self._text, self._start, self._weak = text, start, weak
        self._phrase, self._plain, self._foreign = "phrase" in name, name != "pass", name[-1] > "\u0250"
        self._own = self._foreign or ENGLISH.match(name) is None or paired
        # A key, a token and a secret have rules of their own; behind a login stands its password.
        self._pair = not weak or name not in ("secret", "token", "key")
        self._finnish = name.startswith("salasana")
        self._network = name.startswith("w") and weak
        self._joined = self._still = self._told = self._changed = self._over = False
        self._ended = text[start : start + 1] in (";", ".")
        self._beside, self._before, self._last = not weak and not self._ended, "", ""
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
            asked = word[0][-1] == "?" and word[0][:-1].isalpha() and _last_on_line(self._text, word.end())
            ended, self._ended = self._ended, not asked
            self._before, self._joined, self._sure, self._beside = ":", asked, asked, False
            return asked or not ended
        self._last = self._before
        before = self._before = word[0].lower().lstrip("([{") or word[0]
        self._changed = self._changed or before in CHANGES or before in ("but", "aber", "mais", "pero")
        told = before in SURE or before[-1] in ":：=" or before == "?" or (before == "on" and self._finnish)
        self._sure = told or (self._sure and before in JOINS)
        self._joined = (told or before in JOINS) and not self._ended
        if before in GIVES and CHANGED.search(self._text, max(0, self._start - 60), word.start()):
            self._sure = True
        self._still = before in STILL and (self._still or self._joined)
        self._beside = False
        return True

    def _line(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return a passphrase of plain words, which fills the line behind `word`."""
        if self._weak or self._ended or self._told or not self._plain:
            return None
        if word[0].lower() in SURE:
            rest = RUN.match(self._text, word.end())
        else:
            near = self._phrase and self._beside and word.start() > self._start
            rest = RUN.match(self._text, word.start() - 1) if near else None
        if rest is None:
            return None
        words, start = rest[0].split(), rest.end() - len(rest[0].lstrip())
        whole = LINE_ENDS.match(self._text, rest.end()) is not None and POLICY.isdisjoint(words)
        if not (whole and self._phrase):
            words = _words_alone(words, whole=not self._phrase)
            if len(words) < _LEAST_WORDS or not plain_words(words):
                return None
        self._over = True
        return start, start + len(" ".join(words))

    def _quoted(self, word: re.Match[str]) -> tuple[int, int] | None:
        if word.start() == self._start or word[0][0] not in OPEN or (self._weak and not self._joined):
            return None
        if self._ended:
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
        sure = self._sure or (self._own and self._beside)
        if (self._before in BEFORE_OTHERS and not self._sure and not _likely(_plain(word))) or CALL.search(
            word[0]
        ):
            return None
        bare = word[0].strip(STRIP)
        # What a network is called stands behind "is"; its key behind a colon.
        sure_of_key = sure and (self._before[-1:] in ":：=" or not self._network)
        if not bare or (self._weak and (not sure_of_key or PRODUCT.fullmatch(bare))):
            return None
        if not (
            self._number(bare, word, sure=sure)
            or self._words(bare, sure=sure)
            or _fits(bare, joined=self._joined, still=self._still, sure=sure)
        ):
            return None
        at = word.start() + word[0].find(bare)
        return at, at + len(_untrailed(bare))

    def _number(self, bare: str, word: re.Match[str], *, sure: bool) -> bool:
        digits = bare.isdigit() and 4 <= len(bare) <= 12
        return digits and sure and self._plain and not self._weak and _closes(word)

    def _words(self, bare: str, *, sure: bool) -> bool:
        """Say whether `bare` is words with a sign between them: ``kaktus-lampe-pinguin``."""
        if self._phrase and self._joined and "-" in bare and _quotable(bare, phrase=True):
            return True
        return sure and self._joined and not self._weak and WORDS_JOINED.fullmatch(bare) is not None and plain_words(re.split("[._-]", bare.lower()))

    def _alone(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return `word` as the value, if it looks like nothing else, or ends the clause and looks made up."""
        if self._over or self._told or not self._pair:
            return None
        bare = _plain(word)
        if RELEASE.fullmatch(bare) and (self._weak or self._before in BEFORE_OTHERS):
            return None
        known = strong(bare) or (not self._weak and not self._ended and self._may_be(bare, word))
        if not known or not OPENED.isdisjoint(bare):
            return None
        at = word.start() + word[0].find(bare)
        return at, at + len(bare)

    def _may_be(self, bare: str, word: re.Match[str]) -> bool:
        """Say whether `bare` ends the clause, or stands out in a far script, and looks made up."""
        last = self._before not in BEFORE_OTHERS and "=" not in bare and _ends(self._text, word.end())
        if not last and not (self._foreign and bare.isascii()):
            return False
        lone = last and self._own and WHERE.isdisjoint((self._before, self._last))
        return likely(bare, sure=lone)


def _likely(bare: str) -> bool:
    return likely(bare) and RELEASE.fullmatch(bare) is None


def _ends(text: str, at: int) -> bool:
    """Say whether a clause ends at `at`."""
    return text[at - 1] in ".,;!?)" or text[at : at + 1] in ("", "\n", "\r")


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


def _words_alone(words: list[str], *, whole: bool) -> list[str]:
    """Return `words` up to the first that only a sentence has; with `whole` none, if there is one."""
    end = next((at for at, word in enumerate(words) if word in SMALL), len(words))
    return [] if whole and end < len(words) else words[:end]


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
    if made_up(value, sure=sure) and (joined or "=" not in value or not identifiers(value.partition("=")[0])):
        return True
    return still and plain_word(value) and value not in NOT_A_VALUE


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
