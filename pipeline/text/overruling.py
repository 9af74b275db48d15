"""What a person changes with a sentence: “use bun from now on, not npm” does away with npm.

Told by plain words of thirteen languages, in one table, since a hook asks while a person waits. A sentence
counts that orders something or states what holds now. One that asks, wonders, reports others or looks for a
fault counts for nothing: what is unsure changes nothing.
"""

import re

from pipeline.text.tokens import terms

MOST_SENTENCES = 30
MOST_WORDS = 60
"""A sentence of more words is nobody's order."""
_WINDOW = 5
"""Words on the side of a cue that may name what is done away with."""
_LONGEST_RUN = 12
"""Characters of a script without spaces that may do so."""

# Rows: en de fr es pt it nl pl ru tr ja zh ko, where the language has such words. A cue stands between
# spaces, but for the scripts that have none.

# After these stands what is to be no more: “stop using npm”, „kein npm mehr“.
_AFTER = """
stop using|stop running|stop writing|stop calling|stop sending|stop putting|stop doing|stop adding|no more
|no longer use|no longer uses|no longer run|we are done with|we're done with|don't use|do not use
|never use|forget about|got rid of|get rid of
|moved away from|move away from|we dropped|we've dropped|i dropped|ditch|we replaced|i replaced
|we've replaced
|hör auf mit|schluss mit|weg von|verzichte auf|nie wieder
|n'utilise plus|n'utilisez plus|n'utilisons plus|on n'utilise plus|n'emploie plus|arrête d'utiliser
|arrêtez d'utiliser
|n'écris plus|on a remplacé|nous avons remplacé
|ya no usamos|ya no uses|ya no usa|no uses más|no uses|deja de usar|dejamos de usar|dejad de usar
|nada de|reemplazamos|hemos reemplazado|cambiamos
|não use mais|não usamos mais|não usa mais|não use|pare de usar|paramos de usar|deixamos de usar
|chega de|trocamos|substituímos
|non usare più|non usiamo più|non usare|smetti di usare|smettiamo di usare|basta con|abbiamo sostituito
|gebruik geen|gebruiken geen|stop met
|nie używaj już|nie używaj|nie używamy już|przestań używać|koniec z|już nie używamy|rezygnujemy z
|zamieniliśmy|zastąpiliśmy
|больше не используй|больше не используем|не используй|не используем|перестань использовать
|отказались от|хватит|заменили
|不要再用|别再用|不再用|不再使用|不要用|别用|停用|弃用
"""
# Before these: 「npm をやめて」.
_BEFORE = """
anymore|any more
|fällt weg|ist abgeschafft
|artık kullanma|kullanma artık|kullanmayalım|kullanmıyoruz|kullanma|bıraktık|kullanmayı bırak
|をやめて|はやめて|をやめました|はもう使わない|を使わない|は使わない|は廃止|は禁止
|不再用了|不用了|不要了|已弃用
|쓰지 마|쓰지 말|사용하지 마|사용하지 말|그만 써|안 쓴다|안 써
"""
# Beside these, on either side.
_AROUND = """
no longer|nicht mehr|nicht länger|n'est plus|ne tourne plus|ya no|não é mais|não mais|non più|non è più
|niet langer|niet meer|już nie
|больше не|artık değil
"""
# One in place of another, which counts beside a word of choice: “use bun instead of npm”.
_RATHER_AFTER = """
instead of|rather than|in place of|, not|, and not
|statt|anstatt|anstelle von|an stelle von|, nicht|, und nicht|kein|keine|keinen
|au lieu de|au lieu d|à la place de|plutôt que|, pas|, plus en|, plus de|, non
|en vez de|en lugar de|, no de|, no en|, no|en reemplazo de
|em vez de|no lugar de|ao invés de|, não
|invece di|al posto di|piuttosto che|, non più in|, non in|, non
|in plaats van|, niet|geen
|zamiast|, a nie|, nie
|вместо|, а не|, не
|而不是|代替
"""
_RATHER_BEFORE = """
yerine|değil
|ではなく|じゃなくて|でなく|の代わりに|に代えて|をやめて|から卒業
|换成|改成|改为|改用
|말고|대신|아니라|아닌
"""
_CHOICE = """
use|uses|using|write|writes|put|prefer|switch|go with|stick to|keep
|nutze|nutz|benutze|benutz|verwende|verwenden|nimm|nehmen|schreib|schreibe|nutzen|benutzen|setz
|utilise|utilisez|utiliser|utilisons|prends|prenez|écris|écrivez|réponds|répondez|mets|emploie
|usa|usad|use|usar|usamos|usemos|pon|escribe|utiliza|salen|sale
|usem|usa-se|escreva|ponha|coloque|utilize
|usare|usiamo|usate|utilizza|scrivi|metti|prendi|vanno|va
|gebruik|gebruiken|neem|schrijf|zet|pak
|używaj|używajmy|używamy|użyj|pisz|bierz|zapisuj|korzystaj
|используй|используйте|используем|бери|пиши|возьми|берём|пользуйся
|kullan|kullanın|kullanalım|kullanıyoruz|yaz
|使って|書いて|使う|使用して|して|にして
|用|使用|写|采用|打包
|써|쓰자|사용|쓴다|배포해|해 줘|해줘
"""
# Going over to another, with what is left behind beside “from”.
_SWITCHED = """
moved from|switched from|switch from|migrated from|migrate from|went from|changed from
|umgestiegen|gewechselt|umgezogen|migriert
|passés de|passé de|passées de|migré de
|pasamos de|hemos pasado de|migramos de
|mudamos de|migramos do|migramos da|passamos de
|passati da|passati dal|migrato da
|overgestapt|overgegaan
|przeszliśmy|przenieśliśmy
|перешли|переехали|мигрировали
|に移行しました|に移行した|に切り替えました|に切り替えた|に変更しました|に変更した
|迁移到|迁到|换成了|改成了
|로 옮겼|로 바꿨|로 변경했|로 전환했
"""
_LEFT = """from|von|vom|de|du|des|da|do|dal|dalla|van|z|ze|с|со|从"""
_LEFT_BEHIND = "から|에서"
"""Stand before and behind what was left, in a sentence that tells of going over to another."""
# What holds from now on, or holds now.
_FROM_NOW = """
from now on|from here on|going forward|henceforth|in future|in the future|as of today|changed my mind
|ab jetzt|ab sofort|ab heute|von nun an|künftig|in zukunft|fortan
|à partir de maintenant|dorénavant|désormais|à l'avenir|dès maintenant
|a partir de ahora|de ahora en adelante|desde ahora|a partir de hoy|en adelante
|a partir de agora|daqui em diante|daqui para frente|de agora em diante|a partir de hoje
|d'ora in poi|d'ora in avanti|da ora in poi|da oggi
|vanaf nu|voortaan|in het vervolg
|od teraz|odtąd|od dzisiaj|od dziś
|с этого момента|отныне|впредь|с сегодняшнего дня|теперь используй
|bundan sonra|bundan böyle|artık
|これからは|今後は|今日から|以降は|次からは
|从现在起|从现在开始|以后都|以后请|以后不|以后要|以后用|以后别|以后就|以后统一|以后一律|今后|从今天起
|앞으로|이제부터|지금부터|오늘부터
"""
_IS_NOW = """
is now|are now|now is|now are|now runs|now run|now uses|now use|now lives|now goes|now listens
|has changed to|was changed to
|was renamed|has moved to|have moved to
|ist jetzt|ist nun|sind jetzt|heißt jetzt|läuft jetzt|liegt jetzt|macht jetzt|liegen jetzt|laufen jetzt
|est maintenant|sont maintenant|s'appelle maintenant|c'est maintenant|tourne maintenant|a changé
|ahora es|ahora son|ahora se|ahora está|ha cambiado|pasó a ser
|agora é|agora são|agora fica|mudou para|passou a ser
|ora è|adesso è|ora sono|ora si|ora vanno|è diventato
|is nu|zijn nu|draait nu|heet nu|staat nu
|teraz jest|jest teraz|są teraz|zmienił się
|теперь это|теперь на|теперь в|теперь называется|теперь слушает|теперь лежит|стал|стала
|になりました|に変わりました|になった|に変わった
|现在是|变成了|改成了
|바뀌었|으로 변경
"""
_IS = frozenset(["is", "are", "lives", "live", "runs", "run", "goes", "listens", "sits", "uses"])
"""With one of these, “now” at the end of a clause says what holds: “the port is 8443 now”."""

