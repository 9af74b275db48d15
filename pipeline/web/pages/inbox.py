"""The inbox: what waits for a person, old beside new, and their yes, no or own words, many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import Response

from pipeline.app import inbox as decisions
from pipeline.app import undoing
from pipeline.app.application import App
from pipeline.app.proposals import EDITABLE, Preview, brief, facts_of, proposer
from pipeline.app.said_when import said_when
from pipeline.core.errors import ReverieError, UsageError
from pipeline.core.ids import digest
from pipeline.domain.operations import is_doubted
from pipeline.hooklib.plain import clipped
from pipeline.text.humanize import count
from pipeline.web import words
from pipeline.web.listed import ROWS
from pipeline.web.visit import Visit, is_number

_KEEP = "keep"
"""The decision to let an item wait on, with the text that was typed."""
_DECIDED = "decided"
"""What stands for a kind in the address of the list of what was decided."""
_WHO = "who says it"
_NUMBERS_NAMED = 5
_DONE_CHARS = 60
_WORDS: dict[str, tuple[Callable[[App, int], dict[str, Any]], str]] = {
    "accept": (decisions.accept, "Accepted"),
    "reject": (decisions.reject, "Rejected"),
}


def shelf(visit: Visit) -> Response:
    """Return what waits, with the one that is open beside it; or what was decided."""
    if visit.asked("kind") == _DECIDED:
        rows = decisions.decided(visit.app, ROWS)
        return visit.page("inbox_decided.html", "inbox", "Decided", rows=rows, kind=_DECIDED)
    return _page(visit)


def piece(visit: Visit) -> Response:
    """Return what one item proposes, for the script that opens it."""
    rows = _of_kind(decisions.waiting(visit.app), visit.asked("kind"))
    number = visit.number("item", 0, most=10**12)
    return visit.part("inbox_item.html", wrong=None, edited=None, **_opened(visit, rows, number))


def decide(visit: Visit) -> Response:
    """Do what the chosen items propose, or take them off the list; many are rejected only when sure."""
    app, word = visit.app, visit.given("decision")
    if word not in (*_WORDS, _KEEP):
        raise UsageError("that is no decision", fix="Use the buttons of the page.")
    numbers = _numbers(visit)
    if word != "reject" and len(numbers) == 1 and visit.all_given("text"):
        # What was typed counts, whichever button was pressed.
        refused = _edit(visit, numbers[0])
        if refused is not None:
            return refused
    if word == _KEEP:
        return visit.go("inbox", "It still waits, as you see it.", item=numbers[0], kind=visit.given("kind"))
    rows = decisions.waiting(app)
    if word == "reject" and len(numbers) > 1 and not visit.given("sure"):
        chosen = [row for row in rows if row["id"] in numbers]
        kind = visit.given("kind")
        return visit.page("inbox_sure.html", "inbox", "Reject several", rows=chosen, kind=kind)
    following = _following(_of_kind(rows, visit.given("kind")), numbers)
    act, past = _WORDS[word]
    done: list[dict[str, Any]] = []
    failed: list[tuple[int, ReverieError]] = []
    for number in numbers:
        try:
            done.append(act(app, number))
        except ReverieError as error:
            failed.append((number, error))
    if failed and len(numbers) == 1:
        return _page(visit, number=numbers[0], wrong=failed[0][1])
    undoable = [row["id"] for row in done]
    message = f"{past} {_named(done)}." if done else ""
    message += "".join(f" Not sent yet: {row['unsent']}" for row in done if row.get("unsent"))
    if failed:
        numbered = ", ".join(str(number) for number, _ in failed[:_NUMBERS_NAMED])
        more = "…" if len(failed) > _NUMBERS_NAMED else ""
        message += f" {count(len(failed), 'item')} could not be: number {numbered}{more}."
    item = failed[0][0] if failed else following or ""
    return visit.go(
        "inbox",
        message.strip(),
        item=item,
        kind=visit.given("kind"),
        undo=",".join(map(str, undoable[:ROWS])),
    )


def _edit(visit: Visit, number: int) -> Response | None:
    """Let item `number` propose the text that a person wrote, where it is another than what they were shown.

    What can't be taken is shown again, whole; that page is returned.
    """
    app, text = visit.app, visit.given("text")
    if digest(text) == visit.given("seen"):
        return None
    try:
        now = decisions.text_of(app, number)
        if text.strip() == now.strip():
            return None
        if digest(now) != visit.given("seen"):
            raise UsageError(
                "somebody changed it while you were at it",
                fix="The text as it is now is above; send yours again.",
            )
        decisions.edit(app, number, text, seen=now)
    except ReverieError as error:
        return _page(visit, number=number, wrong=error, edited=text)
    return None


def undo(visit: Visit) -> Response:
    """Take back what was accepted or rejected here; each waits again."""
    app, numbers = visit.app, _numbers(visit)
    runs = list(dict.fromkeys(decisions.made_by(app, numbers)))
    for run in runs:
        undoing.take_back(app, run)
    again = decisions.take_back_rejections(app, numbers)
    parts = [f"Taken back: {count(len(runs), 'change')}. What you accepted waits again."] if runs else []
    parts += (
        [f"{count(again, 'item')} that you rejected {'waits' if again == 1 else 'wait'} again."]
        if again
        else []
    )
    kind = visit.given("kind")
    return visit.go(
        "inbox",
        " ".join(parts) or "Nothing to take back.",
        item=numbers[0],
        kind="" if kind == _DECIDED else kind,
    )


def _page(
    visit: Visit, *, number: int = 0, wrong: ReverieError | None = None, edited: str | None = None
) -> Response:
    kind = words.bare(visit.given("kind") or visit.asked("kind"))
    every = decisions.waiting(visit.app)
    rows = _of_kind(every, kind)
    number = number or visit.number("item", 0, most=10**12)
    at = next((at for at, row in enumerate(rows) if row["id"] == number), None)
    start = visit.number("from", 0, most=1_000_000) if at is None else at // ROWS * ROWS
    kinds: dict[str, int] = {}
    for row in every:
        name = words.bare(row["kind"])
        kinds[name] = kinds.get(name, 0) + 1
    return visit.page(
        "inbox.html",
        "inbox",
        "Inbox",
        status=400 if wrong else 200,
        rows=[{**row, "brief": brief(row)} for row in rows[start : start + ROWS]],
        start=start,
        most=ROWS,
        total=len(rows),
        every=len(every),
        kinds=dict(sorted(kinds.items(), key=lambda item: words.place_of(item[0]))),
        all_chosen=bool(visit.asked("all")),
        wrong=wrong,
        edited=edited,
        undo=[word for word in visit.asked("undo").split(",") if word.isdecimal()],
        **_opened(visit, rows[start:] if at is None else rows, number if at is not None else 0),
    )


def _opened(visit: Visit, rows: Sequence[dict[str, Any]], number: int) -> dict[str, Any]:
    """Return what a template shows of the item `number`, the first where it is 0, None where none waits."""
    number = number or (rows[0]["id"] if rows else 0)
    kind = visit.given("kind") or visit.asked("kind")
    if not number:
        return {"item": None, "kind": kind}
    row, preview = decisions.shown(visit.app, number)
    text = ""
    if row["kind"] in EDITABLE:
        try:
            text = decisions.text_of(visit.app, number)
        except ReverieError:
            # The preview says why: there is nothing to edit.
            text = ""
    place_in = [item["id"] for item in rows]
    at = place_in.index(number) if number in place_in else -1
    return {
        "item": row,
        "kind": kind,
        "preview": preview,
        "run_url": visit.run(row["run"], "extract") if row["run"] else "",
        "text": text,
        "seen": digest(text),
        "facts": _facts(row, preview),
        "quotes": row["payload"].get("sources") or (),
        "said": said_when(row, preview.changes),
        "is_doubted": is_doubted(row["reason"]),
        "proposer": proposer(row),
        "before": place_in[at - 1] if at > 0 else 0,
        "behind": place_in[at + 1] if 0 <= at < len(place_in) - 1 else 0,
        "editing": bool(visit.asked("edit")),
    }


def _facts(row: dict[str, Any], preview: Preview) -> dict[str, str]:
    """Return what `row` says beside its text; whose words an update leaves stands beside old and new."""
    facts = {k: v for k, v in facts_of(row, preview).items() if row["kind"] != "update" or k != _WHO}
    if _WHO in facts:
        facts[_WHO] = words.origin(facts[_WHO])
    return facts


def _of_kind(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return those of `rows` that propose what `kind` does, whoever proposed it."""
    return [row for row in rows if not kind or words.bare(row["kind"]) == words.bare(kind)]


def _numbers(visit: Visit) -> list[int]:
    """Return the numbers of the chosen items, each once. UsageError where none was chosen."""
    words = visit.all_given("item")
    if not words or not all(map(is_number, words)):
        raise UsageError("none was chosen", fix="Go back, and tick those you mean.")
    return list(dict.fromkeys(map(int, words)))


def _following(rows: Sequence[dict[str, Any]], numbers: Sequence[int]) -> int:
    """Return the number of the item to open once `numbers` are decided: the next, else the last."""
    gone = set(numbers)
    last = max((at for at, row in enumerate(rows) if row["id"] in gone), default=-1)
    left = [row["id"] for row in rows[last + 1 :] if row["id"] not in gone]
    before = [row["id"] for row in rows[: max(last, 0)] if row["id"] not in gone]
    return left[0] if left else before[-1] if before else 0


def _named(rows: Sequence[dict[str, Any]]) -> str:
    if len(rows) == 1:
        return clipped(str(rows[0]["name"]), _DONE_CHARS)
    return count(len(rows), "item")
