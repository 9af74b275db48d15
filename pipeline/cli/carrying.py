"""``reverie import``, ``export`` and ``sync``: memories of other programs and machines, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.carried_here import Carrying
from pipeline.app.history import short_id
from pipeline.cli import named_rows, output
from pipeline.cli.options import DryRunOption, GraphOption, JsonOption, StoreOption, UserOption
from pipeline.core.errors import UsageError
from pipeline.formats import registry
from pipeline.text.humanize import count

WORDS = ("init", "status", "leave")
"""What `sync` takes in place of a format's name, for several machines."""
_WHOLE_STORE = "cognitive"
"""The format in which a whole store goes along: edges, diary and counts too, byte for byte."""


def _names(incomplete: str) -> list[str]:
    return [name for name in registry.NAMES if name.startswith(incomplete)]


FormatArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help=f"{', '.join(registry.NAMES)}.", autocompletion=_names),
]
PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="The file or folder of that format.")]
DoubtfulOption = Annotated[
    bool, typer.Option("--force", help="--replace, and what reads like an instruction or a permission.")
]


def import_memories(
    name: FormatArgument,
    path: PathArgument,
    dry_run: DryRunOption = False,
    instead: Annotated[
        bool, typer.Option("--replace", help="Take what is there in place of another text here.")
    ] = False,
    force: DoubtfulOption = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in memories of another program.

    Nothing here is overwritten without --replace. Secrets are left out; what is taken counts as imported.
    `reverie undo` takes it all back.
    """
    app = App(store=store, user=user, graph=graph)
    if name == _WHOLE_STORE:
        from pipeline.cli import cognitive

        cognitive.take_in(app, path, dry_run=dry_run, instead=instead or force, force=force, as_json=as_json)
        return
    from pipeline.app.carrying import import_from

    done = import_from(app, name, path, dry_run=dry_run, instead=instead, force=force)
    words = {
        "new": "taken in",
        "replaced": "replaced",
        "there": "there already",
        "differs": "here with another text",
        "refused": "refused",
    }
    _show(app, done, words, dry_run=dry_run, as_json=as_json)


def export(
    name: FormatArgument,
    path: PathArgument,
    dry_run: DryRunOption = False,
    force: Annotated[bool, typer.Option("--force", help="Write over another text there.")] = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write memories in the format of another program.

    What stands there stays; of a memory that is there with another text it says so. It says what the format
    can't carry. `cognitive` writes the whole store into a new folder, or a file NAME.zip.
    """
    app = App(store=store, user=user, graph=graph)
    if name == _WHOLE_STORE and not force and not dry_run:
        from pipeline.cli import cognitive

        cognitive.export(app, path, as_json=as_json)
        return
    from pipeline.app.carrying import export_to

    done = export_to(app, name, path, dry_run=dry_run, force=force)
    words = {
        "new": "written",
        "replaced": "written over",
        "there": "there already",
        "differs": "there with another text",
        "refused": "refused",
    }
    _show(app, done, words, dry_run=dry_run, as_json=as_json)


_IN_STEP = {
    "new here": "new here",
    "new there": "new there",
    "here": "changed here",
    "there": "changed there",
    "both": "changed on both sides",
    "same": "the same",
    "gone here": "gone here",
    "gone there": "gone there",
    "left": "on one side only",
    "refused": "refused",
    "conflict": "in conflict",
}


def _sync_names(incomplete: str) -> list[str]:
    return [name for name in (*WORDS, *registry.NAMES) if name.startswith(incomplete)]


def sync(
    name: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help=f"init, status or leave; or a format: {', '.join(registry.NAMES)}. None: sync now.",
            autocompletion=_sync_names,
        ),
    ] = "",
    path: Annotated[
        str,
        typer.Argument(metavar="REMOTE|PATH", help="The remote of `init`; the file or folder of a format."),
    ] = "",
    dry_run: DryRunOption = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="What left one side leaves the other; doubtful texts come in; a rewritten remote is joined.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With `init`: mix with what other memories are there.")
    ] = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep memories in step, on machines or in formats.

    `sync init REMOTE` begins with a git repository of their own: an address, or a folder that becomes one.
    `sync` syncs now, as the background worker does; `sync status` says what waits; `sync leave` ends it.

    With a format: what one side changed goes to the other. Where both changed the same, both stand and it
    says so, with exit code 1. `reverie undo` takes back what came in here.
    """
    app = App(store=store, user=user, graph=graph)
    if name in ("", *WORDS):
        from pipeline.cli.machines import between_machines

        between_machines(app, name, path, dry_run=dry_run, force=force, yes=yes, as_json=as_json)
        return
    from pipeline.app.syncing import sync_with

    if not path:
        raise UsageError(
            f"no file or folder of the format {name} is named", fix=f"`reverie sync {name} PATH`."
        )
    done = sync_with(app, name, Path(path), dry_run=dry_run, force=force)
    _show(app, done, _IN_STEP, dry_run=dry_run, as_json=as_json, names=dry_run)
    if done.number("conflict"):
        raise typer.Exit(1)


def _show(
    app: App, done: Carrying, words: dict[str, str], *, dry_run: bool, as_json: bool, names: bool = False
) -> None:
    output.data(done, lambda: _tell(done, words, dry_run=dry_run, names=names), as_json=as_json)
    _tell_end(app, done, dry_run=dry_run)


def _tell(done: Carrying, words: dict[str, str], *, dry_run: bool, names: bool) -> None:
    parts = [f"{number} {word}" for deed, word in words.items() if (number := done.number(deed))]
    would = "would be: " if dry_run else ""
    output.line(
        f"{count(len(done.rows), 'memory', 'memories')}: {would}{', '.join(parts) or 'nothing to do'}"
    )
    named_rows.tell_asleep(done.asleep)
    if done.redacted:
        output.line(f"{count(done.redacted, 'secret')} left out")
    rows = [row for row in done.rows if row.why or (names and row.deed != "same")]
    named_rows.tell([f"{row.where or row.name}: {row.why or words[row.deed]}" for row in rows])
    if done.faults:
        output.line("Not taken along:")
        named_rows.tell([f"{fault['where']}: {fault['why']}" for fault in done.faults])
    if done.lost:
        output.line(f"{done.format} can't carry:")
        named_rows.tell([f"{words_} ({number})" for words_, number in done.lost.items()])


def _tell_end(app: App, done: Carrying, *, dry_run: bool) -> None:
    if dry_run:
        output.talk("nothing was changed")
        return
    if done.former:
        output.talk(f"The files as they were: {done.former}")
    if done.change:
        store_option = scopes.option(app, own=True)
        output.talk(
            f"`reverie undo {store_option}{short_id(app, done.change)}` takes back what came in here."
        )
