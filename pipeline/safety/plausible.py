"""Whether a value could be a secret: no placeholder, no code, no ordinary word, number, path or version.

Rules say where a value stands, this module what it must look like there; how much it has to look made up
depends on how clearly its place says that it is one.
"""

from __future__ import annotations

import re

PLACEHOLDER = re.compile(
    r"[$<{(\[]|%(?:[A-Za-z_]+%|[sdr]$|\()|.*\[redacted:|"
    r"[*x.•…_-]+$|your[-_ ]|example|change[-_ ]?(?:me|this|it)\b|"
    r"replace[-_]?(?:me|with)|"
    r"\.\.\.|"
    r"insert[-_ ]|.{0,40}(?:example(?:key)?|_here|-here|placeholder)$|.*(?:redacted|EXAMPLE)|dummy|todo\b|…|"
    r"(?:vault|op|ssm|arn|env|file|keyring|sops|secretsmanager|doppler|gsm|akv|awssm|bws|keychain|secret)://?|"
    r"(?:vault|arn|env|file|ssm|keyring|secretsmanager|sops|ref\+\w+):[\w/]|ENC\[|@Microsoft\.KeyVault|!vault|"
    r"(?-i:(?:[~.]{0,2}/[a-z_.-]+){2,}$)|[~.]{0,2}/[\w./-]+\.(?:json|pem|key|txt|ya?ml|crt|p12|jks|pfx|env|token)$|(.)\1{3,}$|.*(?:([x*•.])\2{7}|0{16})|"
    r"tu[-_ ]contrase|ihr[-_ ]|dein[-_ ]|votre[-_ ]|my[-_](?:password|secret|token|key)$",
    re.I,
)
"""What stands for a value that is not told, or says where it is kept."""

ORDINARY_PASSWORDS = frozenset({
    "password", "passwd", "pass", "pwd", "pw", "secret", "changeme", "token", "x-oauth-basic",
    "x-access-token",    "user", "username", "pass123", "passwort", "kennwort", "contraseña", "senha",
})  # fmt: skip
"""What documentation writes where a password goes."""

NOT_A_VALUE = frozenset({
    "string", "bytes", "number", "boolean", "integer", "float", "object", "undefined", "null",
    "none", "true", "false", "optional", "required", "secretstr", "value", "values", "password",
    "passwd", "token", "secret", "username", "missing", "invalid", "expired", "wrong", "correct",
    "empty", "unset", "unknown", "default", "redacted", "hidden", "disabled", "enabled", "needed",
    "either", "which", "there", "never", "always", "stored", "hashed", "encrypted", "rotated",
    "leaked", "generated", "refreshed", "revoked", "bearer", "basic", "current-password", "new-password",
})  # fmt: skip
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
ALGORITHM = re.compile(
    r"(?i)(?:base|sha|utf|hs|rs|es|ps|md|aes|rfc|oauth|bcrypt|argon|pbkdf|ed|x|secp|ssh|tls|http)[-$]?\d|v\d(?:[\d.]|alpha|beta|rc|$)|"
    r"\d+[- ]?[a-z]+$|\d+$"
)
SYMBOL = re.compile(r"[!@#$%^&*+=~?]")
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|CREDENTIALS?)")
_ORDINARY = re.compile(
    r"(?i)v?\d+(?:[.,:/-]\d+)+[\w.+-]*$|[~.]?/|\.{1,2}\\|[a-z]:\\|.*://|[\w.+-]+@[\w-]+\.[\w.]+$|"
    r"[\w./-]*\.(?:env|ya?ml|json|txt|md|py|[cm]?[jt]sx?|css|map|wasm|woff2?|svg|png|jpe?g|toml|ini|cfg|conf|pem|key|crt|sh|sql|kdbx?|gpg|html?|log|csv|go|rs|"
    r"java|php|rb|lock|gz|zip|com|org|net|io|dev|de|local)\d?(?::\d+)?$|"
    r"[\w.$>-]+\(|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$)|[#@][\w-]*$|(?-i:[a-z_]+|[A-Z_]+)=[\w.]*$|<|\$|\d+(?:st|nd|rd|th)$|\w*\[\w*\]$|"
    r"[A-Za-z_$]\w*(?:\.[A-Za-z_]\w*)+$|(?:new|old|my|the|confirm|repeat|db|user)?_?(?:password|passwd|passphrase|token|secret|pwd|pass|key)_?\w{0,3}$|"
    r"sha(?:1|256|384|512)[:-]|md5:|AAAA[BCE]3Nza|(?:--?|\+)[a-z][a-z-]*\d{0,5}(?:=|$)|[a-z]+(?:\d\.|\.\d)"
)
"""Ordinary things of programs: versions, dates, paths, addresses, files, calls, variables, hosts."""
_OWNED_UP = re.compile(r"(?i)(?<![a-z])(?:fake|dummy|sample)(?![a-z])")
"""What says of itself that it is no secret; only in prose, where nothing but its looks makes it one."""
_CAMEL = re.compile(r"(?:(?:[A-Z]?[a-z]{2,}|[A-Z]{1,5})\d{0,2})+[A-Z][a-z]{2,}\Z")
"""An identifier of several words, with a number in it: ``UserAuthV2Service``."""
_NAMED_SO = re.compile(r"(?i)[a-z_$.]+(?:password|passwd|token|secret|credential)\d?\Z")
"""A variable named for what it holds."""
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
"""What an identifier is made of."""
_FOREIGN = re.compile(r"(?<=[A-Za-z0-9])[!#$%&*^+](?=[A-Za-z0-9]|\Z)")
"""A sign that no identifier has, within a word or at its end."""
_LIKE_A_HOST = re.compile(r"(?:[a-z]+(?:\d[a-z]*)?[-_/])*[a-z]+[-_]?\d{1,2}$")
_NAME_OF_A_NAME = re.compile(
    r"(?i)(?:header|name|field|ref|path|file|url|uri|type|env|ttl|length|hint|label|policy|placeholder|algorithm|"
    r"regex|pattern|rotation|interval|period|schedule|engine|store|kind|mode|scopes?|strength|status|state|level|usage|hash_rounds|prefix|suffix|class|error|message|title|text|input|rounds|store|cookie_name|column|table|group|role|user|owner|rule|rules|check|service|host|port|region|base64_url|seconds|minutes|days|hours|minute|second|day|hour|public|endpoint|expiry|expires\w*|count|limit|size|"
    r"version|format|provider|source|method|backend|manager|reset|enabled|required|_?(?:id|min|max))[\"']?\Z"
)
_FUNCTION_WORD = re.compile(
    r"(?i).*(?:ed|ing|able|ible|ful|less|ous|ive|ary|ory|ly|ent|ant|al|ic|en|ic|ish|ate|ure|ion|sed|set|ble)$"
)