# What makes a sentence say nothing of the kind: it asks, wonders, or hands on what others say.
_UNSURE = """
if|what if|whether|maybe|perhaps|might|could|would|suppose|supposing|not sure|unsure|wonder|wondering
|consider|compare
|should we|should i|shall we|can we|why|how come|what about|let's say|imagine|in theory|i think we
|said|says|told me|tells|according to|claims|wrote|asked|the readme|the docs|mentioned|reads
|wenn|falls|ob|vielleicht|könnte|könnten|würde|würden|wäre|sollen wir|sollten wir|soll ich|warum|wieso
|angenommen|evtl
|sagt|sagte|meint|meinte|laut|schrieb|behauptet
|si|et si|peut-être|pourrait|pourrions|devrait|devrions|faut-il|est-ce que|pourquoi|supposons|il dit
|elle dit|on dit|a dit|selon|écrit
|y si|quizá|quizás|tal vez|podríamos|podría|deberíamos|debería|acaso|por qué|supongamos|dice|dijo|según
|escribió
|e se|se a gente|se nós|talvez|poderíamos|poderia|deveríamos|será que|por que|por quê|suponha|disse|diz
|segundo|escreveu
|forse|e se|se usassimo|potremmo|potrebbe|dovremmo|magari|perché|supponiamo|ha detto|secondo|ha scritto
|als we|als ik|misschien|zouden|zou|kunnen we|moeten we|waarom|stel dat|klopt het|zei|zegt|volgens|schreef
|czy|może|gdyby|jeśli|jeżeli|dlaczego|czemu|moglibyśmy|powinniśmy|powiedział|powiedziała|mówi|według|napisał
|если|может быть|может|возможно|ли|стоит|почему|зачем|допустим|сказал|сказала|говорит|пишет|написал
|по словам
|mı|mu|mü|mi acaba|belki|acaba|eğer|neden|niye|niçin|olsa|dedi|diyor|söyledi|göre
|かもしれ|たらどう|でしょうか|ますか|べきか|もし|なぜ|どうして|何を|と言って|って言って|らしい|によると|どう思
|如果|要不要|是否|是不是|也许|可能|为什么|怎么|要是|能不能|应不应该|他说|她说|他们说|听说|据说
|어떨까|만약|혹시|왜|면 어때|을까|ㄹ까|할까|될까|인가요|나요|다고 했|라고 했|다고 말|라고 말
"""
# A state that is a fault is nothing that was wanted.
_FAULT = """
bug|bugs|broken|fails|fail|failing|failed|error|errors|crash|crashes|crashing|stuck|hangs|regression
|investigate|debug
|look into|find out|for some reason|wrong|weird|strange|flaky
|fehler|kaputt|geht nicht|funktioniert nicht|stürzt|hängt|falsch|komisch|such den|antwortet nicht
|bogue|erreur|échoue|plante|cassé|bizarre|regarde pourquoi|regarde les logs
|fallo|falla|errores|roto|rota|raro|mira los logs|no responde|no funciona
|erro|falha|quebrado|quebrou|estranho|olha os logs|não funciona
|errore|fallisce|rotto|strano|guarda i log|non funziona
|fout|kapot|faalt|raar|werkt niet
|błąd|błędu|zepsute|nie działa|dziwne|awaria
|ошибка|ошибку|сломал|сломалось|падает|не работает|баг|проверь
|hata|bozuk|çalışmıyor|bozuldu
|エラー|バグ|壊れ|落ちる|失敗|おかしい|動かない
|错误|报错|失败|坏了|连不上|不对|故障
|오류|에러|버그|실패|고장|안 되|안 돼|이상해
"""
_ASKS = ("?", "？", "か", "吗", "呢", "吧", "까", "까요", "나요", "니")
"""How a sentence ends that asks."""

