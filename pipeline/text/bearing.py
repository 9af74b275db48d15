"""Whether what a person typed can bear out what a model says they said: a floor that only ever turns down.

It compares words and understands nothing. What passes may still be wrong; what fails has no ground in the
words that were cited: other subjects, a question, somebody else's words, a no that became a yes.
"""

from __future__ import annotations

import re

from pipeline.text import clauses
from pipeline.text.tokens import terms

LEAST_SHARE = 0.6
"""The share of a statement's words that the typed ones must have."""
_LIKE = 4
"""Letters that two forms of a word begin with alike, at least."""
_QUESTION = re.compile(r"[?？¿؟]")
_OBJECTS = re.compile(r"\b(?:disagree|not agree|n['’]t agree|nonsense|wrong|falsch|unsinn)\b", re.IGNORECASE)
_AWAY = re.compile(
    r"\b(?:forget|delete|remove|drop|erase|discard|get rid of|throw away|wipe"
    r"|vergiss|vergesst|lösch\w*|entfern\w*|streich\w*|verwirf"
    r"|oublie\w*|supprime\w*|efface\w*|enl[eè]ve\w*|olvida\w*|borra\w*|elimin\w*|quita\w*|dimentica\w*"
    r"|cancella\w*|rimuovi|esque[cç]\w*|apag\w*|exclu\w*|vergeet|verwijder\w*|glöm|radera"
    r"|ta bort|unohda|poista"
    r"|zapomnij|usuń|skasuj|забудь\w*|удали\w*|сотри\w*|видали\w*|unut|sil|kaldır|ξέχασε|διάγραψε|σβήσε"
    r"|שכח|מחק|הסר|انس|احذف|امسح)\b|忘れて|消して|削除|忘掉|忘记|刪除|删除|删掉|删了",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{8,}\"|“[^”\n]{8,}”|„[^“”\n]{8,}[“”]|«[^»\n]{8,}»|「[^」\n]{4,}」|‘[^’\n]{8,}’"
)


def missing(statement: str, quote: str, typed: str) -> str:
    """Return why `quote`, words of what a person `typed`, can't bear out `statement`; "" where they can."""
    line = _line(quote, typed)
    if _QUESTION.search(line) and not _QUESTION.search(statement):
        return "they asked, and said nothing of it"
    if any(quote in found[0] for found in _QUOTED.finditer(line)):
        return "they gave somebody else's words there"
    if _OBJECTS.search(line):
        return "they object to something there"
    part = next((clause for clause in clauses.split(line) if quote in clause), line)
    if clauses.denies(part) != clauses.denies(statement):
        return "one of the two says no, the other does not"
    wanted = {*terms(statement)}
    if not wanted or share_of(wanted, typed) < LEAST_SHARE:
        return "they typed other words than that"
    return ""


def asks_removal(quote: str, typed: str, about: str) -> bool:
    """Whether the line with `quote` asks to take away something of which `about` tells."""
    line = _line(quote, typed)
    if _QUESTION.search(line) or clauses.denies(line) or not _AWAY.search(line):
        return False
    words = {*terms(_AWAY.sub(" ", line))}
    return bool(words) and share_of(words, about) > 0


def share_of(words: set[str], text: str) -> float:
    """Return the share of `words` that `text` has, in whatever form."""
    held = {*terms(text)}
    return sum(any(_is_like(word, other) for other in held) for word in words) / max(1, len(words))


def _is_like(word: str, other: str) -> bool:
    if word == other:
        return True
    least = max(_LIKE, (min(len(word), len(other)) * 2 + 2) // 3)
    return len(word) >= _LIKE and len(other) >= _LIKE and word[:least] == other[:least]


def _line(quote: str, typed: str) -> str:
    """Return the line of `typed` in which `quote` stands, all of it where it can't be found in one."""
    return next((line for line in typed.split("\n") if quote in line), typed)