def stands_for_another(value: str) -> bool:
    """Say whether `value` is a placeholder, an example or a place where the value is kept."""
    return PLACEHOLDER.match(value) is not None or value.lower() in ORDINARY_PASSWORDS


def names_a_name(name: str) -> bool:
    """Say whether `name` is that of something about a secret, such as ``passwordField`` or ``token_ttl``."""
    return _NAME_OF_A_NAME.search(name) is not None


def telling(value: str) -> bool:
    """Say whether `value` looks made up: digits among letters, symbols, or digits alone."""
    if len(value) < 6 or PLACEHOLDER.match(value) or not _alphabetic(value):
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    return (letters and digits) or bool(SYMBOL.search(value)) or (digits and value.isdigit())


def made_up(value: str, *, sure: bool = False) -> bool:
    """Say whether `value` looks like a password in the midst of a sentence, where ordinary words stand.

    `sure` says that its place is a value's for certain; else what may be a host ("web01") is none.
    """
    if (
        len(value) < 6
        or not telling(value)
        or ALGORITHM.match(value)
        or value.isdigit()
        or _OWNED_UP.search(value)
    ):
        return False
    if value.rstrip("!?.").isalpha() or _CAMEL.match(value) or _NAMED_SO.match(value):
        return False
    if not sure and _LIKE_A_HOST.match(value):
        return False
    return _ORDINARY.match(value) is None or (_mixed(value) and "." not in value)


def unmistakable(value: str) -> bool:
    """Say whether `value` looks like a password wherever it stands near the name of one.

    It is in letters of both cases with digits, and no identifier: either in pieces too short for words
    (``xEKh8fzv``), or with a sign that no name has (``Lantern1993$``).
    """
    if (
        len(value) < 8
        or not made_up(value)
        or not re.search(r"[a-z]", value)
        or not re.search(r"[A-Z]", value)
    ):
        return False
    if not any(char.isdigit() for char in value):
        return False
    return _FOREIGN.search(value) is not None or in_short_pieces(value)


def in_short_pieces(value: str) -> bool:
    """Say whether the words and numbers that `value` is made of are too short for an identifier's."""
    pieces = _PIECES.findall(value)
    return sum(map(len, pieces)) < 2.6 * len(pieces)


def random(value: str) -> bool:
    """Say whether `value` looks like a key that a program made: long, with digits among its letters."""
    if len(value) < 16 or stands_for_another(value) or _ORDINARY.match(value):
        return False
    if sum(char.isdigit() for char in value) < 2 or sum(char.isalpha() for char in value) < 3:
        return False
    return any(len(piece) >= 8 and _mixed_piece(piece) for piece in re.split(r"[-_./:+=~]", value))


def host_like(value: str) -> bool:
    """Say whether `value` is a lower-case word with one or two digits, as hosts and products have."""
    return _LIKE_A_HOST.match(value) is not None


def plain_word(value: str) -> bool:
    """Say whether `value`, a lone word of letters after "is still", can be a password and not a quality."""
    return (
        not stands_for_another(value)
        and value.isalpha()
        and value.islower()
        and len(value) >= 10
        and not _FUNCTION_WORD.match(value)
    )


def _alphabetic(value: str) -> bool:
    """Say whether `value` is of a script whose words have blanks between them."""
    return value.isascii() or all(char < "\u0590" for char in value)


def _mixed(value: str) -> bool:
    """Say whether `value` has digits, and symbols or letters of both cases within a word."""
    return (
        any(char.isdigit() for char in value)
        and re.search(r"[a-z][A-Z]|\d[A-Z]|[!#$%^&*+=~?]", value) is not None
        and re.match(
            r"(?i)v?\d|[~.]?/|[a-z]:\\|.*://|[\w.$>-]+\(|(?-i:[a-z_]+|[A-Z_]+)=[\w.]*$|sha|--?[a-z][a-z-]*\d{0,5}(?:=|$)",
            value,
        )
        is None
    )


def _mixed_piece(piece: str) -> bool:
    digits = sum(char.isdigit() for char in piece)
    return 0 < digits < len(piece) and not re.fullmatch(r"[A-Za-z]+\d{1,4}", piece)
