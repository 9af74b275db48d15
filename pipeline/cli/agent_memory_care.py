"""The care of agent-memory's files as commands: validate, repair, restore, index, export, import, migrate."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import agent_memory as mirroring
from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.history import short_id
from pipeline.cli import output
from pipeline.cli.agent_memory_options import DirOption, TypeOption, opened, tell_warnings
from pipeline.cli.options import DryRunOption, GraphOption, JsonOption, StoreOption, UserOption
from pipeline.core.tools import run_tool
from pipeline.formats.agent_memory import checking, transfer
from pipeline.formats.agent_memory.checking import Finding
from pipeline.formats.agent_memory.index import VERSION, version_of
from pipeline.formats.agent_memory.layout import acl_command
from pipeline.formats.agent_memory.memory import Page
from pipeline.formats.agent_memory.outcome import Synced, Wish, in_words
from pipeline.formats.agent_memory.shown import shown_records
from pipeline.text.humanize import count

_MOST_ROWS = 20
YesOption = Annotated[bool, typer.Option("--yes", help="Archive also where many are gone at once.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Write over what is there.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands of this module to `group`."""
    named: dict[str, Callable[..., None]] = {
        "validate": validate,
        "repair": repair,
        "restore": restore,
        "rebuild-index": rebuild_index,
        "export": export,
        "import": import_file,
        "migrate": migrate,
        "sync": sync,
    }
    for name, command in named.items():
        group.command(name)(command)


def validate(folder: DirOption = None, as_json: JsonOption = False) -> None:
    """Look for what is wrong, by file and line.

    Nothing is written. The exit code is 1 where a line does not count or a file can't be used.
    """
    found = checking.validate(opened(folder))
    output.data(found, lambda: _tell_findings(found), as_json=as_json)
    if any(item.is_error for item in found):
        raise typer.Exit(1)


def repair(folder: DirOption = None, as_json: JsonOption = False) -> None:
    """Mend what can be mended.

    Lines that nobody can read go to a file beside, as they are.
    """
    memory = opened(folder)
    done = checking.repair(memory)
    restrict(memory.root)

    def tell() -> None:
        for text in done.done:
            output.hanging("- ", text)
        if not done.done:
            output.line("nothing to mend")

    output.data(done, tell, as_json=as_json)


def restore(
    name: Annotated[str, typer.Argument(metavar="FILE", help="Such as learnings.jsonl.")],
    backup: Annotated[str, typer.Argument(metavar="[BACKUP]", help="Its name; default: the newest.")] = "",
    folder: DirOption = None,
) -> None:
    """Put a backup in the place of a file.

    A backup of that file is made before.
    """
    memory = opened(folder)
    number = checking.restore(memory, name, backup)
    tell_warnings(memory)
    output.line(f"{name} has {count(number, 'memory', 'memories')} again")


def rebuild_index(folder: DirOption = None) -> None:
    """Make index.json anew of the files."""
    memory = opened(folder)
    with memory.writer():
        found = memory.rebuild()
    tell_warnings(memory)
    output.line(f"index.json has {count(sum(found.by_type.values()), 'memory', 'memories')}")


def export(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, or JSON for NAME.json.")],
    force: ForceOption = False,
    folder: DirOption = None,
) -> None:
    """Write all memories to one file, those in the archive too."""
    memory = opened(folder)
    number = transfer.export(memory, target, force=force)
    tell_warnings(memory)
    output.line(f"{count(number, 'memory', 'memories')}: {target}")


