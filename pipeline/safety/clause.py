"""What stands behind the name of a secret in its clause, word by word, and which of it is the value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.safety.plausible import (
    NOT_A_VALUE,
    identifiers,
    likely,
    made_up,
    plain_word,
    plain_words,
    stands_for_another,
    strong,
)
from pipeline.safety.rule import DIGIT, Span
from pipeline.safety.spoken_words import (
    AHEAD,
    BEFORE_OTHERS,
    CALL,
    CHANGED,
    CHANGES,
    CLOSING,
    ENGLISH,
    GIVES,
    JOINS,
    LINE_ENDS,
    NEW,
    OPEN,
    OPENED,
    PAIRED,
    PARTS,
    POLICY,
    PRODUCT,
    QUOTE,
    RELEASE,
    RUN,
    SMALL,
    STILL,
    STRIP,
    SURE,
    TOKEN,
    WHERE,
    WORDS_JOINED,
)

_LEAST_WORDS = 4
"""Of a phrase of plain words without quotes."""


def behind(text: str, name: re.Match[str], *, weak: bool) -> Iterator[Span]:
    """Yield the values in what is left of the sentence behind `name`, and the plainest in the next one."""
    closing = CLOSING.match(text, name.end())
    start = closing.end() if closing else name.end()
    if start < len(text) and not text[start].isspace() and text[start] not in ":：=，,?-—|→;.":
        return
    if text[start : start + 1] == "-" and text[start + 1 : start + 2].isalpha():
        return  # the first half of another name: "password-protected"
    paired = PAIRED.search(text, max(0, name.start() - 90), name.start()) is not None
    clause = Clause(text, start, name[0].lower(), weak=weak, paired=paired)
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


class Clause:
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
        leads = before in SURE or before[-1] in ":：=" or before == "?" or (before == "on" and self._finnish)
        self._sure = leads or (self._sure and before in JOINS)
        self._joined = (leads or before in JOINS) and not self._ended
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
        return quotable(value, phrase=self._phrase or self._before in SURE)

    def _joined_to(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return `word` as the value, if it stands beside the name or behind what joins the two."""
        if self._over or not (self._joined or self._beside) or (self._told and not self._changed):
            return None
        sure = self._sure or (self._own and self._beside)
        if (self._before in BEFORE_OTHERS and not self._sure and not _likely(plain(word))) or CALL.search(
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
        if self._phrase and self._joined and "-" in bare and quotable(bare, phrase=True):
            return True
        return (
            sure
            and self._joined
            and not self._weak
            and WORDS_JOINED.fullmatch(bare) is not None
            and plain_words(re.split("[._-]", bare.lower()))
        )

    def _alone(self, word: re.Match[str]) -> tuple[int, int] | None:
        """Return `word` as the value, if it looks like nothing else, or ends the clause and looks made up."""
        if self._over or self._told or not self._pair:
            return None
        bare = plain(word)
        if RELEASE.fullmatch(bare) and (self._weak or self._before in BEFORE_OTHERS):
            return None
        known = strong(bare) or (not self._weak and not self._ended and self._may_be(bare, word))
        known = known or (self._before in NEW and likely(bare))
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


def plain(word: re.Match[str]) -> str:
    """Return `word` without the quotes, brackets and punctuation that it stands in."""
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


def quotable(value: str, *, phrase: bool) -> bool:
    """Say whether `value` in quotes can be a password; with `phrase`, plain words too."""
    if len(value) < 4 or stands_for_another(value) or value.lower() in NOT_A_VALUE:
        return False
    words = PARTS.split(value)
    if len(words) >= 3 and all(word.isalpha() and len(word) >= 3 for word in words):
        return phrase and POLICY.isdisjoint(value.lower().split())
    if " " in value:
        return False
    return made_up(value) or (value.isalnum() and len(value) >= 6)
