"""Whether a value could be a secret: no placeholder, no code, no ordinary word, number, path or version.

Rules say where a value stands, this module what it must look like there; how much it has to look made up
depends on how clearly its place says that it is one.
"""

from __future__ import annotations

import re

from pipeline.safety.late import late

PLACEHOLDER = late(
    r"[$<{(\[]|%(?:[sdv{(]|\w+%)|.*\[redacted:|[*x.•…_-]+$|your[-_ ]|example|change[-_ ]?(?:me|this|it)\b|"
    r"replace[-_]?(?:me|with)|"
    r"\.\.\.|"
    r"insert[-_ ]|.{0,40}(?:example(?:key)?|_here|-here|placeholder)$|.*(?:redacted|EXAMPLE|QWxhZGRpbjpvcGVuIHNlc2FtZQ|SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV|dBjftJeZ4CVP-mB92K27uhbUJU1p1r|JBSWY3DPEHPK3PXP$|dXNlcjpwYXNz|dXNlcm5hbWU6cGFzc3dvcmQ|czZCaGRSa3F0MzpnWDFmQmF0M2JW|mF_9\.B5f-4\.1JqM|GEZDGNBVGY3TQOJQ)|dummy|todo\b|…|"
    r"(?:vault|op|ssm|arn|env|file|keyring|sops|secretsmanager|doppler|gsm|akv|awssm|bws|keychain|secret)://?|"
    r"(?:vault|arn|env|file|ssm|keyring|secretsmanager|sops|ref\+\w+):[\w/]|ENC\[|@Microsoft\.KeyVault|!vault|"
    r"(?-i:[a-z_.-]+(?:/[a-z0-9_.-]+){2,}$)|(?-i:(?:[~.]{0,2}/[a-z_.-]+){2,}$)|(.)\1{3,}$|.*(?:([x*•.])\2{7}|0{16})|"
    r"[~.]{0,2}/[\w./-]+\.(?:json|pem|key|txt|ya?ml|crt|p12|jks|pfx|env|token)$|[\w-]{1,14}\*{2,}$|(?:some|put|enter|type|paste|fill|insert)[-_ ](?=[a-z_ -]+$)|(?:a[-_])?(?:very[-_])?(?:long|random|secure|strong)[-_](?=[a-z_-]+$)|(?-i:(?:Read|Get|New|Convert(?:To|From)?|Import|Export|Set|Invoke)-[A-Z][A-Za-z]+$)|"
    r".*[\w]\.{3}$|[a-z_]+(?:[:=][\w,.]+)?(?:\|[a-z_]+(?:[:=][\w,.]+)?)+$|ihr[-_ ]|deine?[-_ ]|votre[-_ ]|[àa][-_ ](?:remplir|remplacer|changer|compléter)|(?:hier|bitte)[-_ ](?:ein|aus)|"
    r"(?:por|a)[-_ ](?:definir|rellenar|preencher)|da[-_ ](?:compilare|inserire)|(?:in|aan)[-_ ]?(?:te[-_ ]vullen|vullen)",
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
IDENTIFIER = late(r"[A-Za-z_]\w*")
ALGORITHM = late(
    r"(?i)(?:base|sha|utf|hs|rs|es|ps|md|aes|rfc|oauth|bcrypt|argon|pbkdf|ed|x|secp|ssh|tls|http|scram-sha)[-$]?\d{1,5}(?:[-_/: #]?[a-z]*\d{0,3})?$|"
    r"\d+[- ]?(?:[a-z]{1,5}|characters)$|v\d+(?:[-.]\w{1,6})*$|(?-i:[1-9][A-Z][a-z]+$)|\d+$"
)
SYMBOL = late(r"[!@#$%^&*+=~?]")
VARIABLE = late(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|CREDENTIALS?)")
_ORDINARY = late(
    r"(?i)0x[0-9a-f]{1,20}$|\d+(?:_[a-z]+)+$|v?\d+(?:[.,:/-]\d+)+[\w.+-]*$|[~.]?/|\.{1,2}\\|[a-z]:\\|.*://|[\w.+-]+@[\w-]+\.[\w.]+$|"
    r"[\w./-]*\.(?:env|ya?ml|json|txt|md|py|[cm]?[jt]sx?|css|map|wasm|woff2?|svg|png|jpe?g|toml|ini|cfg|conf|pem|key|crt|sh|sql|kdbx?|gpg|html?|log|csv|go|rs|"
    r"java|php|rb|lock|gz|zip|com|org|net|io|dev|de|local)\d?(?::\d+)?$|"
    r"[\w.$>-]+\(|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$)|[#@][\w-]*$|(?-i:[a-z_]+|[A-Z_]+)=[\w.]*$|<|\$|\d+(?:st|nd|rd|th)$|\w*\[\w*\]$|"
    r"(?:new|old|my|the|confirm|repeat|db|user)?_?(?:password|passwd|passphrase|token|secret|pwd|pass|key)_?\w{0,3}$|"
    r"sha(?:1|256|384|512)[:-]|md5:|AAAA[BCE]3Nza|(?:--?|\+)[a-z][a-z-]*\d{0,5}(?:=|$)|[a-z]+-?\d*(?:\.\d+)+(?:[-+.:][\w.]*)?$"
)
"""Ordinary things of programs: versions, dates, paths, addresses, files, calls, variables, hosts."""
_OWNED_UP = late(r"(?i)(?<![a-z])(?:fake|dummy|sample)(?![a-z])")
"""What says of itself that it is no secret; only in prose, where nothing but its looks makes it one."""
_PRODUCT = late(r"[A-Z][a-z]+\d{1,2}$|[A-Z]{2,6}-?\d{1,6}$")
"""What a product, a standard or a ticket is called: ``Windows11``, ``ISO27001``, ``OPS-4471``."""
_UNLIKELY = frozenset("[]{}()\\/")
_LIKE_A_HOST = late(
    r"(?:[a-z]+(?:\d[a-z]*)?[-_/])*[a-z]+[-_]?\d{1,2}$|(?:[a-z]+(?:\d{1,2}[a-z]{0,2}\d?)?[-_/])+[a-z]+\d?$"
)
_CAMEL = late(r"(?:(?:[A-Z]?[a-z]{2,}|[A-Z]{1,5})\d{0,2})+[A-Z][a-z]{2,}\Z")
"""An identifier of several words, with a number in it: ``UserAuthV2Service``."""
_QUERY = late(r"\?(?:[\w.]*$|[\w.-]+=)")
_PIECES = late(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z]+")
SECRET_WORD = (
    r"pass(?:word|wort|phrase|code|wd|ord\w{0,2})?s?|pwd|pw|secrets?|tokens?|keys?|credentials?|kennwort|wachtwoord|ww|contrase[ñn]a|clave|"
    r"senha|palavra|mot|passe|mdp|has[lł]o|parola|[sş]ifre|heslo|l[oö]senord|adgangskode|salasana|jelsz[oó]|psk|pin|"
    r"пароль|секрет|ключ|токен"
)
"""A word of a name that says what it names is a secret."""
_WORDS_OF_A_NAME = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
SAME_THING = (
    r"prod(?:uction)?|stag(?:e|ing)|dev|test|live|base|old|new|current|backup|main|default|value|api|data|db|bdd|"
    r"бд|база|admin|root|wifi|wlan|smtp|mail|ftp|ssh|sql|mysql|postgres|redis|mongo|app|web|nas|vpn|ldap"
)
"""What may follow the word for a secret in a name, and leaves it the name of one."""
_SAME_THING = late(rf"(?i)(?:{SAME_THING}|\d+)")
_OF_SOMETHING = late(r"(?i)(?<=_)(?:of|for|in|on|from|to|de|del|für|pour|para|per)(?=_)")
_SECRET_HEAD = late(
    rf"(?i)(?:\w*(?:password|passwd|passphrase|passwort|token|secret|{SECRET_WORD})|auth|psk|pat|salt|creds|cookie)"
)
_ITS_OWN_NAME = late(rf"(?i)(?:[^\W\d_]+[-_. ])*(?:{SECRET_WORD})(?:[-_. ](?:[^\W\d_]+|v?\d{{1,2}}))*")
_HUMP = r"(?:[A-Z]?(?:[a-z]{2,3}(?![a-z])|(?=[a-z]*[aeiouy])[a-z]{2,})|[A-Z]{2,5}(?![a-z]))"
"""A word within a name: one with a vowel, a short one, or an abbreviation."""
_HUMPS = late(rf"[_$]*(?:(?:{_HUMP}|[A-Z]{{2,}}(?![a-z])|[A-Z](?=[A-Z][a-z])|[vV](?=\d))\d{{0,2}}[_$]*)+")
_LONG_NAME = late(rf"{_HUMP}(?:(?=[A-Z]){_HUMP})+\d?")
_BASE64 = late(r"[A-Za-z0-9+/]{40,}={0,2}")
_CAPITALS = late(r"[^\W\d_a-zß-ÿ]+(?:[_-][^\W\d_a-zß-ÿ]+)+_?")
_ONE_NAME = late(r"(?:[^\W\d]|[.-])+\d?")
_GROUPS = late(r"(?=[A-Z-]*\d)(?:[A-Z0-9]{4,6}-){3,}[A-Z0-9]{4,6}")
_WITH_BREAKS = late(r"\w+(?:[._-]\w+)*")
_STRONG_SIGN = late(r"\w[!#$%^&*?~+@]+\w|\w[!#%^&*]{1,2}$|^[A-Za-z]\w*\d\$$")
_FUNCTION_WORD = late(
    r"(?i).*(?:ed|ing|able|ible|ful|less|ous|ive|ary|ory|ly|ent|ant|al|ic|en|ic|ish|ate|ure|ion|sed|set|ble)$"
)


def stands_for_another(value: str) -> bool:
    """Say whether `value` is a placeholder, an example or a place where the value is kept."""
    return PLACEHOLDER.match(value) is not None or value.lower() in ORDINARY_PASSWORDS or names_itself(value)


def names_a_name(name: str) -> bool:
    """Say whether `name` is that of something about a secret, such as ``passwordField`` or ``token_ttl``.

    The last word of a name says what it names; behind "of" and the like stands only whose it is.
    """
    words = _WORDS_OF_A_NAME.findall(_OF_SOMETHING.split(name.strip("\"'"))[0])
    while len(words) > 1 and _SAME_THING.fullmatch(words[-1]):
        words.pop()
    return bool(words) and _SECRET_HEAD.fullmatch(words[-1]) is None


def names_itself(value: str) -> bool:
    """Say whether `value` is made of words, one of which is a word for a secret: ``your_token``, "Kennwort"."""
    if _ITS_OWN_NAME.fullmatch(value):
        return True
    if not _ONE_NAME.fullmatch(value):
        return False
    words = [word for word in _WORDS_OF_A_NAME.findall(value) if word.isalpha()]
    return len(words) > 1 and any(_SECRET_HEAD.fullmatch(word) for word in words)


def identifiers(value: str) -> bool:
    """Say whether `value` is a name of a program's, or several with dots between: ``config.apiKeyV2``."""
    return all(_HUMPS.fullmatch(part) for part in value.split("."))


def long_name(value: str) -> bool:
    """Say whether `value` is a name of two or more words in the way of ``UserService2``."""
    return _LONG_NAME.fullmatch(value) is not None


def strong(value: str) -> bool:
    """Say whether `value` can be nothing but a password or key, wherever it stands in a sentence about one."""
    if not made_up(value) or len(value) < 7:
        return False
    if not any(char.isdigit() for char in value) or "/" in value:
        return False
    if _STRONG_SIGN.search(value):
        return any(char.isalpha() for char in value)
    cases = any(char.islower() for char in value) and any(char.isupper() for char in value)
    if not cases or len(value) < 8 or _HUMPS.fullmatch(value):
        return False
    return value.isalnum() or (_WITH_BREAKS.fullmatch(value) is not None and in_short_pieces(value))


def telling(value: str) -> bool:
    """Say whether `value` looks made up: digits among letters, symbols, or digits alone."""
    if len(value) < 6 or stands_for_another(value) or not _alphabetic(value):
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
        or _QUERY.match(value)
        or _OWNED_UP.search(value)
    ):
        return False
    bare = value.rstrip("!?.,")
    if bare.isalpha() or long_name(bare) or (not sure and (_LIKE_A_HOST.match(value) or _CAMEL.match(bare))):
        return False
    if "." in bare and identifiers(bare):
        return False
    return _ORDINARY.match(value) is None or (_mixed(value) and "." not in value)


