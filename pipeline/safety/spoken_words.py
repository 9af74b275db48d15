"""The words by which a password, a PIN or a key is told, in many languages, and the patterns around them."""

from __future__ import annotations

import re

WORDS = {
    "pass": r"pass(?:[ _-]?(?:word|code|phrase|key)(?:['’]?s)?|wd|wort\w{0,2}|ord\w{0,2})?(?:['’]s)?",
    "pwd": r"pwd", "pw": r"pw", "kennwort": r"kennwort\w{0,3}", "zugangs": r"zugangs(?:code|daten)",
    "mot de passe": r"mots? de passe", "mdp": r"mdp", "contrase": r"contrase[ñn]as?", "clave": r"claves?(?: de acceso)?",
    "senha": r"senhas?", "palavra": r"palavra[- ]passe", "parola": r"parola(?:y[ıi]|s[ıi]|m|n)?", "wachtwoord": r"wachtwoord(?:en)?",
    "has": r"has(?:ł|l)(?:o|a|em|u)", "sifre": r"sifre\w{0,4}", "heslo": r"hesl[oaeu]m?", "salasana": r"salasana\w{0,3}",
    "kata sandi": r"kata sandi(?:nya)?", "adgangskode": r"adgangskode\w{0,2}", "ww": r"ww", "losenord": r"losenord\w{0,2}",
    "lozink": r"lozink\w{1,2}", "gesl": r"gesl[oaeu]", "jelsz": r"jelsz[oó]\w{0,3}", "psk": r"psk", "wlan": r"wlan[- ]?(?:schlüssel|key|code|pw)",
    "wifi": r"(?:(?<=code )|(?<=clé )|(?<=clave )|(?<=chave )|(?<=codice ))wifi|wifi[- ]?(?:key|code|sleutel|schlüssel|pw)", "wi-fi": r"wi-fi[- ]?(?:key|code|sleutel|schlüssel|pw)",
    "palabra": r"palabra clave", "unlock": r"unlocks? with", "opens with": r"opens with",
    "login": r"login", "cred": r"cred(?:ential)?s", "secret": r"secret", "token": r"token", "key": r"key",
}  # fmt: skip
FAR_WORDS = {
    "şifre": r"şifre\w{0,4}", "парол": r"парол\w{1,3}", "lösen": r"lösen(?:ord)?\w{0,2}", "jelszó": r"jelszó\w{0,3}", "лозинк": r"лозинк\w{1,2}",
    "mật khẩu": r"mật khẩu", "κωδικ": r"κωδικ\w{1,3}", "סיסמ": r"סיסמ\w{1,3}", "รหัสผ่าน": "รหัสผ่าน",
    "كلمة": r"(?:كلمة (?:المرور|السر|مرور|سر)|الرقم السري)", "पासवर्ड": "पासवर्ड", "कूटशब्द": "कूटशब्द", "hasł": r"hasł(?:o|a|em|u)",
    "パスワード": "パスワード", "暗証番号": "暗証番号", "パスフレーズ": "パスフレーズ", "密码": "密码", "密碼": "密碼", "口令": "口令",
    "비밀번호": "비밀번호", "비번": "비번", "암호": "암호", "패스워드": "패스워드",
}  # fmt: skip
NAMES = {hint: re.compile(pattern, re.IGNORECASE) for hint, pattern in (WORDS | FAR_WORDS).items()}
SHORT = frozenset(
    {"pw", "pwd", "mdp", "clave", "has", "parola", "login", "cred", "senha", "ww", "psk", "gesl", "heslo"}
)
"""Names that are the end of other words, and so must stand alone."""

