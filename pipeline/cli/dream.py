"""Commands around the dream: consolidate, dream, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import dream as dreams
from pipeline.app import history, views
from pipeline.app.application import App
from pipeline.app.changes import as_text
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, LlmOption, StoreOption
from pipeline.cli.page_files import HtmlOption, RedactOption, homes, require_fit, write_page
from pipeline.cli.progress import progress
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.report import DreamReport, as_markdown
from pipeline.core.errors import InputError
from pipeline.core.zone import minute


def consolidate(
    force: Annotated[bool, typer.Option("--force", help="Do not ask the gates.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge and prune one store, checked and undoable."""
    with progress("dreaming"):
        report = dreams.consolidate(App(store=store, graph=graph, llm=llm), force=force, dry_run=dry_run)
    output.data(report, lambda: _tell(report), as_json=as_json)


def reflect(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    since: Annotated[
        str,
        typer.Option(
            "--since", metavar="WHEN", help="What was changed since 2026-11-20, yesterday, 7d or 2w."
        ),
    ] = "",
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Dream over the store here; no gate is asked.

    REFLECTION.md is made anew after it.
    """
    app = App(store=store, graph=graph, llm=llm)
    with progress("dreaming"):
        report = dreams.consolidate(app, force=True, dry_run=dry_run, since=since)
        if not dry_run:
            views.reflection(app, app.open_store())
    output.data(report, lambda: _tell(report), as_json=as_json)


def dream(
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every project, as the scheduler does it.")
    ] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Consolidate the stores whose gates are open."""
    with progress("dreaming"):
        reports = list(dreams.dream_all(App(store=store, graph=graph, llm=llm), everywhere=everywhere))

    def tell() -> None:
        for report in reports:
            if everywhere:
                output.line(f"== {report.store}")
            _tell(report)
        if not reports:
            output.line("no memory folder is known yet")

    output.data(reports, tell, as_json=as_json)
    if any(report.word == "failed" for report in reports):
        raise typer.Exit(1)


def report(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The start of its id. Default: the newest dream here.")
    ] = "",
    html: HtmlOption = None,
    redact: RedactOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a dream did, and what it held back.

    Every dream that ran has a report, also one that found nothing to do.
    """
    require_fit(html, redact=redact, as_json=as_json)
    app = App(store=store, graph=graph)
    file = reports.find(app.home, app.store_path, run)
    if file is None:
        raise InputError(
            f"no dream here has an id that begins with {run!r}" if run else "no dream has run here yet",
            fix="`reverie status` says when the next one is due.",
        )
    whole = file.with_suffix(".json").read_text("utf-8")
    if html is not None:
        _write(app, json.loads(whole), file.read_text("utf-8"), html, redact=redact)
        return
    output.data(json.loads(whole), lambda: output.line(file.read_text("utf-8").rstrip()), as_json=as_json)


def _write(app: App, values: dict[str, Any], markdown: str, html: Path, *, redact: bool) -> None:
    """Write the report with the diffs of what the dream changed, where these are kept."""
    from pipeline.safety.sent import sendable
    from pipeline.web import alone

    known = homes(Path(app.here), app.store_path) if redact else ()

    def clean(text: str) -> str:
        return sendable(text, known) if redact else text

    run = str(values.get("run_id", ""))
    kept = any(item.run == run for item in app.open_store().history()) if app.store_path.is_dir() else False
    files = history.diff(app, run) if kept else []
    changes = [alone.changed(clean(each.path), clean(as_text(each))) for each in files]
    title = f"Dream of {minute(str(values.get('at', '')))}"
    page = alone.report_file(title, clean(markdown), changes, f"Written {minute(app.clock.now())}")
    write_page(html, page, redacted=redact)


def _tell(report: DreamReport) -> None:
    if report.word == "closed":
        output.line(f"not now: {report.reason}")
        output.talk("`reverie consolidate --force` does not ask these gates." if report.gates else "")
        for gate in report.gates:
            output.line(f"  {'open  ' if gate.open else 'closed'} {gate.name:<9} {gate.reason}")
        return
    output.line(as_markdown(report).rstrip("\n"))
