"""PINs and codes of doors, safes, alarms, phones and cards, told in words: mostly digits alone.

A number is a code if a word that means nothing else stands beside it in its clause ("PIN", "Geheimzahl",
暗証番号), or a word for a code together with one for what it opens ("the code of the gate", "Alarmcode",
"code du portail", код от сейфа). What stands between them plays no part, unless it has a number itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from pipeline.safety.late import late
from pipeline.safety.rule import Span

_SURE = (
    r"(?<![a-z])(?:pin(?:[ -]?(?:code|number|nummer|kod|kód))?|puk|pincodes?|passcodes?|lock ?code|combo)(?![a-z])|geheimzahl|digicode|"
    r"(?<![a-z])(?:sms|otp|tan|2fa|mfa|verification|one-time|access|entry|unlock|security|login)[ -]codes?|"
    r"(?:verifizierungs|bestätigungs|sicherheits|zugangs|freischalt|entsperr)-?code|"
    r"(?<!\w)пин(?:-?код)?\w?(?!\w)|暗証番号|暗证|ロック番号|パスコード|핀 ?번호|핀 ?코드|비밀번호|비번|密码|密碼|口令|"
    r"(?<!\w)पिन(?!\w)|الرقم السري|الرمز السري|رمز (?:القفل|الدخول|الباب)|şifre(?:si|m|miz)|kode akses"
)
_CODE = (
    r"codes?|código|codigo|codice|kode|kod|koden|kód|код\w{0,2}|combination|kombination|combinaison|combinación|"
    r"combinação|combinazione|combinatie|コード|代码|코드|कोड|رمز|كود|番号|번호|opens with|geht (?:auf )?mit|s['’]ouvre avec|se abre con|si apre con"
)
_WHOLE_PLACES = (
    "door gate safe vault luggage suitcase lockbox bike cabinet koffer alarm lock garage entrance locker intercom card phone voicemail keypad keybox barrier sim box "
    "tür tor tresor schloss schließfach eingang haustür keller spind handy karte schranke porte portail coffre cadenas "
    "immeuble entrée carte barrière puerta portal portón caja candado garaje taquilla tarjeta porta portão cofre cadeado "
    "garagem cartão portone cancello cassaforte allarme lucchetto bancomat deur poort kluis slot hek kapı kasa kilit "
    "dörr kassaskåp dør alarma alarme"
)
_PLACE_STEMS = (
    "drzwi bram sejf kłódk furtk domofon двер ворот сейф сигнализац домофон замк подъезд калитк kapı kasa kilit dveř "
    "ajtó 金庫 ドア 玄関 扉 ロッカー オートロック 门 門 保险 报警 현관 도어락 금고 사물함 باب بوابة خزنة إنذار الباب البوابة الخزنة الإنذار दरवाज गेट तिजोरी अलार्म"
)
_PLACE = late(
    rf"(?i)(?<![^\W\d])(?:(?:{'|'.join(_WHOLE_PLACES.split())})(?:['’]?s|n|en|-?code|-?pin|-?kombination)?(?!\w)|(?:{'|'.join(_PLACE_STEMS.split())}))"
    r"|(?:tür|tor|alarm|tresor|garagen?|haus|spind|safe|deur|kluis)-?code"
)
_WORD = late(rf"(?i)(?P<sure>{_SURE})|(?<![a-z_.])(?:\w+(?=code|kombination))?(?:{_CODE})(?![a-z_(])")
_OTHER_CODE = late(
    r"(?i)(?:error|exit|status|response|return|country|area|zip|postal|product|item|promo|discount|coupon|fault|reason|"
    r"event|source|fehler|rückgabe|post)[ -]?\Z"
)
_NUMBER = (
    r"(?:\d{4,10}[A-Z]?[#*]?|\d(?:-\d){3,5}|\d{2}(?:[- ]\d{2}){1,3}|\d{3}[- ]\d{3}|[A-Z]\d{3,6}|\d{2,4}[A-ZА-Я]\d{2,6}|[*#]\d{3,8}[#*]?)"
    r"(?a:(?![\w%°$/]|[.,:-]\d|-\w|€|\s(?:means|bedeutet|signifie|significa|times|lines|layers|characters|chars|zeilen|"
    r"zeichen|pages|people|pins|steps|users|ms|kb|mb|gb|px|mm|km)\b))"
)
_VALUE = late(rf"(?<![\w.,/:#$€£+%-]){_NUMBER}")
_GLUED = late(rf"(?a:(?<![\w.,/:#$+-])){_NUMBER}")
"""The same behind a script without blanks, whose letters may stand right before a number."""
_BEFORE = late(
    rf"(?<![\w.,/:#$€£+%-])(?P<value>{_NUMBER})\s(?:is|ist|est|es|é|è|as|als|это)\s(?:[^\W\d]+['’]?s?\s){{0,4}}(?:[^\W\d]+)?\Z"
)
_ENDS = late(
    r"(?:[.!?;]\s|\n)|\d{3}|(?i:\b(?:version|line|port|error|page|since|seit|depuis|desde)\b)|^[_(\[/@.]"
)
"""What ends the clause, or says that the number is that of something else."""
_PINNED = late(r"\s(?!(?:for|of|on|from|is|was|changed|the|my|our)\s)\S+\s(?:to|at|auf|on)\s\Z")
_BESIDE = late(r"(?is)(?:.*\bpin)?\s*")
_LONE = late(
    r"\d{4,6}[#*]?[\"'`)\]]{0,2}(?:\s*(?:[.,;:!?–—-]|[^\x00-\x7f]|\Z|\n)|\s(?:for|to|and|but|or|is|works|und|für|aber|ist)\s)"
)
"""A number right behind "pin", which means contacts and versions too: nothing else goes on behind it."""
_HINTS = (
    "pin",
    "code",
    "puk",
    "kod",
    "códi",
    "kód",
    "codi",
    "combin",
    "kombin",
    "geheimzahl",
    "opens with",
    "geht mit",
    "geht auf mit",
    "ouvre avec",
    "abre con",
    "apre con",
)
_FAR_HINTS = (
    "пин", "код", "番号", "コード", "暗证", "密码", "密碼", "口令", "代码", "번호", "코드", "비번", "पिन", "कोड", "رمز", "كود", "السري", "şifre",
)  # fmt: skip
HINTS = _HINTS + _FAR_HINTS
_REACH = 60
_DIGITS = late(r"\d[\d-]{3}|\d\d[ ]\d\d|[A-Z*#]\d{3}")


def codes(text: str, lowered: str, found_hints: Set[str]) -> Iterator[Span]:
    """Yield start, end and kind of each code told in `text`.

    `lowered` is `text` in lower case, as long; `found_hints` are those of `HINTS` that stand in it.
    """
    hints = _HINTS if lowered.isascii() else _HINTS + _FAR_HINTS
    seen = -1
    for at in sorted([at for hint in hints if hint in found_hints for at in _all(lowered, hint)]):
        if at < seen or not _DIGITS.search(text, max(0, at - _REACH), at + _REACH + 12):
            continue
        word = _WORD.search(text, max(0, at - 14, seen), at + 20)
        if word is None or (word["sure"] is None and _of_another(text, word)):
            continue
        seen = word.end()
        before = _BEFORE.search(text, max(0, word.start() - _REACH), word.start())
        if before and (word["sure"] or _PLACE.search(text, before.end("value"), word.end() + 30)):
            yield (*before.span("value"), "pin")
        pattern = _GLUED if text[word.end() - 1] > "\u0dff" else _VALUE
        found = pattern.search(text, word.end(), word.end() + _REACH)
        if found and _belongs(text, word, found.start()):
            yield (*found.span(), "pin")


def _all(text: str, hint: str) -> Iterator[int]:
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + len(hint))


def _of_another(text: str, word: re.Match[str]) -> bool:
    return _OTHER_CODE.search(text, max(0, word.start() - 12), word.start()) is not None


def _belongs(text: str, word: re.Match[str], start: int) -> bool:
    """Say whether the number at `start`, the first one behind `word`, is the code that `word` tells of."""
    between = text[word.end() : start]
    if _ENDS.search(between) or (word[0].lower() == "pin" and _PINNED.match(between)):
        return False
    if word[0].lower() == "pin" and _BESIDE.fullmatch(between) and not _LONE.match(text, start):
        return False
    return word["sure"] is not None or _PLACE.search(text, max(0, word.start() - 30), start) is not None
