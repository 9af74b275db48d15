"""``reverie doctor``: is all as it should be? Looks only; every finding has its fix.

No model is called unless a person asks for it with ``--online``.
"""

from __future__ import annotations

from pipeline.app.application import App
from pipeline.diagnostics.doctor import hooks, machine, memories, online, work
from pipeline.domain.finding import Finding

__all__ = ["examine"]


def examine(app: App, *, online: bool = False) -> list[Finding]:
    """Return what was found, in the order looked at; with `online` one small model call is made."""
    return [
        *machine.check(app),
        *hooks.check(app),
        *work.check(app),
        *(ask(app) if online else ()),
        *memories.check(app),
    ]


ask = online.ask
