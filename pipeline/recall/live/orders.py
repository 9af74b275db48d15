"""Whether a prompt orders something to be done that a rule is about. Pure functions.

An order is a sentence that begins with a verb of doing, whatever politeness stands before it. A question, or
a sentence that only speaks of the thing, orders nothing.
"""

from pipeline.text import actions
from pipeline.text.action_words import named
from pipeline.text.shell import calls, word_set

_ORDER_CHARS = 600
"""Characters of a prompt in which orders are looked for: who orders something says so soon."""

_POLITE = word_set(
    """please pls now ok okay then and also so just ahead bitte jetzt dann und can could would will
    you let's lets let us i want need we you'd like to should kannst könntest du puedes por favor
    s'il te plaît great good yes alright next finally"""
)
_DOING = word_set(
    """write make create open draft prepare submit cut do add tag start run execute install publish
    release ship commit push merge rebase deploy delete remove rm drop erase use amend squash
    migrate bump upgrade pull force-push rerun try lösche lösch entferne schreib schreibe mach
    mache erstelle führe starte installiere committe pushe deploye supprime écris crée lance
    installe borra elimina escribe crea ejecuta instala despliega"""
)
"""Verbs of orders by which an action is done."""
_CHANGING = _DOING | word_set(
    """edit change update modify rename move refactor fix format rewrite put extend replace implement
    simplify clean ändere bearbeite verschiebe modifie cambia"""
)
"""The same, and verbs by which files are changed."""
_LAUNCHING = word_set("run execute do use try start rerun führe starte lance ejecuta")
_ASKED = word_set("can could would will kannst könntest puedes")
_FAR = 6
"""Words between the verb of an order and what is done, at most."""
_AROUND = str.maketrans(dict.fromkeys("`\"'“”„’()[]", " "))


def order_in(prompt: str) -> "actions.Doing | None":
    """Return what `prompt` orders to be done, None where it orders nothing that can be told."""
    whole = actions.Doing([], set(), [])
    for sentence in _sentences(prompt[:_ORDER_CHARS]):
        for clause in _clauses(sentence):
            _take(clause, whole)
    return whole if whole.calls or whole.actions or whole.paths else None


def _sentences(text: str) -> "list[str]":
    """Return the sentences that are no questions; one that asks somebody to do something is none."""
    found: list[str] = []
    begun = 0
    for at, sign in enumerate(text):
        ends = sign in "\n!?;。？！" or (sign in ".:" and text[at + 1 : at + 2] in ("", " ", "\n"))
        if not ends and at + 1 < len(text):
            continue
        sentence = text[begun : at + 1].strip()
        begun = at + 1
        first = sentence.casefold().translate(_AROUND).split()
        if sentence[-1:] in "?？" and sentence and not (first and first[0] in _ASKED):
            continue
        if sentence:
            found.append(sentence.rstrip("\n!?;.:。？！"))
    return found


def _clauses(sentence: str) -> "list[list[str]]":
    """Return the words of each clause; an order may stand behind another (“fix it, then push”)."""
    found: list[list[str]] = [[]]
    for piece in sentence.split():
        word = piece.translate(_AROUND).strip()
        if word.casefold() in ("and", "then", "und", "dann", "y", "et") and found[-1]:
            found.append([])
        elif word:
            found[-1] += word.rstrip(",").split()
            if word.endswith(","):
                found.append([])
    return [words for words in found if words]


def _take(words: "list[str]", whole: "actions.Doing") -> None:
    """Add to `whole` what the clause of these `words` orders."""
    folded = [word.casefold() for word in words]
    at = 0
    while at < len(folded) and (folded[at] in _POLITE or folded[at : at + 2] == ["go", "ahead"]):
        at += 1
    words, folded = words[at:], folded[at:]
    if not folded:
        return
    verb = folded[0]
    command = words[1:] if verb in _LAUNCHING else words
    while command and command[0].casefold() in ("the", "a", "this", "command"):
        command = command[1:]
    known = calls(" ".join(command)) if command and _is_program(command[0]) else []
    if known:
        whole.calls += known
        for call in known:
            whole.actions |= actions.actions_of(call)
    if verb not in _CHANGING:
        return
    paths = [word.rstrip("./") or word for word in words[1:] if _is_path(word)]
    whole.paths += paths
    if verb in _DOING:
        close = {action for spot, action in named(folded) if spot <= _FAR}
        if "delete" in close:
            whole.deleted += paths
        whole.actions |= close


def _is_program(word: str) -> bool:
    """Whether an order may begin with the program `word`: no verb of English, and named in plain letters."""
    return word in PROGRAMS or word.startswith("./")


def _is_path(word: str) -> bool:
    return ("/" in word.strip("/") or word.endswith("/") or "." in word[:-1]) and "://" not in word


PROGRAMS = word_set(
    """git npm pnpm yarn bun npx pip pip3 uv poetry pytest tox nox ruff mypy eslint prettier jest
    vitest cargo go make docker kubectl helm terraform psql alembic gh glab brew apt apt-get rm mv
    cp python python3 node rails bundle composer mvn gradle dotnet mix twine"""
)
"""Programs by whose name a command in a prompt is known."""
