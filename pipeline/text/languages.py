"""Which language a text is in, guessed from its script, its small words and its letters.

A hook asks it only where a prompt may be in another language than English, so it loads no regular expression
of its own. The guess is good enough to choose endings by: where two languages are as likely, both count.
"""

import re
import unicodedata

from pipeline.text.scripts import HAN, KANA
from pipeline.text.tokens import SMALL_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_SMALL = {
    "en": """the and of to is are with for that this it be on not from when we should must our you your i my
        what where which who how why do does did have has was were can could will would there an or if
        by as at they their them its use never always no only but into out up so more than then these
        those after before""",
    "de": """der die das und ist nicht ein eine einen einem einer von mit auf fur im den dem des zu zum zur
        wir ich sie er es auch nur noch wird werden wie wo wer wann warum welche welcher welchen welches
        immer nach bei aus als oder aber kein keine sind haben hat kann muss soll darf unser unsere mein
        bitte mal uns dem jede jeder jeden alle vor uber unter nie""",
    "fr": """le la les un une des du et est sont pas que qui sur avec pour dans ce cette ces nous vous il
        elle on au aux ou comment quand pourquoi quel quelle quels quelles nos notre faut peut plus
        jamais toujours se son ses sa ne je tu mon ma mes leur leurs par chaque fait faire comme etre
        aussi""",
    "es": """el los las un una unos del al que y es son con por para como donde cuando quien cual se su sus
        lo no esta este esto todo todos cada sin sobre muy mas nos nuestro nuestra nunca siempre hay de
        en la tiene tienen antes despues otro otra que hacer""",
    "it": """il lo la gli le un una uno di del della dei delle degli al alla ai alle da dal dalla nel nella
        nei nelle che e non con per come dove quando chi quale quali quanto si su sul sulla ogni sono
        viene vengono mai sempre questo questa nostro nostra o anche solo soltanto deve entro perche""",
    "pt": """o os as um uma do da dos das no na nos nas ao que e nao com por para como onde quando quem qual
        se sao esta este isso cada sem mais nosso nossa nunca sempre depois antes pelo pela fica ficam
        de em ou muito quantas quantos meu minha seu sua""",
    "nl": """de het een en van niet zijn wordt worden met voor op aan naar bij uit dat dit die deze wie wat
        waar wanneer hoe waarom welke onze ons wij ik je nooit altijd ook nog alleen maar na tot als of
        moet mag kan heeft hebben er ze geen elke""",
    "sv": """och att det ar som en ett den de inte pa av till med for vi jag du han hon var nar hur vem vad
        vilken vilket vilka aldrig alltid bara ska kan har om fran vid efter innan under sig sin ni era
        man eller inga ingen far""",
    "fi": """ja on ei ovat eivat se ne me han tama etta kun jos mutta tai myos vain aina koskaan milloin
        missa mista mihin minne miten miksi kuka kenen mita mika millä milla pitaa voi ole joka kaikki
        ilman ennen jalkeen""",
    "pl": """i w z na do nie jest sa sie ze o po od za dla przez przy jak gdzie kiedy kto co czy jaki jaka
        jakie ktory ktorym ktora ktore tylko zawsze nigdy ale lub juz ten ta jego ich nasz nasze mamy ma
        musi ma byc bez pod nad przed""",
    "tr": """ve bir bu da de icin ile mi mu ne nasil neden hangi kim nerede her zaman cok daha en gibi ama
        veya degil var yok sonra once olan olarak sadece hep asla bizim kac ya""",
    "ru": """и в не на с что как по но из у за от о к же для это мы вы он она они где когда кто чего какой
        какие какая каких или если при до без только нужно надо ли бы под все каждый каждые наш наши
        кому""",
    "uk": """і в й не на з що як по але із у за від о до для це ми ви він вона вони де коли хто чого який які
        яка яких або якщо при без лише тільки треба чи б під все кожен кожні наш наші кому та""",
    "el": """ο η το οι τα του της των τον την τους τις στο στη στην στον στα στους στις και σε με για απο που
        πως πως ποτε ποιος ποια ποιο ποιον ποιοι ποιες ποιους τι ειναι εχει εχουν ενας μια ενα ενος μιας
        δεν να θα αυτο αυτη αυτα καθε μονο παντα χωρις πριν μετα μπορει πρεπει ή ως""",
    "he": """של על את עם או מה מי איך מתי האם איפה היכן למה כל לא גם רק הוא היא הם זה זאת זו אם כי אבל באיזה
        איזה איזו אילו באיזו יש אין בלי לפני אחרי תמיד בידי ומה ומי""",
    "ar": """في من على إلى الي عن مع هل ما ماذا متى متي كيف أين اين أي اي هو هي هذا هذه التي الذي لا لم لن قد
        كل بلا أو او ثم فقط دائما بعد قبل عند ومن وماذا وأي واي فيها فيه""",
}
"""Words that tell of a language rather than of a subject, without accents."""
_LETTERS = {
    "ß": "de", "ü": "de tr", "ä": "de fi sv", "ö": "de fi sv tr", "å": "sv",
    "é": "fr es pt it", "è": "fr it", "ê": "fr pt", "ç": "fr pt tr", "œ": "fr", "à": "fr it pt",
    "ñ": "es", "¿": "es", "á": "es pt", "í": "es pt", "ó": "es pt pl", "ú": "es pt",
    "ã": "pt", "õ": "pt", "ò": "it", "ù": "it fr", "ì": "it", "ë": "nl fr", "ï": "nl fr",
    "ą": "pl", "ę": "pl", "ł": "pl", "ń": "pl", "ś": "pl", "ź": "pl", "ż": "pl", "ć": "pl",
    "ı": "tr", "ş": "tr", "ğ": "tr", "İ": "tr",
    "ы": "ru", "э": "ru", "ё": "ru", "ъ": "ru", "і": "uk", "ї": "uk", "є": "uk", "ґ": "uk",
}  # fmt: skip
_TAILS_OF = {
    "fi": "ssa ssä sta stä lla llä lta ltä lle taan tään iin",
    "tr": "leri lari lerin larin lerde larda lere lara iyor nir lir dir",
    "sv": "arna erna orna ningen ningar heten",
    "de": "ungen ung keit heit lich",
    "nl": "ijk ingen heid",
    "pl": "ego ych owe owy enie ania",
    "it": "zioni zione mento",
    "pt": "coes cao",
    "es": "cion ciones",
    "fr": "eaux eux ement",
}
"""How long words of a language often end."""
_LONG = 7
"""Letters of such a word."""
_SCRIPTS = (
    ("\u0370", "\u03ff", ("el",)),
    ("\u0400", "\u04ff", ("ru", "uk")),
    ("\u0590", "\u05ff", ("he",)),
    ("\u0600", "\u06ff", ("ar",)),
)
_EAST_ASIAN = f"[{HAN}{KANA}]"
LATIN = ("de", "es", "fi", "fr", "it", "nl", "pl", "pt", "sv", "tr")
ENGLISH = "en"
_FEW = 2
"""Signs of a language that a memory has at least in which some word may be English."""
MOST_LANGUAGES = 3
"""Languages that one text counts as, the likeliest first."""
LOOKED_AT = 4_000
"""Characters of a text that are looked at."""
_WORDS = r"[^\W\d_]+"


