"""What a person asks about recall: what it would say to a prompt, and what it said in a session."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.app import descriptions, retired
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.errors import InputError, LedgerError
from pipeline.core.home import Home
from pipeline.ledger import recalls
from pipeline.ledger.recalls import BadLine, Line, SessionTotals, Use
from pipeline.recall import Budget, Recollections, retrieve
from pipeline.recall.live.question import own_words, parse_question
from pipeline.recall.live.rank import BELOW, FLOOR, TOO_FEW, floor_of, setting_of
from pipeline.safety.late import late
from pipeline.store import Document
from pipeline.text.tokens import terms
from pipeline.worker import recall_log

_NAMED = 3
_WORD = late(r"\w[\w'’-]*")
LEAST_NAMED = 0.3
"""A lower floor is not proposed: nearly every prompt would get something."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one session was given: its totals, its lines in order, and lines that can't be understood."""

    totals: SessionTotals
    lines: tuple[Line, ...]
    bad: tuple[BadLine, ...]


def recall(app: App, query: str, *, explain: bool = False, dormant: bool = False) -> Recollections:
    """Return what the hook would put before the prompt `query`, were it the first of a session.

    Asking is noted as being put before a prompt, unless it is to `explain`; it is no access, which only a
    memory has that was asked for by its name. With `dormant` ones that sleep come as well.
    """
    limits = app.settings.recall
    shared = Home(app.home).user_store
    everywhere = shared if limits.user_scope and shared.is_dir() else None
    own = app.store_override is not None or app.store_path.is_dir() or everywhere is None
    store = app.open_store().path if own else everywhere
    assert store is not None, "without a store of its own the project has the user-scope one"
    found = retrieve(
        query,
        store,
        Budget(
            memories=limits.memories,
            chars=limits.prompt_chars,
            session_chars_left=limits.session_chars,
            floor=limits.floor,
            dormant=dormant,
        ),
        home=app.home,
        user_store=everywhere,
        now=app.clock.now().timestamp(),
        # A folder named by hand may be any project's, so its anchors are not looked for here.
        root=str(paths.project_root(app.here)) if app.store_override is None else "",
    )
    asked = [] if explain else found.items
    found.problems += _note(
        app, "recall", [(item.store, item.id, item.name, item.path, item.digest) for item in asked]
    )
    return found


def passed_over(query: str) -> list[str]:
    """Return the words of `query` that recall looks for nothing by, as they were typed."""
    sought = {*parse_question(query).own}
    words = dict.fromkeys(_WORD.findall(own_words(query)))
    return [word for word in words if sought.isdisjoint(terms(word))]


def needs_in_words(app: App, found: Recollections) -> list[str]:
    """Return from which score on a memory is relevant, and what else one needs that has too few words."""
    setting = app.settings.recall.floor
    usual = "" if setting == 1 else f"; with 1 it would be {FLOOR:.2f}"
    sentences = [
        f"A memory needs a score of {floor_of(setting):.2f}, since `recall.floor` is {setting:g}{usual}."
    ]
    below = [
        item.score for item in found.considered if item.verdict.endswith(BELOW.format(floor_of(setting)))
    ]
    if below and (least := setting_of(max(below))) >= LEAST_NAMED:
        sentences.append(f"The best that missed it would come with `recall.floor` at {least:.2f}.")
    if any(item.verdict == TOO_FEW for item in found.considered):
        sentences.append(
            "Enough words are two telling ones, a rare one in name, description or tags, most of a cue, or a"
            " path, flag or number as it stands there."
        )
    return sentences


def show(app: App, name: str) -> tuple[Document, list[str]]:
    """Return one memory of the store, and notes: that `name` was another's, that its description fits no
    more, why this use can't be counted.
    """
    store = app.open_store()
    found = retired.read(store, name)
    note = retired.note_on(store, name, found)
    notes = filter(None, (note, descriptions.note_on(app, found)))
    return found, [*notes, *count_use(app, "show", found)]


def count_use(app: App, use: Use, document: Document) -> list[str]:
    """Note that `document` of the store of `app` was used; return why that can't be counted."""
    values = (str(app.store_path), document.id, document.name, document.path, document.digest)
    return _note(app, use, [values])


def _note(app: App, use: Use, asked: list[tuple[str, str, str, str, str]]) -> list[str]:
    """Note uses (store, id, name, path, digest), for the worker to count; return why that can't be.

    Where there is no ledger yet none is made. To see a memory must not depend on noting that it was seen.
    """
    if not asked or not Home(app.home).ledger.exists():
        return []
    now = app.clock.now()
    try:
        with app.ledger(to_look=True) as ledger:
            if ledger.note:
                return [f"this use is not counted: {ledger.note}"]
            with ledger.transaction():
                for store, memory, name, path, digest in asked:
                    recalls.note_use(
                        ledger, use, store=store, memory=memory, name=name, path=path, digest=digest, now=now
                    )
    except LedgerError as error:
        return [f"this use is not counted: {error}"]
    return []


def injected(app: App, session: str | None) -> Told | None:
    """Return what recall gave to `session` (its name or the start of it; None: the latest).

    None when no session was ever given anything. What the hooks wrote since the worker last ran is there,
    too. Raises InputError for a session that is not known, or for the start of several.
    """
    with app.ledger(to_look=True) as ledger:
        if not ledger.note:
            recall_log.take(ledger, app.home, app.clock.now().timestamp())
        names = recalls.matching(ledger, session or "")
        if session is None:
            names = names[:1]
            if not names:
                return None
        elif session in names:
            names = [session]
        if len(names) != 1:
            raise _which(session or "", names, [item.session for item in recalls.sessions(ledger)])
        totals = recalls.totals(ledger, names[0])
        assert totals is not None, "it was found by its lines"
        return Told(
            totals, tuple(recalls.lines(ledger, names[0])), tuple(recalls.bad_lines(ledger, names[0]))
        )


def sessions(app: App) -> list[SessionTotals]:
    """Return the totals of the latest sessions that recall gave something to."""
    with app.ledger(to_look=True) as ledger:
        if not ledger.note:
            recall_log.take(ledger, app.home, app.clock.now().timestamp())
        return recalls.sessions(ledger)


def _which(session: str, found: list[str], known: list[str]) -> InputError:
    if found:
        return InputError(
            f"{len(found)} sessions begin with {session!r}",
            fix=f"Give more of it: {', '.join(found[:_NAMED])}.",
        )
    latest = f" The latest: {', '.join(known[:_NAMED])}." if known else ""
    return InputError(
        f"recall gave nothing to a session {session!r}",
        fix=f"`reverie injected --all` lists sessions.{latest}",
    )
