"""``reverie inbox``: what waits for a person's decision, shown, changed, accepted, rejected."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from pipeline.app import inbox as decisions
from pipeline.app.application import App
from pipeline.app.proposals import EDITABLE, Preview, brief, facts_of, proposer, words_said
from pipeline.app.said_when import SaidWhen, said_when
from pipeline.cli import listings, output
from pipeline.cli.changes import plain_changes, tell_changes
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.listings import LimitOption
from pipeline.cli.options import GraphOption, JsonOption, StoreOption, UserOption
from pipeline.core.clock import iso
from pipeline.core.errors import ReverieError, UsageError
from pipeline.core.tools import edit_text
from pipeline.core.zone import minute

inbox = typer.Typer(context_settings=HELP_OPTIONS)

NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="Number in `reverie inbox`.")]
NumbersArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="NUMBER...", help="Numbers and ranges in `reverie inbox`: 1 3-5."),
]
AllOption = Annotated[bool, typer.Option("--all", help="All that waits here.")]
KindOption = Annotated[
    str, typer.Option("--kind", metavar="K", help="All of one kind: new, update, retire, merge, ….")
]
_BRIEF = 160
"""Characters of a proposal in the list."""


@inbox.callback(invoke_without_command=True)
def inbox_alone(
    context: typer.Context,
    limit: LimitOption = None,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Review changes waiting for your decision.

    Without a command it lists them.
    """
    if context.invoked_subcommand is None:
        inbox_list(limit, False, user, graph, store, as_json)
    elif (store, graph, limit) != (None, None, None) or as_json or user:
        raise typer.BadParameter(f"options stand behind `reverie inbox {context.invoked_subcommand}`")