def languages_of(text: str) -> "tuple[str, ...]":
    """Return the languages that `text` may be in, the likeliest first; nothing where nothing tells."""
    return _likeliest(_points(text[:LOOKED_AT]))


def _likeliest(points: "dict[str, int]") -> "tuple[str, ...]":
    best = max(points.values(), default=0)
    likely = sorted(points, key=lambda language: (-points[language], language))
    return (
        tuple(language for language in likely if points[language] * 2 > best)[:MOST_LANGUAGES] if best else ()
    )


def languages_written(text: str) -> "tuple[str, ...]":
    """Return the languages by whose endings the words of a memory are kept; English is none of them."""
    if re.search(_EAST_ASIAN, text[:LOOKED_AT]):
        return ()  # What stands between there in Latin letters tells of nothing.
    points = _points(text[:LOOKED_AT])
    english = _small(ENGLISH)
    # A lone sign will do where nothing at all looks English.
    least = (
        _FEW if any(_looked_up(word)[0] in english for word in re.findall(_WORDS, text[:LOOKED_AT])) else 1
    )
    return tuple(
        language
        for language in _likeliest(points)
        if language != ENGLISH and (points[language] >= least or language not in LATIN)
    )


def languages_asked(text: str, known: "Collection[str]") -> "tuple[str, ...]":
    """Return the languages by whose endings the words of a question are read, `known` being the memories'.

    English is none of them. A short question may say little of its language, and then all that are known
    count.
    """
    found = languages_of(text)
    if found and found[0] == ENGLISH:
        return ()
    chosen = tuple(language for language in found if language in known)
    if chosen or not known:
        return chosen or tuple(language for language in found if language != ENGLISH)
    scripts = {language for language in known if _has_script(text, language)}
    return tuple(sorted(scripts))


