"""What the model returns for one stretch of dialogue; what a field should hold is said in the prompts.

Fields are lenient on purpose: one odd value must not cost the whole reply. What a field may hold is
decided per item by `screen`, which says why it dropped what it dropped. The schema goes out with every
request, so it carries no docstrings and few descriptions. What most replies leave empty may be left out of
them (`MAY_LACK`): a reply costs five times what a request costs.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from pipeline.domain.memory import TYPES
from pipeline.llm.lenient_fields import ITEMS, SPARE_ITEMS, Text, Texts
from pipeline.llm.structured import MAY_LACK
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
Spare = Annotated[Text, Field(json_schema_extra=MAY_LACK)]
SpareTexts = Annotated[Texts, Field(json_schema_extra=MAY_LACK)]


def _without_docstring(schema: dict[str, Any]) -> None:
    schema.pop("description", None)


class _Plain(BaseModel):
    """A part of a reply: unknown fields are ignored, and its docstring stays out of the schema."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_without_docstring)


class Cited(_Plain):
    """Words from one numbered line, and the part of the memory that they bear."""

    line: Annotated[int, BeforeValidator(_number)] = -1
    quote: Text = ""
    part: Text = "statement"


_CITED = re.compile(r"[\W_]{0,4}(?:line )?(\d{1,6})[\])]{0,2}[ ,.]{0,2}(.*)", re.DOTALL | re.IGNORECASE)
_PART = re.compile(r"\W{0,2}(statement|why|how[ _]to[ _]apply)\W{0,2}[:：] ?(.*)", re.DOTALL | re.IGNORECASE)
_LONGEST_CITED = 4_000


def _cited(value: Any) -> Any:
    """Return what is asked for as text, ``12: words`` or ``12 why: words``, as the fields it stands for."""
    found = _CITED.fullmatch(value.strip()[:_LONGEST_CITED]) if isinstance(value, str) else None
    if found is None:
        return value
    line, rest = found.groups()
    named = _PART.fullmatch(rest)
    part = named[1].lower().replace(" ", "_") if named else "statement"
    return {"line": line, "quote": named[2] if named else re.sub(r"^[:：] ?", "", rest), "part": part}


def _citations(value: Any) -> Any:
    given = value if isinstance(value, list) else [value]
    return [item for item in map(_cited, given) if isinstance(item, (dict, BaseModel))]


Citations = Annotated[
    list[Cited],
    BeforeValidator(_citations),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]


class Change(_Plain):
    """One sentence of an existing memory that no longer holds as it stands."""

    number: Annotated[int, BeforeValidator(_number)] = -1
    text: Text = ""


class Candidate(_Plain):
    """One fact worth keeping."""

    update_of: Spare = ""
    replaces: Annotated[list[Change], SPARE_ITEMS] = Field(default_factory=list, json_schema_extra=MAY_LACK)
    name: Text = Field("", json_schema_extra={"maxLength": MAX_SLUG})
    type: Text = Field("", json_schema_extra={"enum": list(TYPES)})
    statement: Text = ""
    why: Spare = ""
    how_to_apply: Spare = ""
    cues: Texts = Field(default_factory=list)
    tags: Texts = Field(default_factory=list, description="up to five topic words")
    anchors: SpareTexts = Field(default_factory=list, description="paths, symbols, URLs it is about")
    importance: Share = Field(0.5, description="0.9 changes most later work, 0.5 useful, 0.2 minor")
    confidence: Share = Field(0.8, description="0.9 said outright, 0.6 hedged or once")
    evidence: Citations = Field(default_factory=list)


class Withdrawal(_Plain):
    """An existing memory that the dialogue takes back without putting anything in its place."""

    name: Text = ""
    reason: Text = ""
    evidence: Citations = Field(default_factory=list)


class Extraction(_Plain):
    """The whole reply for one span of new dialogue."""

    memories: Annotated[list[Candidate], ITEMS]
    withdrawals: Annotated[list[Withdrawal], SPARE_ITEMS] = Field(
        default_factory=list, json_schema_extra=MAY_LACK
    )


def _spare(value: Any) -> Any:
    return value if isinstance(value, (dict, BaseModel)) else {}


class Episode(_Plain):
    """What happened, for the diary."""

    title: Text = ""
    summary: Texts = Field(default_factory=list)


class ConversationExtraction(Extraction):
    """The whole reply for a finished conversation."""

    episode: Annotated[Episode, BeforeValidator(_spare)] = Field(default_factory=Episode)


class Narrower(_Plain):
    """A candidate in words that say no more than its lines."""

    name: Spare = ""
    statement: Text = ""
    why: Spare = ""
    how_to_apply: Spare = ""
    replaces: Annotated[list[Change], SPARE_ITEMS] = Field(default_factory=list, json_schema_extra=MAY_LACK)


class Opinion(_Plain):
    """One item; `narrower` holds one at most."""

    id: Text = ""
    verdict: Text = Field("", json_schema_extra={"enum": ["borne_out", "stretched", "not_said"]})
    words: Text = Field("", json_schema_extra={"enum": ["person", "confirmed", "assistant", "third_party"]})
    lasts: Text = Field("", json_schema_extra={"enum": ["yes", "part", "no"]})
    gone: Annotated[list[int], BeforeValidator(_numbers)] = Field(default_factory=list)
    how: Spare = ""
    flags: SpareTexts = Field(default_factory=list)
    known: Spare = ""
    within: Spare = ""
    name: Spare = ""
    narrower: Annotated[list[Narrower], SPARE_ITEMS] = Field(default_factory=list, json_schema_extra=MAY_LACK)


class TakenBack(_Plain):
    """One withdrawal."""

    id: Text = ""
    taken_back: Text = Field("", json_schema_extra={"enum": ["yes", "no"]})


class Verification(_Plain):
    """The second reader's reply."""

    items: Annotated[list[Opinion], SPARE_ITEMS] = Field(default_factory=list)
    withdrawals: Annotated[list[TakenBack], SPARE_ITEMS] = Field(
        default_factory=list, json_schema_extra=MAY_LACK
    )
