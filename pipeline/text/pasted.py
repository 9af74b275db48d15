"""Which lines of a person's message were plainly pasted: other people's words, or a program's.

A wish stands on what was typed. So a line counts as pasted only where its form shows it, in any language: a
code fence, a quotation, a mail from its headers on, a log, a stack trace, a diff, a chat, a recollection of
ours, what the client marks as pasted, a long passage between quotation marks, lines broken by a program.
What nobody can tell is typed: a long dictation, a list, Markdown written by hand. The one home of the rule;
recall's question rests on it as well.

Patterns are compiled when they are first used: a hook imports this.
"""

import re

MARK = "¦ "
"""Stands before each pasted line where a reader is shown one; nothing a person types has it put there."""
LEGEND = (
    "Lines that begin with “¦” the person pasted: other people's words, or a program's, not the person's."
)
LONG_QUOTE = 160
"""A passage between quotation marks that fills its lines and has so many characters is somebody else's."""
LEAST_BROKEN = 6
"""Lines that a program broke, at least: fewer are a person's own line ends."""
LEAST_OUTPUT = 8
"""So many lines of a program's output, at least half of all from the first to the last, are a dump."""
MOST_BETWEEN = 3
"""So many lines between pasted ones, with no empty line around them, belong to the paste."""
_WIDTHS = range(52, 101)
"""How long lines are that a program broke."""

