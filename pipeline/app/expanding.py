"""One question to a model, on a person's word: by which further phrases may the missing memories be found?

Asked for with ``search --expand`` only, booked and bounded like every call. What it names is looked for by
its words, so no text of the model's is shown but the phrases.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from pipeline.app.application import App
from pipeline.app.asking import model_client
from pipeline.app.search import Hit
from pipeline.core.errors import ReverieError
from pipeline.llm import Message, Provider, Request
from pipeline.llm.lenient_fields import Texts
from pipeline.llm.prompts import load
from pipeline.safety.invisible import visible_line
from pipeline.text.tokens import terms

PURPOSE = "search.expand"
MOST_PHRASES = 5
LONGEST = 80
SHOWN = 5
"""Hits whose names and descriptions the model sees."""
REPLY_TOKENS = 300
_QUESTION_CHARS = 1_000
_HIT_CHARS = 200


class Phrases(BaseModel):
    """What the model returns."""

    model_config = ConfigDict(extra="ignore")

    phrases: Texts = Field(default_factory=list, description="At most five short phrases; may be none.")


def phrases(
    app: App, query: str, found: Sequence[Hit], problems: list[str], *, provider: Provider | None = None
) -> list[str]:
    """Return further phrases to look for, after `query` found `found`; at most five.

    Why there are none is added to `problems`: a search must not fail for want of a model. `provider` is who
    answers instead of the settings' one.
    """
    if not terms(query):
        return []
    try:
        with model_client(app, provider) as client:
            if client is None:
                problems.append("no further phrases: there is no model to ask. `reverie doctor` says why.")
                return []
            answer = client.complete(request(app.settings.model.model, query, found), Phrases).value
    except ReverieError as error:
        problems.append(f"no further phrases: {error} {error.fix}".rstrip())
        return []
    return _usable(answer.phrases, query)


def request(model: str, query: str, found: Sequence[Hit]) -> Request:
    """Return the question: the query, and names and descriptions of the first memories found.

    Those of a team are left out: others write them.
    """
    own = [hit for hit in found if hit.scope != "team"][:SHOWN]
    lines = [f"- {visible_line(hit.name)}: {visible_line(hit.description)[:_HIT_CHARS]}" for hit in own]
    prompt = load(PURPOSE).render(
        question=visible_line(query)[:_QUESTION_CHARS], found="\n".join(lines) or "none"
    )
    return Request(
        purpose=PURPOSE,
        model=model,
        system="",
        messages=(Message("user", prompt),),
        max_tokens=REPLY_TOKENS,
    )


def _usable(given: Sequence[str], query: str) -> list[str]:
    """Return those of the model's phrases that have a word the question has not, each once."""
    known = set(terms(query))
    kept: dict[frozenset[str], str] = {}
    for text in given:
        phrase = visible_line(text)[:LONGEST].strip()
        words = frozenset(terms(phrase))
        if words - known:
            kept.setdefault(words, phrase)
    return list(kept.values())[:MOST_PHRASES]
