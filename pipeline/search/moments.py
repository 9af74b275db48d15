"""The moments of a rule: by which commands, actions and files it is known that what it is about comes next.

They are read off the memory's own words when the index is made, without a model: commands and paths in it,
actions it names (`text.actions`). Of “use pnpm, never npm” and “before a push run make lint” only what the
rule speaks against or waits for is a moment; what it asks for says that it is kept. They are never shown.
"""

import re

from pipeline.text import actions
from pipeline.text.action_words import named
from pipeline.text.file_patterns import TESTS
from pipeline.text.shell import calls, word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

RULES = frozenset({"feedback", "workflow", "procedure"})
"""Types of memories that say how to go about something."""
MOST = 12
MOST_ASKED = 4
_LONGEST_BODY = 4_000
_LONGEST_MOMENT = 120

_AGAINST = word_set(
    """never not no don't dont don’t avoid instead rather stop forbidden nie niemals nicht kein keine
    keinen statt ne pas jamais nunca without"""
)
_AT_TIME = word_set(
    """before after when whenever while on each every bevor vor nach wenn beim jedem avant après
    antes después cuando upon once"""
)
_WANTED = word_set(
    """use run prefer via with using call execute through nutze verwende benutze utilise usa must
    always do only stick see siehe"""
)
_BREAKS = _AT_TIME | word_set("until unless without instead rather and but then und oder statt or")
_JOINING = frozenset({"and", "or", "und", "oder"})
_BROAD = word_set(
    """git python bash sh cd ls cat echo node go make docker grep find sed curl ssh vim code gh"""
)
"""Programs that do so much that the name alone is no moment."""
_PROGRAMS = word_set(
    """git gh glab npm pnpm yarn bun npx pip uv poetry pipenv conda pytest tox nox ruff black mypy
    flake8 isort eslint prettier jest vitest tsc cargo rustc go gofmt golangci-lint make cmake
    just docker docker-compose podman kubectl helm terraform ansible psql mysql sqlite3 redis-cli
    alembic prisma flyway rails rake bundle rspec composer phpunit mvn gradle dotnet mix brew apt
    apt-get systemctl ssh scp rsync curl wget sed awk rm mv cp find python node deno ruby php java
    vercel fly heroku aws gcloud az twine sudo chmod chown"""
)
_BARE = word_set(
    """npm pnpm yarn npx pip pytest eslint prettier jest vitest kubectl terraform alembic psql
    docker-compose poetry pipenv mypy ruff gofmt golangci-lint git gh rsync systemctl"""
)
"""Programs whose name is no word of English, so that it stands for the program without quotes, too."""
_BEHIND = word_set(
    """install add remove push pull commit merge rebase test run build publish deploy apply create
    reset checkout stash tag upgrade update migrate clean prune exec start"""
)
"""Words that belong to the command when they follow a program without quotes."""
_KINDS = {
    "python": ("py",),
    "typescript": ("ts", "tsx"),
    "javascript": ("js", "jsx"),
    "go": ("go",),
    "golang": ("go",),
    "rust": ("rs",),
    "ruby": ("rb",),
    "java": ("java",),
    "kotlin": ("kt",),
    "swift": ("swift",),
    "php": ("php",),
    "sql": ("sql",),
    "css": ("css", "scss"),
    "html": ("html",),
    "markdown": ("md",),
    "yaml": ("yml", "yaml"),
    "terraform": ("tf",),
    "shell": ("sh",),
    "bash": ("sh",),
    "vue": ("vue",),
    "react": ("tsx", "jsx"),
}
_KIND_NOUNS = word_set(
    """code file files module modules script scripts component components class classes function
    functions source sources test tests query queries stylesheet stylesheets template templates
    dateien"""
)
_TEST_LEADS = word_set("in for unit integration writing write new our all e2e every into the")
_WIDE = word_set("src lib app apps pkg home tmp usr etc opt var dev bin docs. code")
"""Folders that hold everything."""
_TOKEN = re.compile(r"`([^`\n]+)`|(https?://\S+)|([^\s`,;:!?()\"“”„]+)|([,;:!?()\n])")
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_PATH = re.compile(r"[\w.@*~+-]*(?:/[\w.@*+-]*)*")
_LINE = re.compile(r":\d+(?:-\d+)?$")
_PLAIN, _ASKED, _MEANT = 0, 1, 2


