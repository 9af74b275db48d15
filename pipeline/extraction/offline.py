"""Extraction without a model: explicit statements only, by deterministic rules.

This is what ``--llm offline`` does. It keeps a person's own sentence, word for word, when it plainly asks to
be kept ("remember that…", "from now on…") or states a standing rule or preference in the first person. Each
sentence is a memory of its own, since no rule can tell whether the next one is its reason. A correction
("stop running make lint") takes the place of the one rule that has its words, or stands alone. It sees no
decisions made by a "yes" and no reasons; `BLIND_SPOTS` says so to the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.domain.memory import Memory
from pipeline.domain.sentences import Sentence, sentences
from pipeline.domain.speech import Utterance
from pipeline.extraction.offline_cues import correction, is_statement, points_back, type_of
from pipeline.extraction.render import Rendering
from pipeline.extraction.schema import Candidate, Change, Cited, Extraction, Withdrawal
from pipeline.text.clauses import denies
from pipeline.text.pasted import typed
from pipeline.text.tokens import stem, terms

BLIND_SPOTS = (
    "Rules keep only sentences that say outright they should last (remember…, from now on…, always…, never…, "
    "I prefer…, we use…), in ten languages. They can't see choices made by a short answer, reasons given "
    "elsewhere, most corrections of earlier words, or anything said in other words. A model sees those."
)
_QUOTED = re.compile(
    r"\"[^\"\n]{20,}\"|“[^”\n]{20,}”|„[^“”\n]{20,}[“”]|«[^»\n]{20,}»|[「『][^」』\n]{8,}[」』]|“[^”\n]{8,}”(?=[^\x00-\x7f]|$)"
    r"|^[ \t]*(?:\d+[.)]|[-*]\s)[^\n]*",
    re.MULTILINE,
)
"""Quotations within what was typed, and items of lists: pasted lines have gone by then."""
_ASKED = re.compile(r"^Q: [^\n]*(?:\n(?!A: )[^\n]*)*", re.MULTILINE)
"""The assistant's question before an answer, as the transcript's reader writes it."""
_MARK = re.compile(
    r"(?:\s|\[(?:Image|Pasted text|Screenshot)[^\]\n]*\]"
    r"|(?:A|Note|NB|Hinweis|Anmerkung|Remarque|Nota|Примечание)\s?:(?=\s)|(?:注|备注|備考|注意|참고)[:：])+",
)
"""What stands before a person's words and is none of them: an image, the label of an answer or a note."""
_MASK = "\0"
_MOST = 400
_LEAST = 4
_LONGEST_TALK = 700
_MOST_LINES = 4
"""What is longer, has more lines or is quoted is mostly a paste: sentences of other people."""
_SAYS_NOTHING = """
actually stop stopped dont longer need have anymore more never always please again now you now we to for
run running use using do doing call start execute
hor auf hort mehr nicht nie lass lassen laufen ausfuhren benutzen verwenden nutzen starten musst muss
brauchst notig bitte zu arrete arretez cesse cessez de ne plus necessaire besoin est lancer utiliser
executer faire deja dejen deje ya no mas hace falta es necesario ejecutar usar correr lanzar hay que
pare para parem deixe nao mais preciso rodar executar smetti smettela di non piu serve occorre
eseguire usare lanciare fare bisogna necessario больше не нужно надо запускаи запускать запускаите
используи использовать перестань прекрати
"""
_CUE_WORDS = frozenset(stem(word) for word in _SAYS_NOTHING.split())
"""Words of a correction that say nothing of what it corrects: its cue, and verbs that fit anything."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence of a person: its words, and the line they stand in."""

    text: str
    line: int


def extract(rendering: Rendering, known: Iterable[Memory] = ()) -> Extraction:
    """Return one candidate for each explicit statement in the new lines of `rendering`.

    `known` are memories that a correction may change.
    """
    rules = list(known)
    found = Extraction(memories=[], withdrawals=[])
    before: _Said | None = None
    for number, utterance in rendering.lines.items():
        if utterance.speaker != "person":
            before = None
            continue
        for sentence in _spoken(number, utterance):
            if rendering.is_new(number):
                _take(sentence, before, rules, found)
            before = sentence
    return found


