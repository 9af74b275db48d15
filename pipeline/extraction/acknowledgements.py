"""Short words that say nothing by themselves: thanks, assent, go on; in the languages people type.

After a question or a proposal such a word is a decision, so what stands before it is looked at as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.domain.speech import Utterance
from pipeline.extraction.shortening import asks
from pipeline.hooklib.host_commands import split_command
from pipeline.safety.late import late

# One line a language, or a group of them; longer phrases are put first when they are compiled.
_PHRASES = """
yes|yeah|yep|yup|yes please|sure|okay|ok|k|alright|right|fine|thanks|thank you|thanks a lot|thx|ty
cheers|please|cool
great|nice|perfect|awesome|excellent|good|good job|well done|lgtm|looks good|sounds good|got it
understood|exactly
continue|please continue|go on|go ahead|go for it|carry on|proceed|keep going|next|hm+|ah|oh|wow
ja|jep|jo|klar|okay|gut|sehr gut|super|prima|passt|perfekt|genau|danke|danke schön|danke dir
vielen dank|bitte
weiter|mach weiter|bitte weiter|weiter so|in ordnung|alles klar|verstanden|ja bitte|gerne
oui|ouais|d['’]accord|merci|merci beaucoup|merci bien|parfait|super|très bien|bien|continue
continuez|vas-y|allez-y
entendu|compris|c['’]est bon|ça marche
sí|si|vale|gracias|muchas gracias|perfecto|genial|muy bien|bien|continúa|continua|sigue|adelante
de acuerdo|claro|listo
sim|obrigad[oa]|muito obrigad[oa]|valeu|ótimo|otimo|perfeito|beleza|certo|pode continuar|prossiga
continue|tá bom|está bem
sì|va bene|grazie|grazie mille|perfetto|ottimo|bene|continua|avanti|vai|d['’]accordo|certo
はい|うん|ええ|ありがとう|ありがとうございます|ありがとうございました|了解|了解です|了解しました
わかりました|分かりました|いいですね|いいよ
OKです|お願いします|続けて|続けてください|続けてお願いします|進めて|進めてください|なるほど|次
好|好的|好吧|好了|行|可以|是|是的|对|對|嗯|谢谢|謝謝|多谢|继续|繼續|请继续|没问题|沒問題|明白
明白了|收到|了解|不错|很好|太好了
네|넵|예|응|좋아|좋아요|좋습니다|감사합니다|감사해요|고마워|고마워요|계속|계속해|계속해줘
계속해주세요|알겠습니다|알겠어요|그래|그래요|오케이
да|ага|ок|окей|хорошо|спасибо|большое спасибо|отлично|супер|продолжай|продолжайте|дальше|давай
понятно|понял|поняла|ладно|ясно
نعم|أجل|حسنا|حسنًا|حسناً|شكرا|شكرًا|شكراً|شكرا جزيلا|تمام|ممتاز|استمر|أكمل|تابع|طيب|جيد
हाँ|हां|जी|जी हाँ|ठीक|ठीक है|धन्यवाद|शुक्रिया|अच्छा|बहुत अच्छा|जारी रखो|जारी रखें|आगे बढ़ो
आगे बढ़ें
"""
_WORDS = "|".join(sorted(filter(None, re.split(r"[|\n]", _PHRASES)), key=len, reverse=True))
_PLAIN = frozenset(phrase for phrase in _WORDS.split("|") if phrase.isascii() and phrase.isalpha())
"""Phrases that are a word and no expression: most of what is typed, and told without compiling all."""
_ACKNOWLEDGED = late(
    rf"(?:(?:{_WORDS}|[\U0001f44d\U0001f44c\U0001f64f\u2705\u2764\U0001f389][\ufe0f\U0001f3fb-\U0001f3ff]?)"
    r"(?![^\W_])[\s.!,:;)~…。！，、।؛،]*)+",
    re.IGNORECASE,
)
_LONGEST = 60
# A message that proposes: “I suggest SQLite.” · one that reports: “I changed it.”
_PROPOSES = late(
    r"\b(?:suggest|propos(?:e|al|ing|ition)|recommend|option|alternative|prefer|shall|should|could|would"
    r"|I['’]ll|I will|let['’]s|we can|going to|want me|let me know"
    r"|vorschl\w+|schlage|empfehl\w+|soll|sollen|könnte\w*|würde\w*|variante|je propose|conseille"
    r"|devrai\w*|pourrai\w*|propong\w+|sugier\w+|recomiend\w+|podría\w*|debería\w*|sugir\w+|recomend\w+"
    r"|propong\w+|consigli\w+|suggerisc\w+|potre\w+|dovre\w+|предлага\w+|рекоменду\w+|можно)\b"
    r"|提案|おすすめ|お勧め|しましょうか|建议|建議|推荐|推薦|可以选|제안|추천|할까요|أقترح|اقترح|أنصح|सुझाव|सुझा",
    re.IGNORECASE,
)


def is_acknowledgement(text: str) -> bool:
    """Say whether `text` is nothing but thanks, assent, or a wish to go on."""
    text = text.strip()
    if text.rstrip(".!").lower() in _PLAIN:
        return True
    return 0 < len(text) <= _LONGEST and _ACKNOWLEDGED.fullmatch(text) is not None


def is_bare_command(utterance: Utterance) -> bool:
    """Say whether a person typed a slash command without anything behind it."""
    parts = split_command(utterance.text) if utterance.channel in ("slash", "queued") else None
    return parts is not None and not parts[1]


def only_noise(new: Sequence[Utterance], before: Utterance | None) -> str:
    """Return why nothing a person says in `new` can be worth a memory, "" when something can.

    `before` is the assistant's last utterance before it. Assent to a question, a list of options or a
    proposal is a decision.
    """
    commands = 0
    asked = before
    for utterance in new:
        if utterance.speaker == "assistant":
            asked = utterance if utterance.text else asked
        elif is_bare_command(utterance):
            commands += 1
        elif not is_acknowledgement(utterance.text) or (asked and _leaves_a_choice(asked.text)):
            return ""
    return "only acknowledgements and bare commands" if commands else "only acknowledgements"


def _leaves_a_choice(text: str) -> bool:
    return asks(text) or bool(_PROPOSES.search(text))
