"""What a sentence must hold to be kept without a model: cues of ten languages, and what speaks against them.

A cue says that something should last: remember, from now on, always, never, I prefer, we use, I am. It counts
in an order or of the speaker (“Always run it”, “I prefer”), not in a report (“It never worked”, “Tom always
forgets”). What is unsure is not kept, since nobody reads these sentences again.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache, lru_cache
from typing import Literal

from pipeline.safety.sieve import Sieve

Correction = Literal["stop", "lift"]
"""What a correction does to a rule: forbid what it asked for, or just end it."""

_LEAD = (
    r"^\W*(?:(?:no|ok|okay|yes|and|but|so|also|well|hey|please|good|thanks|actually|btw|oh|bitte|und|aber"
    r"|also|nein|ja|gut|danke"
    r"|s['’]il (?:te|vous) plaît|et|mais|non|oui|merci|bon|donc|por favor|y|pero|no|sí|gracias|bueno|e|mas"
    r"|não|sim|obrigad[oa]"
    r"|per favore|ma|no|sì|grazie|пожалуйста|и|но|нет|да|спасибо|请|那|好|でも|では|あと|그리고|그럼|네"
    r"|제발)[,:;.!，、]?\s*\b)*"
)
"""Words that may stand before the beginning of what is said."""

_NO_VERB = (
    r"(?!(?:él|ella|eso|esto|yo|casi|como|este|esta|la|el|ele|ela|isso|isto|eu|quase|o|a|lui|lei|ciò|questo"
    r"|questa|io|quasi|come"
    r"|il|è|si|se|era|foi|fue|ha)\b)"
)
"""Small words of Spanish, Portuguese and Italian before “always” that are no verb in the imperative."""

# Above each: a sentence that is kept for it · one that is not.
_REMEMBER = (
    # “Remember that the host is reset each night.” · “I remember when this worked.”
    rf"(?:{_LEAD}|[,;]\s+(?:and |so |but |please )?)(?:remember|(?:keep|bear) (?:that |this |it )?in mind"
    r"|note for later"
    rf"|make a note|don['’]t forget)\b"
    r"(?! (?:when|how|now|me)\b)",
    # “Merk dir, dass der Server neu ist.” · “Ich merke das.”
    r"\b(?:merke? dir|merkt euch|denk(?:e|t)? (?:immer )?dar?an|vergiss(?:t)? (?:bitte )?nicht"
    r"|behalte? im kopf|notier dir)\b",
    # “Souviens-toi que …” · “Je me souviens de ce bug.”
    r"\b(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|n['’]oubli(?:e|ez) (?:pas|jamais) que"
    r"|retien(?:s|ez)|gard(?:e|ez) en tête"
    r"|notez? (?:bien )?que)\b",
    # “Recuerda que …” · “No recuerdo la clave.”
    rf"{_LEAD}(?:recuerd(?:a|e|en)(?:lo)?|ten(?:ga|gan)? en cuenta|no (?:te |se )?olvid(?:es|e|en)"
    rf"|apunta que|anota que)\b|\brecuérdalo\b",
    # “Lembre-se de que …” · “Não me lembro.”
    rf"{_LEAD}(?:lembr(?:e|em|a)(?:-se|-te)?\b(?! (?:quando|como)\b)|não (?:se )?esque[çc]a[ms]?\b|(?:tenha"
    rf"|tem) em mente\b|anote que\b)",
    # “Ricorda che …” · “Non ricordo.”
    rf"{_LEAD}(?:ricord(?:a(?:ti|telo|te|tevi|lo)?|ati)\b|non dimenticar(?:e|lo|telo)\b|tieni (?:a mente"
    rf"|presente)\b|annota che\b)",
    # 覚えておいて · 覚えていない
    r"(?:覚えて(?:おいて|おけ|ください|ね)|忘れないで|念頭に置いて)",
    # 记住 · 我不记得
    r"(?<!不)(?:记住|请记得|别忘了|不要忘记|请注意)",
    # 기억해 줘 · 기억나지 않아요
    r"(?:기억해|잊지 ?(?:마|말)|명심)",
    # “Запомни, что …” · “Я не помню.”
    r"\b(?:запомни(?:те)?|помни(?:те)?|не забывай(?:те)?|не забудь(?:те)?|имей(?:те)? в виду|учти(?:те)?)\b",
)
_FROM_NOW = (
    # “From now on write the changelog first.” · “It comes in a future release.”
    r"\b(?:from (?:now|here) on|going forward|henceforth|in (?:the )?future(?! (?:release|version"
    r"|update)s?\b)|as a rule)\b",
    # “Whenever you add a table, write a migration.” · “Every time I push, it fails.”
    rf"{_LEAD}(?:whenever|every time|each time)\b[^,]*,\s*(?!(?:it|he|she|they|this|that|these|the|a|an|we"
    rf"|i|my|our|there)\b)\w",
    # “Ab jetzt auf Deutsch.” · “Das kommt in einer künftigen Version.”
    r"\b(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|zukünftig|in zukunft|fortan|grundsätzlich)\b",
    # “Désormais, en français.” · “La version à venir.”
    r"\b(?:à partir de maintenant|dorénavant|désormais|à l['’]avenir)\b",
    # “A partir de ahora …” · “Ahora falla.”
    r"\b(?:a partir de ahora|de ahora en adelante|en adelante|desde ahora|en el futuro)\b",
    # “Daqui em diante …” · “Agora falha.”
    r"\b(?:a partir de agora|da(?:qui|í) (?:em|para|pra) (?:diante|frente)|de agora em diante|doravante"
    r"|no futuro)\b",
    # “D'ora in poi …” · “Ora non va.”
    r"\b(?:d['’]ora in (?:poi|avanti)|da (?:ora|adesso) in (?:poi|avanti)|in futuro)\b",
    # 今後は日本語で · 今後どうなるか
    r"(?:今後は|これからは|今後も|以後、|以降は|次回から(?:は)?|毎回)(?!.*(?:分か|わか)らない)",
    # 以后都用空格 · 这件事以后再说吧
    r"(?:以后(?:都|请|要|不要|别|一律)|今后(?:请|都|要|不要|一律)|从现在(?:起|开始)|从今(?:以后|往后|起)"
    r"|一律)",
    # 앞으로는 한국어로 써 주세요 · 앞으로 어떻게 될지
    r"(?:앞으로|지금부터|이제부터|다음부터).*(?:세요|십시오|줘|주라|하자|할 것|합시다|해라|해)[.!~ ]*$",
    # “Отныне пиши по-русски.” · “Сейчас падает.”
    r"\b(?:с этого момента|отныне|впредь|с сегодняшнего дня|на будущее)\b",
)
_RULE = (
    # “ok, always run the linter” · “never mind that one”, “Never seen that.”
    rf"{_LEAD}(?:always|never)\s+(?!(?:mind|seen|had|been|heard|got|knew|thought|again|\w+ed|nice|good"
    rf"|the same)\b)\w+",
    # “Use the fixtures, never the live API.” · “It broke, never to work again.”
    rf"{_LEAD}(?!(?:it|he|she|they|this|that|these|those|the|a|an|there|my|our|i"
    rf"|we)\b)[^.]*(?:[,;:] (?:please |and )?(?:always|never) (?!mind\b)\w"
    r"|(?<!\bas) (?:always|ever)[.!]*$)",
    # “You should always run it.” · “You should try it again.”
    r"\b(?:you|we|one) (?:should|must|have to|need to) (?:always|never)\b|\b(?:don['’]t|do not) ever\b"
    r"|\bmake sure (?:to|you) always\b",
    # “Benutze immer pnpm.”, “Nie direkt pushen.” · “Der Test läuft immer noch.”
    rf"{_LEAD}(?!(?:die|eine|meine|deine|seine|ihre|unsere|keine|alle|diese|jede|welche|heute|ich|das|es"
    rf"|er)\b)"
    r"(?:\w+e|nimm|gib|lass|sprich|lies|sieh|halt|führ|mach|schreib|frag|nutz|benutz|verwend|prüf|lösch"
    r"|setz|start|test|leg|zeig|nenn"
    r"|push|schick|send|bau|stell|füg|änder|speicher|geh|ruf|schau) (?:bitte )?(?:\S+ )?(?:immer|stets|nie"
    r"|niemals)\b(?! (?:noch|wieder)\b)",
    rf"{_LEAD}(?:immer|stets|niemals|nie)\s+(?!(?:noch|wieder|mehr|gesehen|gehört)\b)[^.]*\b\w+(?:en"
    rf"|n)[.!]*$",
    r"[,;] (?:nie|niemals) \w|\b(?:du|man|wir) (?:soll(?:st|en)?|muss|müssen|darf(?:st)?) (?:\w+ )?(?:immer"
    r"|nie|niemals)\b",
    # “Utilise toujours Node.” · “Il est toujours en panne.”
    rf"{_LEAD}(?!(?:il|elle|on|ça|cela|ce|c['’]est|je|tu|nous|vous|ils|elles|est|les|des|presque)\b)"
    r"\w+(?:e|es|ez|s|ons)(?:-l[ea]s?|-moi)? (?:toujours|systématiquement)\b",
    rf"{_LEAD}n(?:e |['’])(?:\w+ )?\w+(?:-\w+)? jamais\b|{_LEAD}(?:toujours|jamais) \w+(?:er|ir|re)\b"
    rf"|, jamais \w"
    r"|\bil (?:faut|ne faut) (?:toujours|jamais)\b",
    # “Usa siempre Python.”, “Nunca borres eso.” · “Nunca funcionó.”
    rf"{_LEAD}{_NO_VERB}\w+(?:a|e|an|en|lo|la|z|n) siempre\b|, nunca \w"
    rf"|{_LEAD}(?:nunca|jamás) \w+(?:es|as)\b|{_LEAD}no \w+(?:es|as|e|en|an) nunca\b"
    rf"|{_LEAD}siempre (?:usa|usad|use|haz|haga|pon|ponga|pregunta|escribe|ejecuta|hay que|debes)\b"
    rf"|\b(?:debes|hay que) \w* ?siempre\b",
    # “Use sempre o ramo.”, “Nunca apague isso.” · “Nunca funcionou.”
    rf"{_LEAD}{_NO_VERB}\w+(?:a|e|am|em|r) sempre\b|, nunca \w"
    rf"|{_LEAD}(?:nunca|jamais) (?:\w+(?:gue|que|ça)|use|faça|mexa|rode|envie|altere|delete|mude|escreva"
    rf"|publique)\b"
    rf"|{_LEAD}sempre (?:use|usa|faça|faz|pergunte|escreva|rode|ponha|coloque)\b|\b(?:deve"
    rf"|é preciso) sempre\b",
    # “Usa sempre il ramo.”, “Non toccare mai quello.” · “Non ha mai funzionato.”
    rf"{_LEAD}{_NO_VERB}\w+(?:a|i|e|te|lo|la) sempre\b|, mai \w"
    rf"|{_LEAD}non \w+(?:are|ere|ire|rre|arl[oaie]|erl[oaie]|irl[oaie]) mai\b|{_LEAD}mai \w+(?:are|ere|ire"
    rf"|rre)\b"
    rf"|{_LEAD}sempre \w+(?:are|ere|ire|rre)\b|\b(?:devi|bisogna) sempre\b",
    # 必ず実行してください · 必ず遅れると言っていた
    r"(?:必ず|絶対に|常に|いつも|二度と|決して).*(?:ください|下さい|くれ|ないで|ないこと|すること|しない"
    r"|してね|して|禁止|よう(?:に)?)[。！!]*$",
    # 绝对不要改 · 总是失败
    r"(?:(?:请|要|必须|应该)始终|永远(?:不要|别|用)|绝(?:对)?不(?:要|能|可)|千万(?:不要|别)|一定(?:要|不要)"
    r"|每次都要|务必(?:始终|每次)|总是(?:用|要|先))",
    # 항상 사용해 주세요 · 항상 실패해요
    r"(?:항상|반드시|절대(?:로)?|언제나|꼭).*(?:세요|십시오|줘|주라|하자|할 것|말 것|합시다|해라"
    r"|지 ?마)[.!~ ]*$(?<!해요)",
    # “Всегда используй Python.” · “Второй тест всегда падает.”
    rf"{_LEAD}(?:всегда|никогда не)\s+\w+(?:й|йте|и|ите|ь|ьте)\b|, никогда (?:не )?\w|\b(?:нужно|надо"
    rf"|следует) всегда\b",
)
_PREFER = (
    # “I also prefer short names.” · “I want a list of them.”
    r"\bI (?:\w+ )?(?:prefer|dislike|hate|always want|never want)\b|\bI['’]d (?:much |really )?(?:rather"
    r"|prefer)\b|\bI would (?:rather|prefer)\b"
    r"|\bI (?:\w+ )?like .{2,40} (?:better|more than)\b",
    # “Mir ist lieber, wenn …” · “Er mag lieber Tee.”
    r"\b(?:ich (?:\w+ )?(?:bevorzuge|hasse)|bevorzuge ich|ich (?:mag|hätte|habe|arbeite"
    r"|schreibe)\b.{0,40}\blieber|mir (?:ist|wäre)\b.{0,20}\blieber"
    r"|mir gef(?:ällt|allen)\b.{0,40}\bbesser|ich ziehe\b.{2,40}\bvor)\b",
    # “Je préfère les tableaux.” · “Paul préfère …”
    r"\bje (?:\w+ )?préf(?:ère|érerais)\b|\bj['’]aime(?:rais)? mieux\b|\bje n['’]aime pas (?:qu|quand)",
    # “Prefiero frases cortas.” · “Él prefiere …”
    r"\b(?:prefiero|preferiría|me gustan? más|no me gusta (?:que|cuando))\b",
    # “Prefiro respostas curtas.” · “Ela prefere …”
    r"\b(?:prefiro|preferiria|gosto mais|não gosto (?:que|quando))\b",
    # “Preferisco frasi brevi.” · “Lui preferisce …”
    r"\b(?:preferisco|preferirei|mi piac(?:e|ciono) di più|non mi piace (?:che|quando))\b",
    # 短い方が好きです · 彼は短い方が好き
    r"^(?!.*(?:彼|彼女|さん)は).*(?:方が(?:好き|いい|良い|助かり)|を好みます|が好きです)",
    # 我更喜欢空格 · 他喜欢空格
    r"我(?:也|还)?(?:更|比较)?(?:喜欢|偏好|倾向于?)|我宁愿",
    # 짧은 답변을 선호합니다 · 민수는 선호한다고
    r"(?:선호(?:합니다|해요|해)|더 좋(?:아요|습니다|아)|더 좋아(?:해요|합니다)|편이 (?:좋아요|좋습니다"
    r"|낫))[.!~ ]*$",
    # “Я предпочитаю короткие ответы.” · “Он предпочитает …”
    r"\bя (?:\w+ )?предпочитаю\b|\bмне (?:\w+ )?(?:больше нравится|удобнее)\b|\bя (?:не )?люблю, когда\b",
)
_USER = (
    # “I'm a data engineer at a hospital.” · “I'm a bit tired.”
    r"\bI['’]?\s?a?m (?:a|an|the) (?!bit\b|little\b|few\b|fan\b|lot\b)[\w-]+",
    # “I teach at a school.” · “I work on the parser.”
    r"\bI (?:\w+ ){1,4}for a living\b|\bI (?:work|live|teach|study) (?:as|at|in|with)\b",
    # “Ich bin Lehrerin.” · “Ich bin müde.”, “Ich bin Paul.”
    r"\bich (?:bin|arbeite als) (?:eine? |leitende[r]? )?(?-i:[A-ZÄÖÜ][a-zäöüß-]+(?:in|er|or|ist|eur|ekt"
    r"|mann|frau|ärztin|arzt|ent))\b",
    # “Je suis comptable.” · “Je suis capable de …”
    r"\bje suis (?:une? )?(?!capable|responsable que|certain|sur|sûr)\w+(?:eur|euse|ère|ier|ière|iste|icien"
    r"|icienne|ecin|cheur|tecte|table|crate|ogue|gnante?)\b"
    r"|\bje travaille (?:comme|chez|dans)\b",
    # “Soy enfermera en un hospital.” · “Soy consciente de …”
    r"\bsoy (?:una? )?(?!(?:quien|capaz|consciente|nuev[oa])\b)\w{4,}|\btrabajo (?:como|de|en) ",
    # “Sou professora de química.” · “Sou capaz.”
    r"\bsou (?:uma? )?(?!(?:muito|quem|capaz|consciente|nov[oa])\b)\w{4,}|\btrabalho (?:como|em|na|no) ",
    # “Sono un architetto.” · “Sono un po' stanco.”
    r"\bsono (?:un['’]?|una|il|la) ?(?!po['’]?\b|attimo)\w{4,}|\b(?:lavoro come|faccio (?:il|la)) ",
    # 私は小学校の教師です · 私は眠いです
    r"^(?:私|僕|俺)は.*(?:師|者|員|医|士|家|長|エンジニア|デザイナー|マネージャー|学生)(?:です|をしています"
    r"|として働)",
    # 我是小学老师 · 我是说
    r"我是(?!说|不是|想|要|在)[^，,。]{0,12}(?:师|员|生|家|者|长|经理|顾问|总监)",
    # 저는 초등학교 교사입니다 · 저는 피곤해요
    r"^(?:저는|나는|전|난) .*(?:사|원|가|자|생|디자이너|매니저|교수)(?:입니다|이에요|예요|이야)",
    # “Я учительница.” · “Я за.”
    r"^\W*я (?!(?:не|за|тут|здесь|уже|сам|бы)\b)(?:\w+ )?\w*(?:тель|тельница|ист|истка|ник|ница|вед|лог|арь"
    r"|арша|врач|юрист|бухгалтер|повар|ер|ор)\b"
    r"|\bя работаю (?:в|на|\w+ом)\b",
)
_WE = (
    # “We use pnpm, not npm.” · “Can we use pnpm for it.”
    rf"{_LEAD}we (?:also )?(?:always|never|use|deploy|decided|agreed|only use)\b",
    r"\bwir (?:verwenden|nutzen|benutzen|rechnen mit|haben (?:uns )?(?:\w+ ){0,3}(?:beschlossen|entschieden"
    r"|geeinigt))\b",
    r"\b(?:nous|on) (?:utilis(?:ons|e)|(?:a|avons) (?:décidé|convenu)|n['’]utilis(?:ons|e) (?:pas"
    r"|jamais))\b",
    rf"{_LEAD}(?:siempre |nunca )?(?:usamos|decidimos|acordamos)\b",
    rf"{_LEAD}(?:nós )?(?:sempre |nunca )?(?:usamos|decidimos|combinamos)\b",
    rf"{_LEAD}(?:usiamo|abbiamo (?:deciso|concordato))\b",
    r"(?:使って(?:います|いる)|ことに(?:しました|決めました|した))[。！]*$",
    r"我们(?:都|只|一直)?(?:用|使用|采用|决定|约定|从不)",
    r"우리는? .*(?:사용합니다|쓰기로|하기로) ?(?:했|합|해)?",
    rf"{_LEAD}мы (?:\w+ )?(?:используем|решили|договорились)\b",
)
_STOP = (
    # “actually, stop running make lint” · “stop the server”
    rf"{_LEAD}stop \w+ing\b|{_LEAD}(?:don['’]t|do not) \w.*\b(?:any ?more|any longer)\b"
    rf"|{_LEAD}no more \w+ing\b",
    rf"{_LEAD}hört? (?:bitte )?(?:damit )?auf\b.*\bzu\b|{_LEAD}(?!(?:die|das|der|es|er|sie|ich|wir|eine"
    rf"|diese|heute)\b)\w+e? .*\b(?:nicht|nie) mehr\b",
    rf"{_LEAD}(?:arrêtez?|cessez?) d(?:e\b|['’])|{_LEAD}ne \w+ plus\b",
    rf"{_LEAD}(?:dej(?:a|e|en)) de \w+r\b|{_LEAD}(?:ya )?no \w+(?:es|as) más\b",
    rf"{_LEAD}(?:par(?:e|a|em)|deix(?:e|a)) de \w+r\b|{_LEAD}não \w+ mais\b",
    rf"{_LEAD}(?:smetti(?:la)?|smettete) di \w+|{_LEAD}non \w+(?:are|ere|ire|rre) più\b",
    r"もう(?!一度|少し).*(?:ないで|やめて)(?:ください)?[。！]*$|(?:の|こと)をやめて",
    r"(?:不要|别)再|停止再",
    r"(?:이제|더 ?이상).*지 ?(?:마|말)",
    r"\bбольше не \w+(?:й|йте|и|ите|ь|ьте)\b|\b(?:перестань|перестаньте|прекрати|прекратите) \w+",
)
_LIFT = (
    # “you no longer need to run it” · “we no longer support it”
    r"\b(?:you|we) no longer (?:need|have) to\b|\b(?:you|we) (?:don['’]t|do not) (?:need"
    r"|have) to\b.*\bany ?more\b|\bno need to .* any ?more\b",
    r"\b(?:musst|muss|müssen|brauchst|braucht)\b.*\bnicht mehr\b|\bnicht mehr nötig\b",
    r"\bplus (?:nécessaire|besoin|la peine)\b",
    r"\bya no (?:hace falta|es necesario|tienes que|hay que)\b",
    r"\b(?:não é mais|já não é|não precisa mais) ?(?:preciso|necessário)?",
    r"\bnon (?:serve|occorre|devi|bisogna|è) più\b",
    r"(?:もう|今後は).*なくて(?:も)?(?:いい|大丈夫|構い)",
    r"(?:不用|不必|无需)再",
    r"(?:더 ?이상|이제).*(?:않아도|필요 ?없)",
    r"\bбольше не (?:нужно|надо|требуется)\b",
)
_QUESTION = (
    r"[?？]\W*$|^\W*(?:¿|est-ce que\b)|(?:吗|呢|か|の)[。]?$(?<!ますの)|(?:나요|까요|습니까)\W*$"
    r"|\bли\b.*\bвсегда\b"
)
_REPORT = (
    # “Tom said he …” · “Like I said, never push.”
    r"\b(?:he|she|they|it|who|(?-i:[A-Z][a-z]+)) (?:said|says|told|thinks?|wants?|claims?|wrote|asked"
    r"|prefers?)\b|\baccording to\b",
    r"\b(?<!ich )(?:sagte?|meinte?|hat gesagt|schrieb|behauptet)\b",
    r"\b(?:il|elle|(?-i:(?!Je\b)[A-ZÉ][a-zéè]+)) (?:dit|a dit|pense|veut|préfère|écrit)\b",
    r"\b(?:dice|dijo|piensa|quiere|prefiere|escribió)\b",
    r"\b(?:diz|disse|acha|quer|prefere|escreveu)\b",
    r"\b(?:dice|ha detto|pensa|vuole|preferisce|ha scritto)\b",
    r"(?:と言って|って言って|そうです[。]?$|らしい)",
    r"(?<!我)(?<!想)(?:说(?!明)|告诉|写着|听说)",
    r"(?:다고|라고|냐고) ?(?:했|말|적혀|하)|래요",
    r"\b(?:сказал[аи]?|говорит|думает|хочет|написал[аи]?)\b",
)
_ONCE = (
    r"\b(?:for now|right now|just (?:this )?once|this (?:one )?time|for the moment|for today|diesmal"
    r"|nur (?:dieses|einmal)|vorerst|pour cette fois"
    r"|pour l['’]instant|por esta vez|por ahora|desta vez|por enquanto|questa volta|per ora|на этот раз"
    r"|пока что)\b|今回だけ|とりあえず|这次|暂时|이번만|일단"
)
_BARE = (
    r"^\W*(?:(?:please|bitte|por favor|per favore|请|пожалуйста)\W*)?(?:remember|keep in mind|keep|bear|note"
    r"|don['’]t forget|merke? dir|vergiss|retien(?:s|ez)"
    r"|souviens-toi(?: de)?|n['’]oublie(?:z)? pas|recuérd[ae]|recuerda|lembr[ea]-se|lembra|não se esqueça"
    r"|ricorda(?:ti|te|telo)?|ricordalo|non dimenticare"
    r"|覚えて(?:おいて|ください|ね)?|忘れないで|记住|记得|기억해|запомни(?:те)?|помни(?:те)?)[- ]*"
    r"(?:(?:that|this|it|in mind|das|dies|es|nicht|ça|cela|le|lo|eso|esto|disso|isso|di questo|questo"
    r"|这一点|这个|这件事|이것|이거|это|об этом|"
    r"(?:それ|これ)を|ください|ね|줘|주세요|두세요| )*)\W*(?:in mind\W*)?"
    r"(?:please|bitte)?\W*$|^\W*(?:recuérdalo|ricordatelo|ricordalo"
    r"|retiens-le|retenez-le|note-le)\W*$"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@cache
def _sieve() -> Sieve[str]:
    return Sieve((pattern, pattern) for pattern in PATTERNS)


@lru_cache(1)
def _held(sentence: str) -> Set[str]:
    """Return the patterns of which `sentence` has the words; it is asked several things in a row."""
    return _sieve().held(sentence)


def _any(patterns: tuple[str, ...], sentence: str) -> bool:
    """Whether any of `patterns` finds something in `sentence`."""
    # Few of a hundred patterns have their words in a sentence; to compile all takes longer than a command.
    held = _held(sentence)
    return any(_compiled(pattern).search(sentence) for pattern in patterns if pattern in held)


_KINDS = (
    (_REMEMBER, "project"),
    (_FROM_NOW, "feedback"),
    (_RULE, "feedback"),
    (_PREFER, "feedback"),
    (_USER, "user"),
    (_WE, "project"),
    (_STOP, "feedback"),
    (_LIFT, "feedback"),
)
_AGAINST = (_QUESTION, *_REPORT, _ONCE)
_CORRECTIONS: tuple[tuple[tuple[str, ...], Correction], ...] = ((_LIFT, "lift"), (_STOP, "stop"))
PATTERNS = (*(pattern for cue, _ in _KINDS for pattern in cue), *_AGAINST, _BARE)
"""All that a sentence is asked, in any case."""


def type_of(sentence: str) -> str | None:
    """Return the type of the memory that `sentence` makes, or None when nothing says that it should last."""
    if _any(_AGAINST, sentence):
        return None
    return next((type_name for cue, type_name in _KINDS if _any(cue, sentence)), None)


def points_back(sentence: str) -> bool:
    """Whether `sentence` only asks to keep what was said before it: “Remember that.”"""
    return _any((_BARE,), sentence)


def is_statement(sentence: str) -> bool:
    """Whether `sentence` states something, by its form: it asks nothing and has a few words."""
    return not _any((_QUESTION,), sentence) and len(sentence) >= 8 and not points_back(sentence)


def correction(sentence: str) -> Correction | None:
    """Return what `sentence` does to an earlier rule, or None when it corrects none."""
    if _any(_AGAINST, sentence):
        return None
    return next((kind for cue, kind in _CORRECTIONS if _any(cue, sentence)), None)
