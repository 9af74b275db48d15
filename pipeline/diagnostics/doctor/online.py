"""One real, small model call, on a person's word: does the provider answer?"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.app.application import App
from pipeline.app.asking import model_client
from pipeline.core.errors import ReverieError
from pipeline.domain.finding import Finding
from pipeline.llm.ping import ping


def ask(app: App) -> Iterator[Finding]:
    """Ask the provider one question within the caps, booked as every call is, and yield how that went."""
    try:
        with model_client(app) as client:
            if client is None:
                yield Finding("note", "online", "there is no model to ask", "See provider above.")
                return
            reply = ping(client, app.settings.model.model)
    except ReverieError as error:
        yield Finding("error", "online", str(error), error.fix or "See `reverie status`.")
        return
    message = (
        f"{reply.provider} answered with {reply.model}: {reply.usage.total:,} tokens, ${reply.dollars:.4f}"
    )
    yield Finding("ok", "online", message)
