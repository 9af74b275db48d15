"""Commands about how memories hang together and fade: relate, related, edges, decay."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from pipeline.app import graph as relations
from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.proposing import Proposal, proposals
from pipeline.cli import output
from pipeline.cli.listings import SHOWN_OF_ID, AllOption, LimitOption, first, most, tell_rest
from pipeline.cli.options import GraphOption, JsonOption, NameArgument, StoreOption, UserOption, memory_names
from pipeline.cli.tables import table
from pipeline.core.errors import UnknownMemoryError, UsageError
from pipeline.domain.operations import RELATIONS
from pipeline.hooklib.plain import clipped
from pipeline.store.catalogue.sleep import WORDS

_SNIPPET = 60
_TYPES = ", ".join(RELATIONS)
OtherArgument = Annotated[
    str, typer.Argument(metavar="OTHER", help="The memory it leads to.", autocompletion=memory_names)
]
TypesOption = Annotated[
    list[str] | None, typer.Option("--type", metavar="T", help=f"Only these, several times: {_TYPES}.")
]


def relate(
    name: NameArgument,
    kind: Annotated[str, typer.Argument(metavar="TYPE", help=f"One of {_TYPES}.")],
    other: OtherArgument,
    strength: Annotated[
        float | None, typer.Option("--strength", metavar="X", help="From 0 to 1; a new one has 0.8.")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="A few words, kept at both ends.")] = "",
    description: Annotated[str, typer.Option("--description", help="The text of the edge's file.")] = "",
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Relate two memories, or change how they are related.

    There is one edge for two memories and a type: said again, it is changed.
    """
    app = scopes.holder(App(store=store, user=user, graph=graph), name)
    try:
        made = relations.relate(
            app,
            app.open_store(),
            name,
            other,
            kind,
            strength=strength,
            context=context,
            description=description,
        )
    except UnknownMemoryError:
        scopes.require_same_folder(app, name, other)
        raise
    word = "related" if made.new else "changed"
    output.data(made, lambda: output.line(f"{word:<10} {_in_words(made)} ({made.path})"), as_json=as_json)


def related(
    name: NameArgument,
    kinds: TypesOption = None,
    direction: Annotated[
        str, typer.Option("--direction", metavar="D", help="outgoing, incoming or both.")
    ] = "both",
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", help=f"Relations in a row, 1 to {relations.MOST_DEPTH}.")
    ] = 1,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories that one is related to.

    The nearest and strongest come first.
    """
    app = scopes.holder(App(store=store, user=user, graph=graph), name)
    found = relations.related(
        app, app.open_store(), name, types=kinds or (), direction=direction, depth=depth
    )
    rows = [
        [
            "→" if each.direction == "outgoing" else "←",
            each.type,
            each.name,
            f"{each.strength:.2f}",
            "" if each.steps == 1 else each.via,
            clipped(each.context, _SNIPPET),
        ]
        for each in found
    ]
    columns = ["", "relation", "memory", "strength", "by way of", "context"]
    output.data(found, lambda: table(columns, rows, empty="no memory is related to it"), as_json=as_json)


def edges(
    query: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]", help="Words of titles and descriptions.")
    ] = None,
    kinds: TypesOption = None,
    source: Annotated[str, typer.Option("--from", metavar="NAME", help="Those that begin there.")] = "",
    target: Annotated[str, typer.Option("--to", metavar="NAME", help="Those that lead there.")] = "",
    show: Annotated[str, typer.Option("--show", metavar="ID", help="One edge with all of its text.")] = "",
    remove: Annotated[str, typer.Option("--remove", metavar="ID", help="Take one away at both ends.")] = "",
    propose: Annotated[
        bool, typer.Option("--propose", help="Pairs that may belong together; nothing is written.")
    ] = False,
    limit: LimitOption = None,
    everything: AllOption = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List, show, remove or propose edges between memories."""
    app = App(store=store, user=user, graph=graph)
    if sum(map(bool, (show, remove, propose))) > 1:
        raise UsageError("--show, --remove and --propose exclude each other", fix="Give one of them.")
    if show or remove:
        opened = app.open_store()
        chosen = relations.unrelate(app, opened, remove) if remove else relations.edge(app, opened, show)
        output.data(chosen, lambda: _tell(chosen, removed=bool(remove)), as_json=as_json)
        return
    shown = most(limit, everything=everything, as_json=as_json)
    if propose:
        _tell_proposals(proposals(app, app.open_store()), shown, as_json=as_json)
        return
    found = relations.edges(
        app,
        app.open_store(),
        query=" ".join(query or ()),
        types=kinds or (),
        from_ref=source,
        to_ref=target,
        limit=0,
    )
    rows = [
        [each.id[:SHOWN_OF_ID], each.from_title, each.type, each.to_title, f"{each.strength:.2f}"]
        for each in first(found, shown)
    ]
    columns = ["id", "from", "relation", "to", "strength"]
    output.data(
        first(found, shown), lambda: table(columns, rows, empty="there are no such edges"), as_json=as_json
    )
    tell_rest(len(found), shown)


def decay(
    limit: LimitOption = None,
    everything: AllOption = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute what memories are worth by now, and which sleep.

    The scores go to _state.json. What a person said or wrote is fading at least, and new for a week;
    docs/cognitive.md.
    """
    app = App(store=store, user=user, graph=graph)
    found = relations.decay(app, app.open_store())
    shown = most(limit, everything=everything, as_json=as_json)
    rows = [
        [_score(each.score), f"{each.word}{' (kept awake)' if each.exempt else ''}", each.name]
        for each in first(found.memories, shown)
    ]

    def tell() -> None:
        counted = Counter(each.word for each in found.memories)
        output.line(", ".join(f"{counted[word]} {word}" for word in WORDS))
        table(["score", "band", "memory"], rows, empty="there are no memories")

    output.data(found, tell, as_json=as_json)
    tell_rest(len(found.memories), shown)


def _score(score: float) -> str:
    """Return a score with as many digits as tell its band: one just below a bound is not shown as on it."""
    texts = (f"{score:.{digits}f}" for digits in range(3, 6))
    return next(
        (text for text in texts if relations.band_of(float(text)) == relations.band_of(score)), f"{score:.6f}"
    )


def _in_words(found: relations.EdgeView) -> str:
    return f"“{found.from_title}” {found.type} “{found.to_title}”, {found.strength:g}"


def _tell(found: relations.EdgeView, *, removed: bool) -> None:
    output.line(f"{'removed    ' if removed else ''}{_in_words(found)}")
    if removed:
        output.talk("`reverie undo` brings it back.")
        return
    output.fields({"id": found.id, "from": found.from_id, "to": found.to_id, "file": found.path})
    if found.description:
        output.line()
        output.line(found.description)


def _tell_proposals(found: list[Proposal], shown: int | None, *, as_json: bool) -> None:
    rows = [
        [f"{each.score:.2f}", each.from_name, each.type, each.to_name, each.reason]
        for each in first(found, shown)
    ]
    columns = ["score", "from", "relation", "to", "because"]
    output.data(
        first(found, shown), lambda: table(columns, rows, empty="no pair stands out"), as_json=as_json
    )
    tell_rest(len(found), shown)
    if found and not as_json:
        output.talk("`reverie relate NAME TYPE OTHER` makes one of them.")
