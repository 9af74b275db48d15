"""Commands that look for what is wrong: doctor at the installation, audit at any folder of memories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import JsonOption, LlmOption, StoreOption
from pipeline.core import clock
from pipeline.diagnostics import doctor
from pipeline.diagnostics.audit import Audit
from pipeline.diagnostics.audit import audit as look_through
from pipeline.domain.finding import Finding
from pipeline.text.humanize import count


def examine(
    online: Annotated[
        bool, typer.Option("--online", help="Also make one small model call, which costs a little.")
    ] = False,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Examine the installation and the store.

    Changes nothing. Exit code 1 when something is wrong.
    """
    findings = doctor.examine(App(store=store, llm=llm), online=online)

    def tell() -> None:
        for finding in findings:
            output.hanging(f"{finding.level:<6}", f"{finding.code}: {finding.message}", level=finding.level)
            if finding.fix:
                output.hanging("      → ", finding.fix)
        wrong = sum(finding.level == "error" for finding in findings)
        noted = sum(finding.level == "note" for finding in findings)
        output.line()
        output.line(f"{count(wrong, 'error')}, {count(noted, 'note')}, {len(findings)} things looked at")

    rows = [{"level": f.level, "what": f.code, "message": f.message, "fix": f.fix} for f in findings]
    output.data(rows, tell, as_json=as_json)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A memory folder, whoever wrote it.")],
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="P", help="Where the files named in memories are looked for."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check any folder of memories; nothing is written.

    Exit code 1 when there are errors.
    """
    found = look_through(folder.expanduser(), now=clock.from_environment().now(), project=project)
    counts = found.count()
    value = {
        "folder": str(found.folder),
        "project": found.project,
        "memories": found.memories,
        "counts": counts,
        "findings": [
            {
                field: getattr(finding, field)
                for field in ("level", "code", "path", "line", "message", "fix", "other")
            }
            for finding in found.findings
        ],
    }
    output.data(value, lambda: _tell(found), as_json=as_json)
    if counts["error"]:
        raise typer.Exit(1)


def _tell(found: Audit) -> None:
    for finding in found.problems:
        _finding(finding)
    if found.notes:
        if found.problems:
            output.line()
        output.line("Notes: to know, and often nothing is wrong.")
        for finding in found.notes:
            _finding(finding)
    if found.findings:
        output.line()
    counts = ", ".join(count(number, level) for level, number in found.count().items() if number)
    output.line(f"{count(found.memories, 'memory', 'memories')}: {counts or 'nothing wrong'}")
    if found.project is None:
        output.talk("relative paths were not looked for: --project names the project's directory")


def _finding(finding: Finding) -> None:
    text = f"{finding.where}: {finding.code}: {finding.message}. {finding.fix}"
    output.hanging(f"{finding.level:<8}", text, level=finding.level)
