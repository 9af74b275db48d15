"""“Today” that means nowadays, told from the day it is: “works as it does today”, “shipped today”.

A word for today is a day only where something says so: a deed that is over (“was decided today”), one that
is due (“must be done today”), a bound (“by today”), a time of it (“today at 5”). A comparison or a state
speaks against it (“as it is today”, “heute üblich”). Where neither or both speak it is taken for no day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOUNDS = re.compile(
    r"[.!?;:,()\n。！？；：、，]|\b(?:and|but|because|while|und|aber|weil|et|mais|pero|porque|mas|perché)\b",
    re.IGNORECASE,
)
"""Where a clause ends. What the next one says is not about the same day."""
_LEAST_CLAUSE = 4
"""Characters beside the word itself; with fewer, as in “Today, we decided …”, the next clause tells."""


@dataclass(frozen=True, slots=True)
class _Language:
    """What speaks for a day and what against it, in the clause of a word for today.

    `before` and `after` stand right beside the word and make it a day; `deed` does so anywhere in the clause.
    `like` stands before it, `state` anywhere in the clause, and either makes it none.
    """

    words: str
    before: str
    after: str
    deed: str
    like: str
    state: str


# Each with one that is a day and one that is none.
_LANGUAGES = (
    # “It was decided today.” · “It works as it does today.”
    _Language(
        words=r"\btoday\b(?!['’]s\b)",
        before=r"\b(?:by|since|from|before|after|due|starting|beginning|effective|as of|later"
        r"|earlier|on)",
        after=r"(?:at|around|by|before|until) (?:\d|noon|midnight)|is (?:the|our|my|a) \w*\s?(?:deadline"
        r"|holiday|last|first)",
        deed=r"\b(?:will|shall|going to|must|needs? to|ha(?:ve|s) to|ha(?:s|ve) (?:just |been )?\w+ed|was"
        r"|were|did|didn['’]t|had|went"
        r"|came|broke|met|found|left|began|said|told|saw|sent|ran|wrote|built|chose|paid|took|made|got"
        r"|gave|held|lost|won"
        r"|(?:starts?|begins?|ends?|ships?|expires?|closes?|opens?|launch(?:es)?|releases?|leaves?"
        r"|arrives?|freezes?)"
        r"|(?<!is )(?<!are )(?<!be )(?<!as )(?!need|inde|embed|speed|feed|exceed|proceed"
        r"|succeed)\w{2,}ed)\b|\w['’]ll\b",
        like=r"\b(?:as|like|than|how|the way|still)\b[^\n]*|\b(?:of|even)\s*",
        state=r"\b(?:used|use|uses|using|known|common(?:ly)?|usual(?:ly)?|typical(?:ly)?|standard"
        r"|available|exists?|supported"
        r"|most|many|always|works?|nowadays)\b",
    ),
    # “Das wurde heute beschlossen.” · „Das ist heute üblich.“
    _Language(
        words=r"\bheute\b",
        before=r"\b(?:ab|seit|vor|nach|spätestens|erst)",
        after=r"(?:um|gegen) \d|früh\b|morgen\b|vormittag\b|mittag\b|nachmittag\b|abend\b|nacht\b",
        deed=r"\b(?:wurden?|wars?t?|waren|hat(?:te)?|habe?n?|hatten|wird|muss|müssen|soll(?:en)?"
        r"|ist (?:abgabe|termin|stichtag)|beginnt"
        r"|startet|endet|fällig|frist"
        r"|veröffentlichen|liefern|kam|ging|fiel|brach|ist \w+ worden)\b",
        like=r"\b(?:wie|noch immer)\b[^\n]*|\b(?:als|auch|bis|selbst|sogar|von)\s*",
        state=r"\b(?:üblich\w*|gängig\w*|meist\w*|normalerweise|gewöhnlich|standard|genutzt|benutzt"
        r"|verwendet|eingesetzt|bekannt"
        r"|immer|noch|funktioniert|läuft)\b",
    ),
    # “On a décidé aujourd'hui.” · “au jour d'aujourd'hui”
    _Language(
        words=r"(?<!d['’])\baujourd['’]hui\b",
        before=r"\b(?:dès|depuis|avant|pour|d['’]ici(?: à)?)",
        after=r"(?:à|vers|avant) (?:\d|midi|minuit)",
        deed=r"\b(?:(?:a|ai|as|ont|avons|avez|fut)\s+(?:\S+\s+){0,2}\w*(?:é|ée|és|ées|i|is|it|ert|u)|était"
        r"|étaient|avait|va|vont|allons"
        r"|vais|doit|doivent|devons|faut|commence|démarre|finit|expire|termine|publie|publions|livrons"
        r"|\w{2,}r(?:a|ont))\b",
        like=r"\b(?:comme|encore)\b[^\n]*|\b(?:même|telle?|qu['’])\s*",
        state=r"\b(?:utilis\w+|courant\w*|habituel\w*|souvent|toujours|encore|norme|standard|connu\w*"
        r"|fonctionne|existe)\b",
    ),
    # “Se decidió hoy.” · “hoy en día”
    _Language(
        words=r"\bhoy\b(?! en día| por hoy)",
        before=r"\b(?:desde|antes de|después de|para|a partir de)",
        after=r"(?:a las|antes de las|hasta las|al) (?:\d|mediodía)",
        deed=r"(?:\b(?:fue|fueron|hizo|hubo|va a|van a|vamos a|hay que|decidimos|acordamos|elegimos|debe"
        r"|deben|tiene que|tenemos que"
        r"|empieza|comienza|termina|vence|sale"
        r"|publicamos|lanzamos|ha \w+[ai]do|han \w+[ai]do|hemos \w+[ai]do)\b|\w{2,}(?:ó|aron|ieron"
        r"|rá|rán)\b)",
        like=r"\b(?:como|igual que|mismo que|todavía)\b[^\n]*|\b(?:de|aún|incluso)\s*",
        state=r"\b(?:usa|usan|se usa|común|habitual|normalmente|suele\w*|siempre|todavía|aún|estándar"
        r"|conocido|funciona|existe)\b",
    ),
    # “Foi decidido hoje.” · “hoje em dia”
    _Language(
        words=r"\bhoje\b(?! em dia)",
        before=r"\b(?:desde|antes de|depois de|para|a partir de)",
        after=r"(?:às|até às|antes das|ao) (?:\d|meio-dia)",
        deed=r"(?:\b(?:foi|foram|fez|houve|decidimos|escolhemos|mudamos|vai|vão|vamos|deve|devem|tem que"
        r"|temos que|precisa|começa"
        r"|termina|vence|sai|publicamos"
        r"|lançamos)\b|\w{2,}(?:ou|aram|eram|iram|rá|rão)\b)",
        like=r"\b(?:como|igual a|ainda)\b[^\n]*|\b(?:de|mesmo)\s*",
        state=r"\b(?:usa|usam|comum|habitual|normalmente|costuma\w*|sempre|ainda|padrão|conhecido"
        r"|funciona|existe)\b",
    ),
    # “È stato deciso oggi.” · “oggi come oggi”
    _Language(
        words=r"(?<!d['’])\boggi\b(?! come oggi)",
        before=r"\b(?:da|entro|prima di|dopo|a partire da)",
        after=r"(?:alle|entro le|prima delle|a) (?:\d|mezzogiorno)",
        deed=r"(?:\b(?:è stat[oa]|sono stat[ie]|(?:ha|ho|hanno|abbiamo)\s+(?:\w+\s+)?\w+(?:to|so)|era"
        r"|erano|va|deve|devono"
        r"|dobbiamo|bisogna|inizia|comincia|termina|scade|esce|pubblichiamo)\b|\w{2,}(?:rà|ranno)\b)",
        like=r"\b(?:come|com['’]è|ancora|tuttora)\b[^\n]*|\b(?:di|anche)\s*",
        state=r"\b(?:usa|usano|usat[oaie]|comune|abituale|normalmente|sempre|ancora|standard|noto"
        r"|funziona|esiste)\b",
    ),
    # 今日決めました · 今日では普通
    _Language(
        words=r"(?:今日|本日)",
        before=r"(?!)",
        after=r"(?:まで|から|中|以降|付け?|の?(?:午前|午後|夜|朝|夕方|昼|\d))",
        deed=r"(?:ました|だった|でした|た$|予定|締め?切|リリース|公開|開始|終了|期限|休み|します|しよう|しましょう|してください|して$)",
        like=r"(?!)",
        state=r"(?:今日(?:では|でも|のよう|的|において|の(?:社会|基準|標準|方法|やり方|技術|形))|普通|一般的|標準|よく使われ|のように|と同じ|いつも)",
    ),
    # 今天决定了 · 像今天一样
    _Language(
        words=r"今天",
        before=r"(?:到|从|自|截至|在|于)",
        after=r"(?:之前|以前|之内|内|开始|起|中午|下午|晚上|早上|上午|\d)",
        deed=r"(?:了|将|必须|得|发布|上线|决定|截止|开始|结束|开会|到期|完成|放假)",
        like=r"(?:像|如|如同|跟|和|与|比|时至|即使|就算)",
        state=r"(?:一样|这样|那样|普遍|常见|通常|常用|标准|仍然?|还是|今天的(?:标准|做法|社会|方式|技术|水平|样子|形式))",
    ),
)

WORDS = "|".join(language.words for language in _LANGUAGES)
"""All words for today, as one pattern."""
_KNOWN = tuple((re.compile(language.words, re.IGNORECASE), language) for language in _LANGUAGES)


def is_a_day(text: str, start: int, end: int) -> bool:
    """Whether the word for today at `text[start:end]` is the day on which it was said.

    Of a word that is none of those here it is not said that it may mean anything else.
    """
    language = next((found for word, found in _KNOWN if word.match(text, start)), None)
    if language is None:
        return True
    left, right = _clause(text, start, end)
    clause = text[left:right]
    before, after = text[left:start], text[end:right]
    if _has(rf"{language.before}\s*$", before) or _has(rf"^\s*(?:{language.after})", after):
        return True
    stays = _has(language.state, clause) or _has(rf"(?:{language.like})$", before)
    return not stays and _has(language.deed, clause)


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of the clause in which the word at `text[start:end]` stands."""
    left = max((bound.end() for bound in _BOUNDS.finditer(text, 0, start)), default=0)
    bounds = [bound.start() for bound in _BOUNDS.finditer(text, end)] + [len(text)]
    right = bounds[0]
    if len(text[left:start].strip()) + len(text[end:right].strip()) < _LEAST_CLAUSE and len(bounds) > 1:
        right = bounds[1]
    return left, right


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
