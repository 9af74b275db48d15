"""The command `adopt`: memory files of others, here or left behind where the project was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import adopted_files, adopting
from pipeline.app.adopted_files import Offer, Offered
from pipeline.app.application import App
from pipeline.app.history import short_id
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, StoreOption
from pipeline.core.errors import InputError, UsageError
from pipeline.safety.invisible import visible_name
from pipeline.text.humanize import count

_UNCHANGED = "nothing was changed"


def adopt(
    former: Annotated[
        Path | None,
        typer.Argument(metavar="[OLD-PATH]", help="Where the project was before, if it was moved."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    graph: GraphOption = None,
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
        if dry_run or as_json or (store, graph) != (None, None):
            raise UsageError("OLD-PATH takes no other options", fix="`reverie adopt OLD-PATH` alone.")
        folder = adopting.adopt(App(), former)
        output.line(f"the memories of {former} are this project's now: {folder}")
        return
    app = App(store=store, graph=graph)
    offer = adopted_files.offered(app)
    rows = offer.files
    change_id = ""
    if not as_json:
        _tell(offer)
    if rows and not dry_run and _agreed(len(rows), yes):
        change_id = adopted_files.adopt(app, rows)
        none_left = "another command has adopted these files: nothing is left to do"
        output.talk(_done(rows, short_id(app, change_id)) if change_id else none_left)
    elif dry_run and not as_json:
        output.talk(_UNCHANGED)
    output.talk(app.index_trouble())
    if as_json:
        value = {
            "change": change_id,
            "files": list(map(output.plain, rows)),
            "left": list(map(output.plain, offer.left)),
        }
        output.data(value, output.line, as_json=True)


def _tell(offer: Offer) -> None:
    """Print what a yes does: first what it changes, then the files that stay, one heading for equal deeds."""
    if not offer.files:
        here = "other memory here" if offer.left else "memory here"
        output.line(f"nothing to adopt: Reverie may tend every {here}")
    changed = [row for row in offer.files if not row.stays]
    if changed:
        output.line("A yes changes these:")
    for row in changed:
        output.hanging("- ", f"{visible_name(row.path)}: {row.deed}; who wrote it: {row.author}")
    same: dict[tuple[str, str], list[str]] = {}
    for row in offer.files:
        if row.stays:
            same.setdefault((row.deed, row.author), []).append(visible_name(row.path))
    # What is particular to a few stands above what is said of many.
    for at, ((deed, author), paths) in enumerate(sorted(same.items(), key=lambda group: len(group[1]))):
        if at or changed:
            output.line()
        files, each = ("This file", "it") if len(paths) == 1 else (f"These {len(paths)} files", "them")
        each_one = "it " if len(paths) == 1 else "each "
        output.line(f"{files}: {each_one}{deed}. Who wrote {each}: {author}.")
        output.hanging("  ", ", ".join(paths))
    if offer.left:
        output.line()
        output.line("These stay as they are:")
        for item in offer.left:
            output.hanging("- ", f"{item.path}: {item.why}")


def _done(rows: Sequence[Offered], short: str) -> str:
    """Return how many files were taken, how many of them left the folder, and what takes it back."""
    gone = sum(row.leaves for row in rows)
    left = f"; {gone} of them left the folder for archive/" if gone else ""
    return f"adopted {count(len(rows), 'file')}{left}. `reverie undo {short}` takes it back."


def _agreed(number: int, yes: bool) -> bool:
    if yes:
        return True
    if not output.can_ask():
        raise InputError("nothing was changed: here nobody can be asked", fix="Add --yes or --dry-run.")
    files, them = ("this file", "it") if number == 1 else (f"these {number} files", "them")
    output.talk(f"A dream may then merge, rewrite or retire {them}; `reverie undo` takes it back.")
    if output.ask(f"Let Reverie tend {files}?"):
        return True
    output.talk(_UNCHANGED)
    return False
