"""The words by which a password, a PIN or a key is told, in many languages, and the patterns around them."""

from __future__ import annotations

import re

from pipeline.safety.late import late

WORDS = {
    "pass": r"pass(?:[ _-]?(?:word|code|phrase|key)(?:['’]?s)?|wd|wort\w{0,2}|ord\w{0,2})?(?:['’]s)?",
    "pswd": r"pswd", "pswrd": r"pswrd", "kodeord": r"kodeord\w{0,2}", "netzwerkschl": r"netzwerkschlüssel", "network key": r"network key",
    "code secret": r"code secret", "secreto": r"(?<=código )secreto", "slapta": r"slaptažod\w{1,3}",
    "pwd": r"pwd", "pw": r"pw", "kennwort": r"kennwort\w{0,3}", "zugangs": r"zugangs(?:code|daten)",
    "mot de passe": r"mots? de passe", "mdp": r"mdp", "contrase": r"contrase(?:nya|[ñn]as?)", "clave": r"claves?(?: de acceso)?",
    "senha": r"senhas?", "palavra": r"palavra[- ]passe", "parola": r"parola(?: d['’]ordine|y[ıi]|s[ıi](?:n[ıi])?|m[ıi]?|n[ıi]?)?", "wachtwoord": r"wachtwoord(?:en)?",
    "has": r"has(?:ł|l)(?:o|a|em|u)", "sifre": r"sifre\w{0,4}", "heslo": r"hesl[oaeu]m?", "salasana": r"salasana\w{0,3}",
    "kata sandi": r"kata sandi(?:nya)?", "adgangskode": r"adgangskode\w{0,2}", "ww": r"ww", "losenord": r"losenord\w{0,2}",
    "lozink": r"lozink\w{1,2}", "gesl": r"gesl[oaeu]", "jelsz": r"jelsz[oóa]\w{0,3}", "psk": r"psk", "wlan": r"wlan[- ]?(?:schlüssel|key|code|pw)",
    "wifi": r"(?:(?<=code )|(?<=clé )|(?<=clave )|(?<=chave )|(?<=codice ))wifi|wifi[- ]?(?:key|code|sleutel|schlüssel|pw)", "wi-fi": r"wi-fi[- ]?(?:key|code|sleutel|schlüssel|pw)",
    "wi-fi ": r"wi-fi", "wifi ": r"wifi", "wlan ": r"wlan", "ed with": r"(?:(?<=protect)|(?<=encrypt)|(?<=lock)|(?<=secur))ed with", "log in": r"log in", "sign in": r"sign in",
    "palabra": r"palabra clave", "unlock": r"unlock(?:s with|s)?", "decrypt": r"decrypt(?: with)?", "opens with": r"opens with",
    "login": r"login", "cred": r"cred(?:ential)?s", "secret": r"secret", "token": r"token", "key": r"key",
}  # fmt: skip
FAR_WORDS = {
    "şifre": r"şifre\w{0,4}", "парол": r"парол\w{1,3}", "lösen": r"lösen(?:ord)?\w{0,2}", "jelszó": r"jelszó\w{0,3}", "лозинк": r"лозинк\w{1,2}",
    "mật khẩu": r"mật khẩu", "κωδικ": r"κωδικ\w{1,3}", "סיסמ": r"סיסמ\w{1,3}", "รหัสผ่าน": "รหัสผ่าน",
    "كلم": r"(?:كلم[ةه] (?:المرور|السر|مرور|سر)|الرقم السري)", "باس": "باسوورد|باسورد", "گذرواژه": "گذرواژه|رمز عبور", "پاس": "پاس ?ورڈ",
    "пасс": r"(?<!\w)пасс(?:ворд\w?)?(?!\w)", "পাসওয়ার্ড": "পাসওয়ার্ড", "கடவுச்சொல்": "கடவுச்சொல்", "პაროლ": "პაროლი", "parolă": "parol[ăa]",
    "パスコード": "パスコード", "合言葉": "合言葉", "通行码": "通行码", "暗号": "暗号", "패스코드": "패스코드", "पासवर्ड": "पासवर्ड", "कूटशब्द": "कूटशब्द", "hasł": r"hasł(?:o|a|em|u)",
    "パスワード": "パスワード", "暗証番号": "暗証番号", "パスフレーズ": "パスフレーズ", "密码": "密码", "密碼": "密碼", "口令": "口令",
    "비밀번호": "비밀번호", "비번": "비번", "암호": "암호", "패스워드": "패스워드",
}  # fmt: skip
NAMES = {hint: late(pattern, re.IGNORECASE) for hint, pattern in (WORDS | FAR_WORDS).items()}
SHORT = frozenset(
    {
        "pw",
        "pwd",
        "mdp",
        "clave",
        "has",
        "parola",
        "login",
        "cred",
        "senha",
        "ww",
        "psk",
        "gesl",
        "heslo",
        "log in",
        "sign in",
    }
)
"""Names that are the end of other words, and so must stand alone."""

