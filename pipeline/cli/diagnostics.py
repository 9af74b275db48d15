"""Commands that look for what is wrong: doctor at the installation, audit at any folder of memories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.cli import listings, output
from pipeline.cli.listings import AllOption, LimitOption
from pipeline.cli.options import GraphOption, JsonOption, LlmOption, StoreOption
from pipeline.cli.progress import progress
from pipeline.core import clock, paths
from pipeline.core.home import Home
from pipeline.diagnostics import doctor
from pipeline.diagnostics.audit import Audit, FirstSight, first_sight
from pipeline.diagnostics.audit import audit as look_through
from pipeline.diagnostics.audit.first_sight import Row
from pipeline.domain.finding import Finding, Level
from pipeline.text.humanize import count

_COUNTED: tuple[Level, ...] = ("error", "warning", "note")
_WIDTH = 80
"""Columns that a screen is taken to have where nobody can tell."""


def examine(
    online: Annotated[
        bool, typer.Option("--online", help="Also make one small model call, which costs a little.")
    ] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Examine the installation and the store.

    Changes nothing. Exit code 1 when something is wrong.
    """
    findings = doctor.examine(App(store=store, graph=graph, llm=llm, looks=True), online=online)

    def tell() -> None:
        for finding in findings:
            output.hanging(f"{finding.level:<8}", f"{finding.code}: {finding.message}", level=finding.level)
            if finding.fix:
                output.hanging(f"{'→':>9} ", finding.fix)
        numbers = {level: sum(finding.level == level for finding in findings) for level in _COUNTED}
        counts = ", ".join(count(number, level) for level, number in numbers.items())
        output.line()
        output.line(f"{counts}, {len(findings)} things looked at")

    rows = [{"level": f.level, "what": f.code, "message": f.message, "fix": f.fix} for f in findings]
    output.data(rows, tell, as_json=as_json)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


def audit(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A memory folder, whoever wrote it; default: the project's."),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="P", help="Where the files named in memories are looked for."),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="One screen: how many of what, and what Reverie would do.")
    ] = False,
    limit: LimitOption = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check any folder of memories; nothing is written.

    Exit code 1 when there are errors.
    """
    shown = listings.most(limit, everything=everything, as_json=as_json)
    root = folder.expanduser() if folder else App(looks=True).store_path
    if folder is None and project is None:
        project = paths.project_root(Path.cwd())
    ledger = Home(paths.home_dir()).ledger
    with progress("looking"):
        found = look_through(root, now=clock.from_environment().now(), project=project, ledger=ledger)
    if short:
        seen = first_sight(found)
        whole = f"`reverie audit {folder}`" if folder else "`reverie audit`"
        output.data(seen, lambda: tell_first_sight(seen, whole), as_json=as_json)
    else:
        output.data(_value(found), lambda: _tell(found, shown), as_json=as_json)
    if found.count()["error"]:
        raise typer.Exit(1)


def tell_first_sight(seen: FirstSight, whole: str = "`reverie audit`") -> None:
    """Print a folder at a glance: at most a line for each kind of fault, and what happens to the files.

    `whole` is the command that names each.
    """
    room = output.width() or _WIDTH
    output.line(f"{count(seen.memories, 'memory', 'memories')} in {seen.folder}")
    output.line()
    for row in seen.rows:
        lead = f"{row.number:>5}  "
        output.hanging(lead, row.about + _examples(row, room - len(lead) - len(row.about)))
    if seen.more:
        lead, rest = f"{seen.more:>5}  ", "more" if seen.rows else "small"
        kinds = ", ".join(f"{code} ({number})" if number > 1 else code for code, number in seen.kinds)
        output.hanging(lead, f"{rest} {'thing' if seen.more == 1 else 'things'} to know: {kinds}")
    if not (seen.rows or seen.more):
        output.line("Nothing is wrong with them.")
    output.line()
    for sentence in seen.plan:
        output.hanging("- ", sentence)
    output.talk(f"Nothing was changed. {whole} names each fault, with its line and what to do.")


def _examples(row: Row, room: int) -> str:
    """Return the first of the row's paths that fit in `room` characters, behind a colon, or nothing.

    Of one fault between two files both are named, however long they are.
    """
    if row.number == 1 and len(row.paths) == 2:
        return ": " + " and ".join(row.paths)
    shown = ""
    for number, path in enumerate(row.paths, start=1):
        longer = f"{shown}, {path}" if shown else f": {path}"
        rest = ", …" if number < len(row.paths) else ""
        if len(longer) + len(rest) > room:
            return f"{shown}, …" if shown else ""
        shown = longer
    return shown


def _value(found: Audit) -> dict[str, object]:
    return {
        "folder": str(found.folder),
        "project": found.project,
        "memories": found.memories,
        "counts": found.count(),
        "writers": found.writers,
        "findings": [
            {
                field: getattr(finding, field)
                for field in ("level", "code", "path", "line", "message", "fix", "other")
            }
            for finding in found.findings
        ],
    }


def _tell(found: Audit, shown: int | None) -> None:
    problems = listings.first(found.problems, shown)
    notes = listings.first(found.notes, None if shown is None else shown - len(problems))
    for finding in problems:
        _finding(finding)
    if notes:
        if problems:
            output.line()
        output.line("Notes: to know, and often nothing is wrong.")
        for finding in notes:
            _finding(finding)
    if found.findings:
        output.line()
    counts = ", ".join(count(number, level) for level, number in found.count().items() if number)
    output.line(f"{count(found.memories, 'memory', 'memories')}: {counts or 'nothing wrong'}")
    for sentence in first_sight(found).plan:
        output.hanging("- ", sentence)
    listings.tell_rest(len(found.findings), shown, how="--short sums them up, --all shows all")
    if found.project is None:
        output.talk("relative paths were not looked for: --project names the project's directory")


def _finding(finding: Finding) -> None:
    text = f"{finding.where}: {finding.code}: {finding.message}. {finding.fix}"
    output.hanging(f"{finding.level:<8}", text, level=finding.level)
