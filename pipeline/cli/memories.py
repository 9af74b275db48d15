"""Commands about single memories: show, why, forget, pin, unpin; and reindex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.app import memories as store_memories
from pipeline.app import pins, recall, scopes
from pipeline.app.application import App, problems_of
from pipeline.app.explaining import Reworded, Why
from pipeline.app.explaining import why as explained
from pipeline.app.rebuilding import rebuild
from pipeline.app.scopes import scope_of
from pipeline.cli import output
from pipeline.cli.changes import for_all
from pipeline.cli.options import (
    GraphOption,
    JsonOption,
    NameArgument,
    NamesArgument,
    StoreOption,
    TeamOption,
    UserOption,
)
from pipeline.cli.progress import progress
from pipeline.core.zone import minute
from pipeline.domain.authorship import AUTHORS, CLAUDE, NOBODY
from pipeline.hooklib.memory_format import EDITED_BY_HAND, UNVERIFIED, is_teams
from pipeline.hooklib.plain import one_line
from pipeline.store.files.identity import Identity
from pipeline.text.humanize import count

_MOST_CHANGES = 5
_SHOWN = 200
"""Characters of an entry that are shown where its quote is not in it."""


def show(
    name: NameArgument,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one memory as it stands in its file."""
    asked = App(store=store, graph=graph, user=user, team=team)
    app = scopes.holder(asked, name)
    document, problems = recall.show(app, name)
    text = document.raw.decode("utf-8", "replace")
    output.data(
        {"path": document.path, "text": text, "memory": document.memory, "scope": scope_of(app)},
        lambda: output.verbatim(text.rstrip("\n")),
        as_json=as_json,
    )
    for problem in problems:
        output.talk(problem)
    _note(asked, app, name)


