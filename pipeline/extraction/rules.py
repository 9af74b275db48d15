"""Extraction without a model: explicit statements only, by deterministic rules.

This is what ``--llm offline`` does. It keeps a person's own sentence, word for word, when it plainly asks to
be kept ("remember that…", "from now on…") or states a standing rule or preference in the first person. It
sees no decisions made by a "yes", no reasons given two lines later, and takes nothing back; `BLIND_SPOTS`
says so to the person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.domain.speech import Utterance
from pipeline.extraction.render import Rendering
from pipeline.extraction.schema import Candidate, Cited, Extraction

BLIND_SPOTS = (
    "Rules keep only sentences that say outright they should last (remember…, from now on…, always…, never…, "
    "I prefer…, we use…). They can't see choices made by a short answer, reasons given elsewhere, "
    "corrections of earlier words, or anything said in other words. A model sees those."
)

_CUES: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:please\s+)?(?:remember|keep in mind|note for later|don['’]t forget)\b(?!\s+(?:when|how))",
        "project",
    ),
    (r"\b(?:from now on|going forward|in (?:the )?future|as a rule|every time|whenever)\b", "feedback"),
    (r"^(?:please\s+)?(?:always|never)\s+\w+", "feedback"),
    (r"\byou (?:should|must) (?:always|never)\b|\b(?:don['’]t|do not) ever\b", "feedback"),
    (r"\bI (?:really |strongly )?(?:prefer|dislike|hate|always want|never want)\b", "feedback"),
    (r"\bI['’]?\s?a?m (?:a|an|the) (?!bit\b|little\b|few\b)[\w-]+", "user"),
    (r"^we (?:always|never|use|deploy|decided|agreed)\b", "project"),
    (r"(?:记住|请记得|以后(?:都|请|要)|一律|我(?:更)?喜欢|我偏好)", "feedback"),
    (r"(?:覚えて|今後は|これからは|必ず|絶対に|の方が好き)", "feedback"),
)  # fmt: skip
_COMPILED = tuple((re.compile(cue, re.IGNORECASE), kind) for cue, kind in _CUES)
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_MOST = 400


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
    # A long entry is mostly a paste: other people's sentences, which rules can't tell from the person's.
    if len(utterance.text) > 1_500:
        return []
    found = []
    for match in _SENTENCE.finditer(utterance.text):
        sentence = match.group().strip(" -*>\t")
        kind = _kind(sentence)
        if kind and len(sentence) <= _MOST:
            found.append(
                Candidate(
                    name=" ".join(sentence.split()[:8]),
                    type=kind,
                    title=" ".join(sentence.split()[:8]),
                    description=sentence,
                    statement=sentence,
                    importance=0.6,
                    confidence=0.7,
                    evidence=[Cited(line=number, quote=sentence[:200])],
                )
            )
    return found


def _kind(sentence: str) -> str | None:
    if sentence.endswith(("?", "？")) or len(sentence) < 6:
        return None
    return next((kind for cue, kind in _COMPILED if cue.search(sentence)), None)
