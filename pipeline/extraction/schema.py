"""What the model returns for one stretch of dialogue; field descriptions are part of the prompt.

Fields are lenient on purpose: one odd value must not cost the whole reply. What a field may hold is
decided per item by `screen`, which says why it dropped what it dropped.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.domain.memory import TYPES
from pipeline.llm.lenient_fields import ITEMS, Text, Texts


def _share(value: Any) -> float:
    try:
        return min(1.0, max(0.0, float(value)))
    except (TypeError, ValueError, OverflowError):
        return 0.5


def _number(value: Any) -> int:
    try:
        return int(str(value).strip("[] "))
    except ValueError:
        return -1


Share = Annotated[float, BeforeValidator(_share)]


class Cited(BaseModel):
    """Words from one numbered line."""

    model_config = ConfigDict(extra="ignore")

    line: Annotated[int, BeforeValidator(_number)] = Field(-1, description="The number in square brackets.")
    quote: Text = Field(
        "", description="Words copied exactly from that line, in one piece, at most 200 characters."
    )


class Candidate(BaseModel):
    """One fact worth keeping."""

    model_config = ConfigDict(extra="ignore")

    update_of: Text = Field(
        "", description="Name of the existing memory this replaces or completes; empty for a new one."
    )
    name: Text = Field(
        "", description="Short kebab-case name in English letters, such as e2e-tests-only-on-request."
    )
    type: Text = Field("", json_schema_extra={"enum": list(TYPES)})
    title: Text = Field("", description="A title of at most eight words, in the language of the dialogue.")
    description: Text = Field(
        "",
        description="The fact in one line of at most 140 characters, in words someone would search for.",
    )
    statement: Text = Field(
        "", description="The fact, complete in itself: one to three sentences, exact names and numbers."
    )
    why: Text = Field(
        "",
        description="The reason given by the person, or by the proposal they took up, in full; else empty.",
    )
    how_to_apply: Text = Field(
        "", description="What to do differently because of it, only as far as it was said; else empty."
    )
    tags: Texts = Field(default_factory=list, description="Up to five lower-case topic words.")
    anchors: Texts = Field(
        default_factory=list, description="Paths, symbols or URLs the fact is about, exactly as written."
    )
    importance: Share = Field(0.5, description="0.9 would change most later work; 0.5 useful; 0.2 minor.")
    confidence: Share = Field(
        0.8, description="How sure the dialogue makes it: 0.9 said outright; 0.6 hedged."
    )
    evidence: Annotated[list[Cited], ITEMS] = Field(
        default_factory=list, description="One to three lines that say it."
    )


class Withdrawal(BaseModel):
    """An existing memory that the dialogue takes back without putting anything in its place."""

    model_config = ConfigDict(extra="ignore")

    name: Text = Field("", description="Name of the existing memory.")
    reason: Text = Field("", description="Why it no longer holds.")
    evidence: Annotated[list[Cited], ITEMS] = Field(default_factory=list)


class Extraction(BaseModel):
    """The whole reply for one span of new dialogue."""

    model_config = ConfigDict(extra="ignore")

    memories: Annotated[list[Candidate], ITEMS] = Field(
        description="Facts worth keeping; empty when there are none, which is often right."
    )
    withdrawals: Annotated[list[Withdrawal], ITEMS] = Field(default_factory=list)


class Episode(BaseModel):
    """What happened, for the diary."""

    model_config = ConfigDict(extra="ignore")

    title: Text = Field("", description="What the conversation was about, at most ten words.")
    summary: Texts = Field(
        default_factory=list,
        description="Two to five short lines: what was wanted, what came of it, what is open.",
    )


class ConversationExtraction(Extraction):
    """The whole reply for a finished conversation."""

    episode: Episode = Field(default_factory=Episode)