def in_short_pieces(value: str, *, most: float = 2.6) -> bool:
    """Say whether the words and numbers in `value`, of `most` characters on average, are too short for a name's."""
    pieces = _PIECES.findall(value)
    return sum(map(len, pieces)) < most * len(pieces)


def likely(value: str, *, sure: bool = False) -> bool:
    """Say whether `value` is a password where only its name in the same clause says so: made up of letters
    and digits, and no product, standard, ticket or pattern; `sure` as for `made_up`."""
    if (
        not made_up(value, sure=sure)
        or _PRODUCT.match(value.rstrip("!?.,"))
        or not _UNLIKELY.isdisjoint(value)
    ):
        return False
    letters = re.search(r"[^\W\d_A-Z]{2}", value) or (re.search("[a-z]", value) and re.search("[A-Z]", value))
    return letters is not None and any(char.isdigit() for char in value)


def random(value: str) -> bool:
    """Say whether `value` looks like a key that a program made: long, with digits among its letters."""
    if len(value) < 16 or stands_for_another(value):
        return False
    if _GROUPS.fullmatch(value) and any(char.isalpha() for char in value):
        return True
    if (
        _BASE64.fullmatch(value)
        and ("=" in value or "+" in value)
        and re.search("[a-z].*[A-Z]|[A-Z].*[a-z]", value)
    ):
        return True
    if _ORDINARY.match(value) or ("." in value and identifiers(value)):
        return False
    if sum(char.isdigit() for char in value) < 2 or sum(char.isalpha() for char in value) < 3:
        return False
    return any(len(piece) >= 8 and _mixed_piece(piece) for piece in re.split(r"[-_./:+=~]", value))


def host_like(value: str) -> bool:
    """Say whether `value` is a lower-case word with one or two digits, as hosts and products have."""
    return _LIKE_A_HOST.match(value) is not None


def plain_word(value: str) -> bool:
    """Say whether `value`, a lone word of letters after "is still", can be a password and not a quality."""
    return value.isalpha() and value.islower() and len(value) >= 10 and not _FUNCTION_WORD.match(value)


def plain_words(words: list[str]) -> bool:
    """Say whether `words`, all plain, can be a phrase that somebody chose, and tell of no quality."""
    if len(set(words)) < len(words) or any(_SECRET_HEAD.fullmatch(word) for word in words):
        return False
    return 4 * sum(_FUNCTION_WORD.match(word) is not None for word in words) <= len(words)


def _alphabetic(value: str) -> bool:
    """Say whether `value` is of a script whose words have blanks between them."""
    return value.isascii() or all(char < "\u0590" for char in value)


def constant(value: str) -> bool:
    """Say whether `value` is words in capitals, as what stands for a value in examples is: ``PUT_IT_HERE``."""
    return _CAPITALS.fullmatch(value) is not None


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
