"""Tokens of vendors that no rule names: words as a prefix, then a long made-up part (``acme_live_…``)."""

from __future__ import annotations

import re

from pipeline.safety.late import late
from pipeline.safety.plausible import in_short_pieces

PREFIXED = late(
    r"(?a:(?<![\w./@-])(?P<prefix>(?:[a-z][a-z0-9]{0,11}[_-]){1,4})(?P<first>[A-Za-z0-9]{8,32}_)?(?P<rest>[A-Za-z0-9]{20,200})(?![\w-]))"
)
_NAMED = late(r"(?:^|[_-])(?:(?:api)?key|token|tok|secret|pat|live|prod|api|sk|rk|rw|auth|access)[_-]")
_PUBLIC = late(r"(?:^|[_-])(?:pk|pub|public|publishable|sha\d*|md5)[_-]")
_LONG, _LONGER = 32, 40
_OF_ANY, _OF_NAMED = 2.6, 3.2
"""How many characters the words and numbers of a random end have at most, on the average."""


def of_a_vendor(found: re.Match[str]) -> bool:
    """Say whether `found` is a token: its end is random, and longer than an id or behind a word for a secret.

    Ids of records have a prefix and a random end, too (``price_1MoBy5LkdIwHu7ixZhnQbFXO``), but a short one.
    """
    rest = found["rest"]
    if _PUBLIC.search(found["prefix"]):
        return False
    named = _NAMED.search(found["prefix"]) is not None
    if named and len(rest) >= _LONG and re.fullmatch("[0-9a-f]+", rest) and not rest.isdigit():
        return True
    if len(rest) < _LONG and not named:
        return False
    if len(rest) >= _LONGER and re.fullmatch("[0-9A-Z]+", rest):
        return not rest.isdigit() and not rest.isalpha()
    mixed = re.search("[a-z]", rest) and re.search("[A-Z]", rest) and re.search("[0-9]", rest)
    return mixed is not None and in_short_pieces(rest, most=_OF_NAMED if named else _OF_ANY)
