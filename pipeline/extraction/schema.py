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


def _numbers(value: Any) -> list[int]:
    return [_number(item) for item in value] if isinstance(value, list) else []


Share = Annotated[float, BeforeValidator(_share)]


class Cited(BaseModel):
    """Words from one numbered line."""

    model_config = ConfigDict(extra="ignore")

    line: Annotated[int, BeforeValidator(_number)] = Field(-1, description="The number in square brackets.")
    quote: Text = Field(
        "", description="Words copied exactly from that line, in one piece, at most 200 characters."
    )
    part: Text = Field(
        "",
        description="What of the memory the line bears; empty for all of it.",
        json_schema_extra={"enum": ["", "statement", "why", "how_to_apply"]},
    )


class Change(BaseModel):
    """One sentence of an existing memory that no longer holds as it stands."""

    model_config = ConfigDict(extra="ignore")

    number: Annotated[int, BeforeValidator(_number)] = Field(-1, description="Its number as shown.")
    text: Text = Field("", description="The sentence that takes its place; empty when none does.")


class Candidate(BaseModel):
    """One fact worth keeping."""

    model_config = ConfigDict(extra="ignore")

    update_of: Text = Field(
        "", description="Name of the memory, shown in full, that this changes; empty for a new one."
    )
    replaces: Annotated[list[Change], ITEMS] = Field(
        default_factory=list, description="For an update: its sentences that no longer hold; else none."
    )
    name: Text = Field(
        "",
        description="Kebab-case name in English letters, at most 60, such as e2e-tests-only-on-request.",
    )
    type: Text = Field("", json_schema_extra={"enum": list(TYPES)})
    title: Text = Field("", description="A title of at most eight words, in the language of the dialogue.")
    description: Text = Field(
        "",
        description="The fact in one line of at most 140 characters, in words someone would search for.",
    )
    statement: Text = Field(
        "",
        description="The fact, complete in itself: one to three sentences, exact names and numbers. For an "
        "update only what it adds, empty when it adds nothing.",
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
        default_factory=list, description="The lines that say it: as many as it needs."
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


class Opinion(BaseModel):
    """One item."""

    model_config = ConfigDict(extra="ignore")

    id: Text = ""
    verdict: Text = Field("", json_schema_extra={"enum": ["borne_out", "stretched", "not_said"]})
    how: Text = ""
    words: Text = Field("", json_schema_extra={"enum": ["person", "confirmed", "assistant", "third_party"]})
    flags: Texts = Field(default_factory=list)
    known: Text = ""
    gone: Annotated[list[int], BeforeValidator(_numbers)] = Field(default_factory=list)
    name_fits: Text = Field("", json_schema_extra={"enum": ["", "yes", "no"]})


class TakenBack(BaseModel):
    """One withdrawal."""

    model_config = ConfigDict(extra="ignore")

    id: Text = ""
    taken_back: Text = Field("", json_schema_extra={"enum": ["yes", "no"]})


class Verification(BaseModel):
    """The second reader's reply."""

    model_config = ConfigDict(extra="ignore")

    items: Annotated[list[Opinion], ITEMS] = Field(default_factory=list)
    withdrawals: Annotated[list[TakenBack], ITEMS] = Field(default_factory=list)


class Narrower(BaseModel):
    """A candidate in words that say no more than its lines."""

    model_config = ConfigDict(extra="ignore")

    id: Text = Field("", description="The id of the item.")
    replaces: Annotated[list[Change], ITEMS] = Field(default_factory=list)
    name: Text = ""
    title: Text = ""
    description: Text = ""
    statement: Text = Field("", description="Empty together with replaces: nothing of it can be kept.")
    why: Text = ""
    how_to_apply: Text = ""


class Narrowing(BaseModel):
    """The reply with narrower wordings."""

    model_config = ConfigDict(extra="ignore")

    items: Annotated[list[Narrower], ITEMS]