class _Clause:
    """A clause: its `words`, folded, each with the code or path it is ("" for neither), and how it begins."""

    __slots__ = ("marks", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.marks: list[str] = []

    def prose(self) -> "list[str]":
        """Return the words, code with a mark in front: it is no prose that names an action."""
        return [f"`{word}" if code else word for word, code in zip(self.words, self.marks, strict=True)]


def moments_of(
    kind: str, name: str, description: str, body: str, cues: "Iterable[str]", anchors: "Iterable[str]"
) -> "list[str]":
    """Return the moments of a memory of type `kind`, the surest first, at most `MOST`; none for no rule."""
    if kind not in RULES:
        return []
    found: list[tuple[int, str]] = []
    for text in (description, *cues):
        for sentence in _sentences(text):
            found += _of_sentence(sentence, prominent=True)
    # A name is a heap of words: it may name an action, but the programs in it are no commands.
    found += [(_PLAIN, actions.DO + action) for _, action in named(name.replace("_", "-").split("-"))]
    for sentence in _sentences(body[:_LONGEST_BODY]):
        found += _of_sentence(sentence, prominent=False)
    found = [(how, moment) for how, moment in found if len(moment) <= _LONGEST_MOMENT]
    meant = [moment for how, moment in found if how == _MEANT]
    plain = [moment for how, moment in found if how == _PLAIN or not meant]
    chosen = [moment for moment in dict.fromkeys([*meant, *plain]) if actions.key_of(moment)]
    if not chosen:
        paths = (_path(_LINE.sub("", anchor.strip()), sure=True) for anchor in anchors)
        chosen = [f"{actions.AT}{path}" for path in dict.fromkeys(paths) if path]
        return [moment for moment in chosen if actions.key_of(moment)][:MOST]
    asked = [moment for how, moment in found if how == _ASKED and moment.startswith(actions.RUN)]
    fulfils = [actions.BUT + moment for moment in dict.fromkeys(asked) if moment not in chosen][:MOST_ASKED]
    return [*chosen[: MOST - len(fulfils)], *fulfils]


def _sentences(text: str) -> "list[list[_Clause]]":
    found: list[list[_Clause]] = [[_Clause()]]
    for match in _TOKEN.finditer(text):
        code, address, word, sign = match.groups()
        clause = found[-1][-1]
        if address:
            continue
        if sign:
            if sign in ",;:()":
                found[-1].append(_Clause())
            else:
                found.append([_Clause()])
            continue
        ends = word is not None and word.endswith((".", "…"))
        plain = (code or word).strip()
        folded = _folded(plain) if word else plain
        if word and folded in _BREAKS:
            found[-1].append(clause := _Clause())
        if folded:
            clause.words.append(folded)
            clause.marks.append(plain if code else "")
        if ends:
            found.append([_Clause()])
    return [sentence for sentence in found if any(clause.words for clause in sentence)]


def _folded(word: str) -> str:
    """Return a word of prose without what surrounds it; the dots and stars of a pattern are its own."""
    text = word.casefold().rstrip(".…'’_")
    return text if text.startswith((".", "*.")) or "/" in text else text.strip("'’*_")


def _of_sentence(sentence: "list[_Clause]", *, prominent: bool) -> "list[tuple[int, str]]":
    """Return the moments of one sentence and how each stands there; actions only where `prominent`."""
    found: list[tuple[int, str]] = []
    against = False
    for clause in sentence:
        lead = clause.words[0] if clause.words else ""
        here = [
            *_commands(clause),
            *((at, actions.DO + action) for at, action in (named(clause.prose()) if prominent else ())),
            *((at, actions.AT + path) for at, path in _paths(clause, prominent)),
        ]
        joined = _joined(here)
        for at, moment in joined:
            how = _standing(clause.words[:at], lead, against)
            if how == _MEANT and lead in _AT_TIME and any(earlier < at for earlier, _ in joined):
                how = _ASKED  # “before each commit `make check`”
            if how == _PLAIN and lead in _JOINING and found:
                how = found[-1][0]  # “run `make lint` and `make check`”
            found.append((how, moment))
        against = against or not _AGAINST.isdisjoint(clause.words)
    return found


def _standing(before: "list[str]", lead: str, against: bool) -> int:
    """Return whether what stands behind the words `before` is what a rule is about, asks for, or mentions.

    `lead` is the clause's first word; `against` says that an earlier one forbids something.
    """
    if lead in ("until", "unless", "without"):
        return _ASKED
    if not _AGAINST.isdisjoint(before):
        return _MEANT
    if lead in _AT_TIME:
        # “Never push before running X” asks for X.
        return _ASKED if against else _MEANT
    return _ASKED if not _WANTED.isdisjoint(before) else _PLAIN


def _joined(here: "list[tuple[int, str]]") -> "list[tuple[int, str]]":
    """Return the moments of one clause, an action on files as one with the files that stand in it."""
    places = [moment for _, moment in here if moment.startswith(actions.AT)]
    deleting = next((at for at, moment in here if moment == actions.DO + "delete"), -1)
    if deleting < 0 or not places:
        return here
    whole = [(deleting, f"{actions.DO}delete {how}") for how in places]
    return whole + [
        (at, moment) for at, moment in here if moment not in places and moment != actions.DO + "delete"
    ]


def _commands(clause: _Clause) -> "list[tuple[int, str]]":
    found = []
    for at, code in enumerate(clause.marks):
        words = []
        if code:
            words = _command(code, asked=at > 0 and clause.words[at - 1] in _WANTED | {"by", "running"})
        elif clause.words[at] in _BARE:
            words = [clause.words[at]]
            for word in clause.words[at + 1 : at + 4]:
                if (word in _BEHIND and len(words) == 1) or word.startswith("--"):
                    words.append(word)
                else:
                    break
        if words and not (len(words) == 1 and words[0] in _BROAD):
            found.append((at, actions.RUN + " ".join(words)))
    return found


def _command(code: str, *, asked: bool) -> "list[str]":
    """Return the words by which the command in the code `code` is known, [] where it is none."""
    made = [call for call in calls(code) if call.program != "sudo" or code == "sudo"]
    if not made or not made[0].program or not re.fullmatch(r"[a-z][\w.-]*", made[0].program):
        return []
    call = made[0]
    given = code.split()
    known = call.program in _PROGRAMS or given[0].startswith("./")
    if not known and not (len(given) > 1 and (asked or call.flags)):
        return []
    words = [word for word in call.words[:2] if re.fullmatch(r"[a-z][\w:-]*", word)]
    if len(call.words) > len(words) and call.words[: len(words)] != words:
        words = []
    flags = [flag.partition("=")[0] for flag in call.flags]
    return [call.program, *words, *flags[:3]]


def _paths(clause: _Clause, prominent: bool) -> "list[tuple[int, str]]":
    found = []
    for at, (word, code) in enumerate(zip(clause.words, clause.marks, strict=True)):
        # A word of letters alone is none, and to find that out takes longer.
        plain = _path(code or word, sure=bool(code)) if code or not word.isalpha() else ""
        if plain:
            found.append((at, plain))
        if not prominent or code:
            continue
        behind = clause.words[at + 1] if at + 1 < len(clause.words) else ""
        if word in _KINDS and behind in _KIND_NOUNS:
            found += [(at, f"*.{ending}") for ending in _KINDS[word]]
        elif (word == "test" and behind in ("file", "files", "code", "module", "modules")) or (
            word == "tests"
            and (at == 0 or clause.words[at - 1] in _TEST_LEADS)
            and clause.words[:at].count("run") + clause.words[:at].count("running") == 0
            and behind not in ("of", "pass", "before", "after", "locally", "first", "run", "are", "fail")
        ):
            found.append((at, TESTS))
    return found


def _path(word: str, *, sure: bool) -> str:
    """Return the path or pattern that `word` is, "" for none; unless it is `sure`, prose is thought of."""
    text = word.strip().removeprefix("./").rstrip(".") if word != "." else ""
    if (
        not text
        or " " in text
        or not _PATH.fullmatch(text)
        or text.startswith("-")
        or text.strip("./*~") == ""
    ):
        return ""
    parts = [part for part in text.split("/") if part]
    if len(parts) == 1 and parts[0].lower() in _WIDE:
        return ""
    if text.endswith("/") or "*" in text:
        return text
    named = bool(_ENDING.search(parts[-1])) or parts[-1].startswith(".")
    if "/" in text:
        return text if named or text.count("/") > 1 or sure or text[0] in "/~" else ""
    # A name alone: with an ending that files have, and nothing like `os.path` or *e.g.*
    return text if named and (sure or text.rsplit(".", 1)[-1].lower() in _FILES) and _is_file(text) else ""


_FILES = word_set(
    """py ts tsx js jsx mjs go rs rb java kt swift php sql css scss html md txt yml yaml toml json tf
    sh lock cfg ini env xml proto graphql vue svelte c h cpp hpp cs mod"""
)


def _is_file(text: str) -> bool:
    return text.startswith(".") or text.rsplit(".", 1)[-1].lower() in _FILES
