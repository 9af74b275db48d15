"""Passwords, PINs and keys told in plain words, in many languages: "the password is …", 密码是…, пароль: ….

No grammar of any language is kept: a name is looked for, then a value that looks made up, right behind the
name, behind a word or sign that joins the two ("is", "to", ":", "lautet", は), or before the name ("… as the
password"). A word without digits or symbols is a value only in quotes or behind "is still".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.safety.plausible import NOT_A_VALUE, made_up, plain_word, random, stands_for_another
from pipeline.safety.rule import Span
from pipeline.safety.secret_rules import KEY_LEAD

_WORDS = {
    "pass": r"pass(?:[ _-]?(?:word|code|phrase|key)(?:['’]?s)?|wd|wort\w{0,2}|ord\w{0,2})?(?:['’]s)?",
    "pwd": r"pwd", "pw": r"pw", "kennwort": r"kennwort\w{0,3}", "zugangs": r"zugangs(?:code|daten)",
    "mot de passe": r"mots? de passe", "mdp": r"mdp", "contrase": r"contrase[ñn]as?", "clave": r"claves?(?: de acceso)?",
    "senha": r"senhas?", "palavra": r"palavra[- ]passe", "parola": r"parola(?:y[ıi]|s[ıi]|m|n)?", "wachtwoord": r"wachtwoord(?:en)?",
    "has": r"has(?:ł|l)(?:o|a|em|u)", "sifre": r"sifre\w{0,4}", "heslo": r"hesl[oaeu]m?", "salasana": r"salasana\w{0,3}",
    "kata sandi": r"kata sandi(?:nya)?", "adgangskode": r"adgangskode\w{0,2}",
    "login": r"login", "cred": r"cred(?:ential)?s", "secret": r"secret", "token": r"token", "key": r"key",
}  # fmt: skip
_FAR_WORDS = {
    "şifre": r"şifre\w{0,4}", "парол": r"парол\w{1,3}", "lösenord": r"lösenord\w{0,2}", "jelszó": r"jelszó\w{0,3}",
    "mật khẩu": r"mật khẩu", "κωδικ": r"κωδικ\w{1,3}", "סיסמ": r"סיסמ\w{1,3}", "รหัสผ่าน": "รหัสผ่าน",
    "كلمة": r"(?:كلمة (?:المرور|السر)|الرقم السري)", "पासवर्ड": "पासवर्ड", "कूटशब्द": "कूटशब्द", "hasł": r"hasł(?:o|a|em|u)",
    "パスワード": "パスワード", "暗証番号": "暗証番号", "パスフレーズ": "パスフレーズ", "密码": "密码", "密碼": "密碼", "口令": "口令",
    "비밀번호": "비밀번호", "비번": "비번", "암호": "암호", "패스워드": "패스워드",
}  # fmt: skip
_NAMES = {hint: re.compile(pattern, re.IGNORECASE) for hint, pattern in (_WORDS | _FAR_WORDS).items()}
_SHORT = frozenset({"pw", "pwd", "mdp", "clave", "has", "parola", "login", "cred", "senha"})
"""Names that are the end of other words, and so must stand alone."""

_WEAK = frozenset(["login", "cred", "secret", "token", "key"])
"""Names right behind which no value stands."""
_JOINS = frozenset(
    [
        "is",
        "was",
        "are",
        "be",
        "c'est",
        "c’est",
        "=",
        ":",
        ":=",
        "->",
        "→",
        "=>",
        "－",
        "-",
        "–",
        "—",
        "на",
        "в",
        "to",
        "as",
        "ist",
        "lautet",
        "lauten",
        "war",
        "auf",
        "in",
        "est",
        "es",
        "é",
        "è",
        "era",
        "sont",
        "jest",
        "to",
        "byl",
        "było",
        "na",
        "en",
        "a",
        "para",
        "su",
        "con",
        "da",
        "als",
        "naar",
        "till",
        "til",
        "er",
        "är",
        "on",
        "это",
        "есть",
        "будет",
        "là",
        "adalah",
        "είναι",
        "هي",
        "هو",
        "है",
        "हैं",
        "still",
        "now",
        "actually",
        "currently",
        "again",
        "just",
        "noch",
        "jetzt",
        "nun",
        "immer",
        "maintenant",
        "toujours",
        "ahora",
        "agora",
        "ora",
        "adesso",
        "nu",
        "teraz",
        "сейчас",
        "теперь",
        "type",
        "typing",
        "enter",
        "use",
        "using",
        "try",
        "named",
        "tippe",
        "gib",
        "olarak",
        "şimdi",
        "set",
        "changed",
        "reset",
        "mit",
        "with",
    ]
)
_SURE = frozenset(
    [
        "is",
        "was",
        "are",
        "be",
        "=",
        ":",
        ":=",
        "->",
        "→",
        "c'est",
        "c’est",
        "ist",
        "lautet",
        "war",
        "est",
        "es",
        "é",
        "è",
        "era",
        "jest",
        "było",
        "er",
        "är",
        "это",
        "है",
        "हैं",
        "هي",
        "هو",
    ]
)
_GIVES = frozenset(["to", "auf", "zu", "на", "para", "à", "as", "olarak"])
"""What joins a new value to a name; a plain word in quotes may follow."""
_GIVEN = re.compile(r"\s*[:=：]|\s+(?:is|was)\s|[\"'`*)]{1,2}\s*[:=]")
"""What must follow "pass", which is a verb more often than a name."""
_AFTER_CJK = re.compile(
    r"(?:\s*(?:[はがをのもに、,]|은|는|이|가|를|을|就|现在|現在|是|为|為|改成了?|改为|设为|设成|变成|換成|:|：|=)){0,3}\s*[「『“\"'`《【（(]?\s*"
)
_ASCII = re.compile(r"[!-~]{4,100}")
_CLOSING = re.compile(r"[\"'`”»*)]{0,3}")
_OPEN, _CLOSE = "\"'`“”„«»‘‚「『《‹", "\"'`“”«»’‘」』》›"
_OPENED = frozenset("\"'`(\\")
_PRODUCT = re.compile(r"[A-Za-z]+[-.]?\d{1,2}")
_STRIP = _OPEN + _CLOSE + "()[]{},;:，。、！"
_TOKEN = re.compile(r"\S+")
_QUOTE = re.compile(
    rf"[{re.escape(_OPEN)}]\s?(?P<value>[^\n{re.escape(_OPEN + _CLOSE)}]{{3,120}}?)\s?[{re.escape(_CLOSE)}]"
)
_AHEAD = 90
_SENTENCE = re.compile(r"[.!?;]\s|\n")

_BEFORE = re.compile(
    r"(?:(?P<quoted>[\"'`“„«‘][^\n\"'`“”„«»‘’]{4,100}[\"'`”“»’])|(?P<bare>\S{6,100}))\s+(?:as|is|was|als|ist|comme|como|come|"
    r"jako|som|как)\s+(?:[^\W\d]+['’]?\s+){0,3}(?:[^\W\d]+-)?\Z"
)
_BEFORE_WORDS = frozenset(
    [
        "as",
        "is",
        "was",
        "als",
        "ist",
        "comme",
        "como",
        "come",
        "jako",
        "som",
        "как",
        "type",
        "enter",
        "tippe",
        "gib",
    ]
)
_TYPED = re.compile(r"(?i)\b(?:type|enter|tippe|gib)\s+(?P<value>\S{6,100})\s+(?:[^\W\d]+\s+){1,8}\Z")
_PAIR = re.compile(
    r"(?i)(?:log(?:ging|ged)?[ -]?(?:in|on)|sign(?:ing|ed)?[ -]?in|user(?:name)?|cred(?:ential)?s|account|zugangsdaten|anmeld\w*|benutzer|"
    r"identifiants?|connexion|credenciales|usuario|usuário|utente|credenziali|логин|gebruiker|użytkownik|kullanıcı|"
    r"アカウント|账号|아이디|계정|登录)(?![a-zA-Z_])(?:\s*[:：]|\s+(?:with|as|mit|als|con|avec|com|are|is|sind)){0,2}\s*[\"'`]?[\w.@+-]{1,60}[\"'`]?"
    r"(?:\s*[/|｜／]\s*|:|\s+(?:and|und|et|y|e|и)\s+)[\"'`]?(?P<value>[^\s\"'`<>，。]{6,100})"
)
_FROM_TO = re.compile(
    r"(?i)\b(?:from|von|de|da|с|z|van|du)\s+(?P<value>\S{6,100})\s+(?:to|auf|in|à|a|para|на|naar|en)\s"
)
_PIN = re.compile(
    r"(?i)(?<![\w])(?:pin(?:[ -]?(?:code|number|nummer))?|(?:door|gate|alarm|lock|tür|zugangs|sim)[ -]?(?:code|pin)(?: pin)?|geheimzahl|"
    r"code (?:pin|de la porte|d'accès)|código pin|暗証番号|暗证|密码|비밀번호|пин(?:-код)?|пинкод)(?:\s+(?:for|of|on|für|der|de|du)\s[^\n.,:;\d]{1,30}?)?"
    r"\s*(?:is|ist|lautet|was|est|es|é|è|to|:|=|：|は|是|는|это|-)\s*(?:now |still |jetzt )?(?P<value>\d{4,10}#?)(?![\w]|[.,]\d)"
)
_PIN_HINTS = ("pin", "code", "geheimzahl", "暗証番号", "密码", "비밀번호", "пин")
_PAIR_HINTS = ("log", "sign", "user", "creds", "credential", "account", "zugangsdaten", "anmeld", "benutzer", "identif", "connexion", "usuario", "utente",
               "gebruiker")  # fmt: skip
_FAR_PAIR_HINTS = ("usuário", "логин", "kullanıcı", "użytk", "アカウント", "账号", "아이디", "계정", "登录")

_KEY_HINTS = (
    "token",
    "key",
    "secret",
    "credential",
    "pat",
    "dsn",
    "jwt",
    "root:",
    "schlüssel",
    "ключ",
    "токен",
    "clé",
    "llave",
    "chave",
    "トークン",
    "キー",
    "密钥",
    "令牌",
    "토큰",
)
_KEYISH = re.compile(
    r"(?i)(?:token|secret|key|credential|pat(?![a-z])|dsn(?![a-z])|jwt|root(?=:)|schlüssel|ключ|токен|clé|llave|chave|トークン|キー|密钥|令牌|토큰)s?\d?[\"'`*)]{0,3}"
    r"(?:\s+(?:of|for|from|on|in|to|für|von|de|du|para|pour|per|para)\s+[\w.-]+(?:\s+[\w.-]+)?)?"
    r"(?:\s*(?:=>?|:|：|->|→|,|—|–|は|是|：)\s*|\s+(?:is|was|are|lautet|ist|est|es|é|è|to|now|still|here|changed to|это)\s+(?:now |still |actually )?|\s+)"
    r"[\"'`*(«„“]{0,3}(?P<value>(?![0-9a-f]{8}-[0-9a-f]{4}-)(?a:[\w.~+/=:-]{16,600}))"
)
_HEX = re.compile(r"[0-9a-f]+")
_SECRET_KEY = re.compile(
    r"(?i)(?:api|app|access|auth\w*|secret|private|account|service|client|master|licen[sc]e|server|storage|live|deploy|encryption)[ _-]*\Z"
)
_NO_SECRET_KEY = re.compile(r"(?i)(?<![a-z])(?:public|primary|foreign|cache|partition|sort|idempotency|host|object|s3|row|hash|lookup|map|dict|record|"
                            r"bucket|ssh|gpg|pgp|age|wireguard|registry|index|unique|i18n|translation|signing)[ _-]*\Z")  # fmt: skip


def spans(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of what `text` tells in words; `lowered` is `text` in lower case, as long."""
    ascii_only = lowered.isascii()
    for hint in _WORDS if ascii_only else _NAMES:
        at = lowered.find(hint)
        while at >= 0:
            yield from _named(hint, text, at)
            at = lowered.find(hint, at + len(hint))
    if "/" in text or ":" in text or "|" in text or not ascii_only:
        for hint in _PAIR_HINTS if ascii_only else _PAIR_HINTS + _FAR_PAIR_HINTS:
            at = lowered.find(hint)
            while at >= 0:
                if (
                    not (lowered[at - 1 : at].isalpha() or text[at - 1 : at] == "/")
                    or hint in _FAR_PAIR_HINTS
                ):
                    yield from _pair(text, at)
                at = lowered.find(hint, at + len(hint))
    if _any(lowered, _PIN_HINTS):
        for found in _PIN.finditer(text):
            yield (*found.span("value"), "pin")


