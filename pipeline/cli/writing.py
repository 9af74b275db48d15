"""Commands that write a memory at a person's word: add, procedure, update, edit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import descriptions, memories, scopes, writing
from pipeline.app.application import App
from pipeline.app.writing import Change, NewMemory, Written
from pipeline.cli import output
from pipeline.cli.changes import for_all
from pipeline.cli.options import (
    TYPE_NAMES,
    GraphOption,
    JsonOption,
    NameArgument,
    StoreOption,
    TeamOption,
    UserOption,
)
from pipeline.core.errors import InputError, ReverieError, cause
from pipeline.core.tools import edit_bytes

_OTHERWISE = "name a file that holds the new text by --file"

Text = str | None
Texts = list[str] | None
TitleOption = Annotated[Text, typer.Option("--title", help="Its title.")]
DescriptionOption = Annotated[
    Text, typer.Option("--description", help='One line for the index; "" makes it of the text.')
]
TagOption = Annotated[Texts, typer.Option("--tag", metavar="TAG", help="A tag; give it once for each.")]
ImportanceOption = Annotated[
    float | None, typer.Option("--importance", metavar="N", help="From 0 to 1; 0.5 is usual.")
]
ConfidenceOption = Annotated[float | None, typer.Option("--confidence", metavar="N", help="From 0 to 1.")]
StepOption = Annotated[Texts, typer.Option("--step", metavar="TEXT", help="A procedure's step, in order.")]
BeforeOption = Annotated[
    Texts, typer.Option("--precondition", metavar="TEXT", help="What must hold before a procedure.")
]
AfterOption = Annotated[
    Texts, typer.Option("--postcondition", metavar="TEXT", help="What holds after a procedure.")
]
StatusOption = Annotated[
    Text, typer.Option("--status", metavar="WORD", help="A task's: open, blocked, done and the like.")
]
EndOption = Annotated[
    Text, typer.Option("--completed-at", metavar="WHEN", help="When a task was done; with `done`, now.")
]
BlockerOption = Annotated[Texts, typer.Option("--blocker", metavar="TEXT", help="What a task waits for.")]
OutcomeOption = Annotated[Text, typer.Option("--outcome", metavar="TEXT", help="What came of a task.")]
AnchorOption = Annotated[
    Texts, typer.Option("--anchor", metavar="PATH", help="A file, folder or command that it is about.")
]
_FIELDS = {
    "title": "title",
    "text": "content",
    "description": "description",
    "tag": "tags",
    "add_tag": "add_tags",
    "remove_tag": "remove_tags",
    "importance": "importance",
    "confidence": "confidence",
    "anchor": "anchors",
    "step": "steps",
    "precondition": "preconditions",
    "postcondition": "postconditions",
    "status": "status",
    "completed_at": "completed_at",
    "blocker": "blockers",
    "outcome": "outcome",
}
"""Options that say what a memory holds, and what they are called there."""


def add(
    statement: Annotated[str, typer.Argument(metavar="TEXT", help="The fact, in one or a few sentences.")],
    kind: Annotated[
        str, typer.Option("--type", metavar="T", help=f"{TYPE_NAMES}. Default: what the words speak for.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="Its name; made from the text if not given.")] = "",
    title: TitleOption = None,
    description: DescriptionOption = None,
    why: Annotated[str, typer.Option("--why", help="The reason.")] = "",
    tag: TagOption = None,
    importance: ImportanceOption = None,
    confidence: ConfidenceOption = None,
    anchor: AnchorOption = None,
    step: StepOption = None,
    precondition: BeforeOption = None,
    postcondition: AfterOption = None,
    status: StatusOption = None,
    completed_at: EndOption = None,
    blocker: BlockerOption = None,
    outcome: OutcomeOption = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Also if a memory says the same already, or the text reads like a permission."
        ),
    ] = False,
    user: Annotated[bool, typer.Option("--user", help="For all projects, not only the one here.")] = False,
    team: Annotated[bool, typer.Option("--team", help="For the team, whose others read it.")] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a memory yourself.

    One whose text stands in a memory already is not written: exit code 1, and its name is told.
    """
    app = App(store=store, graph=graph, user=user, team=team)
    given = _named(locals())
    memory = memories.add(app, statement, kind=kind, name=name, why=why, force=force, **given)
    output.data(
        memory,
        lambda: output.line(f"created    {memory.name} ({memory.type}, {memory.path}){for_all(app)}"),
        as_json=as_json,
    )
    output.talk(app.index_trouble())


