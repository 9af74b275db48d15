"""The words by which a password, a PIN or a key is told, in many languages, and the patterns around them."""

from __future__ import annotations

import re

WORDS = {
    "pass": r"pass(?:[ _-]?(?:word|code|phrase|key)(?:['’]?s)?|wd|wort\w{0,2}|ord\w{0,2})?(?:['’]s)?",
    "pswd": r"pswd|pswrd", "lozink": r"lozink[aue]",
    "kodeord": r"kodeord\w{0,2}",
    "pwd": r"pwd", "pw": r"pw", "kennwort": r"kennwort\w{0,3}", "zugangs": r"zugangs(?:code|daten)",
    "mot de passe": r"mots? de passe", "mdp": r"mdp", "contrase": r"contrase(?:nya|[ñn]as?)", "clave": r"claves?(?: de acceso)?",
    "senha": r"senhas?", "palavra": r"palavra[- ]passe", "parola": r"parola(?: d['’]ordine|y[ıi]|s[ıi]|m|n)?", "wachtwoord": r"wachtwoord(?:en)?",
    "ww": r"ww", "hasl": r"hasl(?:o|a|em|u)", "sifre": r"sifre\w{0,4}", "hesl": r"hesl(?:o|a|em|u)", "jelsz": r"jelsz[óa]\w{0,3}", "salasana": r"salasana\w{0,3}",
    "kata sandi": r"kata sandi(?:nya)?", "adgangskode": r"adgangskode\w{0,2}",
    "login": r"login", "log in": r"log in", "wifi": r"wifi(?:[- ]?(?:key|code))?", "wi-fi": r"wi-fi(?:[- ]?(?:key|code))?", "wlan": r"wlan(?:[- ]?(?:key|code|schlüssel))?",
    "netzwerkschl": r"netzwerkschlüssel", "network key": r"network key", "sign in": r"sign in", "cred": r"cred(?:ential)?s", "secret": r"secret", "token": r"token", "key": r"key",
}  # fmt: skip
FAR_WORDS = {
    "şifre": r"şifre\w{0,4}", "парол": r"парол\w{1,3}", "lösenord": r"lösenord\w{0,2}", "mật khẩu": r"mật khẩu", "κωδικ": r"κωδικ\w{1,3}", "סיסמ": r"סיסמ\w{1,3}", "รหัสผ่าน": "รหัสผ่าน",
    "كلم": r"كلم[ةه] (?:ال)?(?:مرور|سر)", "باسورد": "باسوورد|باسورد", "پاس": "پاس ?ورڈ", "گذرواژه": "گذرواژه|رمز عبور",
    "лозинк": r"лозинк\w", "পাসওয়ার্ড": "পাসওয়ার্ড", "கடவுச்சொல்": "கடவுச்சொல்", "პაროლ": "პაროლი", "parolă": "parol[ăa]", "slaptažod": r"slaptažod\w{1,3}",
    "パスコード": "パスコード", "合言葉": "合言葉", "通行码": "通行码", "暗号": "暗号", "패스코드": "패스코드", "पासवर्ड": "पासवर्ड", "कूटशब्द": "कूटशब्द", "hasł": r"hasł(?:o|a|em|u)",
    "パスワード": "パスワード", "暗証番号": "暗証番号", "パスフレーズ": "パスフレーズ", "密码": "密码", "密碼": "密碼", "口令": "口令",
    "비밀번호": "비밀번호", "비번": "비번", "암호": "암호", "패스워드": "패스워드",
}  # fmt: skip
NAMES = {hint: re.compile(pattern, re.IGNORECASE) for hint, pattern in (WORDS | FAR_WORDS).items()}
SHORT = frozenset(
    {
        "ww",
        "log in",
        "sign in",
        "hesl",
        "pw",
        "pwd",
        "mdp",
        "clave",
        "hasl",
        "parola",
        "login",
        "cred",
        "senha",
    }
)
"""Names that are the end of other words, and so must stand alone."""

