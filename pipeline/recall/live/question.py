"""What a prompt asks for: the person's own words in it, and whether it asks for anything at all.

A prompt may be a slash command, a shell line, a thank-you, or four hundred pasted lines of a log below one
question. What memories are looked up by is the question.
"""

import re
from unicodedata import normalize

from pipeline.hooklib.host_commands import is_command
from pipeline.hooklib.plain import lines_of
from pipeline.text.pasted import typed
from pipeline.text.tokens import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from pipeline.text.stems import Forms

LONGEST = 4_000
"""Characters of a prompt that count."""
MOST_TERMS = 40
MOST_CONTEXT = 24
FEW_TERMS = 3
"""A prompt of fewer words of its own is also looked up by what was said before it."""
MOST_LINES = 12
"""Of a prompt with more typed lines than this only the first and last are looked up."""
KEPT_LINES = 4
"""Lines kept at either end of such a prompt."""
LONGEST_LINE = 600
"""A longer line is nobody's typing; its start is kept."""

_MACHINE = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<teammate-message",
    "<agent-message",
    "[Request interrupted",
    "This session is being continued",
    "Caveat: The messages below",
)
# Compiled by `re` when they are first used.
_MARKED = (
    r"(?s)<(system-reminder|ide_opened_file|ide_selection|recollection|[a-z]+-hook)\b.*?(?:</\1>|\Z)"
    r"|\[(?:Image|Pasted text) #[^\]\n]{1,40}\]"
)
_ENGLISH = """the and this that with which what where when why how should does did have our your them"""
"""Two of these make a prompt English, so that nobody need look at it more closely."""
_AROUND = str.maketrans(dict.fromkeys(",;()[]{}\"'<>`|“”„‘’«»、。，；（）「」", " "))
_EXACT = (
    r"--?[A-Za-z][\w-]+(?:=\S+)?"  # --no-verify
    r"|~?[\w.@-]*/[\w./@~-]*\w"  # src/app.py, /etc/hosts
    r"|[\w-]+\.[A-Za-z][A-Za-z0-9]{0,5}"  # pyproject.toml
    r"|[A-Za-z][^\W_]*(?:(?:_+|::|\.|#)[^\W_]+)+"  # snake_case, a::b
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+"  # camelCase
    r"|[A-Za-z]+-?\d[\w.-]*"  # E1234, python3.12, utf-8
    r"|v?\d+(?:\.\d+)+|\d{3,}"  # 2.1.197, 5433
)

NOISE = frozenset(
    terms(
        """again ahead alright another anything anyway awesome bit btw bye cheers continue cool correct damn
    done else everything exactly excellent fine go going gonna gotta good great guess hello help hey
    hi hmm idk keep kinda lgtm like lol look looks lot love maybe mean much need nice nah never nope
    nothing oh one ones ooh oops perfect pls please proceed question really right said say see seem
    seems show sorry sounds stuff super sure tell thank thanks thing things think thought tho though
    time today told tomorrow try trying two um want wanna wants way well what's whatever wait works
    wow yeah yep yesterday yup ya ty thx np yo first second next last back still ever already
    actually basically literally simply quite rather pretty little big small new old many any able
    best better bad different kind sort happen happens happened start started stop stopped come came
    give gave take took put get got let know knew find found ask asked work working use used using
    make made bitte danke ja nein doch mal weiter gut genau okay super noch schon jetzt hier dann
    wie was warum kannst mach machen soll sollte muss kann haben hat hatte wenn aber als so wieder
    alles etwas merci oui non bien voila gracias si vale bueno ahora"""
    )
) | frozenset(
    [
        "お願",
        "願い",
        "くだ",
        "ださ",
        "さい",
        "あり",
        "りが",
        "がと",
        "とう",
        "続け",
        "谢谢",
        "好的",
        "继续",
        "请问",
        "可以",
    ]
)
"""Words that people say in passing, as terms; a prompt of nothing else asks for no memory."""