# A window ends at one of these.
_ENDS = """
, : ( ) ;
and but to with by for in on at into before since when so because that which it's use
und aber auf mit durch für bei zu zum da weil denn nehmen nehme
et mais à vers par pour avec dans désormais y pero a al por con para en
e mas pelo pela com no na ma ora per maar naar met door voor om
i ale do przez dla и но на к для ve ama ile için
"""
_NAMES_NOTHING = """
the a an our my that this der die das den dem ein eine le la les l' d' un une el los las o os as il lo gli het
de du van ten
"""
# Compiled by `re` when they are first used: most prompts change nothing.
_SENTENCES = r"(?<=[.!])\s+|(?<=[?？。！])|[;；\n]+"
_QUOTED = r'"[^"\n]{3,}"|“[^”\n]{3,}”|«[^»\n]{3,}»|„[^“”\n]{3,}[“”]|「[^」\n]{3,}」'
_MARKS = {0x2019: "'"} | {ord(char): " , " if char in ",，、" else f" {char} " for char in ",:()，、：（）—–"}
_UNSPACED_SIDE = r"[\s,、，をはがで也]|把|从|将|由"


class Change:
    """What one sentence changes.

    `rejected` has the terms (`text.tokens`) of each thing it does away with; `about` all its terms if it
    says what holds from now on, else none.
    """

    __slots__ = ("about", "rejected")

    def __init__(self, rejected: "list[list[str]]", about: "list[str]") -> None:
        self.rejected = rejected
        self.about = about


