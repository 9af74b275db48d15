"""The inbox: what waits for a person, and what their yes or no does.

Each scope has an inbox of its own; the numbers of all are different. `holder` says whose a number is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from pipeline.app import conflicting, forgetting, in_step
from pipeline.app.application import App
from pipeline.app.proposals import Preview, body_of, edited, planned_by, preview
from pipeline.app.scopes import Scope, scope_of
from pipeline.app.waiting import in_scopes
from pipeline.consolidation.commit.execute import promoted_by
from pipeline.core.errors import ConflictError, InputError, ReverieError, UsageError
from pipeline.hooklib.plain import clipped
from pipeline.ledger import Ledger
from pipeline.ledger.inbox import (
    ADOPTED,
    BY_PERSON,
    OFFERED,
    SYNCED,
    InboxItem,
    amend_inbox,
    decide_inbox,
    list_inbox,
    reject_inbox,
    reopen_inbox,
    take_back_rejection,
)
from pipeline.store import turns_of

if TYPE_CHECKING:
    from pipeline.sharing.conflicts import Conflict

_LONGEST_RANGE = 40


def waiting(app: App) -> list[dict[str, Any]]:
    """Return what waits in the inboxes of the scopes here, oldest first."""
    with app.ledger(to_look=True) as ledger:
        # It looks at folders: once for each scope, not for each item.
        named = cache(scope_of)
        found = _open(app, ledger)
        rows = [_row(named(scope), item) for scope, item in found]
    return _with_names(rows, found)


def item(app: App, number: int) -> dict[str, Any]:
    """Return one inbox item; InputError when nothing waits under that number."""
    with app.ledger(to_look=True) as ledger:
        scope, found = _item(app, ledger, number)
    return _with_names([_row(scope_of(scope), found)], [(scope, found)])[0]


def shown(app: App, number: int) -> tuple[dict[str, Any], Preview]:
    """Return one inbox item, and what a yes would do to the memories as they are now."""
    with app.ledger(to_look=True) as ledger:
        scope, found = _item(app, ledger, number)
    (row,) = _with_names([_row(scope_of(scope), found)], [(scope, found)])
    return row, preview(scope, found)


def chosen(app: App, words: list[str], *, everything: bool = False, kind: str = "") -> list[int]:
    """Return the numbers that `words` name (``3``, ``5-8``, ``1,4``), or those of a kind, or of all.

    A `kind` is that of the list, or for a dream's the operation alone (``merge``). Raises InputError for a
    number under which nothing waits, UsageError for words that are no numbers.
    """
    rows = waiting(app)
    present = [row["id"] for row in rows if not kind or kind in (row["kind"], row["kind"].partition(":")[2])]
    if not words and (everything or kind):
        if kind and not present:
            kinds = ", ".join(dict.fromkeys(row["kind"] for row in rows)) or "nothing"
            raise InputError(f"nothing of the kind {kind!r} waits", fix=f"What waits: {kinds}.")
        return present
    found: list[int] = []
    for word in " ".join(words).replace(",", " ").split():
        first, last = _range(word)
        fits = [number for number in present if first <= number <= last]
        if not fits:
            raise nothing_waits(word)
        found += fits
    return list(dict.fromkeys(found))


def _range(word: str) -> tuple[int, int]:
    """Return the first and the last number that `word` names; UsageError for what names none."""
    first, dash, last = word.partition("-")
    how = "See `reverie inbox`; write 3, 5-8 or 1,4."
    if not first.isdecimal() or (dash and not last.isdecimal()) or len(word) > _LONGEST_RANGE:
        raise UsageError(f"{clipped(word, _LONGEST_RANGE)!r} is no number", fix=how)
    numbers = int(first), int(last or first)
    if numbers[0] > numbers[1]:
        raise UsageError(f"{word} runs backwards", fix=f"Write {last}-{first}.")
    return numbers


def nothing_waits(number: int | str) -> InputError:
    """Return the error for a number under which nothing waits."""
    numbers = f"the numbers {number}" if "-" in str(number) else f"number {number}"
    return InputError(f"nothing waits under {numbers} here", fix="See `reverie inbox`.")


def reject(app: App, number: int) -> dict[str, Any]:
    """Take an inbox item off the list without doing it; the same words or bytes do not bring it again."""
    app.require_settings()
    with app.ledger() as ledger:
        # Whoever else decides meanwhile waits, and then finds nothing to decide.
        with ledger.transaction():
            scope, found = _item(app, ledger, number)
            forgetting.note_rejected(scope, found)
            reject_inbox(ledger, found, by_person=True, now=app.clock.now())
        _tell_hooks(app, ledger)
        return _row(scope_of(scope), found)


def decided(app: App, most: int) -> list[dict[str, Any]]:
    """Return what was accepted and rejected in the inboxes here, `most` of it, the last first.

    ``taken_back`` says when a decision was; None where it stands. ``waits`` is whether the proposal is open.
    """
    with app.ledger(to_look=True) as ledger:
        looked = {str(scope.store_path): scope_of(scope) for scope in in_scopes(app)}
        items = [item for item in list_inbox(ledger, None, None) if item.store in looked]
    found: list[tuple[float, InboxItem, str, float | None]] = []
    for item in items:
        if item.decided_at and item.payload.get(BY_PERSON) is not False:
            found.append((item.decided_at, item, item.state, None))
        found += [(gone.decided_at, item, gone.state, gone.at) for gone in item.taken_back]
    found.sort(key=lambda row: row[0], reverse=True)
    return [
        {
            **_row(looked[item.store], item),
            "state": state,
            "decided": decided_at,
            "taken_back": taken_back,
            "waits": item.state == "open",
        }
        for decided_at, item, state, taken_back in found[:most]
    ]


def take_back_rejections(app: App, numbers: Iterable[int]) -> int:
    """Let those of `numbers` that were rejected wait again; return how many they were."""
    wanted = set(numbers)
    app.require_settings()
    with app.ledger() as ledger:
        with ledger.transaction():
            looked = {str(scope.store_path): scope for scope in in_scopes(app)}
            rejected = list_inbox(ledger, None, "rejected")
            found = [item for item in rejected if item.id in wanted and item.store in looked]
            for item in found:
                forgetting.note_rejected(looked[item.store], item, lifted=True)
                take_back_rejection(ledger, item, now=app.clock.now())
        _tell_hooks(app, ledger)
    return len(found)


def accept(app: App, number: int) -> dict[str, Any]:
    """Do what an inbox item proposes, on the person's word, also to a pinned or hand-edited memory.

    What it gives to a team is sent at once; ``unsent`` says why it can't be, and it goes with the next sync.
    """
    app.require_settings()
    with app.ledger() as ledger:
        with ledger.transaction():
            scope, found = _item(app, ledger, number)
            store = scope.open_store(create=True)
            planned = planned_by(scope, store, found)
            lost = planned.write().conflicts
            if lost:
                raise ConflictError(
                    "somebody wrote it at the same moment; theirs stayed",
                    file=lost[0],
                    fix=f"See `reverie show`, then `reverie inbox reject {number}`.",
                )
            forgetting.lift_accepted(store, found, app.clock.now())
            decide_inbox(ledger, number, "accepted", now=app.clock.now())
        _tell_hooks(app, ledger)
    planned.app.follow(planned.door.store)
    row = _row(scope_of(scope), found)
    return {**row, "unsent": _send(scope)} if found.kind == OFFERED else row


def _send(app: App) -> str:
    """Give the team what a person said yes to; return why it waits for the next sync, "" if it does not."""
    from pipeline.app import team  # Deferred: few are in one.

    try:
        done = team.now(app, unattended=True)
    except ReverieError as error:
        return f"{error}. {error.fix}"
    return f"{done.error}. {done.fix}" if done.error else ""


def text_of(app: App, number: int) -> str:
    """Return the text that a memory would have after a yes, for a person to change."""
    with app.ledger() as ledger:
        return body_of(*_item(app, ledger, number))


def edit(app: App, number: int, text: str, *, seen: str | None = None) -> dict[str, Any]:
    """Let an inbox item propose `text` as the whole text of its memory; returns the item as it then waits.

    Its sources stay, but none stands for what the person wrote. `seen` is the text that the person began
    with, where they were shown one. Raises InputError for an item that proposes no text, and for a text that
    no memory may hold; ConflictError when what they were shown is not what stands there now, as their text
    would undo what came meanwhile.
    """
    app.require_settings()
    with app.ledger() as ledger, ledger.transaction():
        scope, found = _item(app, ledger, number)
        if seen is not None and body_of(scope, found) != seen:
            raise ConflictError(
                "somebody changed it while you were at it",
                fix=f"`reverie inbox show {number}` shows it as it is now.",
            )
        amend_inbox(ledger, found, edited(scope, found, text))
        scope, found = _item(app, ledger, number)
        return _row(scope_of(scope), found)


def turned(app: App, ledger: Ledger, run: str) -> None:
    """Note that change set `run` was undone, or done again where `run` is an undo itself.

    Where that was a yes in the inbox the proposal waits again, or is decided again.
    """
    base, turns = turns_of(run)
    made = promoted_by(base) or base
    accepted = accepted_by(ledger, base)
    for found in [accepted] if accepted is not None else _adopted_by(ledger, base):
        if turns % 2 == 0 and found.state == "accepted" and made in (found.change_ids[-1], _with(found)):
            reopen_inbox(ledger, found, now=app.clock.now())
        elif turns % 2 and found.state == "open":
            decide_inbox(ledger, found.id, "accepted", now=app.clock.now())


def waits_again(app: App, run: str) -> int:
    """Return the number of the proposal that waits since the yes which made `run` was undone; 0 for none."""
    with app.ledger(to_look=True) as ledger:
        found = accepted_by(ledger, turns_of(run)[0])
    return found.id if found is not None and found.state == "open" else 0


def made_by(app: App, numbers: Iterable[int]) -> list[str]:
    """Return the ids of the change sets in which the proposals with `numbers` were accepted, last first."""
    wanted = set(numbers)
    with app.ledger(to_look=True) as ledger:
        folders = {str(scope.store_path) for scope in in_scopes(app)}
        accepted = list_inbox(ledger, None, "accepted")
    found = [item for item in accepted if item.id in wanted and item.store in folders]
    return [
        _with(item) or item.change_ids[-1] for item in sorted(found, key=lambda item: -(item.decided_at or 0))
    ]


def accepted_by(ledger: Ledger, change_id: str) -> InboxItem | None:
    """Return the proposal to which the yes was that made change set `change_id`; None when it was none."""
    made = promoted_by(change_id) or change_id
    if not made.startswith("inbox-"):
        return None
    return next((item for item in list_inbox(ledger, None, None) if made in item.change_ids), None)


def _with(item: InboxItem) -> str:
    """Return the change set in which `item` was done together with others, "" for none."""
    return str(item.payload.get(ADOPTED) or "")


def _adopted_by(ledger: Ledger, change_id: str) -> list[InboxItem]:
    return [item for item in list_inbox(ledger, None, None) if _with(item) == change_id]


def _open(app: App, ledger: Ledger) -> list[tuple[App, InboxItem]]:
    found = [(scope, item) for scope in in_scopes(app) for item in list_inbox(ledger, str(scope.store_path))]
    return sorted(found, key=lambda pair: pair[1].id)


def _item(app: App, ledger: Ledger, number: int) -> tuple[App, InboxItem]:
    for scope, found in _open(app, ledger):
        if found.id == number:
            return scope, found
    raise nothing_waits(number)


def _with_names(rows: list[dict[str, Any]], found: list[tuple[App, InboxItem]]) -> list[dict[str, Any]]:
    """Return `rows`, those about what two did otherwise with their names.

    That is ``by``, the two; ``reason``, why it waits, with their names; and ``sides``, what each did.
    """
    asked: dict[int, Conflict] = {}
    scopes = {str(scope.store_path): scope for scope, item in found if item.kind == SYNCED}
    for path, scope in scopes.items():
        asked |= conflicting.conflicts_asked(scope, [item for _, item in found if item.store == path])
    return [{**row, **_names(asked[row["id"]])} if row["id"] in asked else row for row in rows]


def _names(found: Conflict) -> dict[str, Any]:
    by = " and ".join(dict.fromkeys(found.parties))
    return {"by": by, "reason": found.because, "sides": in_step.sides_of(found)}


def _row(scope: Scope, item: InboxItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": item.kind,
        "name": item.payload.get("name", ""),
        "reason": item.reason,
        "at": item.created_at,
        "run": item.run_id,
        "scope": scope,
        "payload": item.payload,
    }


def _tell_hooks(app: App, ledger: Ledger) -> None:
    from pipeline.recall.prepared import (
        hook_state,
    )  # It knows of all that a session hears of; to look needs none.

    hook_state.refresh(ledger, app.home, app.settings, app.clock)