@inbox.command("list")
def inbox_list(
    limit: LimitOption = None,
    everything: listings.AllOption = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what waits for you."""
    shown = listings.most(limit, everything=everything, as_json=as_json)
    every = decisions.waiting(App(store=store, graph=graph, user=user))
    rows = listings.first(every, shown)

    def tell() -> None:
        for row in rows:
            where = " (for all projects)" if row["scope"] == "user" else ""
            output.hanging(f"{row['id']:>3}  ", f"{row['kind']}  {row['name']}{where}", level="ok")
            text = brief(row)
            if text:
                output.hanging("     ", text if len(text) <= _BRIEF else text[: _BRIEF - 1].rstrip() + "…")
            output.hanging("     ", f"waits because {row['reason']}")
        if not rows:
            output.line("nothing waits for you")

    output.data(rows, tell, as_json=as_json)
    listings.tell_rest(len(every), shown, how="`reverie inbox list --all` shows all")
    if rows and not as_json:
        can_edit = any(row["kind"] in EDITABLE for row in rows)
        ways = ", `reject N` or `edit N`" if can_edit else " or `reject N`"
        output.talk(f"`reverie inbox show N` shows one; then `reverie inbox accept N`{ways}.")


@inbox.command("show")
def inbox_show(
    number: NumberArgument,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one item, and what accepting it would do, old beside new."""
    found, preview = decisions.shown(App(store=store, graph=graph, user=user), number)
    moments = said_when(found, preview.changes)
    value = {
        **found,
        "said": {
            "was": moments.was and iso(moments.was),
            "now": moments.now and iso(moments.now),
            "is_earlier": moments.is_earlier,
        },
        "changes": plain_changes(preview.changes, preview.changes),
        "for_all_projects": plain_changes(preview.everywhere, preview.everywhere),
        "problem": preview.problem,
    }

    def tell() -> None:
        output.fields(_flat(found, moments, preview))
        tell_changes(preview.changes, preview.changes)
        tell_changes(preview.everywhere, preview.everywhere, " (for all projects)")
        for text in found.get("sides", ()):
            output.hanging("  - ", text)
        for text in words_said(found["payload"]):
            output.hanging("  said  ", text)
        if moments.warning:
            output.line()
            output.hanging("!  ", f"{moments.warning} {moments.explained}", level="warning")
        if preview.problem:
            output.line()
            output.hanging("!  ", f"as it stands it can't be accepted: {preview.problem}", level="warning")

    output.data(value, tell, as_json=as_json)


@inbox.command("accept")
def inbox_accept(
    numbers: NumbersArgument = None,
    everything: AllOption = False,
    kind: KindOption = "",
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do what items propose.

    Exit code 1 when one of several could not be done; the others are. `reverie undo` takes back each by
    itself, and it waits here again.
    """
    app = App(store=store, graph=graph, user=user)
    _decide(app, numbers, everything, kind, decisions.accept, "accepted", as_json)


@inbox.command("reject")
def inbox_reject(
    numbers: NumbersArgument = None,
    everything: AllOption = False,
    kind: KindOption = "",
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take items off the list."""
    app = App(store=store, graph=graph, user=user)
    _decide(app, numbers, everything, kind, decisions.reject, "rejected", as_json)


@inbox.command("edit")
def inbox_edit(
    number: NumberArgument,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="TEXT", help="The new text; - reads it from stdin. Default: $EDITOR."),
    ] = None,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the text that an item proposes, before you accept it.

    The text is that of the whole memory. Its sources stay, but stand for nothing that you write.
    """
    app = App(store=store, graph=graph, user=user)
    row = _edited(app, number) if text is None else _given(app, number, text)
    output.data(row, lambda: output.line(f"edited     {row['kind']} {row['name']}"), as_json=as_json)
    if not as_json:
        output.talk(f"`reverie inbox show {number}` shows it, `reverie inbox accept {number}` does it.")


def _given(app: App, number: int, text: str) -> dict[str, Any]:
    return decisions.edit(app, number, sys.stdin.read() if text == "-" else text)


def _edited(app: App, number: int) -> dict[str, Any]:
    """Let the person edit until their text can be taken, or they let it be: none of it is lost before."""
    seen = text = decisions.text_of(app, number)
    if not output.can_ask():
        raise UsageError("there is no terminal for an editor", fix="Give the text by --text, or --text -.")
    while True:
        text = edit_text(text)
        if text.strip() == seen.strip():
            output.talk("the text stayed as it was")
        try:
            return decisions.edit(app, number, text, seen=seen)
        except ReverieError as error:
            output.failure(error)
            if not output.ask("Open the editor again with your text?"):
                raise typer.Exit(1) from error
            seen = decisions.text_of(app, number)


def _decide(
    app: App,
    words: list[str] | None,
    everything: bool,
    kind: str,
    decide: Callable[[App, int], dict[str, Any]],
    word: str,
    as_json: bool,
) -> None:
    if not words and not everything and not kind:
        raise UsageError("which ones?", fix="Give numbers of `reverie inbox`, --kind K or --all.")
    if words and everything:
        raise UsageError("numbers and --all exclude each other", fix="Give one of them.")
    numbers = decisions.chosen(app, words or [], everything=everything, kind=kind)
    if words and len(words) == 1 and words[0].isdecimal():
        row = decide(app, numbers[0])
        output.data(row, lambda: output.line(f"{word:<10} {row['kind']} {row['name']}"), as_json=as_json)
        _tell_unsent([row])
        return
    done = _each(app, numbers, decide, word)

    def tell() -> None:
        for row in done:
            output.line(f"{'left' if row['error'] else word:<10} {row['id']} {row['kind']} {row['name']}")
        if not done:
            output.line("nothing waits for you")

    output.data(done, tell, as_json=as_json)
    _tell_unsent(done)
    failed = [row for row in done if row["error"]]
    for row in failed:
        output.talk(f"{row['id']}: {row['error']}")
    if failed:
        raise typer.Exit(1)


def _tell_unsent(rows: Iterable[dict[str, Any]]) -> None:
    """Say why the team does not have yet what it was given."""
    for reason in dict.fromkeys(row["unsent"] for row in rows if row.get("unsent")):
        output.talk(f"It is not sent yet: {reason}")


def _each(
    app: App, numbers: list[int], decide: Callable[[App, int], dict[str, Any]], word: str
) -> list[dict[str, Any]]:
    """Decide each of `numbers`; one that fails stops no other, and says why in ``error``."""
    rows = {row["id"]: row for row in decisions.waiting(app)}
    done: list[dict[str, Any]] = []
    for number in numbers:
        try:
            done.append({**decide(app, number), "state": word, "error": ""})
        except ReverieError as error:
            row = rows.get(number) or {"id": number, "kind": "", "name": ""}
            done.append({**row, "state": "open", "error": f"{error}. {error.fix}".strip()})
    return done


def _flat(row: dict[str, Any], moments: SaidWhen, preview: Preview) -> dict[str, object]:
    """Return what `show` prints of the proposal in `row`, and the `moments` at which its sides were said."""
    sides = {"before": moments.was, "after": moments.now} if moments.was else {}
    return {
        "kind": row["kind"].removeprefix("dream:"),
        "proposed by": proposer(row),
        "name": row["name"],
        "why it waits": row["reason"],
        **facts_of(row, preview),
        **{name: f"said {minute(moment, 'at an unknown time')}" for name, moment in sides.items()},
    }