WEAK = frozenset(["login", "cred", "secret", "token", "key"])
"""Names right behind which no value stands."""
SURE = frozenset(
    "is was are be = : := -> → => c'est c’est ist lautet lauten war waren est es é è era sont jest było byl brzmi er är "
    "este je jsou on είναι это है हैं هي هو היא הוא là adalah it's it’s that's that’s reads equals".split()
)
"""What says that a value follows."""
CHANGES = frozenset(
    "to now auf zu jetzt nun neu new in à a para por par pour na en naar till til на теперь сейчас стал zu su con da "
    "artık olarak şimdi إلى ในตอนนี้ maintenant ahora agora ora adesso nu teraz mostantól sekarang".split()
)
"""What leads to a new value, behind the old one too."""
JOINS = (
    SURE
    | CHANGES
    | frozenset(
        "－ - – — в as als с z von from de still actually currently again just simply noch immer einfach toujours "
        "type typing enter use using try named called tippe gib set changed reset mit with avec com nastavené есть будет "
        "बदलकर which".split()
    )
)
STILL = frozenset("still now noch jetzt just simply actually einfach".split())
"""Behind which a lone plain word may be the value."""
BEFORE_OTHERS = frozenset(
    "in on at of by with for from per via user account login host server table version ticket file called named and or than "
    "im am bei von für mit und oder dans sur avec pour par et ou en con por y o e di su op voor van na w z i в на с и для "
    "column field section chapter page line error policy manager".split()
)
"""Behind which something else is told than the value."""
GIVES = frozenset("to auf zu на para por par à as olarak إلى naar na till til".split())
"""What joins a new value to a name; a plain word in quotes may follow."""
GIVEN = re.compile(
    r"\s*[:=：]|\s+(?:(?:for|of|to|on)\s(?:[\w'’-]+\s){1,4})?(?:is|was)\s|[\"'`*)]{1,2}\s*[:=]"
)
"""What must follow "pass", which is a verb more often than a name."""
AFTER_CJK = re.compile(r"[^\x00-\x7f。！？]{0,14}[「『“\"'`《【（(:=,]{0,2}\s?[「『“\"'`《【（(]?")
"""What may stand between a name and its value where no blanks stand between words."""
ASCII = re.compile(r"[!-~]{4,100}")
CLOSING = re.compile(r"[\"'`”»*)]{0,3}")
OPEN, CLOSE = "\"'`“”„«»‘‚「『《‹", "\"'`“”«»’‘」』》›"
OPENED = frozenset("\"'`(\\")
PRODUCT = re.compile(r"[A-Za-z]+[-.]?\d{1,2}")
STRIP = OPEN + CLOSE + "()[]{},;:，。、！"
TOKEN = re.compile(r"\S+")
QUOTE = re.compile(
    rf"[{re.escape(OPEN)}]\s?(?P<value>[^\n{re.escape(OPEN + CLOSE)}]{{3,120}}?)\s?[{re.escape(CLOSE)}]"
)
AHEAD = 90
SENTENCE = re.compile(r"[.!?;]\s|\n")