# A fence may stand in a list; without an end it holds all that follows.
_FENCE = r"[ \t]{0,99}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{0,9})?(`{3,}|~{3,})"
_TAGGED = r"<(recollection|system[-_]reminder|pasted_content)\b(?:[ ]id=\"([^\"\n]*)\")?"
"""A recollection of ours, a note of the client's, and what the client puts around a paste of many lines."""
_QUOTE = r"[ \t]*(?:>[ \t]*(?:$|>)|>[ \t]+(?![\d=])|>[ \t]+\d[.)]|>(?=[*_#`\w])(?!\d)(?!=))"
_WROTE = (
    r"(?i).{3,200}(?:wrote|writes|schrieb|schreibt|a écrit"
    r"|escribió|ha scritto|schreef|escreveu|skrev|napisał\w*"
    r"|написал\w*|пишет|yazdı|님이 작성|さんは書きました|のメール|写道|寫道|كتب)[^\n]{0,60}[:：]\s*$"
)
_HEADER_NAMES = (
    "from|to|cc|bcc|subject|date|sent|reply-to|message-id"
    "|von|an|kopie|betreff|gesendet|datum"
    "|de|à|objet|envoyé|para|asunto|enviado|fecha|assunto|data"
    "|da|a|oggetto|inviato|van|aan|onderwerp|verzonden|från|till|ämne|skickat|fra|til|emne|sendt"
    "|od|do|temat|wysłano|от|кому|тема|дата|отправлено|kimden|kime|konu|gönderilme"
    "|差出人|宛先|件名|送信日時|送信者|日時|发件人|收件人|主题|发送时间|日期|寄件者|收件者|主旨"
    "|보낸\\s?사람|받는\\s?사람|제목|날짜|من|إلى|الموضوع|التاريخ"
)
_HEADER = rf"(?i)[ \t]*\**(?:{_HEADER_NAMES})\**[ \t]?[:：]\**[ \t]*\S"
_ADDRESS = r"[\w.+-]+@[\w-]+\.\w"
_FORWARDED = (
    r"(?i)[ \t]*(?:-{2,}|_{3,})[ \t]*(?:original|forwarded"
    r"|ursprüngliche|weitergeleitete|message|mensaje|messaggio"
    r"|oorspronkelijk|mensagem|wiadomość|исходное|пересылаемое|元のメッセージ|転送|原始邮件|转发|원본)[^\n]{0,60}$"
    r"|[ \t]*begin forwarded message:[ \t]*$"
)
_STAMP = (
    r"(?:(?:\d{4}[-/]\d\d[-/]\d\d[T ,]+|\d\d?[./-]\d\d?[./-]\d{2,4}[ ,]+"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ ]+\d\d?[ ])?\d\d:\d\d:\d\d)"
)
_LOG = (
    rf"[ \t]*[\[(]?{_STAMP}[^\s]*[\])]?[ \t]+\S"
    r"|[ \t]*\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL"
    r"|CRITICAL|SEVERE)\]?(?:[:|\t]|[ ]{2,}|[ ]+[\[(\w.]+[\])]?[ ]*[:|-])"
    r"|[ \t]*(?:npm|yarn|pip|cargo|gcc|make|git)(?:\[\d+\])?[:!][ ]?(?:ERR!|WARN|error|fatal|\*\*\*)|npm ERR!"
    r"|#\d+ (?:\[|\d+\.\d|[A-Z]{4,}\b)|[ \t]*(?:error|warning)(?:\[\w+\])?:[ ]\S.*|[ \t]*fatal:[ ]\S"
    r"|\S+\.\w{1,5}:\d+(?::\d+)?:?[ ]+(?:-[ ])?(?:error|warning|note|fatal"
    r"|[A-Z]{1,3}\d{3,4})\b|[ \t]*(?:PASS|FAIL|FAILED|ERRORS?)[ ]\S+\.\w{1,5}\b"
)
"""A line that a program writes: one alone is enough only in the first form, with a level behind it."""
_SURELY_LOG = (
    rf"[ \t]*[\[(]?{_STAMP}[^\s]*[\])]?[ \t]+[\[(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL)\b"
)
_TRACE = (
    r"[ \t]*Traceback \(most recent call last\):"
    r"|[ \t]*File \"[^\"]+\", line \d+|[ \t]+at [\w.$<>/\[\] ]+\(?[^()\s]*:\d+"
    r"|[ \t]+at [\w.$<>]+\([\w.]+(?::\d+)?\)|Caused by: \S"
    r"|thread '[^']*' panicked at|goroutine \d+ \[|panic: \S"
    r"|[ \t]*(?:\w{1,80}\.){0,12}[A-Z]\w{0,80}(?:Error|Exception)(?::[ ]|$)"
    r"|Exception in thread \"|[ \t]+\.\.\. \d+ more"
    r"|Unhandled\w* \w*(?:Rejection|Exception)|[ \t]*[~^]{2,}[ \t]*$|\t\S+\.go:\d+"
)
_DIFF = r"diff --git \S|index [0-9a-f]{7,}\.\.|--- (?:a/|/dev/null)|\+\+\+ (?:b/|/dev/null)"
_HUNK = r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@"
_SHELL = r"[\w.-]+@[\w.-]+:\S*[$#] \S|PS [A-Z]:\\[^>]*> ?\S"
_CHAT = (
    r"[ \t]*(?:\[(?:\d[\d./-]+,?[ ]+)?\d\d?:\d\d(?::\d\d)?(?:[ ]?[AaPp][Mm])?\]"
    r"|\d\d?[./-]\d\d?[./-]\d{2,4},?[ ]+"
    r"\d\d?:\d\d(?:[ ]?[AaPp][Mm])?[ ]*[–-])[ \t]*[^\W\d_][^\n:]{0,40}[:：][ ]?\S"
    r"|[ \t]*[^\W\d_][^\n:\[\]]{0,40}[ ]\[\d\d?:\d\d(?:[ ]?[AP]M)?\][:：]?"
    r"|[ \t]*(?:Human|Assistant|User|AI|System)[ \t]*[:：][ \t]*\S"
)
_MARKUP = (
    r"[ \t]*(?:</?[a-zA-Z][\w:-]*(?:\s[^<>]*)?>|[{}\[\]],?[ \t]*$|\"[\w.@$/-]+\"[ \t]*:[ \t]*[\"\d\[{tfn-])"
)
_OUTPUT = (
    r"[ \t]*(?:[│─┌└├┤╭╰╮╯┃━█▓▪✓✔✖✗×●⎿⏺]|#\d+ (?:\[|\d|[A-Z]+\b)"
    r"|\d+(?:\.\d+)?m?s[ \t]*$|[A-Z_]{3,}=\S|(?:\.{0,2}|~)/[\w.-]+/\S)"
    r"|.*(?:\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b"
    r"|\S {3,}\S|\b\d+(?:\.\d+)? ?(?:ms|kB|KB|MB|MiB|GiB)\b)"
    r"|[ \t]*(?:Error|Warning|Note|Tip|Hint|Run|Found|Checked|Compiling"
    r"|Downloading|Running|Using|Getting|Download)\b[^.!?]*[:\w)]$"
    r"|[ ]{4,}\S|\t\S"
)
"""What only programs print; in a list that somebody wrote it proves nothing."""
_ITEM = r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[A-Za-z][.)])[ \t]+\S"
_OPENS = {'"': '"', "“": "”", "„": "“", "«": "»", "»": "«", "「": "」", "『": "』", "‹": "›"}


