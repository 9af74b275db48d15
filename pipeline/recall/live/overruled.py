"""What the person just said otherwise: their words outrank a memory until the worker has read them.

A memory is overruled when a sentence of this session does away with what it is about, or states anew what
holds of it (`text.overruling`), and the worker has not yet brought that into the memories.
"""

from pipeline.recall.live import rank
from pipeline.recall.live.question import NOISE, is_no_question, own_words
from pipeline.text.overruling import changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pipeline.text.overruling import Change
    from pipeline.text.stems import Forms

VERDICT = "the person said otherwise in this session"
MOST_CHANGES = 40
SHARE = 0.6
"""The part, by weight, of what a sentence does away with, or is about, that the memory must be about."""
LEAST_REJECTED = 0.4
"""Weight of the words that name what is done away with: a word that every fourth memory has names nothing."""


class Overruling:
    """A change that a person's words make, when they were said (epoch seconds; None: just now), and they."""

    __slots__ = ("at", "change", "text")

    def __init__(self, change: "Change", at: "float | None", text: str) -> None:
        self.change = change
        self.at = at
        self.text = text

    def terms(self) -> "list[str]":
        """Return all terms by which it may meet a memory."""
        return [*self.change.about, *(term for thing in self.change.rejected for term in thing)]

    def overrules(
        self, fields: "Sequence[str]", weights: "dict[str, float]", said_at: "float | None"
    ) -> bool:
        """Whether a memory with these tokenised columns, last said at `said_at`, no longer counts by it."""
        if self.at is not None and said_at is not None and said_at >= self.at:
            return False
        name, description, tags, body = fields[:4]
        # What it is about stands in front; a body tells much besides.
        held = set(f"{name} {description} {tags}".split() if description else f"{name} {tags} {body}".split())
        known = held | set(body.split())
        if self.change.rejected:
            return any(_is_about(thing, held, weights) for thing in self.change.rejected)
        return _is_restated(self.change.about, held, known, weights)

    def is_said_by(self, text: str) -> bool:
        """Whether a memory's `text` does away with the same, so that it tells what the person tells."""
        gone = {term for change in changes(text) for thing in change.rejected for term in thing}
        return any(gone.intersection(thing) for thing in self.change.rejected)


def overrulings(prompt: str, earlier: "Iterable[tuple[float, str]]") -> "list[Overruling]":
    """Return what `prompt`, and prompts `earlier` in the session (epoch seconds, text), change."""
    found = _found(prompt, None)
    for at, text in earlier:
        if not is_no_question(text):
            found += _found(text, at)
    return found[-MOST_CHANGES:]


def forms_of(overrulings: "Iterable[Overruling]", known: "Collection[str]") -> "Forms":
    """Return further stems of the terms of `overrulings`; `known` are the memories' languages but English."""
    texts = list(dict.fromkeys(overruling.text for overruling in overrulings))
    if not known and all(text.isascii() for text in texts):
        return {}
    from pipeline.text import stems  # Most sentences are in English.

    forms: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for term, found in stems.asked(text, known)[0].items():
            forms[term] = (*forms.get(term, ()), *found)
    return forms


def _found(text: str, at: "float | None") -> "list[Overruling]":
    own = own_words(text)
    return [Overruling(change, at, own) for change in changes(own)]


def _is_about(thing: "list[str]", held: "set[str]", weights: "dict[str, float]") -> bool:
    telling = [term for term in thing if term not in NOISE]
    shared = sum(weights[term] for term in telling if term in held)
    return shared >= LEAST_REJECTED and shared >= SHARE * sum(weights[term] for term in telling)


def _is_restated(
    about: "list[str]", held: "set[str]", known: "set[str]", weights: "dict[str, float]"
) -> bool:
    """Whether a statement has the memory's subject, two words of it, and something that the memory lacks."""
    telling = [term for term in about if term not in NOISE]
    shared = [term for term in telling if term in held and weights[term] >= rank.INFORMATIVE]
    new = [term for term in telling if term not in known and term not in rank.COMMON]
    weight = sum(weights[term] for term in shared)
    return len(shared) > 1 and bool(new) and weight >= SHARE * sum(weights[term] for term in telling)
