"""The command for going: uninstall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import output
from pipeline.cli.install import LINE_BY_LINE, OPEN, agreed, tell_edit
from pipeline.cli.options import DryRunOption
from pipeline.cli.progress import progress
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.install import claude_settings, commands, hooks, purging
from pipeline.install.hook_registration import former_homes
from pipeline.install.hooks import Edit, Removal
from pipeline.sharing.turn import turns


def uninstall(
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Also delete Reverie's home (ledger, settings, logs), not memories."),
    ] = False,
    with_memories: Annotated[
        bool, typer.Option("--with-memories", help="With --purge: the memories for all projects as well.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. Without a terminal --purge needs this.")
    ] = False,
) -> None:
    """Remove the hooks; the file becomes as it was.

    Memories stay: they are yours.
    """
    if with_memories and not purge:
        raise UsageError("--with-memories goes with --purge", fix="Add --purge.")
    home, root = paths.home_dir(), paths.project_root(Path.cwd())
    homes = [home, *former_homes(home)]
    removal = hooks.plan_removal(homes, claude_settings.files(root))
    scheduled = purging.scheduled(home)
    _tell_removal(removal, scheduled, claude_settings.wiring(root).plugin, whole=dry_run)
    # The present one last: what it notes of the others must not go before them.
    emptied = homes[::-1] if purge else []
    for each in emptied:
        _tell_purge(each, removal, with_memories, dry_run=dry_run, former=each != home)
        _tell_shared(each)
    if removal.edits and not (dry_run or yes):
        output.talk(LINE_BY_LINE)
    done = not dry_run and bool(removal.edits or purge or scheduled)
    if done and purge and not yes and not output.can_ask():
        raise InputError(
            "nothing was changed: --purge deletes, and here nobody can be asked", fix="Add --yes."
        )
    if done and not agreed(_question(removal.edits, emptied, with_memories), yes):
        output.talk("nothing was changed")
        done = False
    if done:
        _remove(homes, removal, scheduled)
        made = purging.made_for(emptied)
        for each in emptied:
            _purge(each, removal, with_memories, made)
        output.talk(OPEN)
    _tell_faults(removal, done=done)


def _tell_faults(removal: Removal, *, done: bool) -> None:
    """Name each file that Reverie could not be taken out of, and end as wrong if there is one."""
    faults = list(removal.faults.values())
    if not faults:
        return
    if done:
        output.talk("Reverie is not out of the files below; mend them, then run the command again.")
    for fault in faults[:-1]:
        output.failure(fault)
    raise faults[-1]


def _remove(homes: Sequence[Path], removal: Removal, scheduled: Sequence[str]) -> None:
    hooks.remove(homes, removal)
    for edit in removal.edits:
        if not commands.is_ours(edit.file):
            what = "the server" if edit.about else "hooks"
            output.line(f"{'removed' if edit.after is None else f'{what} taken out of'} {edit.file}")
    if any(commands.is_ours(edit.file) for edit in removal.edits):
        output.line(f"removed the commands in {commands.folder()}")
    if scheduled:
        purging.unschedule(homes[0])
        output.line("the scheduler no longer looks for a dream")


def _tell_removal(removal: Removal, scheduled: Sequence[str], plugin: str, *, whole: bool) -> None:
    for edit in removal.edits:
        if not commands.is_ours(edit.file):
            tell_edit(edit, output.line, whole=whole)
    if gone := commands.summary(removal.edits):
        output.line(gone)
    if not (removal.edits or removal.faults):
        output.line("no hooks of Reverie in any settings file")
    if scheduled:
        output.line(f"scheduled look for a dream ({', '.join(scheduled)}): goes too")
    if plugin:
        output.talk(f"The plugin runs still: `claude plugin uninstall {plugin}` takes it out.")


def _purge(home: Path, removal: Removal, with_memories: bool, made: Sequence[str]) -> None:
    keep = hooks.notes_of(home, removal.faults)
    with progress("waiting for the background worker"):
        left = purging.purge(home, with_memories=with_memories, keep_notes=keep, made=made)
    output.line(f"removed {home}" if not (left.memories or left.strange or keep) else f"emptied {home}")
    if keep:
        output.line(f"kept {home}: what is noted of files that can't be changed now")
    _tell_kept("kept", left)


def _tell_purge(home: Path, removal: Removal, with_memories: bool, *, dry_run: bool, former: bool) -> None:
    """Say what a purge deletes; after a dry run also what stays."""
    keep = hooks.notes_of(home, removal.faults)
    try:
        gone = purging.would_go(home, with_memories=with_memories, keep_notes=keep)
    except InputError as error:
        # The hooks go all the same; then the purge refuses.
        output.talk(str(error))
        return
    names = ", ".join(f"{path.name}/" if path.is_dir() else path.name for path in gone)
    which = f"{home}, where Reverie's home was before" if former else str(home)
    output.line(f"to delete in {which}:\n  {names}" if gone else f"nothing to delete in {which}")
    if dry_run:
        _tell_kept("stays", purging.left_by(home, gone, keep_notes=keep))


def _tell_shared(home: Path) -> None:
    """Say where what was sent from `home` stays, and how to end that first."""
    for turn in turns(home):
        where = f"the team {turn.team}" if turn.team else turn.remote
        how = "`reverie team leave`" if turn.team else "`reverie sync leave`"
        folder = Path(turn.store).parent if turn.team else Path(turn.store)
        output.line(f"in step with {where}: {folder}")
        output.talk(
            f"What was sent to {where} stays there, and this home forgets that it was. {how} first ends it"
            f"{', so that no machine of your login reads or writes there any more' if turn.team else ''}."
        )


def _tell_kept(word: str, left: purging.Purged) -> None:
    if left.memories:
        output.line(f"{word} {left.memories}: the memories for all projects (--with-memories removes them)")
    for path in left.strange:
        output.line(f"{word} {path}: not made by Reverie")
    for path in left.stores:
        output.line(f"{word} {path}: memories of a project, in Claude Code's own folder")


def _question(edits: list[Edit], homes: Sequence[Path], with_memories: bool) -> str:
    taken = "Take Reverie out of Claude Code" if edits else "Take Reverie out"
    if not homes:
        return f"{taken}? Memories, settings and the ledger stay."
    kept = "Memories of projects stay" if with_memories else "All memories stay"
    return f"{taken}, and delete what it keeps in {' and '.join(map(str, homes))}? {kept}."
