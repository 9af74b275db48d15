"""A model client for one question on a person's word: booked, within the caps, with known secrets masked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.app.application import App
from pipeline.core.ids import new_id
from pipeline.ledger import calls, secrets
from pipeline.llm import Client, Provider, describe, logins, open_provider


@contextmanager
def model_client(app: App, provider: Provider | None = None) -> Iterator[Client | None]:
    """Yield a client whose calls count as one run, or None where the settings name no model to ask.

    `provider` is who answers instead of the settings' one. Raises ReverieError when the settings, the ledger
    or the provider can't be used.
    """
    app.require_settings()
    model = app.settings.model
    if provider is None and describe(app.llm, model)[0] == "offline":
        yield None
        return
    provider = provider or open_provider(app.llm, model, home=app.home)
    with app.ledger() as ledger:
        meter = calls.LedgerMeter(
            ledger, app.settings.spend, app.clock, run_id=new_id(), held_for=logins.stamp(model)
        )
        yield Client(provider, meter, settings=model, mask=secrets.masking(ledger))
