"""Made-up secrets in context and what only looks like one, from ``fixtures/secrets/templates.jsonl``.

A template has its secrets in ``«»`` and says what goes where: ``{a:40}`` forty letters and digits, ``{h:32}``
hexadecimal, ``{x:16}`` that in capitals, ``{d:6}`` digits, ``{u:16}`` capitals and digits, ``{l:4}`` small
letters, ``{b:44}`` base64, ``{t:16}`` base32, ``{tg}`` base32 in groups, ``{p}`` a password, ``{uuid}``,
``{card}``, ``{card4}`` in groups, ``{bip:12}`` words of the list for seed phrases (``{bipq:12}`` in quotes,
``{bipc:12}`` with commas, ``{bipn:12}`` one a line, ``{bip1:12}`` with numbers). ``{{`` and ``}}``: braces.
A ``~`` is dropped: without it, scanners of this repository would take the beginnings for real.
"""

from __future__ import annotations

import json
import random
import re
import string
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.safety.seed_phrases import beginnings

TEMPLATES = Path(__file__).resolve().parents[1] / "fixtures" / "secrets" / "templates.jsonl"
TURNS = 4
"""Cases made of each template with a blank in it."""
_BLANK = re.compile(r"\{(a|h|x|d|u|l|b|t|tg|p|uuid|card4?|bip[qcn1]?)(?::(\d+))?\}")
_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "x": "0123456789ABCDEF",
    "d": string.digits,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase,
    "b": string.ascii_letters + string.digits + "+/",
    "t": string.ascii_uppercase + "234567",
}
_WORDS = (
    "Copper",
    "Lantern",
    "Velvet",
    "Badger",
    "Falcon",
    "Marble",
    "Rocket",
    "Zugspitze",
    "Brezel",
    "Girasol",
    "Noisette",
)
_LEET = {"a": "4", "e": "3", "i": "1", "o": "0", "s": "5"}
_BETWEEN = {"": " ", "q": '", "', "c": ",", "n": "\n", "1": "\n"}


@dataclass(frozen=True, slots=True)
class Case:
    """A text with `secrets` that must go; with none, it must stay as it is."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def read(path: Path) -> list[Case]:
    """Return the cases of a corpus file: a JSON object a line with kind, text and secret (a list)."""
    lines = path.read_text("utf-8").splitlines()
    loaded = [json.loads(line) for line in lines if line.strip()]
    return [Case(item["kind"], item["text"], tuple(item["secret"] or ())) for item in loaded]


def made(seed: int = 13) -> list[Case]:
    """Return the cases made of our templates; one seed gives the same ones each time."""
    return list(_made(random.Random(seed)))


def _made(chance: random.Random) -> Iterator[Case]:
    for line in TEMPLATES.read_text("utf-8").splitlines():
        template = json.loads(line)
        pattern = template["text"].replace("~", "")
        for _ in range(TURNS if _BLANK.search(pattern) else 1):
            text = _BLANK.sub(lambda blank: _filled(chance, *blank.groups()), pattern)
            text = text.replace("{{", "{").replace("}}", "}")
            secrets = tuple(re.findall("«(.*?)»", text, re.DOTALL))
            yield Case(template["kind"], re.sub("[«»]", "", text), secrets)


def _filled(chance: random.Random, what: str, size: str | None) -> str:
    if what in _ALPHABETS:
        letters = _some(chance, _ALPHABETS[what], int(size or 1))
        return letters
    if what == "p":
        return _password(chance)
    if what == "tg":
        return " ".join(_some(chance, _ALPHABETS["t"], 4).lower() for _ in range(8))
    if what == "uuid":
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    if what.startswith("bip"):
        words = chance.sample([word for word in beginnings() if len(word) == 3], int(size or 12))
        if what == "bip1":
            words = [f"{number}. {word}" for number, word in enumerate(words, 1)]
        return _BETWEEN[what[3:]].join(words)
    if what == "card4":
        return chance.choice((" ", "-", "\u00a0")).join(re.findall("....", _card(chance)))
    return _card(chance)


def _password(chance: random.Random) -> str:
    """Return one as people choose them, or as a program makes them."""
    first, second = chance.sample(_WORDS, 2)
    number = chance.randrange(10, 99)
    leet = "".join(_LEET.get(char, char) for char in first.lower()).capitalize()
    return chance.choice(
        [
            f"{first}{chance.randrange(1000, 9999)}",
            f"{first}{chance.randrange(1950, 2026)}{chance.choice('!#$')}",
            f"{first}-{second}{number}!",
            f"{first.lower()}_{second}{number}",
            f"{first.lower()}+{second}{number}",
            f"{leet}{chance.choice('._-')}{number}7{chance.choice('kqxz')}",
            _some(chance, _ALPHABETS["a"], chance.randrange(9, 15)),
            _some(chance, _ALPHABETS["a"] + "+*!?=_-%&^", 14),
        ]
    )


def _some(chance: random.Random, alphabet: str, size: int) -> str:
    """Return `size` of `alphabet`, with a digit and a letter where both fit."""
    text = "".join(chance.choice(alphabet) for _ in range(size))
    digits = [char for char in alphabet if char.isdigit()]
    if size > 3 and digits and len(digits) < len(alphabet) and not re.search(r"\d.*\d", text):
        text = text[:-2] + chance.choice(digits) + chance.choice(digits)
    return text


def _card(chance: random.Random) -> str:
    digits = "4" + "".join(chance.choice(string.digits) for _ in range(14))
    for last in string.digits:
        number = digits + last
        total = sum(map(int, number[-1::-2])) + sum(
            sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2]
        )
        if total % 10 == 0:
            return number
    raise AssertionError("one digit of ten fits")