WEAK = frozenset(["wifi", "wi-fi", "wlan", "log in", "sign in", "login", "cred", "secret", "token", "key"])
"""Names right behind which no value stands."""
JOINS = frozenset(
    [
        "is",
        "was",
        "are",
        "be",
        "c'est",
        "c’est",
        "it's",
        "it’s",
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
        "par",
        "por",
        "heißt",
        "heisst",
        "heet",
        "hedder",
        "heter",
        "chiama",
        "llama",
        "je",
        "este",
        "jest",
        "היא",
        "הוא",
        "إلى",
        "الى",
        "|",
        "wants",
        "been",
        "wäre",
        "était",
        "currently",
        "derzeit",
        "aktuell",
        "actuellement",
        "attualmente",
        "actualmente",
        "momenteel",
        "only",
        "simply",
        "nur",
        "einfach",
        "for",
        "von",
        "für",
        "set",
        "changed",
        "reset",
        "mit",
        "with",
    ]
)
SURE = frozenset(
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
GIVES = frozenset(["to", "auf", "zu", "на", "para", "à", "as", "olarak"])
"""What joins a new value to a name; a plain word in quotes may follow."""
GIVEN = re.compile(r"\s*[:=：]|\s+(?:is|was)\s|[\"'`*)]{1,2}\s*[:=]")
"""What must follow "pass", which is a verb more often than a name."""
AFTER_CJK = re.compile(
    r"(?:\s*(?:[はがをのもに、,]|은|는|이|가|를|을|就|现在|現在|是|为|為|已经?|已經|的|目前|คือ|换成了?|换为|改了?为|设置?为|=>|→|->|－|改成了?|改为|设为|设成|变成|換成|:|：|=)){0,4}\s*[「『“\"'`《【（(]?\s*"
)
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

BEFORE = re.compile(
    r"(?:(?P<quoted>[\"'`“„«‘][^\n\"'`“”„«»‘’]{4,100}[\"'`”“»’])|(?P<bare>\S{6,100}))\s+(?:as|is|was|als|ist|comme|como|come|for|"
    r"jako|som|как)\s+(?:[^\W\d]+['’]?\s+){0,3}(?:[^\W\d]+-)?\Z"
)
BEFORE_WORDS = frozenset(
    [
        "as",
        "for",
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
TYPED = re.compile(r"(?i)\b(?:type|enter|tippe|gib)\s+(?P<value>\S{6,100})\s+(?:[^\W\d]+\s+){1,8}\Z")
PAIR = re.compile(
    r"(?i)(?:log(?:ging|ged)?[ -]?(?:in|on)|sign(?:ing|ed)?[ -]?in|user(?:name)?|cred(?:ential)?s|account|zugangsdaten|anmeld\w*|benutzer|"
    r"identifiants?|connexion|credenciales|usuario|usuário|utente|credenziali|логин|gebruiker|użytkownik|kullanıcı|"
    r"アカウント|ログイン|zugang|账号|아이디|계정|登录)(?![a-zA-Z_])(?:\s*[:：]|\s+(?:with|as|mit|als|con|avec|com|are|is|sind)){0,2}\s*[\"'`]?[\w.@+-]{1,60}[\"'`]?"
    r"(?:\s*[/|｜／]\s*|:|\s+(?:and|und|et|y|e|и)\s+)[\"'`]?(?P<value>[^\s\"'`<>，。]{6,100})"
)
FROM_TO = re.compile(
    r"(?i)\b(?:from|von|de|da|с|z|van|du)\s+(?P<value>\S{6,100})\s+(?:to|auf|in|à|a|para|на|naar|en)\s"
)
ADMIN = re.compile(
    r"(?i)(?<![\w/.@-])(?:admin|root|administrator)\s+[/|]\s+[\"'`]?(?P<value>[^\s\"'`<>]{6,100})"
)
STILL = frozenset(["still", "now", "just", "only", "simply", "noch", "jetzt", "nur", "einfach"])
"""What may stand before a lone word that is a password: "is still …"."""
PHRASE = re.compile(r"[a-z]{4,12}(?:[ -][a-z]{4,12}){3,7}")
"""Four to eight words of which none is one that only holds a sentence together."""
BESIDE_SYLLABLES = re.compile(r"(?P<value>[!-~]{6,100})(?P<between>(?:[^\x00-\x7f]|\s){1,5})\Z")
PARTICLES = frozenset(["が", "を", "は", "作为", "作為", "当", "做", "是", "为", "를", "을", "이", "가"])
"""What joins a value before such a name to it."""
"""What stands before a name of a script without blanks between words."""
_PLACES = (
    r"(?:l['’])?(?:porte|portail|entrée|accès|alarme|immeuble|digicode|parking|coffre|carte|puerta|alarma|portón|portero|acceso|tarjeta|garaje|edificio|"
    r"cancello|porta|portone|allarme|ingresso|citofono|carta|portão|alarme|prédio|cartão|bramy|domofonu|drzwi|alarmu|karty|sejfu)"
)
_ROOMS = r"door|gate|alarm|lock|tür|haustür|tor|zugangs|keypad|entry|entrance|access|unlock|garage|safe|building|sim|screen|luggage|lockbox|locker|deur|poort|toegangs|dörr|port|dør|kapı|giriş"
PIN_NAME = (
    r"(?<!\w)(?:pin(?:[ -]?(?:code|number|nummer|kod\w{0,3}|nr\.?)|kod\w{0,2})?|sim[ -]pin|passcode|"
    rf"(?:{_ROOMS})[ -]?(?:code|pin|kod(?:en|u|e|es)?|şifresi)(?: pin)?|geheimzahl|"
    rf"(?:code|kod|kode) (?:pin|(?:de la |de |du |d['’]|do |des ){_PLACES})|c[óo]d(?:igo|ice) (?:pin|(?:d[eao]l?l?['’]?(?: la)? ?){_PLACES})|"
    rf"kod(?:en)? (?:pin|do {_PLACES}|till \w+)|код (?:от|для|к|на) \w+|пин(?:-?код)?(?: от \w+)?|пароль)|暗証番号|暗证|密码|密碼|パスコード|비밀번호|비번|핀 ?번호|핀|"
    r"الرقم السري|رمز (?:المرور|الدخول|القفل)|पिन(?: कोड)?|पासकोड"
)
PIN = re.compile(
    rf"(?i)(?:{PIN_NAME})[\"'*`)]{{0,3}}"
    r"(?:(?:\s[^\n.,:;\d]{1,30}?)?\s*(?:(?:\b(?:is|ist|lautet|was|est|es|é|è|to|jest|är|er|je)\b|:|=|：|は|是|는|은|이|это|-|هو|है|→)\s*(?:now |still |jetzt |le |la |el |the )?)[\"'`*「]{0,3}(?P<value>\d{4,10}#?)"
    r"|\s?[\"'`(]?(?P<alone>\d{4,8}#?)(?=[\"'`)]?\s*(?:\Z|\n|[.,;:!?](?!\d)|[^\x00-\x7f]| [–—-] )))(?![A-Za-z0-9_]|[.,-]\d)"
)
NUMBER = re.compile(r"\d{4}")
PIN_HINTS = ("pin", "cod", "cód", "kod", "код", "geheimzahl", "暗証番号", "暗证", "密码", "密碼", "パスコード", "비밀번호", "비번", "핀", "пин", "пароль",
             "şifresi", "السري", "رمز", "पिन", "पासकोड")  # fmt: skip
PAIR_HINTS = ("log", "sign", "user", "creds", "credential", "account", "zugang", "anmeld", "benutzer", "identif", "connexion", "usuario", "utente",
               "gebruiker")  # fmt: skip
FAR_PAIR_HINTS = (
    "usuário",
    "логин",
    "kullanıcı",
    "użytk",
    "ログイン",
    "アカウント",
    "账号",
    "아이디",
    "계정",
    "登录",
)

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
    r"(?i)(?:token|secret|key|credential|pat(?![a-z])|dsn(?![a-z])|jwt|root(?=:)|schlüssel|ключ|токен|clé|llave|chave|トークン|キー|密钥|令牌|토큰)s?(?: ?\d{1,2}(?= ?[:=]| is))?\d?[\"'`*)]{0,3}"
    r"(?:\s+(?:of|for|from|on|in|to|für|von|de|du|para|pour|per|para)\s+[\w.-]+(?:\s+[\w.-]+)?)?"
    r"(?:\s*(?:=>?|:|：|->|→|,|—|–|は|是|：)\s*|\s+(?:is|was|are|lautet|ist|est|es|é|è|to|now|still|here|changed to|это)\s+(?:now |still |actually )?|\s+)"
    r"[\"'`*(«„“]{0,3}(?P<value>(?a:[\w.~+/=:-]{16,600}))"
)
HEX = re.compile(r"(?:0x)?(?:[0-9a-f]+(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?|[0-9A-F]+)")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECRET_KEY = re.compile(
    r"(?i)(?:api|app(?:lication)?|admin|write|ingest|team|project|personal|root|access|auth\w*|secret|private|account|service|client|master|licen[sc]e|server|storage|live|deploy|encryption)[ _-]*\Z"
)
NO_SECRET_KEY = re.compile(r"(?i)(?<![a-z])(?:public|primary|foreign|cache|partition|sort|idempotency|host|object|s3|row|hash|lookup|map|dict|record|"
                            r"bucket|ssh|gpg|pgp|age|wireguard|registry|index|unique|i18n|translation|signing)[ _-]*\Z")  # fmt: skip