def why(
    name: NameArgument,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who said it, where, and which run and model kept it."""
    asked = App(store=store, graph=graph, user=user, team=team)
    app = scopes.holder(asked, name)
    found = explained(app, name)
    output.data(
        {**output.plain(found), "scope": scope_of(app)}, lambda: _tell_why(found, app), as_json=as_json
    )
    _note(asked, app, name)


def forget(
    names: NamesArgument,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Retire memories so that old words never bring them back.

    They move to archive/. What a person says from now on can bring one back, and so can `reverie restore`.
    One of the team's goes only with --team, and then for everyone.
    """
    asked = App(store=store, graph=graph, user=user, team=team)
    # All are looked for before one is touched, so that a slip in a name forgets nothing.
    found = [(name, scopes.holder(asked, name)) for name in dict.fromkeys(names)]
    for name, app in found:
        scopes.require_meant(asked, app, name, "forget")
    done = []
    for name, app in found:
        note = scopes.namesake(asked, app, name)
        gone = store_memories.forget(app, name)
        done.append({"forgotten": gone, "scope": scope_of(app)})
        if not as_json:
            output.line(f"forgotten  {gone} (kept in archive/){for_all(app)}")
            output.talk(f"`reverie restore {scopes.option(app)}{gone}` brings it back.")
            output.talk(note)
    if as_json:
        output.data(done[0] if len(done) == 1 else done, output.line, as_json=True)


def pin(
    name: NameArgument,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Protect a memory from dreams."""
    _pin(App(store=store, graph=graph, user=user), name, pinned=True, as_json=as_json)


def unpin(
    name: NameArgument,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """End the protection of a pinned memory."""
    _pin(App(store=store, graph=graph, user=user), name, pinned=False, as_json=as_json)


def _pin(asked: App, name: str, *, pinned: bool, as_json: bool) -> None:
    app = scopes.holder(asked, name)
    memory = pins.pin(app, name, pinned=pinned)
    word = "pinned" if pinned else "unpinned"
    output.data(
        memory,
        lambda: output.line(f"{word:<10} {memory.name} ({memory.path}){for_all(app)}"),
        as_json=as_json,
    )
    _note(asked, app, name)


def _note(asked: App, app: App, name: str) -> None:
    note = scopes.namesake(asked, app, name)
    if note:
        output.talk(note)


def reindex(
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild MEMORY.md, all derived files and the search index.

    Of a team's folder the search index alone.
    """
    app = App(store=store, graph=graph, user=user)
    with progress("rebuilding"):
        changed = rebuild(app)

    def tell() -> None:
        for path in changed or ["nothing to change"]:
            output.verbatim(path)

    output.data(changed, tell, as_json=as_json)
    for line in problems_of(app.open_store().scan()):
        output.talk(line)
    if app.team_path is not None and not as_json:
        output.talk(f"Of the team's folder the search index alone: {app.team_path}")


def _tell_why(found: Why, app: App) -> None:
    memory = found.memory
    if found.note:
        output.talk(found.note)
    changed = _changed_by(found)
    output.line(f"{memory.name} ({memory.type}){for_all(app)}: {memory.description}")
    output.fields(
        {
            "file": found.path,
            "origin": _origin(found),
            **({"imported from": str(came)} if (came := memory.extra.get("imported_from")) else {}),
            "written": _written_on(found),
            **({"changed since by someone else": changed} if changed else {}),
            **({"written by": writer} if (writer := _writer(found)) else {}),
            **({"changed by Reverie": _changes(found)} if not found.ours else {}),
            **({"accepted by you": f"{found.accepted}, in the inbox"} if found.accepted else {}),
            **_revision(found),
            **({"found as well as": ", ".join(memory.aliases)} if memory.aliases else {}),
        }
    )
    for was in memory.replaces:
        when = f"said {was.day}" if was.day else "said on an unknown day"
        output.line(f"replaces: “{was.text}” ({when}{f', as {was.name}' if was.name else ''})")
    for text in found.by_hand:
        output.line(f"by hand: “{' '.join(text.split())}”")
    if memory.dictated_at and found.ours:
        since = "; what was changed since is below" if found.later else ""
        output.line(f"\nsource: you said it at {minute(memory.dictated_at)}, with `reverie add`{since}")
    _tell_reworded(found.later)
    _tell_sources(found)
    _tell_quotes(found)
    for text in () if memory.dictated_at else found.unsourced:
        output.line(f"\nno source stands for: “{' '.join(text.split())}”")
    _tell_runs(found)


def _tell_reworded(later: Sequence[Reworded]) -> None:
    """Tell who changed the words since, the newest change first."""
    for change in later[:_MOST_CHANGES]:
        which = f", {change.run}" if change.run else ""
        output.line(f"\nchanged at {minute(change.at, 'an unknown time')} by {change.by}{which}")
        for old, new in change.words:
            output.line(
                f"  “{old}” → “{new}”" if old and new else f"  {'out' if old else 'new'}: “{old or new}”"
            )
    more = len(later) - _MOST_CHANGES
    if more > 0:
        output.line(f"\n{count(more, 'earlier change')} of its words: `reverie history`")


def _revision(found: Why) -> dict[str, str]:
    """Return which revision it is, whose and of which machine; {} where it is kept in step with nobody."""
    newest = found.told
    if newest is None:
        return {}
    machine = f"{newest.machine}, this one" if newest.here else newest.machine
    more = "; the file was changed since" if newest.changed else ""
    shown = {"holds since": newest.decided}
    shown |= {} if _shared_by(found) else {"machine": f"{machine}, {minute(newest.at)}"}
    shown |= {"revision": f"{newest.revision[:12]}{more}"}
    return {label: text for label, text in shown.items() if text}


def _shared_by(found: Why) -> str:
    """Return who of a team said it, when and where, as its database vouches; "" for all else."""
    newest = found.told
    if newest is None or not newest.author or newest.changed:
        return ""
    machine = "this machine" if newest.here else f"machine {newest.machine}"
    if not newest.first:
        return f"{newest.author} says it; it stands so since {minute(newest.at)}, from {machine}"
    return f"{newest.author} shared it on {minute(newest.at)}, from {machine}"


def _tell_sources(found: Why) -> None:
    """Tell of each source; of several that stand for the same sentences, for which ones is said once."""
    number = 1
    for sentences, those in found.by_sentences:
        entries = _by_entry([found.sources[index] for index in those])
        if sentences and len(entries) > 1:
            output.line(f"\nsources {number} to {number + len(entries) - 1}")
            _tell_sentences(sentences)
        for source, more in entries:
            if not source["quote"] and source["speaker"] == "assistant":
                _tell_file_source(number, source)
            else:
                _tell_spoken_source(found, number, source, more, () if len(entries) > 1 else sentences)
            number += 1


def _tell_sentences(sentences: Sequence[str]) -> None:
    for text in sentences:
        output.line(f"  stands for: “{' '.join(text.split())}”")


def _tell_spoken_source(
    found: Why,
    number: int,
    source: Mapping[str, Any],
    more: Sequence[Mapping[str, Any]],
    sentences: Sequence[str],
) -> None:
    """Tell of a source that was spoken, of `more` of its entry, and of the `sentences` it stands for."""
    claim = "the file says that " if found.by == UNVERIFIED or is_teams(found.by) else ""
    spoken = {"person": "the person said", "pasted": "the person pasted"}
    telling = claim + spoken.get(source["speaker"], "the assistant said")
    output.line(f"\nsource {number}: {telling} at {minute(source['at'], 'an unknown time')}")
    output.line(f"  session {source['session']}, entry {source['uuid']}")
    for quoting in (source, *more):
        output.line(f"  quote: “{quoting['quote']}”")
        if not quoting["quoted"]:
            output.line(f"  but what was said there is: “{one_line(quoting['text'], _SHOWN)}”")
    _tell_sentences(sentences)
    if source["file"]:
        where = source["cwd"] or "an unknown directory"
        branch = f", on branch {source['branch']}" if source["branch"] else ""
        output.line(f"  transcript: {source['file']} (in {where}{branch})")
        if source["text"] is None:
            output.line("  the dialogue was deleted from the ledger; the quote is all there is")
    else:
        output.line("  the ledger does not hold that entry; the quote is all there is")


def _tell_quotes(found: Why) -> None:
    """Tell what somebody of the team said for it, as its file has it."""
    for row in found.quotes:
        output.line(f"\n{row['teller']} on {row['day'] or 'an unknown day'}, as the team's file has it:")
        output.line(f"  quote: “{row['quote']}”")
        for text in row["sentences"]:
            output.line(f"  stands for: “{' '.join(text.split())}”")


def _by_entry(
    sources: Sequence[Mapping[str, Any]],
) -> list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Return each of `sources`, which stand for the same sentences, with those of its entry."""
    found: dict[object, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {}
    for source in sources:
        key = (source["session"], source["uuid"], source["speaker"])
        if not source["quote"] or key not in found:
            found[key if source["quote"] else len(found)] = (source, [])
        else:
            found[key][1].append(source)
    return list(found.values())


def _tell_file_source(number: int, source: Mapping[str, Any]) -> None:
    """Tell of a source that is a file which Claude wrote, and what the person had said before."""
    output.line(
        f"\nsource {number}: Claude wrote it at {minute(source['at'], 'an unknown time')}"
        f" in session {source['session']}"
    )
    for text in source["after"]:
        output.line(f"  after you said: “{one_line(text, _SHOWN)}”")
    if source["file"]:
        output.line(f"  transcript: {source['file']}, entry {source['uuid']}")
    elif not source["after"]:
        what = "that entry" if source["is_session_held"] else "that session"
        output.line(f"  the ledger does not hold {what}")


def _writer(found: Why) -> str:
    """Return who wrote the file, "" where that is known otherwise or not at all."""
    of_a_team = found.told is not None and found.told.author
    return "" if of_a_team or found.author is None else _author(found.author)


def _author(author: Identity) -> str:
    return AUTHORS.get((author.by, author.sign), NOBODY)


def _origin(found: Why) -> str:
    """Return who says it, and what the file claims where nothing bears that out."""
    if shared := _shared_by(found):
        return shared
    memory = found.memory
    claimed = "added by you" if memory.dictated_at and not is_teams(found.by) else memory.origin
    if found.by in (UNVERIFIED, EDITED_BY_HAND) or is_teams(found.by):
        return f"{found.by}; it claims to be {claimed}" if claimed else found.by
    return claimed or "unknown"


def _tell_runs(found: Why) -> None:
    for run in found.runs:
        output.line(f"\nrun {run['id']} ({run['strategy']}): {run['provider']} {run['model']}".rstrip())
        if run["prompt_digest"]:
            output.line(f"  request: {run['prompt_digest'][:12]}")
        if run["replies"]:
            output.line(f"  replies: {run['replies']}")


def _written_on(found: Why) -> str:
    """Return when it was written, by what its file says, else by the call or stamp that is known of it."""
    known = minute(found.memory.created)
    if known or found.author is None:
        return known or "unknown"
    return minute(found.author.at, "unknown: the file names no day, and no session tells of it")


def _changed_by(found: Why) -> str:
    """Return whether somebody changed the file since Reverie wrote it, and when; "" where it never did."""
    if found.told is not None and found.told.author:
        return "yes, in the file here, and it is not sent yet" if found.told.changed else "no"
    if is_teams(found.by):
        return "nobody can tell: others write in this folder too"
    if found.ours:
        return "no, but by Reverie's commands: see below" if found.later else "no"
    if found.edit is None:
        return ""
    on = f" on {minute(found.edit.at)}" if found.edit.at else ""
    hand = "by Claude" if found.author and found.author.by == CLAUDE else "by hand"
    return f"yes, {hand}{on}; `reverie diff {found.memory.name}` shows how"


def _changes(found: Why) -> str:
    """Return whether Reverie changes the file of itself, which is not as it wrote it."""
    if found.waits:
        return "it never wrote this file, and won't change it until you type `reverie adopt`"
    if found.left:
        return f"not of itself: the file {found.left}"
    return "not yet; a dream may, as Claude wrote it, and `reverie undo` takes that back"
