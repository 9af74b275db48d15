"""What the second reader returns: one short answer to each question."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.llm.lenient_fields import ITEMS, Text


class Answer(BaseModel):
    """The answer to one question, in the words that its kind allows."""

    model_config = ConfigDict(extra="ignore")

    question: Text = Field("", description="Such as q1.")
    answer: Text = ""
    quote: Text = Field("", description="For `until`: the words of the note that name the day.")


class Answers(BaseModel):
    """The whole reply."""

    model_config = ConfigDict(extra="ignore")

    answers: Annotated[list[Answer], ITEMS] = Field(description="One for each question.")
