"""One real, small model call, on a person's word: does the provider answer?"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.app.application import App
from pipeline.core.errors import ReverieError
from pipeline.core.ids import new_id
from pipeline.domain.finding import Finding
from pipeline.ledger import calls
from pipeline.llm import Client, describe, logins, open_provider
from pipeline.llm.ping import ping


def ask(app: App) -> Iterator[Finding]:
    """Ask the provider one question within the caps, booked as every call is, and yield how that went."""
    try:
        app.require_settings()
        name, _ = describe(app.llm, app.settings.model)
        if name == "offline":
            yield Finding("note", "online", "there is no model to ask", "See provider above.")
            return
        provider = open_provider(app.llm, app.settings.model, home=app.home)
        with app.ledger() as ledger:
            meter = calls.LedgerMeter(
                ledger,
                app.settings.spend,
                app.clock,
                run_id=new_id(),
                held_for=logins.stamp(app.settings.model),
            )
            client = Client(provider, meter, settings=app.settings.model)
            reply = ping(client, app.settings.model.model)
    except ReverieError as error:
        yield Finding("error", "online", str(error), error.fix or "See `reverie status`.")
        return
    message = (
        f"{reply.provider} answered with {reply.model}: {reply.usage.total:,} tokens, ${reply.dollars:.4f}"
    )
    yield Finding("ok", "online", message)
