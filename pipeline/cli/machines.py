"""``reverie sync`` without a format: one person's memories on several machines, by a git repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from pipeline.app import in_step, machines, scopes
from pipeline.app.application import App
from pipeline.app.history import short_id
from pipeline.cli import named_rows, output
from pipeline.core.errors import InputError, UsageError
from pipeline.sharing.conflicts import Conflict
from pipeline.sharing.run import Synced
from pipeline.text.humanize import count

_CONFLICTS_TOLD = 20
_NAMED_AT_ONCE = 5
"""So many names are told of those that would come in."""
_DRY = "--dry-run works only with another program's files, not between machines"


def between_machines(
    app: App, word: str, named: str, *, dry_run: bool, force: bool, yes: bool, as_json: bool
) -> None:
    """Do what `word` says, "" being to sync now; `named` is the remote that `init` needs."""
    if dry_run:
        raise UsageError(_DRY, fix="`reverie sync status` says what waits; `reverie undo` takes it back.")
    if bool(named) != (word == "init"):
        fix = "`reverie sync init REMOTE`, with an address or an empty folder."
        raise UsageError(
            "no remote is named" if word == "init" else f"`sync {word}` takes no PATH",
            fix=fix if word == "init" else f"`reverie sync {word}`.",
        )
    if word == "status" and not machines.is_begun(app):
        none = "synced with no other machine; `reverie sync init REMOTE` begins that"
        output.data({"remote": None}, lambda: output.line(none), as_json=as_json)
    elif word == "status":
        found = machines.status(app)
        output.data(found, lambda: _tell_status(app, found), as_json=as_json)
    elif word == "leave":
        remote = machines.leave(app)
        output.data(
            {"left": remote}, lambda: output.line(f"No longer in step with {remote}"), as_json=as_json
        )
        output.talk("The memories here stay, and so does all that was sent there.")
    elif word == "init":
        if not _may_mix(machines.strangers(app, named), yes=yes):
            output.data({"remote": None}, lambda: output.line("nothing was changed"), as_json=as_json)
            return
        begun = machines.init(app, named, force=force)
        output.data(begun, lambda: _tell_begun(begun), as_json=as_json)
        _tell_end(app, begun.first, first=not begun.former)
    else:
        done = machines.now(app, force=force)
        output.data(done, lambda: _tell(done), as_json=as_json)
        _tell_end(app, done)


def _may_mix(names: list[str], *, yes: bool) -> bool:
    """Whether the memories here may be mixed with those of these `names`. Raises InputError where unasked."""
    if not names or yes:
        return True
    many = count(len(names), "memory", "memories")
    listed = ", ".join(names[:_NAMED_AT_ONCE]) + (", …" if len(names) > _NAMED_AT_ONCE else "")
    what = f"that repository holds {many} of which none is known here ({listed})"
    if not output.can_ask():
        raise InputError(
            f"nothing was changed: {what}",
            fix="If they are to be mixed with those here, on every machine, add --yes; else name another.",
        )
    return output.ask(f"{what[0].upper()}{what[1:]}. Mix them with those here, on every machine?")


def _tell_begun(begun: machines.Begun) -> None:
    made = ", an empty repository made for it" if begun.made else ""
    output.line(f"In step with {begun.remote} from now on{made}")
    if begun.former:
        output.line(f"It was {begun.former} before, where all stays that was sent.")
        output.talk(
            "The whole history that this machine knows goes along, also what was forgotten since. A new"
            " repository without it: `reverie sync leave` first, on each machine."
        )
    _tell(begun.first)


def summary(done: Synced, *, unit: str, here: str = "") -> str:
    """Return on one line what `done` sent, in `unit`, and what came or left, with `here` behind it."""
    parts = [
        f"{count(number, 'memory', 'memories')} {word}{here}"
        for number, word in ((done.came, "came or changed"), (done.left, "taken out"))
        if number
    ]
    fate = "kept to be sent" if done.error else "sent"
    sent = [f"{count(done.told, unit)} {fate}"] if done.told else []
    if sent or parts:
        return "; ".join([*sent, *parts])
    if done.error:
        return "nothing new here"
    if done.taken:
        return f"{count(done.taken, unit)} came, by which no memory changed{here}"
    return "nothing new on either side" if done.memories else "nothing is shared yet"


def _tell(done: Synced) -> None:
    output.line(summary(done, unit="record", here=" here"))
    named_rows.tell(done.names)
    _tell_kept(done.held, done.refused)
    if done.asked:
        output.line(f"{count(done.asked, 'question')} for you: `reverie inbox`")
    if not (done.memories or done.held or done.error):
        output.talk("What a session teaches or `reverie add TEXT` writes goes with the next sync.")


def tell_conflicts(found: Sequence[Conflict], option: str = "") -> None:
    """Tell where two did otherwise: what each did and when, and what settles it, with its `option`."""
    if found:
        output.line("Two did otherwise, and both stand:")
    for item in found[:_CONFLICTS_TOLD]:
        output.hanging("- ", in_step.heading_of(item))
        for text in (*in_step.sides_of(item), _settling(item, option)):
            output.hanging("    ", text)
    if len(found) > _CONFLICTS_TOLD:
        output.line(f"- and {len(found) - _CONFLICTS_TOLD} more; --json has all")


def _settling(found: Conflict, option: str) -> str:
    yes, no = found.answers
    if not found.number:
        return "the next sync asks about it in the inbox"
    return f"`reverie inbox accept {option}{found.number}` {yes}, `reject {option}{found.number}` {no}"


def _tell_kept(held: list[dict[str, str]], refused: list[dict[str, str]]) -> None:
    for title, rows in (("Stays on this machine:", held), ("Does not come in:", refused)):
        if rows:
            output.line(title)
            named_rows.tell([f"{row['name']}: {row['why']}" for row in rows])


def _tell_end(app: App, done: Synced, *, first: bool = False) -> None:
    undo = f"`reverie undo {scopes.option(app, own=True)}{short_id(app, done.change)}`" if done.change else ""
    if undo and first:
        output.talk(
            "If that was the wrong repository: `reverie sync leave` first; then"
            f" {undo} takes back here alone what came in."
        )
    elif undo:
        output.talk(f"{undo} takes back what came in, for all.")
    if done.refused:
        output.talk("`reverie sync --force` takes in what only reads like a permission or an instruction.")
    if done.error:
        output.talk(f"{done.error}. {done.fix}")
        raise typer.Exit(1)


def _tell_status(app: App, found: dict[str, Any]) -> None:
    output.fields(dict(in_step.facts_of_machines(found, app.clock.now())))
    tell_conflicts(found["conflicts"], scopes.option(app, own=True))
    _tell_kept(found["held"], found["refused"])
    for text in found["odd"]:
        output.line(text)
