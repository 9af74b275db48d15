"""``reverie export`` and ``reverie import``: a store in the layout of another format, out and in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import cognitive, cognitive_import, scopes
from pipeline.app.application import App
from pipeline.app.cognitive import Exported, Left
from pipeline.app.cognitive_import import Imported
from pipeline.app.history import short_id
from pipeline.cli import output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.options import GraphOption, JsonOption, StoreOption, UserOption
from pipeline.text.humanize import count

export = typer.Typer(
    help="Write a store out in the layout of another format.",
    no_args_is_help=True,
    context_settings=HELP_OPTIONS,
)
import_group = typer.Typer(
    help="Take in a store that another format laid out.", no_args_is_help=True, context_settings=HELP_OPTIONS
)
_MOST_NAMED = 20


@export.callback()
@import_group.callback()
def _formats() -> None:
    pass


@export.command("cognitive")
def export_cognitive(
    target: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A new folder, or a file NAME.zip.")],
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all memories, edges and the diary as a cognitive store has them.

    Memories keep their bytes; what is in the archive stays. `reverie import cognitive` takes it in elsewhere.
    """
    done = cognitive.export(App(store=store, user=user, graph=graph), target)
    output.data(done, lambda: _tell_export(done), as_json=as_json)


@import_group.command("cognitive")
def import_cognitive(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds graph/.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    instead: Annotated[
        bool, typer.Option("--replace", help="Take the file in place of the one here with its id.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also what reads like an instruction or a permission.")
    ] = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in a cognitive store, byte for byte.

    Nothing is overwritten: of a memory that is here with another text it says so. `reverie undo` takes it all
    back. Its files count as others' until `reverie adopt`.
    """
    app = App(store=store, user=user, graph=graph)
    done = cognitive_import.import_from(app, folder, dry_run=dry_run, instead=instead, force=force)
    output.data(done, lambda: _tell_import(done, dry_run=dry_run), as_json=as_json)
    if dry_run:
        output.talk("nothing was changed")
    elif done.change:
        store_option = scopes.option(app, own=True)
        output.talk(f"`reverie undo {store_option}{short_id(app, done.change)}` takes it back.")


def _tell_export(done: Exported) -> None:
    kinds = {"memory": done.memories, "edge": done.edges, "page of the diary": done.episodes}
    several = {"memory": "memories", "page of the diary": "pages of the diary"}
    parts = [count(number, kind, several.get(kind, f"{kind}s")) for kind, number in kinds.items()]
    output.line(f"{', '.join(parts)}: {done.target}")
    _tell_left(done.left)


def _tell_import(done: Imported, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    words = {
        f"{would}taken in": done.number("new"),
        f"{would}replaced": done.number("replaced"),
        f"{would}added to": done.number("added"),
        "there already": done.number("there"),
        "here with another text": done.number("differs"),
        "refused": done.number("left"),
    }
    parts = [f"{number} {word}" for word, number in words.items() if number]
    output.line(f"{count(len(done.rows), 'file')}: {', '.join(parts) or 'nothing to take in'}")
    if done.counts:
        output.line(f"access counts of {count(done.counts, 'memory', 'memories')} came along")
    named = [row for row in done.rows if row.why]
    for row in named[:_MOST_NAMED]:
        output.hanging("- ", f"{row.path}: {row.why}")
    if len(named) > _MOST_NAMED:
        output.line(f"- and {len(named) - _MOST_NAMED} more; --json names all")
    _tell_left(done.left)


def _tell_left(left: Sequence[Left]) -> None:
    if left:
        output.line("Not taken along:")
    for item in left[:_MOST_NAMED]:
        output.hanging("- ", f"{item.path}: {item.why}")
    if len(left) > _MOST_NAMED:
        output.line(f"- and {len(left) - _MOST_NAMED} more; --json names all")
