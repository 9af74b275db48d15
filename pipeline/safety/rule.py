"""What a rule for secrets is made of; the rules themselves stand in the modules that import this one."""

from __future__ import annotations

import re

from pipeline.record import record

DIGIT = re.compile(r"\d")
MIXED = re.compile(r"\d|[a-z][A-Z]")
"""What every made-up word has somewhere: a digit, or a capital behind a small letter."""
Span = tuple[int, int, str]
"""Where a secret starts and ends in a text, and its kind."""


@record
class Rule:
    """A pattern whose group ``value``, or else the whole match, is a secret of `kind`.

    It is tried only on text that holds `gate` and one of `hints` (lower case), and compiled when it first
    is. With `inner`, the values are what that pattern finds inside the match (its own ``value``, or all of
    it). `finds` and `leaves` are an example it finds (the secret in ``«»``) and one it must leave alone.
    `digits` says that there is a digit in whatever it finds.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    finds: str
    leaves: str
    inner: str = ""
    gate: str = ""
    digits: bool = False


_NO_LONGER_NAME = r"(?<![\w-])"


def token(pattern: str) -> str:
    """Return `pattern` where no longer name has it as its end.

    ASCII only: in Japanese or Chinese a word stands right before a token, without a blank.
    """
    return rf"(?a:{_NO_LONGER_NAME}(?:{pattern}))"


def whole(pattern: str) -> str:
    """Return `pattern` where it is no part of a longer word: a hash, a path, a blob.

    The group is atomic: the longest match is looked at, and no shorter one is tried that would end well.
    """
    return rf"(?a:(?<![^\W_])(?>{pattern})(?![^\W_]))"


def joined(rules: tuple[Rule, ...]) -> Rule:
    """Return one rule for `rules`, which are tokens of one kind, each beginning with a letter or digit.

    One pattern, tried where a word begins, is many times quicker than a search for each prefix.
    """
    begin, end = token("").split("(?:)")
    parts = [rule.pattern.removeprefix(begin + "(?:").removesuffix(")" + end) for rule in rules]
    return Rule(rules[0].kind, ("",), token("|".join(parts)), "", "")


def lower(text: str) -> str:
    """Return `text` in lower case, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
