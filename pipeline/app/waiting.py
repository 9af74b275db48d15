"""How much waits for a person, counted without anything of what a yes would do."""

from __future__ import annotations

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.core.home import Home
from pipeline.domain.memory import Memory
from pipeline.ledger.inbox import InboxItem, count_inbox, list_inbox


def number_waiting(app: App) -> int:
    """Return how many items wait in the inboxes of the scopes here."""
    if not Home(app.home).ledger.exists():
        return 0
    with app.ledger(to_look=True) as ledger:
        return sum(count_inbox(ledger, str(scope.store_path)) for scope in in_scopes(app))


def in_scopes(app: App) -> list[App]:
    """Return the scopes whose inboxes count here."""
    found = scopes.all_of(app)
    if app.store_override is None and all(scope.is_user_scope for scope in found):
        # The project's folder is made by the first yes.
        found = [app, *found]
    return found


def about(app: App, store: str, memory: Memory) -> list[InboxItem]:
    """Return what waits that would change `memory` of the memories at `store`, oldest first."""
    if not Home(app.home).ledger.exists():
        return []
    with app.ledger(to_look=True) as ledger:
        return [item for item in list_inbox(ledger, store) if _is_about(item, memory)]


def _is_about(item: InboxItem, memory: Memory) -> bool:
    payload = item.payload
    operation = payload.get("operation")
    if operation:
        return memory.id in (operation.get("ids") or ())
    return item.kind != "new" and memory.name in (payload.get("update_of"), payload.get("name"))


def put_by(app: App, run: str) -> dict[str, int]:
    """Return how many of the proposals that `run` made are in which state: open, accepted, rejected."""
    with app.ledger(to_look=True) as ledger:
        states = [item.state for item in list_inbox(ledger, None, None) if item.run_id == run]
    return {state: states.count(state) for state in dict.fromkeys(states)}
