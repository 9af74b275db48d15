"""Extraction without a model: explicit statements only, by deterministic rules.

This is what ``--llm offline`` does. It keeps a person's own sentence, word for word, when it plainly asks to
be kept ("remember that…", "from now on…") or states a standing rule or preference in the first person. Each
sentence is a memory of its own, since no rule can tell whether the next one is its reason. It sees no
decisions made by a "yes", no reasons, and takes nothing back; `BLIND_SPOTS` says so to the person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.domain.sentences import sentences
from pipeline.domain.speech import Utterance
from pipeline.extraction.render import Rendering
from pipeline.extraction.schema import Candidate, Cited, Extraction

BLIND_SPOTS = (
    "Rules keep only sentences that say outright they should last (remember…, from now on…, always…, never…, "
    "I prefer…, we use…). They can't see choices made by a short answer, reasons given elsewhere, "
    "corrections of earlier words, or anything said in other words. A model sees those."
)

# Above each cue: a sentence that is kept for it · one that is not.
_CUES: tuple[tuple[str, str], ...] = (
    # “Remember that the staging host is reset each night.” · “I remember when this worked.”
    (
        r"(?<!\bI )\b(?:remember|keep in mind|note for later|don['’]t forget)\b(?!\s+(?:when|how|now))",
        "project",
    ),
    # “From now on write the changelog first.” · “It comes in a future release.”
    (r"\b(?:from now on|going forward|in (?:the )?future|as a rule|every time|whenever)\b", "feedback"),
    # “ok, always run the linter” · “never mind that one”
    (r"^(?:(?:no|ok|and|but|please|good)[,:]?\s+)*(?:always|never)\s+(?!mind\b)\w+", "feedback"),
    # “Use the fixtures, never the live API.” · “It never worked.”
    (r"[,;:]\s+(?:please\s+)?never\s+(?!mind\b)\w+|,?\s(?:always|ever)[.!]?$", "feedback"),
    # “You should always run the linter.” · “You should try it again.”
    (r"\byou (?:should|must) (?:always|never)\b|\b(?:don['’]t|do not) ever\b", "feedback"),
    # “I really prefer short names.” · “I want a list of them.”
    (r"\bI (?:really |strongly )?(?:prefer|dislike|hate|always want|never want)\b", "feedback"),
    # “I'm a data engineer at a hospital.” · “I'm a bit tired.”
    (r"\bI['’]?\s?a?m (?:a|an|the) (?!bit\b|little\b|few\b)[\w-]+", "user"),
    # “I teach at a school.” · “I work on the parser.”
    (r"\bI (?:\w+ ){1,4}for a living\b|\bI (?:work|live|teach|study) (?:as|at|in|with)\b", "user"),
    # “We use pnpm, not npm.” · “Can we use pnpm for it.”
    (r"^we (?:always|never|use|deploy|decided|agreed)\b", "project"),
    # 以后都用空格缩进 · 这件事以后再说吧
    (r"(?:记住|请记得|以后(?:都|请|要)|一律|我(?:更)?喜欢|我偏好)", "feedback"),
    # 今後は日本語で答えてください · 必要なら日本語で
    (r"(?:覚えて|今後は|これからは|必ず|絶対に|の方が好き)", "feedback"),
)
_COMPILED = tuple((re.compile(cue, re.IGNORECASE), type_name) for cue, type_name in _CUES)
_QUOTED = re.compile(
    r"\"[^\"\n]{30,}\"|“[^”]{30,}”|```.*?(?:```|\Z)|^\s*(?:>|\d+[.)]|[-*]\s).*$", re.DOTALL | re.MULTILINE
)
_MOST = 400
_LONGEST_TALK = 700
_MOST_LINES = 4
"""What is longer, has more lines or is quoted is mostly a paste: sentences of other people."""


def extract(rendering: Rendering) -> Extraction:
    """Return one candidate for each explicit statement in the new lines of `rendering`."""
    found = [
        candidate
        for number, utterance in rendering.lines.items()
        if rendering.is_new(number) and utterance.speaker == "person"
        for candidate in _of(number, utterance)
    ]
    return Extraction(memories=found, withdrawals=[])


def _of(number: int, utterance: Utterance) -> Sequence[Candidate]:
    own = _QUOTED.sub(" ", utterance.text)
    if len(own) > _LONGEST_TALK or own.count("\n") > _MOST_LINES:
        return []
    found = []
    for sentence in (part.text.strip(" -*>\t") for part in sentences(own)):
        type_name = _type_of(sentence)
        if type_name and len(sentence) <= _MOST:
            found.append(
                Candidate(
                    name=" ".join(sentence.split()[:8]),
                    type=type_name,
                    title=" ".join(sentence.split()[:8]),
                    description=sentence,
                    statement=sentence,
                    importance=0.6,
                    confidence=0.7,
                    evidence=[Cited(line=number, quote=sentence[:200])],
                )
            )
    return found


def _type_of(sentence: str) -> str | None:
    if sentence.endswith(("?", "？")) or len(sentence) < 6:
        return None
    return next((type_name for cue, type_name in _COMPILED if cue.search(sentence)), None)