WEAK = frozenset(
    [
        "decrypt",
        "wifi ",
        "wi-fi ",
        "wlan ",
        "ed with",
        "log in",
        "sign in",
        "login",
        "cred",
        "secret",
        "token",
        "key",
    ]
)
"""Names right behind which no value stands."""
SURE = frozenset(
    "is was are be = : := -> → => c'est c’est ist lautet lauten war waren est es é è era sont jest było byl brzmi er är "
    "este je jsou είναι это है हैं هي هو היא הוא là adalah it's it’s that's that’s reads equals been heißt heisst heet hedder heter chiama llama היא wäre était".split()
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
        "type typing enter use using try named called | wants only nur derzeit aktuell actuellement attualmente actualmente momenteel heißt tippe gib set changed reset mit with avec com nastavené есть будет "
        "बदलकर which".split()
    )
)
STILL = frozenset("still now noch jetzt just simply actually einfach only nur".split())
"""Behind which a lone plain word may be the value."""
BEFORE_OTHERS = frozenset(
    "in on at of by with for from per via user account login host server table version ticket file called named and or than "
    "im am bei von für mit und oder dans sur avec pour par et ou en con por y o e di su op voor van na w z i в на с и для "
    "unter under sous bajo sotto sob onder pod под see siehe voir column field section chapter page line error policy manager id since seit depuis desde sinds od del della из у від від k ke do od".split()
)
"""Behind which something else is told than the value."""
GIVES = frozenset("to auf zu на para por par à as olarak إلى naar na till til".split())
"""What joins a new value to a name; a plain word in quotes may follow."""
GIVEN = late(
    r"\s*[:=：]|\s+(?:(?:for|of|to|on|del?|für|vom?|du|van|voor)\s(?:[\w'’-]+\s){1,4})?(?:is|was|es|est|ist|lautet|war|é|è|era)\s|[\"'`*)]{1,2}\s*[:=]"
)
"""What must follow "pass", which is a verb more often than a name."""
AFTER_CJK = late(r"[^\x00-\x7f。！？]{0,14}[「『“\"'`《【（(:=,]{0,2}\s?[「『“\"'`《【（(]?")
"""What may stand between a name and its value where no blanks stand between words."""
ASCII = late(r"[!-~]{4,100}")
CLOSING = late(r"[\"'`”»*)]{0,3}")
OPEN, CLOSE = "\"'`“”„«»‘‚「『《‹", "\"'`“”«»’‘」』》›"
OPENED = frozenset("\"'`(\\")
RELEASE = late(r"[A-Z][a-z]+(?:\d{1,2}|20\d\d)[a-z]?")
"""What a release or a product is called, and what many take for a password."""
PRODUCT = late(r"[A-Za-z]+[-.]?\d{1,2}")
STRIP = OPEN + CLOSE + "()[]{},;:，。、！"
TOKEN = late(r"\S+")
QUOTE = late(
    rf"[{re.escape(OPEN)}]\s?(?P<value>[^\n{re.escape(OPEN + CLOSE)}]{{3,120}}?)\s?[{re.escape(CLOSE)}]"
)
BESIDE_SYLLABLES = late(r"(?P<value>[!-~]{6,100})(?P<between>(?:[^\x00-\x7f]|\s){1,5})\Z")
"""What stands before a name of a script without blanks between words."""
PARTICLES = frozenset(["が", "を", "は", "作为", "作為", "当", "做", "是", "为", "를", "을", "이", "가"])
"""What joins a value before such a name to it."""
TOPIC = frozenset("はがをは是为為")
"""What follows a name in Latin letters in Japanese or Chinese."""
ENGLISH = late(
    r"(?i)pass(?!wort|ord|e)|p(?:s|as)?w|log|sign|cred|secret|token|key|psk|wi-?fi|wlan|unlock|open|network"
)
"""Names that may be the first half of another's: "password manager"; in other languages the value follows."""
CHANGED = late(
    r"(?i)(?<![^\W\d_])(?:chang|re?set|updat|rotat|geänder|änder|gesetzt|setz|gestellt|stell|cambi|mudei|mudou|alter|modifi|zmien|změn|"
    r"поменя|смени|измени|зміни|постав|ustaw|nastav|değiş|ayarla|wijzig|verander|ændr|ändr|bytt|byt|endr|megváltoz|schimb|remplac|mis\b)"
)
"""A word for a change, behind which "to" leads to the new value."""
NEW = frozenset(
    "new: neu: now: jetzt: nouveau: nuevo: nueva: nuovo: nuova: novo: nova: новый: nieuw: nowe:".split()
)
"""What leads to a value in the sentence after the one with its name."""
WHERE = frozenset(
    "in im on at auf an am bei aus dans sur en su nel nella na v ve z ze w we i på hos op bij uit в на из с у із з da em no".split()
)
"""Behind which a place stands, up to two words on."""
PAIRED = late(
    r"(?i)(?:user(?: ?name)?|log[ -]?in|account|benutzer(?:name)?|usuario|utente|identifiant|konto)\s?[:=]?\s[\w.@+-]{2,60}[,/;]?\s(?:(?:and|und|y|et|e)\s)?(?:(?:the|das|la|le|el)\s)?\Z"
)
"""Whose password is named next: "username bob, password …"."""
OPENS = late(r"(?i)\b(?:use|using|with|enter|type)\s+(?P<value>\S{6,100})\s+to\s+\Z")
"""A value, and that it is for what follows: "use … to unlock"."""
OWNED = late(r"(?<!\w)(?:my|our|your|his|her|their|the)\s(?:[\w-]+\s){0,2}\Z")
"""What stands before "pass" where it is a name."""
WORDS_JOINED = late(r"[A-Za-z]{4,12}(?:([._-])[A-Za-z]{4,12})(?:\1[A-Za-z]{4,12})+")
AHEAD = 90
SENTENCE = late(r"[.!?;]\s|\n")