def is_small(word: str, languages: "Collection[str]") -> bool:
    """Whether `word`, in lower case without accents, says nothing of a subject in one of `languages`."""
    return any(word in _small(language) for language in languages)


def bare(word: str) -> str:
    """Return `word` in lower case without accents."""
    lower = word.casefold()
    if lower.isascii():
        return lower
    return "".join(char for char in unicodedata.normalize("NFD", lower) if not unicodedata.combining(char))


def _points(text: str) -> "dict[str, int]":
    """Return how many signs `text` has of each language that it has any of."""
    points: dict[str, int] = {}
    lower = text.casefold()
    signs: list[tuple[str, ...]] = []
    if not text.isascii():
        signs += [tells for first, last, tells in _SCRIPTS if _between(lower, first, last)]
    signs += [tuple(tells.split()) for letter, tells in _LETTERS.items() if letter in lower]
    signs += dict(map(_looked_up, set(re.findall(_WORDS, text)))).values()
    for sign in signs:
        for language in sign:
            points[language] = points.get(language, 0) + 1
    return points


def _looked_up(word: str) -> "tuple[str, tuple[str, ...]]":
    """Return `word` in lower case without accents, and the languages of which it is a sign."""
    known = _known.get(word)
    if known is None:
        plain = bare(word)
        signs = [language for language in _SMALL if plain in _telling(language)]
        if len(plain) >= _LONG:
            signs += [language for language, tails in _TAILS.items() if plain.endswith(tails)]
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        known = _known[word] = plain, tuple(signs)
    return known


_known: "dict[str, tuple[str, tuple[str, ...]]]" = {}
"""Words that were looked up: those of one memory are mostly those of others."""
_MOST_KNOWN = 20_000


def _between(text: str, first: str, last: str) -> bool:
    return any(first <= char <= last for char in text)


def _has_script(text: str, language: str) -> bool:
    for first, last, languages in _SCRIPTS:
        if language in languages:
            return _between(text, first, last)
    return any(char.isalpha() and char < "\u0250" for char in text)


def _small(language: str) -> "frozenset[str]":
    if language not in _SMALL_READ:
        more = SMALL_WORDS if language == ENGLISH else ""
        _SMALL_READ[language] = frozenset(bare(_SMALL.get(language, "") + more).split())
    return _SMALL_READ[language]


def _telling(language: str) -> "frozenset[str]":
    """Return the small words of `language` that tell it from English, or English from the others."""
    if language not in _TOLD:
        apart = [ENGLISH] if language != ENGLISH else [other for other in _SMALL if other != ENGLISH]
        _TOLD[language] = _small(language).difference(*map(_small, apart))
    return _TOLD[language]


_SMALL_READ: "dict[str, frozenset[str]]" = {}
_TOLD: "dict[str, frozenset[str]]" = {}
_TAILS = {language: tuple(bare(tails).split()) for language, tails in _TAILS_OF.items()}