def changes(text: str) -> "list[Change]":
    """Return what the sentences of `text` change, in their order; `text` is what a person typed."""
    line = _lined(text)
    if not (" now " in line or any(_has(line, table) for table in _TELLING)):
        return []
    found = []
    for sentence in re.split(_SENTENCES, text)[:MOST_SENTENCES]:
        change = _change(sentence) if sentence and sentence.strip() else None
        if change:
            found.append(change)
    return found


def _change(sentence: str) -> "Change | None":
    line = _lined(re.sub(_QUOTED, " ", sentence)).rstrip(" .!。！~") + " "
    if line.rstrip().endswith(_ASKS) or len(line.split()) > MOST_WORDS or _has(line, _UNSURE):
        return None
    chosen, firm = _has(line, _CHOICE), _has(line, _FROM_NOW)
    holds = firm or not _has(line, _FAULT)
    stated = holds and (_has(line, _IS_NOW) or _is_now(line))
    for cue in _cues(_FROM_NOW):
        # It may stand anywhere, and is no name of anything.
        line = line.replace(cue, " , ")
    sides: list[str] = []
    if holds:
        sides += _sides(line, _AFTER, after=True)
        sides += _sides(line, _BEFORE, after=False)
        sides += _sides(line, _AROUND, after=True) + _sides(line, _AROUND, after=False)
        if _has(line, _SWITCHED):
            sides += _sides(line, _LEFT, after=True) + _sides(line, _LEFT_BEHIND, after=False)
    if chosen or firm or stated:
        sides += _sides(line, _RATHER_AFTER, after=True)
        sides += _sides(line, _RATHER_BEFORE, after=False)
    rejected = [held for side in dict.fromkeys(sides) if (held := list(dict.fromkeys(terms(side))))]
    about = list(dict.fromkeys(terms(line))) if firm or stated else []
    return Change(rejected, about) if rejected or about else None


def _lined(text: str) -> str:
    """Return `text` in lower case on one line, each word and comma between spaces."""
    return f" {' '.join(text.casefold().translate(_MARKS).split())} "


def _is_now(line: str) -> bool:
    at = line.find(" now ")
    if at < 0 or line.startswith(" now "):
        return False
    rest = line[at + 5 :]
    return (not rest or rest.startswith(",")) and not _IS.isdisjoint(line[:at].split())


def _has(line: str, table: str) -> bool:
    return any(cue in line for cue in _cues(table))


def _sides(line: str, table: str, *, after: bool) -> "list[str]":
    """Return what stands beside each cue of `table` in `line`, up to where the clause turns elsewhere."""
    found = []
    for cue in _cues(table):
        at = line.find(cue)
        if at < 0:
            continue
        beside = line[at + len(cue) :] if after else line[:at]
        side = _spaced_side(beside, after) if cue.startswith(" ") else _unspaced_side(beside, after)
        if side:
            found.append(side)
    return found


def _spaced_side(beside: str, after: bool) -> str:
    words, ends, silent = beside.split(), _ENDS.split(), _NAMES_NOTHING.split()
    taken: list[str] = []
    for word in words if after else reversed(words):
        if word == "," or (word in ends and (taken or not after)):
            break
        if word not in silent:
            taken.append(word)
        if len(taken) == _WINDOW:
            break
    return " ".join(taken if after else taken[::-1])


def _unspaced_side(beside: str, after: bool) -> str:
    pieces = [piece for piece in re.split(_UNSPACED_SIDE, beside.strip()) if piece]
    if not pieces:
        return ""
    return pieces[0][:_LONGEST_RUN] if after else pieces[-1][-_LONGEST_RUN:]


def _cues(table: str) -> "tuple[str, ...]":
    """Return the cues of `table`, those of scripts with spaces between spaces."""
    found = _READ.get(table)
    if found is None:
        cues = [cue for row in table.split("\n") for cue in row.split("|") if cue]
        found = _READ[table] = tuple([cue if cue[0] > "\u3000" else f" {cue} " for cue in cues])
    return found


_READ: "dict[str, tuple[str, ...]]" = {}
_TELLING = (_AFTER, _BEFORE, _AROUND, _RATHER_AFTER, _RATHER_BEFORE, _SWITCHED, _FROM_NOW, _IS_NOW)
"""A sentence without a cue of these, or “now”, changes nothing."""