class Question:
    """The terms of a prompt, as the search index has them.

    `own` are those of the person's words, `context` those of what was said just before and not again,
    each once and in order; `exact` are specifics as they were typed, in lower case: paths, flags,
    identifiers, numbers; `text` is what the person typed; `forms` are further stems of a term
    (`pipeline.text.stems`), none before `read_in`.
    """

    __slots__ = ("_pieces", "context", "exact", "forms", "own", "text")

    def __init__(self, own: "list[str]", context: "list[str]", exact: "list[str]", text: str) -> None:
        self.own = own
        self.context = context
        self.exact = exact
        self.text = text
        self.forms: Forms = {}
        self._pieces: dict[str, int] | None = None

    def read_in(self, known: "Collection[str]") -> None:
        """Read the prompt's words in its own language, `known` being those of the memories besides English.

        What says nothing in that language is left out.
        """
        if self.text.isascii() and (not known or _is_plainly_english(self.text)):
            return
        from pipeline.text.languages import languages_asked  # Most prompts are in English.

        languages = languages_asked(self.text, known)
        if not languages:
            return
        from pipeline.text import stems

        self.forms, small = stems.read(self.text, languages)
        self.own = [term for term in self.own if term not in small]

    def piece_of(self, term: str) -> "int | str":
        """Return which piece of the prompt `term` was typed in, or `term` itself where none is known.

        The words of one path, name or call (``lib/util/group.ts``) were typed as one thing.
        """
        if self._pieces is None:
            self._pieces = {}
            for number, piece in enumerate(self.text.split()):
                for part in terms(piece):
                    if part.isascii():
                        self._pieces.setdefault(part, number)
        return self._pieces.get(term, term)

    def apart(self, found: "list[str]") -> "list[str]":
        """Return `found`, terms of the prompt, without the pairs of characters that overlap an earlier one.

        A word in a script without spaces makes several pairs: what stands together there counts once.
        """
        if all(term.isascii() for term in found):
            return found
        text = normalize("NFKC", self.text)
        at = {term: text.find(term) for term in found if len(term) == 2 and not term.isascii()}
        starts = {start for start in at.values() if start >= 0}
        once, counted = [], set[int]()
        for term in found:
            start = at.get(term, -1)
            if start in counted:
                continue
            once.append(term)
            for step in (-1, 1):
                beside = start
                while beside in starts:
                    counted.add(beside)
                    beside += step
        return once


def _is_plainly_english(text: str) -> bool:
    return len(set(_ENGLISH.split()).intersection(text.lower().split())) > 1


def _seen(text: str) -> str:
    """Return `text` without what nobody sees, which may stand within its words."""
    from pipeline.safety.invisible import visible

    return visible(text)


def parse_question(prompt: str, context: str = "", cwd: str = "") -> Question:
    """Return what `prompt` asks for, with `context` (what was said before) to understand it by.

    A prompt that asks for nothing has no own terms. `cwd` is the directory of the session.
    """
    prompt = prompt if prompt.isascii() else _seen(prompt)
    text = "" if is_no_question(prompt, cwd) else own_words(prompt)
    own = [term for term in dict.fromkeys(terms(text)) if term not in NOISE][:MOST_TERMS]
    if not own:
        return Question([], [], [], text)
    if len(own) >= FEW_TERMS:
        return Question(own, [], exact_in(text), text)
    before = dict.fromkeys(terms(own_words(context[-LONGEST:])))
    others = [term for term in before if term not in NOISE and term not in own]
    return Question(own, others[-MOST_CONTEXT:], exact_in(text), text)


def is_no_question(prompt: str, cwd: str = "") -> bool:
    """Whether `prompt` is a slash command, a shell line, or something no person typed."""
    start = prompt.lstrip()[:LONGEST]
    if start.startswith("/"):
        return is_command(start, cwd)
    return start.startswith(("!", *_MACHINE))


def own_words(prompt: str) -> str:
    """Return what the person typed of `prompt`, and of what is long beyond asking its ends."""
    text = prompt[:LONGEST]
    if "<" in text or "[" in text:
        text = re.sub(_MARKED, " ", text)
    lines = [line for line in lines_of(typed(text)) if line.strip()]
    if len(lines) > MOST_LINES:
        lines = lines[:KEPT_LINES] + lines[-KEPT_LINES:]
    return "\n".join([line[:LONGEST_LINE] for line in lines])


def exact_in(text: str) -> "list[str]":
    """Return the specifics in `text` as typed but in lower case, each once: paths, flags, names, numbers."""
    found: dict[str, None] = {}
    for piece in text.translate(_AROUND).split():
        token = piece.strip(".:!?*")
        plain = token.isalpha() and (token.islower() or token.istitle() or token.isupper())
        if len(token) > 2 and not plain and re.fullmatch(_EXACT, token):
            found[token.casefold()] = None
    return list(found)[:MOST_TERMS]


def surface(text: str, wanted: "list[str]") -> "list[str]":
    """Return `wanted` terms as they stand in `text`, such as *deploying* for ``deploy``; others as is."""
    left = dict.fromkeys(wanted)
    shown: dict[str, str] = {}
    for piece in text.translate(_AROUND).split():
        if len(shown) == len(left):
            break
        token = piece.strip(".:!?*_")
        for term in terms(token):
            if term in left and term not in shown:
                shown[term] = token if token.isascii() else term
    return list(dict.fromkeys(shown.get(term, term)[:40] for term in wanted))
