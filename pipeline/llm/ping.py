"""One small question without any dialogue in it: does the provider answer in the shape that was asked for?"""

from __future__ import annotations

from pydantic import BaseModel

from pipeline.llm import prompts
from pipeline.llm.client import Client
from pipeline.llm.request import Message, Reply, Request

PURPOSE = "doctor.ping"
_REPLY_TOKENS = 200


class Answer(BaseModel):
    """What the model is asked for."""

    ok: bool


def ping(client: Client, model: str) -> Reply[Answer]:
    """Return the answer of `model`; raises what `Client.complete` does."""
    return client.complete(
        Request(
            purpose=PURPOSE,
            model=model,
            system="",
            messages=(Message("user", prompts.load(PURPOSE).render()),),
            max_tokens=_REPLY_TOKENS,
        ),
        Answer,
    )