_AS = r"as|als|comme|como|come|jako|som|как|як|olarak"
_FOR = r"for|für|para|pour|per|til|voor|för|do|для"
_IS = rf"{_AS}|{_FOR}|is|are|was|ist|war|sind|waren|est|était|es|era|é|è|jest|był|było|to|je|er|är|var|это|—|-|–|="
AS = late(rf"\s(?:{_AS})\s+(?:[^\W\d_]+\s+){{0,4}}\Z")
"""What says that a value stands before it, whatever that looks like."""
FOR = late(rf"\s(?:{_FOR})\s+(?:[^\W\d_]+\s+){{0,4}}\Z")
BEFORE = late(
    r"(?:(?P<quoted>[\"'`“„«‘][^\n\"'`“”„«»‘’]{4,100}[\"'`”“»’])|(?P<value>\S{6,100}))[,;:]?\s+"
    rf"(?:(?:{_IS}|that['’]s|c['’]est|das ist)\s+)+(?:[^\W\d]+['’]?s?\s+){{0,4}}(?:[^\W\d]+-)?\Z"
)
"""A value and, up to four words before its name, what says that it is one."""
ASIDE = late(r"(?P<value>\S{6,100})\s+\((?:[^\W\d]+['’]?s?\s+){0,5}(?:[^\W\d]+-)?\Z")
"""A value whose name stands in brackets behind it."""
BEFORE_WORDS = frozenset(
    "for für para pour per til voor för do для як war était era jest był było je var as is are was als ist sind waren comme est como come es é è jako to som er är как это — - – = that's that’s c'est "
    "c’est type enter tippe gib".split()
)
TYPED = late(r"(?i)\b(?:type|enter|tippe|gib)\s+(?P<value>\S{6,100})\s+(?:[^\W\d]+\s+){1,8}\Z")
CALL = late(r"[A-Za-z_]\(")
PARTS = late(r"[ ._-]")
LINE_ENDS = late(r"[.!]?(?=\n|\Z)")
RUN = late(r"\s[a-z]{3,9}(?: [a-z]{3,9}){3,9}(?![\w'’])")
"""Words as a passphrase has them."""
POLICY = frozenset(
    "the must should characters character least needs need not too long short wrong empty missing invalid required expired "
    "please enter your does match and are for with same changed reset you ask see stored kept look none unknown from inside written known only was has been can will may our this that".split()
)
"""Words of sentences about passwords, which no passphrase has."""
SMALL = POLICY | frozenset(
    "when then where while once after before every each time times still again twice "
    "always never only one two three four five six eight ten words random first last any all more most less other another some such very quite "
    "now today than into onto over under with about because but have had did does done should would could cannot let get got make made take use used using "
    "ist sind war wird und oder nicht der die das den dem ein eine für von mit auf aus bei wie was wer wenn noch nur auch immer jetzt neu alt est les des une pas pour avec dans los las una con por para que".split()
)
"""These, and the small words that hold a sentence together: where one stands, a phrase is over."""
_ACCOUNT = (
    r"(?:log(?:ging|ged|s)?[ -]?(?:in(?:to)?|on)|sign(?:ing|ed)?[ -]?in|user(?:name)?|cred(?:ential)?s|account|zugang(?:sdaten)?|anmeld\w*|benutzer|"
    r"identifiants?|connexion|admin|root|credenciales|usuario|usuário|utente|credenziali|логин|gebruiker|użytkownik|kullanıcı|"
    r"アカウント|ログイン|账号|아이디|계정|登录)(?![a-zA-Z_])"
)
ACCOUNT = late(rf"(?i){_ACCOUNT}")
BESIDE = late(
    r"\w(?:\s(?:uses|using|with|mit|avec|con|com)\s|\s[/|]\s|[/|:]|(?<=\.\w\w),\s|(?<=\.\w\w\w),\s|\s(?:and|und|et|y|e|и|i|en)\s)[\"'`]?(?P<value>[^\s\"'`<>，。]{7,100})"
)
"""What stands behind a sign or word that parts a name from its password."""
PAIR = late(
    rf"(?i){_ACCOUNT}(?:\s(?:für|for|to|on|of|zum|zur|del?|du|pour|per|do|for the|für den|für die|für das)\s[\w.-]{{2,20}}(?=\s?[:：]))?(?:\s*[:：]|\s+(?:with|as|mit|als|con|avec|com|are|is|sind)){{0,2}}\s*[\"'`]?[\w.@+-]{{1,60}}[\"'`]?"
    r"(?:\s*[/|｜／]\s*|:|\s+(?:and|und|et|y|e|и)\s+)[\"'`]?(?P<value>[^\s\"'`<>，。]{6,100})"
)
ADMIN = late(r"(?i)(?<![\w/.@-])(?:admin|root|administrator)\s+[/|]\s+[\"'`]?(?P<value>[^\s\"'`<>]{6,100})")
FROM_TO = late(
    r"(?i)\b(?:from|von|de|da|с|z|van|du)\s+(?P<value>\S{6,100})\s+(?:to|auf|in|à|a|para|на|naar|en)\s"
)
PAIR_HINTS = ("log", "admin", "root", "sign", "user", "creds", "credential", "account", "zugang", "anmeld", "benutzer", "identif", "connexion", "usuario", "utente",
               "gebruiker")  # fmt: skip