def pasted_lines(text: str) -> "list[bool]":
    """Return for each line of `text`, as its newlines part it, whether it was pasted."""
    lines = text.split("\n")
    found = [False] * len(lines)
    if "```" in text or "~~~" in text:
        _fenced(lines, found)
    if "<" in text:
        _between_tags(lines, found)
    if len(lines) > 1 or len(text) > LONG_QUOTE:
        _quoted(lines, found)
        _mailed(lines, found)
        _of_programs(lines, found)
        _passages(lines, found)
        _broken(lines, found)
        _bridged(lines, found)
    else:
        found[0] = found[0] or bool(re.match(_QUOTE, text) or re.match(_SURELY_LOG, text))
    return found


def typed(text: str) -> str:
    """Return the lines of `text` that were typed, with the others left out."""
    flags = pasted_lines(text)
    if True not in flags:
        return text
    return "\n".join([line for at, line in enumerate(text.split("\n")) if not flags[at]])


def marked(text: str) -> str:
    """Return `text` with MARK before each pasted line; the same text where there is none."""
    flags = pasted_lines(text)
    if True not in flags:
        return text
    lines = enumerate(text.split("\n"))
    return "\n".join([MARK + line if flags[at] and line.strip() else line for at, line in lines])


def _fenced(lines: "list[str]", found: "list[bool]") -> None:
    fence = ""
    for at, line in enumerate(lines):
        match = re.match(_FENCE, line)
        if fence:
            found[at] = True
            if match and match[1].startswith(fence) and not line.strip().strip("`~"):
                fence = ""
        elif match:
            found[at] = True
            # A fence that ends on its own line holds that line only.
            fence = "" if line.rstrip().endswith(match[1]) and line.count(match[1]) > 1 else match[1]


def _between_tags(lines: "list[str]", found: "list[bool]") -> None:
    end = ""
    for at, line in enumerate(lines):
        match = None if end else re.search(_TAGGED, line)
        if match:
            # The client ends a paste with an id of its own, which the paste can't know.
            end = f"</{match[1]}" + (f' id="{match[2]}"' if match[2] and match[1] == "pasted_content" else "")
        if end:
            found[at] = True
            if end in line[match.end() if match else 0 :]:
                end = ""


def _quoted(lines: "list[str]", found: "list[bool]") -> None:
    for at, line in enumerate(lines):
        if not re.match(_QUOTE, line):
            continue
        found[at] = True
        above = at - 1
        while above >= 0 and not lines[above].strip():
            above -= 1
        if above >= 0 and not found[above] and re.match(_WROTE, lines[above]):
            found[above] = True


def _mailed(lines: "list[str]", found: "list[bool]") -> None:
    """Find where a mail begins: by two headers together, or the line that a mail program puts above one."""
    for at, line in enumerate(lines):
        if found[at]:
            continue
        begins = bool(re.match(_FORWARDED, line) or (re.match(_WROTE, line) and re.search(_ADDRESS, line)))
        if not begins and re.match(_HEADER, line):
            following = [lines[below] for below in range(at + 1, min(at + 3, len(lines)))]
            begins = (
                bool(following) and bool(re.match(_HEADER, following[0])) and _is_mail([line, *following])
            )
        if begins:
            # Where a mail ends nobody can tell: who wrote it may put anything behind its greeting.
            found[at:] = [True] * (len(lines) - at)
            return


def _is_mail(block: "list[str]") -> bool:
    """Whether headers are a mail's, and not two fields of a note somebody typed."""
    text = "\n".join(block)
    return bool(re.search(_ADDRESS, text)) or sum(bool(re.match(_HEADER, line)) for line in block) > 2


