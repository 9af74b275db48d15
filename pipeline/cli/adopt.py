"""The command `adopt`: memory files of others, here or left behind where the project was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import adopted_files, adopting
from pipeline.app.adopted_files import Offer
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import JsonOption, StoreOption
from pipeline.core.errors import InputError, UsageError
from pipeline.safety.invisible import visible_name


def adopt(
    former: Annotated[
        Path | None,
        typer.Argument(metavar="[OLD-PATH]", help="Where the project was before, if it was moved."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let Reverie tend files that others wrote: one yes.

    It lists each file with who wrote it, how that is known, and what would be done. `reverie undo` takes all
    of it back. Files that Claude wrote need no yes, and pinned ones stay as they are.

    With OLD-PATH it takes over the memories of a project that came here from another disk or machine. One
    that was moved on the same disk is known again by itself, at the start of its next session.
    """
    if former is not None:
        if dry_run or store is not None or as_json:
            raise UsageError("OLD-PATH takes no other options", fix="`reverie adopt OLD-PATH` alone.")
        folder = adopting.adopt(App(), former)
        output.line(f"the memories of {former} are this project's now: {folder}")
        return
    app = App(store=store)
    offer = adopted_files.offered(app)
    rows = offer.files
    change_id = ""
    if not as_json:
        _tell(offer)
    if rows and not dry_run and _agreed(len(rows), yes):
        change_id = adopted_files.adopt(app, rows)
        undo = f"adopted. `reverie undo {change_id}` takes it back."
        output.talk(undo if change_id else "another command has adopted these files: nothing is left to do")
    output.talk(app.index_trouble())
    if as_json:
        value = {
            "change": change_id,
            "files": list(map(output.plain, rows)),
            "left": list(map(output.plain, offer.left)),
        }
        output.data(value, output.line, as_json=True)


def _tell(offer: Offer) -> None:
    here = "other memory here" if offer.left else "memory here"
    output.table(
        ["file", "who wrote it", "what a yes does"],
        [[visible_name(row.path), row.author, row.deed] for row in offer.files],
        empty=f"nothing to adopt: Reverie may tend every {here}",
    )
    if offer.left:
        output.line()
        output.line("These stay as they are:")
        for item in offer.left:
            output.hanging("- ", f"{item.path}: {item.why}")


def _agreed(count: int, yes: bool) -> bool:
    if yes:
        return True
    if not output.can_ask():
        raise InputError("nothing was changed: here nobody can be asked", fix="Add --yes or --dry-run.")
    files = "this file" if count == 1 else f"these {count} files"
    if output.ask(f"Let Reverie tend {files}?"):
        return True
    output.talk("nothing was changed")
    return False
