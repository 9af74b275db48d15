"""Words whose loss or change turns a sentence: denials, bounds, duties, number words, opposites.

Pure text work, for English and, with the commonest words only, German, French, Spanish, Chinese, Japanese
and Korean. A marker is written as one short string, so that ``at least`` and ``>=`` are the same one.
"""

from __future__ import annotations

import re

from pipeline.text.clauses import denies
from pipeline.text.scripts import HAN, HANGUL, KANA
from pipeline.text.similarity import content_in_order
from pipeline.text.specifics import plain


def _list(listed: str) -> list[str]:
    return listed.split()


def _counted(listed: str, step: int = 1) -> dict[str, int]:
    return {word: at * step for at, word in enumerate(listed.split(), start=1)}


# Beside each marker: words that have it · words that have not.
_WORDS = {
    "must": "must|have to|has to|require[ds]?|muss|müssen|doit|doivent|debe|deben",  # has to run · has two
    "may": "(?<!in )may|might|optional|darf|dürfen|peut|peuvent|puede|pueden",  # may wait · in may
    "should": "should|sollte[nst]?|devrait|debería",  # should wait · on the shoulder
    "always": "always|immer|stets|toujours|siempre",  # always on · in all ways
    # usually · usual
    "sometimes": "sometimes|occasionally|rarely|seldom|usually|manchmal|selten|parfois|a veces",
    "only": "only|nur|seulement|solo|sólo",  # only in ci · readonly
    "except": "except|save for|außer|ausser|sauf|excepto",  # save for one · save one
    "unless": "unless|es sei denn|à moins|a menos",  # unless it rains · nonetheless
    "until": "until|till|bis|jusqu'à|hasta",  # until noon · a tiller
    "before": "before|vor|bevor|avant|antes",  # before noon · beforehand
    "after": "after|nach|nachdem|après|después",  # after noon · afterwards
    # rather than npm · other than npm
    "than": "rather than|instead of|statt|anstatt|au lieu de|en lugar de|en vez de",
    "off": "off",  # switch it off · offline
    "not": "dislikes?|hates?",  # hates tabs · is hateful
    "half": "half|halves",  # half of it · on behalf of it
    "double": "doubles?d?",  # doubled · a doublet
    "once": "once(?! more| again)",  # once a day · once more
}
_SIGNS = {
    # at least 3, >= 3 · at last
    "at least": r"\b(?:at least|no less than|minimum|mindestens|au moins|al menos)\b|>=|≥|以上|至少|最少",
    # no more than 3, <= 3 · mostly
    "at most": r"\b(?:at most|no more than|maximum|höchstens|au plus|como máximo)\b|<=|≤|以下|最多|至多",
    # fewer than 3, < 3 · the <b> tag
    "below": r"\bbelow\b|\bless than\b|\bfewer than\b|\bunter\b|<(?=\s*\d)|未満|低于",
    # more than 3, > 3 · no more than 3, a -> b
    "above": r"\babove\b|(?<!no )\bmore than\b|\büber\b|(?<![-=])>(?=\s*\d)|高于",
    "must": r"必須|なければ|必须",  # 必须 · 必要
    "may": r"てもよい|可以|しても",  # してもよい · しない
    "always": r"いつも|必ず|总是|始终|항상",  # 总是 · 总数
    "sometimes": r"時々|有时|가끔",  # 有时 · 有效
    "before": r"[以之]前|の前|전에",  # 以前 · 前端
    "after": r"[以之]後|の後|[以之]后|후에",  # 以后 · 后端
}
_OPPOSITES = _list(
    """allow deny accept refuse reject enable disable fail succeed increase decrease raise lower first last
    true false forbid permit include exclude left right start stop grant revoke show hide public private"""
)
"""Each in any form: denied, denies · denim."""
_NEXT = frozenset(("before", "after", "until", "unless", "except", "than"))
"""Markers that point forward: what stands behind them belongs to them, ``before deploy``."""
# every build · everything
_EVERY = re.compile(r"\b(?:every|each|jede[mnrs]?|chaque|cada)\b|毎回|每次")
_PATTERNS = [(name, re.compile(rf"\b(?:{words})\b")) for name, words in _WORDS.items()]
_PATTERNS += [(name, re.compile(signs)) for name, signs in _SIGNS.items()]
_PATTERNS += [
    (word, re.compile(rf"\b{word.removesuffix('y').removesuffix('e')}(?:y|e|s|es|ed|ies|ied|ing|ying)?\b"))
    for word in _OPPOSITES
]

