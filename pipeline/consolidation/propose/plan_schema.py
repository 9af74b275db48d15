"""What the model returns for one group of memories: operations as data, in one lenient shape.

Which fields an operation uses depends on `op`; `check` decides what of it may happen.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.domain.memory import TYPES
from pipeline.domain.operations import OPS, RELATIONS
from pipeline.llm.lenient_fields import ITEMS, Text, Texts


class Dropped(BaseModel):
    """A specific that the new text leaves out on purpose."""

    model_config = ConfigDict(extra="ignore")

    text: Text = Field("", description="The number, name, path or value, as the memory has it.")
    reason: Text = ""


class Proposed(BaseModel):
    """One operation as the model wrote it, with handles in place of ids."""

    model_config = ConfigDict(extra="ignore")

    op: Text = Field("", json_schema_extra={"enum": [op for op in OPS if op != "keep"]})
    ids: Texts = Field(default_factory=list, description="Handles such as m1.")
    into: Text = Field("", description="The handle that goes on (merge) or that is newer (supersede).")
    type: Text = Field("", json_schema_extra={"enum": ["", *TYPES]})
    name: Text = Field("", description="For an insight: a short kebab-case name.")
    title: Text = ""
    description: Text = Field("", description="For a new text: the fact in one line, at most 140 characters.")
    statement: Text = ""
    why: Text = ""
    how_to_apply: Text = ""
    tags: Texts = Field(default_factory=list)
    relation: Text = Field("", json_schema_extra={"enum": ["", *RELATIONS]})
    dropped: Annotated[list[Dropped], ITEMS] = Field(default_factory=list)
    reason: Text = Field("", description="One sentence a person can check.")


class Plan(BaseModel):
    """The whole reply for one group."""

    model_config = ConfigDict(extra="ignore")

    operations: Annotated[list[Proposed], ITEMS] = Field(
        description="Empty when nothing needs doing, which is the usual answer."
    )