def keys(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and kind of the keys in `text` that look made by a program, each told by its name."""
    for hint in _KEY_HINTS:
        at = lowered.find(hint)
        while at >= 0:
            found = _KEYISH.match(text, at)
            if found and random(found["value"].rstrip(".,:")) and not _of_something_else(text, at, found):
                start = found.start("value")
                yield start, start + len(found["value"].rstrip(".,:")), "token"
            at = lowered.find(hint, at + len(hint))


def _of_something_else(text: str, at: int, found: re.Match[str]) -> bool:
    """Say whether the key named at `at` is a public one, or a digest by which something is looked up."""
    if _NO_SECRET_KEY.search(text, max(0, at - 16), at):
        return True
    bare = found[0][:3].lower() == "key" and found[0][: -len(found["value"])].rstrip()[-1:].isalpha()
    return (
        bare
        and _HEX.fullmatch(found["value"]) is not None
        and not _SECRET_KEY.search(text, max(0, at - 16), at)
    )


def _any(lowered: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:  # noqa: SIM110 - any() takes three times as long
        if hint in lowered:
            return True
    return False


def _pair(text: str, at: int) -> Iterator[Span]:
    """Yield the password of a name and password told together: ``login: bob / …``."""
    found = _PAIR.match(text, at)
    value = found["value"].rstrip(".,;:)") if found else ""
    if found and made_up(value):
        yield found.start("value"), found.start("value") + len(value), "password"


def _named(hint: str, text: str, at: int) -> Iterator[Span]:
    """Yield the values told of the name at `at`, before it and behind it."""
    before = text[at - 1 : at]
    if before == "$" or (hint == "secret" and not _GIVEN.match(text, at + 6)):
        return
    if hint == "key" and not KEY_LEAD.search(text[max(0, at - 12) : at].lower()):
        return
    if hint in _SHORT and (before.isalnum() or before in ("_", "-", "/", ".")):
        return
    name = _NAMES[hint].match(text, at)
    if name is None or (
        hint in ("pass", "token", "secret", "key", *_SHORT)
        and text[name.end() : name.end() + 1].isalnum()
        and text[name.end()].isascii()
    ):
        return
    if name[0].lower() == "pass" and not (
        _GIVEN.match(text, name.end()) or "user" in text[max(0, at - 40) : at].lower()
    ):
        return
    if hint not in _WEAK:
        yield from _told_before(text, at)
        yield from _from_to(text, name.end())
    if text[name.end() - 1] >= "\u0e00":
        yield from _in_syllables(text, name.end())
    yield from _behind(
        text,
        name.end(),
        phrase="phrase" in name[0].lower(),
        weak=hint in _WEAK,
        plain=name[0].lower() != "pass",
    )


def _end(text: str, start: int) -> int:
    """Return where the sentence that goes on at `start` ends, or _AHEAD characters on."""
    stop = _SENTENCE.search(text, start, start + _AHEAD)
    return stop.start() + (stop[0][0] != "\n") if stop else min(len(text), start + _AHEAD)


def _from_to(text: str, start: int) -> Iterator[Span]:
    found = _FROM_TO.search(text, start, _end(text, start))
    if found and made_up(found["value"]):
        yield (*found.span("value"), "password")


def _told_before(text: str, at: int) -> Iterator[Span]:
    part = text[max(0, at - 140) : at]
    if (part[-1:].isspace() or part[-1:] == "-") and not _BEFORE_WORDS.isdisjoint(part.lower().split()[-8:]):
        for pattern in (_BEFORE, _TYPED):
            found = pattern.search(part)
            if found is None:
                continue
            group = "value" if pattern is _TYPED else "quoted" if found["quoted"] else "bare"
            value = found[group].strip(_STRIP)
            start = max(0, at - 140) + found.start(group) + found[group].find(value)
            if made_up(value) or (group == "quoted" and _quotable(value, phrase=False)):
                yield start, start + len(value), "password"


def _in_syllables(text: str, start: int) -> Iterator[Span]:
    """Yield the run of ASCII that follows a name of a script without blanks between words."""
    lead = _AFTER_CJK.match(text, start)
    found = _ASCII.match(text, lead.end() if lead else start)
    if found:
        value = found[0].rstrip("\"'`),;:")
        if made_up(value):
            yield found.start(), found.start() + len(value), "password"


def _behind(text: str, start: int, *, phrase: bool, weak: bool, plain: bool) -> Iterator[Span]:
    """Yield the first value in what is left of the sentence: beside the name, or behind what joins."""
    start += len(_CLOSING.match(text, start)[0])
    if start < len(text) and not text[start].isspace() and text[start] not in ":：=，-—":
        return
    joined, beside, still, sure, lower = False, not weak, False, False, ""
    for word in _TOKEN.finditer(text, start, min(len(text), start + _AHEAD + 120)):
        if word.start() - start > _AHEAD or not _same_line(text, start, word):
            return
        if word.start() == start and word[0][0] in ":：=" and len(word[0]) > 1:
            bare = re.split(r"[&;，。]", word[0].lstrip(_STRIP + "="))[0].rstrip(_STRIP)
            if not weak and _fits(bare, joined=True, still=False, sure=True) and "=" not in bare[:1]:
                at = word.start() + word[0].find(bare)
                yield at, at + len(_untrailed(bare)), "password"
            return
        if not text[start:].startswith(word[0]) and word[0][0] in _OPEN and (joined or beside):
            quote = _QUOTE.match(text, word.start())
            if quote:
                if made_up(quote["value"], sure=sure) or (
                    (sure or lower in _GIVES) and plain and _quotable(quote["value"], phrase=phrase)
                ):
                    yield (*quote.span("value"), "password")
                return
        bare = word[0].strip(_STRIP)
        if (
            (joined or beside)
            and bare
            and (not weak or (sure and not _PRODUCT.fullmatch(bare)))
            and _fits(bare, joined=joined, still=still, sure=sure or "'" in text[start - 2 : start])
        ):
            at = word.start() + word[0].find(bare)
            yield at, at + len(_untrailed(bare)), "password"
            return
        if word[0][-1] in ".!?;" and len(word[0]) > 1:
            return
        lower = word[0].lower()
        sure = lower in _SURE or lower[-1] in ":：=" or (sure and lower in _JOINS)
        joined = lower in _JOINS or lower[-1] in ":：="
        still = lower in ("still", "now", "noch", "jetzt") and (still or joined)
        beside = False
    return


def _same_line(text: str, start: int, word: re.Match[str]) -> bool:
    """Say whether `word` goes on the line at `start`, or stands alone on the one after a colon."""
    between = text[start : word.start()]
    if "\n" not in between:
        return True
    end = word.end()
    return (
        between.strip() in (":", "：", "")
        and ":" in between + text[start - 1]
        and text[end : end + 1] in ("", "\n", "\r")
    )


def _fits(value: str, *, joined: bool, still: bool, sure: bool) -> bool:
    value = _untrailed(value)
    if not _OPENED.isdisjoint(value):
        return False
    return (made_up(value, sure=sure) and not (not joined and "=" in value)) or (
        still and plain_word(value) and value not in NOT_A_VALUE
    )


def _untrailed(value: str) -> str:
    return value.rstrip(".") if not value.endswith("!") else value


def _quotable(value: str, *, phrase: bool) -> bool:
    if len(value) < 4 or stands_for_another(value) or value.lower() in NOT_A_VALUE:
        return False
    if " " in value:
        return phrase and len(value.split()) >= 3
    return made_up(value) or (value.isalnum() and len(value) >= 6)
