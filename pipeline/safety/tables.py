"""Passwords in tables: a column whose head is a word for one, in Markdown or as values with commas.

A table is lines that follow each other, of which the first names the columns. What stands in such a column
is a value for certain, so that it need only look made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from pipeline.safety.late import late
from pipeline.safety.plausible import made_up
from pipeline.safety.rule import Span

HINTS = ("pass", "pw", "kennwort", "mdp", "contrase", "senha", "wachtwoord", "secret", "api")
FAR_HINTS = ("hasł", "парол", "şifre", "密码", "パスワード", "비밀번호")
_HEAD = late(
    r"(?i)[\s\"'`*_]*(?:(?:user|db|admin|wifi|login|initial|temp(?:orary)?|new|old)[ _-]?)?(?:password|passwd|passcode|passphrase|pass|pwd?|passwort|kennwort|mdp|"
    r"mot de passe|contrase[ñn]a|senha|wachtwoord|has[lł]o|пароль|şifre|密码|パスワード|비밀번호|(?:client[ _-]?)?secret|api[ _-]?key)[\s\"'`*_]*"
)
_RULE = late(r"[\s|:+-]+")
_STRIP = " \t\r\"'`*_"
_SIGNS = ("|", "\t", ";", ",")
_MOST_ROWS, _LONGEST_HEAD = 200, 30


def columns(text: str, lowered: str, found_hints: Set[str]) -> Iterator[Span]:
    """Yield start, end and kind of each password in a table of `text`; `lowered` is it in lower case.

    `found_hints` are those of `HINTS` and `FAR_HINTS` that stand in it.
    """
    if "\n" not in text:
        return
    if not found_hints.isdisjoint(HINTS if lowered.isascii() else HINTS + FAR_HINTS):
        yield from _below_heads(text)


def _below_heads(text: str) -> Iterator[Span]:
    at, sign = 0, ""
    head: list[int] = []
    rows = 0
    for line in text.split("\n"):
        if head and sign in line and rows < _MOST_ROWS:
            rows += 1
            yield from _cells(line, at, sign, head)
        else:
            head, sign, rows = *_heads(line), 0
        at += len(line) + 1


def _heads(line: str) -> tuple[list[int], str]:
    """Return which columns of the table that `line` may begin are of passwords, and what parts them."""
    for sign in _SIGNS:
        if sign in line:
            cells = line.split(sign)
            if max(map(len, cells)) <= _LONGEST_HEAD and sum(1 for cell in cells if cell.strip()) > 1:
                return [at for at, cell in enumerate(cells) if _HEAD.fullmatch(cell)], sign
            return [], ""
    return [], ""


def _cells(line: str, at: int, sign: str, head: list[int]) -> Iterator[Span]:
    cells = line.split(sign)
    if _RULE.fullmatch(line):
        return
    for column in head:
        value = cells[column].strip(_STRIP) if column < len(cells) else ""
        if value and made_up(value, sure=True):
            start = at + len(sign.join(cells[:column])) + (column > 0) + cells[column].find(value)
            yield start, start + len(value), "password"
