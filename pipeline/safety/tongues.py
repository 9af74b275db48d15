"""How a permission and an order to a model are worded, in fifteen languages: the tables behind `guard`.

They stand in ``tongues.toml``. A language has few rules, all of one kind, and no exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILE = "tongues.toml"
LOOKED_FOR = ("named", "may", "asked", "needless", "free", "orders", "hides", "sends")
"""The wordings that are asked of a sentence only if it holds a word that they need."""


@dataclass(frozen=True, slots=True)
class Tongue:
    """The wordings of one language: regular expressions, in any case, a line each; "" where it has none.

    named      the assistant, by a word that means no other program
    you        whoever is spoken to, which a person says to the assistant, and whoever would be asked
    may        what gives a right to `named`, before it in its clause or right behind it
    asked      to do a thing without asking, where a sentence has `named` or `you`
    needless   nobody need be asked, or need say yes
    free       a right that is given in so many words: a free hand, a blanket approval, a check that is waived
    limits     what makes a restriction of a right, before it in its clause or right behind it: only, never
    orders     words to a model about its own rules, its part or its memory
    hides      to keep something from the person, or do it unseen
    sends      an order to send, add or fetch something, at the beginning of a clause

    `refused` and `accepted` are sentences on either side of the line.
    """

    lang: str
    refused: tuple[str, ...]
    accepted: tuple[str, ...]
    named: str
    you: str
    may: str
    asked: str
    needless: str
    free: str
    limits: str
    orders: str
    hides: str
    sends: str

    def lines(self, name: str) -> list[str]:
        """Return the patterns of the wordings called `name`, any of which counts."""
        wordings: str = getattr(self, name)
        return [line.strip() for line in wordings.split("\n") if line.strip()]


def tongues() -> tuple[Tongue, ...]:
    """Return every language; a text is held against all of them, since nobody says which it is in."""
    import tomllib  # Deferred: most processes judge no text.

    text = Path(__file__).with_name(FILE).read_text("utf-8")
    return tuple(
        Tongue(lang, tuple(values.pop("refused")), tuple(values.pop("accepted")), **values)
        for lang, values in tomllib.loads(text).items()
    )