def _take(sentence: _Said, before: _Said | None, rules: Sequence[Memory], found: Extraction) -> None:
    """Add what comes of `sentence`, before which the same person said `before`, to `found`."""
    if points_back(sentence.text):
        kept = {item.statement for item in found.memories}
        if before is not None and is_statement(before.text) and before.text not in kept:
            found.memories.append(_candidate(before, "project", sentence))
        return
    type_name = type_of(sentence.text)
    if type_name is None or not _LEAST <= len(sentence.text) <= _MOST:
        return
    does = correction(sentence.text)
    target = _corrected(sentence.text, rules) if does else None
    if target is None:
        found.memories.append(_candidate(sentence, type_name))
    elif does == "lift" and _is_all(*target):
        quote = sentence.text[:200]
        evidence = [Cited(line=sentence.line, quote=quote)]
        found.withdrawals.append(
            Withdrawal(name=target[0].name, reason="no longer wanted", evidence=evidence)
        )
    else:
        found.memories.append(_update(sentence, *target, instead=sentence.text if does == "stop" else ""))


def _candidate(sentence: _Said, type_name: str, asked: _Said | None = None) -> Candidate:
    """Return `sentence` as a memory; `asked` is the sentence that only asks to keep it."""
    return Candidate(
        name=" ".join(sentence.text.split()[:8]),
        type=type_name,
        statement=sentence.text,
        importance=0.6,
        confidence=0.7,
        evidence=[
            Cited(line=item.line, quote=item.text[:200]) for item in (sentence, asked) if item is not None
        ],
    )


def _update(sentence: _Said, old: Memory, numbers: Sequence[int], *, instead: str) -> Candidate:
    """Return `sentence` as a change of `old`: `instead` takes the first sentence's place, the others go."""
    fresh = _candidate(sentence, old.type)
    changes = [Change(number=number, text=instead if nth == 0 else "") for nth, number in enumerate(numbers)]
    return fresh.model_copy(
        update={
            "update_of": old.name,
            "statement": "",
            "replaces": changes,
            **({} if instead else {"name": ""}),
        }
    )


# -- corrections --------------------------------------------------------------------------------------


def _corrected(text: str, rules: Sequence[Memory]) -> tuple[Memory, list[int]] | None:
    """Return the one rule that has the object words of `text`, and the numbers of its sentences.

    These are the statement with those words and the reason and use of that fact. None when no rule has them
    all, or several have: nobody could say which is meant.
    """
    objects = {term for term in terms(text) if _tells(term)} - _CUE_WORDS
    met = []
    for memory in rules:
        found = list(enumerate(sentences(memory.body), start=1))
        for number, sentence in found:
            if (
                objects
                and sentence.part == "statement"
                and _is_rule(memory, sentence)
                and objects <= {*terms(sentence.text)}
            ):
                rest = [n for n, item in found if item.fact == sentence.fact and item.part != "statement"]
                met.append((memory, [number, *rest]))
    return met[0] if len(met) == 1 else None


def _tells(term: str) -> bool:
    """Whether `term` is a word; pairs of characters cut from a run without spaces are none."""
    return term.isascii() or len(term) > 2


def _is_rule(memory: Memory, sentence: Sentence) -> bool:
    """Whether `sentence` asks for something to be done, which a correction can forbid or end."""
    wanted = memory.type_row.host_class == "feedback" or type_of(sentence.text) is not None
    return wanted and not denies(sentence.text)


def _is_all(memory: Memory, numbers: Sequence[int]) -> bool:
    return len(sentences(memory.body)) == len(numbers)


# -- sentences ----------------------------------------------------------------------------------------


def _spoken(number: int, utterance: Utterance) -> Iterator[_Said]:
    """Yield the person's own sentences in `utterance`, whole and without what only marks them."""
    text = typed(utterance.text)
    masked = _QUOTED.sub(_hidden, _ASKED.sub(_hidden, text) if utterance.channel == "answer" else text)
    own = masked.replace(_MASK, "")
    if len(own) > _LONGEST_TALK or own.strip().count("\n") > _MOST_LINES:
        return
    for begin, end in _paragraphs(masked):
        for sentence in sentences(masked[begin:end]):
            start, stop = begin + sentence.start, begin + sentence.end
            label = _MARK.match(masked, start, stop)
            start = label.end() if label else start
            # What is quoted is somebody else's, so that nothing of it can be a cue or be kept.
            if _MASK not in masked[start:stop]:
                yield _Said(text[start:stop].strip(" *\t\n"), number)


def _paragraphs(masked: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of what was typed as one: a line goes on where the next begins with a small letter."""
    begin = 0
    for found in re.finditer(r"\n\s*(?=(\S))", masked):
        if not found[1].islower() or masked[: found.start()].endswith(_MASK):
            yield begin, found.start()
            begin = found.end()
    yield begin, len(masked)


def _hidden(match: re.Match[str]) -> str:
    """Return as many characters that nobody says, with the ends of lines in their places."""
    return re.sub(r"[^\n]", _MASK, match.group())
