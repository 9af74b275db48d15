"""The rules `redaction` goes by: what is a secret by its shape, and what is one by the name before it.

Nothing here decides anything; `redaction` says how the rules are used and where they come from. Each rule
stands with an example that it finds, the secret in ``«»``, and one that it must leave alone; a test runs them
all. A ``~`` in an example is dropped first: without it, scanners of this repository would take made-up
secrets for real ones.
"""

from __future__ import annotations

import re

from pipeline.safety.late import late
from pipeline.safety.placed_rules import PLACED
from pipeline.safety.plausible import SAME_THING
from pipeline.safety.rule import Rule
from pipeline.safety.vendor_rules import NEAR

PRIVATE_TAG = late(r"<(/?)private\b[^<>]{0,200}>", re.IGNORECASE)

PRIVATE_KEY = Rule(
    "private-key",
    ("-----begin ",),
    r"(?s)-----BEGIN (?P<label>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----(?![\s.…<>*xX\[\]]*-----END)"
    r"(?:.*?-----END (?P=label)-----|(?:(?:\\r)?\\n|\s|[A-Za-z0-9+/=:,_-])*)",
    "see «-----BEGIN ~RSA PRIVATE KEY-----\nMIIBmadeup\n-----END RSA PRIVATE KEY-----» above",
    "-----BEGIN PUBLIC KEY-----\nMIIBmadeup\n-----END PUBLIC KEY-----",
)

SHAPES = (PRIVATE_KEY, *PLACED, *NEAR)
"""What is a secret by what stands around it; of two that find the same text the first one names it."""
_WORD = (
    r"(?:(?:api|auth|service|account|db|database|priv|private|client)_?key|(?:db|database|key)_?pass|"
    r"password|passwd|pwd|secret|contrase[ñn]a)\w*"
)
_VALUE = r"(?P<value>(?=\w)[^\v'\"]*[^\v,'\"`])"
QUOTED = (
    Rule("password", ("pass", "pwd", "secret", "key", "contrase"),
         rf"(?i){_WORD}[]'\"]{{0,2}}(?::|\s*(?:={{1,3}}|!==?|=>))\s*(?P<quote>['\"`]){_VALUE}(?P=quote)",
         'secret_of_staging = "«swordfish»"', 'password = settings["X"]'),
    Rule("password", ("pass", "pwd", "secret", "key", "contrase"),
         rf"(?P<quote>['\"`]){_VALUE}(?P=quote)\s*[!=]{{2,3}}\s*\w*{_WORD}",
         'if ("«hunter2-made-up»" == password) {', 'if ("password" == kind) {'),
    Rule("password", ("pass", "pwd", "secret", "key", "contrase"),
         rf"(?i){_WORD}\S{{0,50}}?\s*(?P<quote>['\"`]){_VALUE}(?P=quote);",
         'db_key.set "«swordfish»";', 'client_key "${KEY}";'),
)  # fmt: skip
"""What is a secret in quotes beside a name that says so; tried on one line at a time."""

_LEAD = (
    r"(?:api|access|auth|private|secret|encryption|signing|account|service|client|master|admin|license)[ _-]?"
)
KEY = (
    r"(?:pass[_-]?word|passwd|passphrase|passwort|(?<=de[_-])passe|pwd|secret|(?<!\w)pass|(?<=_)pass|token|credentials?|"
    rf"{_LEAD}key|contrase[nñ]a|(?<![^\W_])(?:pw|psk|mdp|clave|senha)|kennwort|wachtwoord|haslo|hasło|sifre|şifre|"
    r"парол[ьяю]|パスワード|暗証番号|密码)"
)
KEY_HINTS = (
    "pass", "pwd", "secret", "token", "credential", "key", "contrase", "pw", "psk", "mdp", "clave", "senha",
    "kennwort", "wachtwoord", "haslo", "sifre",
)  # fmt: skip
SHORT_KEYS = frozenset({"pw", "psk", "mdp", "clave", "senha"})
"""Names that mean other things as well, so that what they are given must look made up."""
FAR_KEY_HINTS = ("парол", "パスワード", "暗証番号", "密码", "hasło", "şifre")
"""Those that only text beyond ASCII can hold."""
KEY_AT = late(rf"(?=[ptscaemwkhlşп\u30d1\u6697\u5bc6]){KEY}", re.IGNORECASE)
"""Finds the names: the charset in front saves trying every alternative everywhere."""
KEY_LEAD = late(rf"{_LEAD}\Z")
"""What stands before the word ``key`` in a name, in lower case."""
QUOTES = ('"', "'", "`")

ASSIGNED = late(
    rf"(?P<key>{KEY})(?:[_-]?(?:{SAME_THING}|\d{{1,2}})(?![a-z0-9]))?(?P<more>(?:_[^\W_]{{1,20}}){{0,3}})"
    rf"(?P<close>\\*[\"'`\])*]{{0,4}})[ \t]{{0,8}}"
    rf"(?P<sep>:=|={{1,3}}>?|:-|:(?!:)|：|は|\|\||\?\?|or(?=[ \t]+[\"'`])|,(?=[ \t]*[\"'`]))"
    r"\*{0,2}[ \t]{0,8}\*{0,2}(?:[|>][+-]?[ \t]*\n[ \t]+)?"
    r"(?:(?P<quote>\\*[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){1,400})(?P=quote)|(?P<bare>[^\s\"'`,;<>]{4,400}))",
    re.IGNORECASE,
)