FAR_PAIR_HINTS = (
    "usuário",
    "логин",
    "kullanıcı",
    "użytk",
    "アカウント",
    "ログイン",
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
KEYISH = late(
    r"(?i)(?:token|secret|key|credential|pat(?![a-z])|dsn(?![a-z])|jwt|root(?=:)|schlüssel|ключ|токен|clé|llave|chave|トークン|キー|密钥|令牌|토큰)s?(?: ?\d)?[\"'`*)]{0,3}"
    r"(?:\s+(?:of|for|from|on|in|to|für|von|de|du|para|pour|per|para)\s+[\w.-]+(?:\s+[\w.-]+)?)?"
    r"(?:\s*(?:=>?|:|：|->|→|,|—|–|は|是|：)\s*|\s+(?:is|was|are|lautet|ist|est|es|é|è|to|now|still|here|changed to|это)\s+(?:now |still |actually )?|\s+)"
    r"[\"'`*(«„“]{0,3}(?P<value>(?a:[\w.~+/=:-]{16,600}))"
)
UUID = late(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-")
HEX = late(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
SECRET_KEY = late(
    r"(?i)(?:api|app|application|admin|global|license|access|auth\w*|secret|private|account|service|client|master|licen[sc]e|server|storage|live|deploy|encryption)[ _-]*\Z"
)
PAGES = late(r"(?i)(?:next|page|paging|pagination|continuation|cursor|sync)[ _-]?\Z")
"""What makes a token the place in a list."""
NO_SECRET_KEY = late(r"(?i)(?<![a-z])(?:public(?:able)?|publishable|site|measurement|client-side|verification|host[- ]key|primary|foreign|cache|partition|sort|idempotency|host|object|s3|row|hash|lookup|map|dict|record|"
                            r"bucket|ssh|gpg|pgp|age|wireguard|registry|index|unique|i18n|translation|signing|default)[ _-]*\Z")  # fmt: skip
