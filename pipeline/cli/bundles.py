"""``reverie bundle``, ``replay`` and ``rerun``: a run handed on, done again, or asked anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import bundles as use_case
from pipeline.app import replaying, rerunning
from pipeline.app.application import App
from pipeline.app.bundles import Bundle
from pipeline.app.replaying import Replayed
from pipeline.app.rerunning import Rerun
from pipeline.cli import output
from pipeline.cli.options import JsonOption, LlmOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table
from pipeline.text.humanize import count, room

_SHOWN_OF_DIGEST = 12
RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, or the beginning of one; `reverie status` names runs."),
]


def bundle(
    run: RunArgument,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Default: reverie-bundle-RUN.zip here.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the texts that would be in it.")] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask. Without a terminal nothing is written but with this."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write what a run was judged by into one redacted archive.

    It is to hand on with a report of a fault: replies, the lines they cite with those around them, the
    memories they are about, what was done and what was turned down, versions; nothing else that was said.
    What is in it is shown first.
    """
    made = use_case.collect(App(), run)
    if not as_json:
        _tell_content(made, show=show)
    target = to or Path(made.file_name)
    fix = "Look at it, then add --yes."
    if not output.agreed(f"Write {target}?", yes=yes, unasked="nothing was written", fix=fix):
        output.talk("Nothing was written.")
        return
    size = use_case.write(made, target)
    value = {
        "run": made.run_id,
        "file": target,
        "bytes": size,
        "redacted": made.redacted,
        "kinds": made.kinds,
    }
    if show:
        value["texts"] = made.texts
    output.data(value, lambda: output.line(f"wrote {target} ({room(size)})"), as_json=as_json)


def replay(
    file: Annotated[Path, typer.Argument(metavar="BUNDLE", help="What `reverie bundle` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Run a bundle again without a model, and say what differs.

    It is screened, judged by the kept replies and planned as it was, over a store of its own. Ends with 1 if
    anything else comes out.
    """
    found = replaying.replay(file)
    output.data(found, lambda: _tell_replay(found), as_json=as_json)
    for text in found.notes:
        output.talk(f"note: {text}")
    if not found.is_same:
        raise typer.Exit(1)


def rerun(
    run: RunArgument,
    llm: LlmOption = None,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="Default: config.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Ask another model about a run's dialogue, to compare.

    Or the same with the prompts of today. What it would have done is shown beside what was done. It is asked
    about the rows of the ledger that the run read, over a copy of the store; the calls count under your caps.
    """
    with progress("asking"):
        found = rerunning.rerun(App(llm=llm), run, model=model)
    output.data(found, lambda: _tell_rerun(found), as_json=as_json)
    for text in found.notes:
        output.talk(f"note: {text}")


def _tell_content(made: Bundle, *, show: bool) -> None:
    rows = [[name, room(len(text.encode()))] for name, text in made.texts.items()]
    table(["text", "size"], rows, empty="")
    kinds = f" ({', '.join(made.kinds)})" if made.kinds else ""
    output.line(f"{count(made.redacted, 'secret')} taken out{kinds}; paths and names of users are shortened")
    if not show:
        output.talk("--show prints the texts.")
        return
    for name, text in made.texts.items():
        output.line()
        output.line(f"{name}:")
        output.verbatim(text.rstrip("\n"))


def _tell_replay(found: Replayed) -> None:
    if found.is_same:
        actions = count(len(found.now["actions"]), "action")
        output.line(f"the same: {found.now['outcome']}, {actions}, {len(found.now['rejected'])} turned down")
        return
    output.line(f"it comes out otherwise than with Reverie {found.reverie}:")
    for item in found.differences:
        if item.then:
            output.hanging(f"- {item.about}  ", item.then)
        if item.now:
            output.hanging(f"+ {item.about}  ", item.now)


def _tell_rerun(found: Rerun) -> None:
    output.line(f"rows {found.from_row} to {found.through_row} of {found.key}")
    sides = (found.then, found.now)
    rows = [
        ["provider", *(side.provider for side in sides)],
        ["model", *(side.model or "–" for side in sides)],
        ["request", *(side.request[:_SHOWN_OF_DIGEST] or "–" for side in sides)],
        ["calls", *(f"{side.calls}, {side.tokens:,} tokens, ${side.dollars:.4f}" for side in sides)],
        ["outcome", *(str(side.done["outcome"]) for side in sides)],
    ]
    rows += [[name, *(side.became.get(name, "–") for side in sides)] for name in found.names]
    table(["", "then", "now"], rows, empty="")
    for name in found.names:
        texts = [side.texts.get(name, "") for side in sides]
        if any(texts) and texts[0] != texts[1]:
            output.line()
            output.line(name)
            output.hanging("  then  ", texts[0] or "–")
            output.hanging("  now   ", texts[1] or "–")
