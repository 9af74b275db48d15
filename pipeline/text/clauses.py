"""Texts taken apart: sentences, clauses, and whether one denies something. Pure text work."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from pipeline.domain.body import LABEL
from pipeline.text.similarity import content_in_order
from pipeline.text.specifics import plain, specifics

# “Use pnpm, never npm.” denies; “the noble knot”, “nothing but tabs” and 不断 (all the time) do not.
_NOT = re.compile(
    r"\b(?:not|never|no|none|nothing(?! but)|nobody|nowhere|nor|neither|without"
    r"|avoid(?:s|ed|ing)?|cannot|stop(?:s|ped)?|forbidden|banned)\b"
    r"|n't\b|ない|ません|ず(?=に)|なし|禁止|不(?![断同过仅但管])|别(?!名)|没有|勿"
    r"|\b(?:nicht|nichts|nie|niemals|kein(?:e[mnrs]?)?|ohne|pas|jamais|aucune?|sans|nunca|jamás|ning[uú]na?|sin)\b"
    r"|않|없|못|(?<!\w)안\s|지\s?(?:마|말)",
)
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|「[^」\n]*」')
"""What stands in quotation marks is named, not said: a label that reads "not run" denies nothing."""
# “Run it in 3.5 s. Then wait.” is two sentences: a point inside a number or a file's name ends none.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?![。！？])|\n")
# “Use tabs, never spaces; deploy and wait.” is four clauses; “1,5” and “a-b” are one.
_CLAUSE_END = re.compile(r"[.;:!?,](?=\s|$)|[。；！？、\n]|\s(?:and|but|while|whereas|und|et)\s|\s[-–—]\s")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence: its content words in order, its specifics, and whether it denies."""

    words: tuple[str, ...]
    specifics: frozenset[str]
    denies: bool


def denies(text: str) -> bool:
    """Whether `text` says that something is not so or must not be."""
    return denials(text) > 0


def denials(text: str) -> int:
    """Return how many words of `text` deny something; two may cancel each other: “never ships without”."""
    return len(_NOT.findall(_QUOTED.sub(" ", plain(text))))


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of `text` with their marks, in order, none of them empty."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def split(text: str) -> list[str]:
    """Return the parts of `text` between sentence marks, list commas and conjunctions, width folded."""
    normal = unicodedata.normalize("NFKC", LABEL.sub(". ", text)).replace("**", "")
    return _CLAUSE_END.split(normal)


def clauses(text: str) -> list[Clause]:
    """Return the clauses of `text` in order; a further value of a list belongs to the clause before it."""
    found: list[Clause] = []
    for part in split(text):
        clause = Clause(tuple(content_in_order(part)), specifics(part), denies(part))
        if clause.words or (clause.specifics and not found):
            found.append(clause)
        elif clause.specifics:
            found[-1] = replace(found[-1], specifics=found[-1].specifics | clause.specifics)
    return found