_UNITS = _counted(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
)
_UNITS |= _counted("ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf")
_UNITS |= _counted("first second third fourth fifth sixth seventh eighth ninth tenth")
_TENS = _counted("ten twenty thirty forty fifty sixty seventy eighty ninety", 10)
_TENS |= _counted("zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 10)
_BIG = {word: word for word in ("hundred", "thousand", "million", "billion")}
_BIG |= {"hundert": "hundred", "tausend": "thousand", "dozen": "12"}
_BIG |= {"twice": "2", "zweimal": "2", "thrice": "3", "dreimal": "3"}
# three retries, forty-two · a one-off
_SPELLED = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ]?(?P<rest>{'|'.join(_UNITS)}))?"
    rf"|(?P<big>{'|'.join(_BIG)})s?|(?P<unit>{'|'.join(_UNITS)}))\b"
)
_PRONOUN = re.compile(
    r"\b(?:a|an|the|new|this|that|no|any|each|every|which|other|another|last|old|ein|seconds?)\s$|^$"
)
"""Before ``one`` these make it no number, and nothing before it may mean anything."""
# 三回 · 一般
_NUMERALS = re.compile(r"[一二三四五六七八九十百千万]+(?=[回分次秒个個つ日月年時时倍台件天周歳岁名度])")
# 3 retries · 1.5 s, v3
_DIGITS = re.compile(r"(?<![\w.,:])\d+(?![\w:]|[.,]\d)")
_UNREAD = re.compile(r"[^\W\d_]")
_READ = re.compile(f"[A-Za-zÀ-ɏḀ-ỿ{HAN}{KANA}{HANGUL}]")


def markers(text: str) -> frozenset[str]:
    """Return the markers of `text`: names as in the tables, ``not``, and numbers as ``#3``."""
    folded = plain(text)
    found = {"not"} if denies(text) else set()
    for name, pattern in _PATTERNS:
        for match in pattern.finditer(folded):
            behind = content_in_order(_EVERY.sub(" ", folded[match.end() :]))[:1] if name in _NEXT else []
            found.add(" ".join((name, *behind)))
    return frozenset(found) | numbers(folded)


def numbers(text: str) -> frozenset[str]:
    """Return the numbers that `text` writes as words, as ``#3``."""
    folded = plain(text)
    found = {f"#{match.group()}" for match in _NUMERALS.finditer(folded)}
    for match in _SPELLED.finditer(folded):
        if match["big"]:
            found.add(f"#{_BIG[match['big']]}")
        elif match["tens"]:
            found.add(f"#{_TENS[match['tens']] + _UNITS.get(match['rest'] or '', 0)}")
        elif match["unit"] not in ("one", "ein", "first", "second", "acht"):
            found.add(f"#{_UNITS[match['unit']]}")
        elif match["unit"] == "one" and not _PRONOUN.search(folded[: match.start()]):
            found.add("#1")
    return frozenset(found)


def implied(text: str) -> frozenset[str]:
    """Return markers that `text` has without their words: ``#3`` for digits, ``always`` for ``every``."""
    folded = plain(text)
    whole = [match.group() for match in _DIGITS.finditer(folded)]
    found = {f"#{int(digits)}" for digits in whole if len(digits) < 19}
    return frozenset(found | {"always"} if _EVERY.search(folded) else found)


def unreadable(text: str) -> bool:
    """Whether a third of the letters of `text` are of a script that no rule here knows."""
    letters = len(_UNREAD.findall(text))
    return letters > 0 and 3 * (letters - len(_READ.findall(text))) > letters