def procedure(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is for.")],
    step: StepOption = None,
    precondition: BeforeOption = None,
    postcondition: AfterOption = None,
    text: Annotated[str, typer.Option("--text", help="What else is to be said; else the title.")] = "",
    name: Annotated[str, typer.Option("--name", help="Its name; made from the title if not given.")] = "",
    tag: TagOption = None,
    importance: ImportanceOption = None,
    anchor: AnchorOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also if a memory says the same already, or reads like an order.")
    ] = False,
    user: Annotated[bool, typer.Option("--user", help="For all projects, not only the one here.")] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a procedure, step by step.

    It has steps in order, what must hold before them, and what holds after.
    """
    app = App(store=store, graph=graph, user=user)
    if not step:
        raise InputError("a procedure has steps", fix="Name each by --step, in order.")
    given = _named(locals())
    new = NewMemory(type="procedure", name=name, confidence=1.0, force=force, **given)
    written = writing.store_memory(app, app.open_store(create=True), new)
    _tell(written, app, as_json=as_json)
    output.talk(app.index_trouble())


def update(
    name: NameArgument,
    title: TitleOption = None,
    text: Annotated[Text, typer.Option("--text", help="Its whole text anew.")] = None,
    description: DescriptionOption = None,
    tag: Annotated[
        Texts, typer.Option("--tag", metavar="TAG", help="All its tags anew; give it once for each.")
    ] = None,
    add_tag: Annotated[Texts, typer.Option("--add-tag", metavar="TAG", help="One more tag.")] = None,
    remove_tag: Annotated[Texts, typer.Option("--remove-tag", metavar="TAG", help="A tag less.")] = None,
    importance: ImportanceOption = None,
    confidence: ConfidenceOption = None,
    anchor: AnchorOption = None,
    step: StepOption = None,
    precondition: BeforeOption = None,
    postcondition: AfterOption = None,
    status: StatusOption = None,
    completed_at: EndOption = None,
    blocker: BlockerOption = None,
    outcome: OutcomeOption = None,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change what you name of a memory, nothing else.

    Lists are given anew as a whole, item by item; an empty item alone (--step "") empties one.
    """
    given = _named(locals())
    asked = App(store=store, graph=graph, user=user, team=team)
    app = scopes.holder(asked, name)
    scopes.require_meant(asked, app, name, "update")
    change = Change(**given)
    if change == Change():
        raise InputError(
            "nothing is named that should change", fix="`reverie update --help` lists the options."
        )
    _tell(writing.update_memory(app, app.open_store(), name, change), app, as_json=as_json)


def edit(
    name: NameArgument,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Take the text from there; - reads it from stdin."),
    ] = None,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a memory's file in your editor.

    $VISUAL or $EDITOR opens a copy. What can't be read or kept is refused, and your text is kept for another
    try.
    """
    asked = App(store=store, graph=graph, user=user, team=team)
    app = scopes.holder(asked, name)
    scopes.require_meant(asked, app, name, "edit")
    store_here = app.open_store()
    document = writing.to_edit(store_here, name)
    data = edit_bytes(document.raw, _OTHERWISE) if file is None else _read(file)
    try:
        written = writing.as_edited(app, store_here, document, data)
    except ReverieError as error:
        if file is not None:
            raise
        draft = writing.keep_draft(app, document, data)
        raise InputError(
            f"your text was not written: {error}",
            fix=f"{error.fix} It is kept: `reverie edit {name} --file {draft}` tries again.".strip(),
        ) from error
    _tell(written, app, as_json=as_json)


def _read(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"it can't be read: {cause(error)}", file=str(file), fix="Check --file.") from error


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a command's `options` that were given, as fields of a memory to be written."""
    return {field: options[name] for name, field in _FIELDS.items() if options.get(name) is not None}


def _tell(written: Written, app: App, *, as_json: bool) -> None:
    memory = written.memory
    output.data(
        {"memory": memory, "done": written.done, "change": written.change_id},
        lambda: output.line(f"{written.done:<10} {memory.name} ({memory.path}){for_all(app)}"),
        as_json=as_json,
    )
    if written.done == "updated":
        output.talk("`reverie diff` shows what changed, `reverie undo` takes it back.")
        output.talk(descriptions.note_on(app, app.open_store().read(memory.path or memory.name)))
