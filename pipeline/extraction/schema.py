"""What the model returns for one stretch of dialogue; what a field should hold is said in the prompts.

Fields are lenient on purpose: one odd value must not cost the whole reply. What a field may hold is
decided per item by `screen`, which says why it dropped what it dropped. The schema goes out with every
request, so it carries no docstrings and few descriptions.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.domain.memory import TYPES
from pipeline.llm.lenient_fields import ITEMS, Text, Texts
from pipeline.text.slugs import MAX_SLUG


def _share(value: Any) -> float:
    try:
        return min(1.0, max(0.0, float(value)))
    except (TypeError, ValueError, OverflowError):
        return 0.5


def _number(value: Any) -> int:
    try:
        return int(float(str(value).strip("[] ")))
    except (ValueError, OverflowError):
        return -1


def _numbers(value: Any) -> list[int]:
    given = value if isinstance(value, list) else [] if value is None else [value]
    return [_number(item) for item in given]


Share = Annotated[float, BeforeValidator(_share)]


def _without_docstring(schema: dict[str, Any]) -> None:
    schema.pop("description", None)


class _Plain(BaseModel):
    """A part of a reply: unknown fields are ignored, and its docstring stays out of the schema."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_without_docstring)


class Cited(_Plain):
    """Words from one numbered line."""

    line: Annotated[int, BeforeValidator(_number)] = -1
    quote: Text = ""
    part: Text = Field("", json_schema_extra={"enum": ["", "statement", "why", "how_to_apply"]})


class Change(_Plain):
    """One sentence of an existing memory that no longer holds as it stands."""

    number: Annotated[int, BeforeValidator(_number)] = -1
    text: Text = ""


class Candidate(_Plain):
    """One fact worth keeping."""

    update_of: Text = ""
    replaces: Annotated[list[Change], ITEMS] = Field(default_factory=list)
    name: Text = Field("", json_schema_extra={"maxLength": MAX_SLUG})
    type: Text = Field("", json_schema_extra={"enum": list(TYPES)})
    title: Text = Field("", description="at most eight words")
    description: Text = ""
    statement: Text = ""
    why: Text = ""
    how_to_apply: Text = ""
    cues: Texts = Field(default_factory=list)
    tags: Texts = Field(default_factory=list, description="up to five topic words")
    anchors: Texts = Field(default_factory=list, description="paths, symbols, URLs it is about")
    importance: Share = Field(0.5, description="0.9 changes most later work, 0.5 useful, 0.2 minor")
    confidence: Share = Field(0.8, description="0.9 said outright, 0.6 hedged or once")
    evidence: Annotated[list[Cited], ITEMS] = Field(default_factory=list)


class Withdrawal(_Plain):
    """An existing memory that the dialogue takes back without putting anything in its place."""

    name: Text = ""
    reason: Text = ""
    evidence: Annotated[list[Cited], ITEMS] = Field(default_factory=list)


class Extraction(_Plain):
    """The whole reply for one span of new dialogue."""

    memories: Annotated[list[Candidate], ITEMS]
    withdrawals: Annotated[list[Withdrawal], ITEMS] = Field(default_factory=list)


class Episode(_Plain):
    """What happened, for the diary."""

    title: Text = ""
    summary: Texts = Field(default_factory=list)


class ConversationExtraction(Extraction):
    """The whole reply for a finished conversation."""

    episode: Episode = Field(default_factory=Episode)


class Narrower(_Plain):
    """A candidate in words that say no more than its lines."""

    name: Text = ""
    description: Text = ""
    statement: Text = ""
    why: Text = ""
    how_to_apply: Text = ""
    replaces: Annotated[list[Change], ITEMS] = Field(default_factory=list)


class Opinion(_Plain):
    """One item; `narrower` holds one at most."""

    id: Text = ""
    verdict: Text = Field("", json_schema_extra={"enum": ["borne_out", "stretched", "not_said"]})
    how: Text = ""
    words: Text = Field("", json_schema_extra={"enum": ["person", "confirmed", "assistant", "third_party"]})
    flags: Texts = Field(default_factory=list)
    known: Text = ""
    within: Text = ""
    gone: Annotated[list[int], BeforeValidator(_numbers)] = Field(default_factory=list)
    lasts: Text = Field("", json_schema_extra={"enum": ["yes", "part", "no"]})
    name: Text = ""
    narrower: Annotated[list[Narrower], ITEMS] = Field(default_factory=list)


class TakenBack(_Plain):
    """One withdrawal."""

    id: Text = ""
    taken_back: Text = Field("", json_schema_extra={"enum": ["yes", "no"]})


class Verification(_Plain):
    """The second reader's reply."""

    items: Annotated[list[Opinion], ITEMS] = Field(default_factory=list)
    withdrawals: Annotated[list[TakenBack], ITEMS] = Field(default_factory=list)
