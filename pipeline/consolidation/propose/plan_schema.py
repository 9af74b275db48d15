"""What the model returns for one group of memories: operations as data, in one lenient shape.

Which fields an operation uses depends on `op`; `check` decides what of it may happen. Only an insight has
text fields: every other operation names memories and sentences and writes nothing.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.domain.operations import OPS, RELATIONS
from pipeline.llm.lenient_fields import ITEMS, Text, Texts


class ProposedCover(BaseModel):
    """One sentence that another one speaks for, or took the place of."""

    model_config = ConfigDict(extra="ignore")

    sentence: Text = Field("", description="The sentence that goes, such as m2.1.")
    by: Text = Field("", description="The sentence that stands for it, such as m1.2.")


class Proposed(BaseModel):
    """One operation as the model wrote it, with handles in place of ids."""

    model_config = ConfigDict(extra="ignore")

    op: Text = Field("", json_schema_extra={"enum": [op for op in OPS if op != "keep"]})
    ids: Texts = Field(default_factory=list, description="Handles such as m1.")
    into: Text = Field("", description="The handle that goes on (merge) or that is newer (supersede).")
    covered: Annotated[list[ProposedCover], ITEMS] = Field(
        default_factory=list, description="For merge and strike: the sentences that go."
    )
    until: Text = Field("", description="For retire: the day its own words name as the end, YYYY-MM-DD.")
    relation: Text = Field("", json_schema_extra={"enum": ["", *RELATIONS]})
    name: Text = Field("", description="For an insight: a short kebab-case name.")
    title: Text = Field("", description="For an insight.")
    description: Text = Field("", description="For an insight: it in one line, at most 140 characters.")
    statement: Text = Field("", description="For an insight.")
    reason: Text = Field("", description="One sentence a person can check.")


class Plan(BaseModel):
    """The whole reply for one group."""

    model_config = ConfigDict(extra="ignore")

    operations: Annotated[list[Proposed], ITEMS] = Field(
        description="Empty when nothing needs doing, which is the usual answer."
    )