def import_file(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="An export, or an agent's JSON file.")],
    kind: TypeOption = "",
    dry_run: DryRunOption = False,
    force: ForceOption = False,
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in memories from a file.

    Secrets are taken out, and each line that can't be taken is named.
    """
    memory = opened(folder)
    done = transfer.import_from(memory, source, kind=kind, dry_run=dry_run, force=force)
    tell_warnings(memory)
    output.data(done, lambda: _tell_import(done, source, dry_run=dry_run), as_json=as_json)


def migrate(folder: DirOption = None) -> None:
    """Bring the files to the format's newest version.

    A backup is made before.
    """
    memory = opened(folder)
    before = version_of(memory.root) or VERSION
    with memory.writer():
        memory.rebuild()
    tell_warnings(memory)
    output.line(
        f"version {before} is {VERSION} now" if before != VERSION else f"version {VERSION} is the newest"
    )


def sync(
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    bring_back: Annotated[
        bool, typer.Option("--bring-back", help="What vanished from one side comes back from the other.")
    ] = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the store here and the files the same.

    It goes in both directions; where both changed, both texts stay.
    `reverie config set agent_memory.mirror user` keeps the memories for all projects so after each run.
    """
    app, memory = App(store=store, user=user, graph=graph), opened(folder)
    done = mirroring.sync(app, memory, Wish(dry_run=dry_run, yes=yes, bring_back=bring_back))
    tell_warnings(memory)
    output.data(done, lambda: _tell_sync(done, dry_run=dry_run), as_json=as_json)
    if dry_run:
        output.talk("nothing was changed")
    elif done.change:
        option = scopes.option(app, own=True)
        output.talk(f"`reverie undo {option}{short_id(app, done.change)}` takes back what came in.")


def test_connection(folder: Path | None) -> None:
    """Say whether the files can be read and locked, and how many tools and resources a client would get."""
    from pipeline.server.agent_memory_tools import AGENT_MEMORY_TOOLS, RESOURCES

    memory = opened(folder)
    with memory.writer():
        number = sum(memory.index().by_type.values())
    tell_warnings(memory)
    output.line(
        f"ok: {len(AGENT_MEMORY_TOOLS)} tools, {len(RESOURCES)} resources,"
        f" {count(number, 'memory', 'memories')} in {memory.root}"
    )


def restrict(root: Path) -> None:
    """On Windows, leave the folder to this person alone; elsewhere the modes say it."""
    if os.name == "nt":
        run_tool(acl_command(root, getpass.getuser()))


def page_of(page: Page) -> dict[str, Any]:
    """Return a page of a query as a client is told of it."""
    return {
        "memories": shown_records(page.memories),
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
        "has_more": page.has_more,
    }


def _tell_findings(found: Sequence[Finding]) -> None:
    for item in found:
        where = f"{item.file}:{item.line}" if item.line else item.file
        word = "error" if item.is_error else "warning"
        output.hanging(f"{word}: ", f"{where}: {item.message}. {item.fix}", level=word)
    output.line(count(len(found), "finding") if found else "all is well")


def _tell_sync(done: Synced, *, dry_run: bool) -> None:
    for text in done.notices:
        output.hanging("held back: ", text)
    if done.only_there:
        number = count(done.only_there, "memory is", "memories are")
        output.line(f"{number} only in the files, lost or taken back here; --bring-back fetches them")
    if done.rows or not (done.notices or done.only_there):
        words = in_words(done.rows)
        output.line(f"would be: {words}" if words and dry_run else words or "both are the same")
    named = [row for row in done.rows if row.why or dry_run]
    for row in named[:_MOST_ROWS]:
        output.hanging("- ", f"{row.name or row.id}: {row.why or row.deed}")
    if len(named) > _MOST_ROWS:
        output.line(f"- and {len(named) - _MOST_ROWS} more; --json names all")


def _tell_import(done: transfer.Taken, source: Path, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    words = {
        f"{would}taken in": done.number("new"),
        f"{would}replaced": done.number("replaced"),
        "there already": done.number("there"),
        "here with another text": done.number("differs"),
        "refused": done.number("refused"),
    }
    parts = [f"{number} {word}" for word, number in words.items() if number]
    output.line(f"{count(len(done.rows), 'memory', 'memories')}: {', '.join(parts) or 'nothing to take in'}")
    if done.secrets:
        output.line(f"secrets taken out: {done.secrets}")
    named = [row for row in done.rows if row.why]
    for row in named[:_MOST_ROWS]:
        where = f"{source}:{row.line}" if row.line else f"{source} {row.id}".rstrip()
        output.hanging("- ", f"{where}: {row.why}")
    if len(named) > _MOST_ROWS:
        output.line(f"- and {len(named) - _MOST_ROWS} more; --json names all")