_IS = r"as|is|are|was|als|ist|sind|waren|comme|est|como|come|es|é|è|jako|to|som|er|är|как|это|—|-|–|="
BEFORE = re.compile(
    r"(?:(?P<quoted>[\"'`“„«‘][^\n\"'`“”„«»‘’]{4,100}[\"'`”“»’])|(?P<value>\S{6,100}))[,;:]?\s+"
    rf"(?:(?:{_IS}|that['’]s|c['’]est|das ist)\s+)+(?:[^\W\d]+['’]?s?\s+){{0,4}}(?:[^\W\d]+-)?\Z"
)
"""A value and, up to four words before its name, what says that it is one."""
ASIDE = re.compile(r"(?P<value>\S{6,100})\s+\((?:[^\W\d]+['’]?s?\s+){0,5}(?:[^\W\d]+-)?\Z")
"""A value whose name stands in brackets behind it."""
BEFORE_WORDS = frozenset(
    "as is are was als ist sind waren comme est como come es é è jako to som er är как это — - – = that's that’s c'est "
    "c’est type enter tippe gib".split()
)
TYPED = re.compile(r"(?i)\b(?:type|enter|tippe|gib)\s+(?P<value>\S{6,100})\s+(?:[^\W\d]+\s+){1,8}\Z")
CALL = re.compile(r"[A-Za-z_]\(")
PARTS = re.compile(r"[ ._-]")
PHRASE = re.compile(r"\s+(?P<value>[a-z]{3,9}(?: [a-z]{3,9}){3,9})[.!]?(?=\n|\Z)")
"""A passphrase of plain words, which fills its line."""
POLICY = frozenset(
    "the must should characters character least needs need not too long short wrong empty missing invalid required expired "
    "please enter your does match and are for with same changed reset you ask see stored kept look none unknown from inside written known only was has been can will may our this that".split()
)
"""Words of sentences about passwords, which no passphrase has."""
_ACCOUNT = (
    r"(?:log(?:ging|ged)?[ -]?(?:in|on)|sign(?:ing|ed)?[ -]?in|user(?:name)?|cred(?:ential)?s|account|zugangsdaten|anmeld\w*|benutzer|"
    r"identifiants?|connexion|admin|root|credenciales|usuario|usuário|utente|credenziali|логин|gebruiker|użytkownik|kullanıcı|"
    r"アカウント|账号|아이디|계정|登录)(?![a-zA-Z_])"
)
ACCOUNT = re.compile(rf"(?i){_ACCOUNT}")
BESIDE = re.compile(
    r"\w(?:\s[/|]\s|[/|:]|(?<=\.\w\w),\s|(?<=\.\w\w\w),\s|\s(?:and|und|et|y|e|и|i|en)\s)[\"'`]?(?P<value>[^\s\"'`<>，。]{7,100})"
)
"""What stands behind a sign or word that parts a name from its password."""
PAIR = re.compile(
    rf"(?i){_ACCOUNT}(?:\s*[:：]|\s+(?:with|as|mit|als|con|avec|com|are|is|sind)){{0,2}}\s*[\"'`]?[\w.@+-]{{1,60}}[\"'`]?"
    r"(?:\s*[/|｜／]\s*|:|\s+(?:and|und|et|y|e|и)\s+)[\"'`]?(?P<value>[^\s\"'`<>，。]{6,100})"
)
FROM_TO = re.compile(
    r"(?i)\b(?:from|von|de|da|с|z|van|du)\s+(?P<value>\S{6,100})\s+(?:to|auf|in|à|a|para|на|naar|en)\s"
)
PAIR_HINTS = ("log", "admin", "root", "sign", "user", "creds", "credential", "account", "zugangsdaten", "anmeld", "benutzer", "identif", "connexion", "usuario", "utente",
               "gebruiker")  # fmt: skip
FAR_PAIR_HINTS = ("usuário", "логин", "kullanıcı", "użytk", "アカウント", "账号", "아이디", "계정", "登录")

KEY_HINTS = (
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
KEYISH = re.compile(
    r"(?i)(?:token|secret|key|credential|pat(?![a-z])|dsn(?![a-z])|jwt|root(?=:)|schlüssel|ключ|токен|clé|llave|chave|トークン|キー|密钥|令牌|토큰)s?(?: ?\d)?[\"'`*)]{0,3}"
    r"(?:\s+(?:of|for|from|on|in|to|für|von|de|du|para|pour|per|para)\s+[\w.-]+(?:\s+[\w.-]+)?)?"
    r"(?:\s*(?:=>?|:|：|->|→|,|—|–|は|是|：)\s*|\s+(?:is|was|are|lautet|ist|est|es|é|è|to|now|still|here|changed to|это)\s+(?:now |still |actually )?|\s+)"
    r"[\"'`*(«„“]{0,3}(?P<value>(?a:[\w.~+/=:-]{16,600}))"
)
UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-")
HEX = re.compile(r"[0-9a-f]+")
SECRET_KEY = re.compile(
    r"(?i)(?:api|app|application|admin|global|license|access|auth\w*|secret|private|account|service|client|master|licen[sc]e|server|storage|live|deploy|encryption)[ _-]*\Z"
)
NO_SECRET_KEY = re.compile(r"(?i)(?<![a-z])(?:public|primary|foreign|cache|partition|sort|idempotency|host|object|s3|row|hash|lookup|map|dict|record|"
                            r"bucket|ssh|gpg|pgp|age|wireguard|registry|index|unique|i18n|translation|signing|default)[ _-]*\Z")  # fmt: skip
DIGIT = re.compile(r"\d")