def _of_programs(lines: "list[str]", found: "list[bool]") -> None:
    """Find logs, traces, diffs, shell sessions, chats and data: two lines of a kind, or one that is sure."""
    for pattern, least in (
        (_SURELY_LOG, 1),
        (_HUNK, 1),
        (_LOG, 2),
        (_TRACE, 2),
        (_DIFF, 2),
        (_SHELL, 1),
        (_CHAT, 2),
        (_MARKUP, 4),
    ):
        hits = [at for at, line in enumerate(lines) if not found[at] and re.match(pattern, line)]
        if len(hits) >= least:
            for at in hits:
                found[at] = True
    _hunks(lines, found)
    _frames(lines, found)
    _dumped(lines, found)


def _dumped(lines: "list[str]", found: "list[bool]") -> None:
    """Find a terminal's output of no other form: far more than what was typed about it."""
    hits = [
        at
        for at, line in enumerate(lines)
        if found[at] or (re.match(_OUTPUT, line) and not re.match(_ITEM, line))
    ]
    if len(hits) < LEAST_OUTPUT:
        return
    first, last = hits[0], hits[-1]
    if 2 * len(hits) >= sum(bool(line.strip()) for line in lines[first : last + 1]):
        found[first : last + 1] = [True] * (last + 1 - first)


def _hunks(lines: "list[str]", found: "list[bool]") -> None:
    """Take what stands below the head of a hunk with it, as far as lines begin as a hunk's do."""
    inside = False
    for at, line in enumerate(lines):
        if re.match(_HUNK, line):
            inside = True
        elif inside and line[:1] in ("+", "-", " ", "\\"):
            found[at] = True
        elif line.strip() or not inside:
            inside = False


def _frames(lines: "list[str]", found: "list[bool]") -> None:
    """Take the indented source lines of a trace with it."""
    for at in range(1, len(lines)):
        if not found[at] and found[at - 1] and re.match(r"[ \t]{2,}\S", lines[at]):
            found[at] = bool(re.match(_TRACE, lines[at - 1]))


def _passages(lines: "list[str]", found: "list[bool]") -> None:
    """Find long passages between quotation marks that begin and end with their lines."""
    for at, line in enumerate(lines):
        start = line.strip()
        closing = _OPENS.get(start[:1])
        if found[at] or not closing:
            continue
        length = 0
        for end in range(at, len(lines)):
            here = lines[end].strip()
            length += len(here)
            if here.rstrip(".,;!?").endswith(closing) and length > 1:
                if length >= LONG_QUOTE and (
                    end > at or start.find(closing, 1) >= len(start.rstrip(".,;!?")) - 1
                ):
                    found[at : end + 1] = [True] * (end + 1 - at)
                break


def _broken(lines: "list[str]", found: "list[bool]") -> None:
    """Find prose that a program broke into lines of one width, longer than all that was typed around it.

    A person's own lines end where a sentence or an item does; a program's in the middle, at about one width.
    """
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and not found[end] and _is_broken(lines, end):
            end += 1
        if end - at >= LEAST_BROKEN:
            last = min(end + 1, len(lines))
            rest = sum(len(line) for n, line in enumerate(lines) if not found[n] and not at <= n < last)
            if sum(map(len, lines[at:last])) > 3 * rest > 0:
                found[at:last] = [True] * (last - at)
        at = max(end, at + 1)


def _is_broken(lines: "list[str]", at: int) -> bool:
    """Whether a line goes on in the next one, at the width at which programs break."""
    line = lines[at].rstrip()
    if len(line) not in _WIDTHS or at + 1 >= len(lines) or not lines[at + 1].strip():
        return False
    after = lines[at + 1].lstrip()
    goes_on = after[0].islower() or not line.endswith((".", "!", "?", ":", ";", "。", "！", "？", "："))
    return goes_on and not re.match(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]", after)


def _bridged(lines: "list[str]", found: "list[bool]") -> None:
    """Take empty lines between pasted ones with them, and up to MOST_BETWEEN lines in the midst of them."""
    at = 0
    while at < len(lines):
        below = at
        while below < len(lines) and not found[below]:
            below += 1
        between = lines[at:below]
        blank = [not line.strip() for line in between]
        if 0 < at < below < len(lines) and (all(blank) or (len(between) <= MOST_BETWEEN and not any(blank))):
            found[at:below] = [True] * (below - at)
        at = below + 1
