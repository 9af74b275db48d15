"""``reverie patterns``, ``similar``, ``coaccess`` and ``errors``: what sessions' use of tools shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import tool_use as use_case
from pipeline.cli import listings, output
from pipeline.cli.journal_options import PlotOption, TranscriptsOption
from pipeline.cli.listings import AllOption, LimitOption
from pipeline.cli.options import JsonOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table
from pipeline.core.errors import UsageError
from pipeline.core.zone import day
from pipeline.formats.keisei.coaccess import Pair, shared_folder
from pipeline.formats.keisei.failures import SessionErrors, by_tool, errors_per_session
from pipeline.formats.keisei.patterns import Pattern
from pipeline.formats.keisei.patterns import patterns as class_patterns
from pipeline.formats.keisei.sequences import RepeatedSequence, repeated_sequences
from pipeline.formats.keisei.similar import COMMAND, FILE, Similar
from pipeline.text.humanize import count

NewestOption = Annotated[
    int | None, typer.Option("--newest", metavar="N", min=1, help="Only the N transcripts written last.")
]
_CLASS_COLUMNS = ("class", "times", "sessions", "most in one", "first", "last")
_STEPS_COLUMNS = ("steps", "times", "sessions", "last")
_LEGEND = (
    "refused: calls that you did not allow, counted among the failed; corrected: times that you set Claude"
    " right; failed of: failed calls by tool."
)
_ARROW = " → "
_MOST_SHARED = 6
_MOST_PLOTTED = 40
_TOP_TOOLS = 4


def patterns(
    classes: Annotated[
        bool, typer.Option("--classes", help="Classes of events instead of sequences of steps.")
    ] = False,
    commands: Annotated[bool, typer.Option("--commands", help="Only commands of a shell.")] = False,
    cross: Annotated[bool, typer.Option("--cross-session", help="Only what came in two sessions.")] = False,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only of this session.")] = "",
    times: Annotated[int, typer.Option("--times", metavar="N", min=2, help="At least so many times.")] = 2,
    failed: Annotated[bool, typer.Option("--failed", help="Count steps that failed, too.")] = False,
    folder: TranscriptsOption = None,
    newest: NewestOption = None,
    limit: LimitOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List steps or classes of events that come again.

    Steps are commands by program and subcommand, and work on files by kind. Only what worked counts, and
    nothing goes on behind a person's words.
    """
    if classes and (commands or failed):
        raise UsageError("--classes is not about steps", fix="Leave out --commands and --failed.")
    source = use_case.Source(folder, newest=newest)
    shown = listings.most(limit, as_json=as_json)
    if classes:
        with progress("reading"):
            known = [
                pattern
                for pattern in class_patterns(source.events(session), source.class_of, cross_session=cross)
                if pattern.times >= times
            ]
        rows = listings.first(known, shown)
        output.data(
            rows, lambda: table(_CLASS_COLUMNS, map(_class_row, rows), empty="no patterns"), as_json=as_json
        )
        listings.tell_rest(len(known), shown, how="--limit 0 shows all")
        _plot_classes(known, plot)
    else:
        with progress("reading"):
            found = repeated_sequences(
                source.events(session),
                times=times,
                sessions=2 if cross else 1,
                only_successful=not failed,
                commands_only=commands,
                clean=source.clean,
            )
        some = listings.first(found, shown)
        output.data(
            some, lambda: table(_STEPS_COLUMNS, map(_steps_row, some), empty="no patterns"), as_json=as_json
        )
        listings.tell_rest(len(found), shown, how="--limit 0 shows all")
        _plot_sequences(found, plot)
    _tell_source(source)


def _class_row(pattern: Pattern) -> Sequence[object]:
    most = f"{pattern.most:,} ({pattern.most_in[:8]})"
    days = (_day(pattern.first_ms), _day(pattern.last_ms))
    return (output.harmless(pattern.event_class), f"{pattern.times:,}", pattern.sessions, most, *days)


def _steps_row(found: RepeatedSequence) -> Sequence[object]:
    return _ARROW.join(found.steps), found.times, found.sessions, _day(found.last_ms)


def _plot_classes(known: Sequence[Pattern], plot: Path | None) -> None:
    if plot is not None:
        from pipeline.formats.keisei import plots

        rows = [
            (item.event_class, item.times, f"{item.times:,} in {count(item.sessions, 'session')}")
            for item in known
        ]
        subtitle = f"the {min(len(rows), plots.MOST_BARS)} most frequent of {len(rows)}"
        plots.bars(rows, plot, title="Classes of events", subtitle=subtitle, unit="events")
        output.talk(f"drawn: {plot}")


def _plot_sequences(found: Sequence[RepeatedSequence], plot: Path | None) -> None:
    if plot is not None:
        from pipeline.formats.keisei import plots

        rows = [
            (_ARROW.join(item.steps), item.times, f"{item.times:,} in {count(item.sessions, 'session')}")
            for item in found[: plots.MOST_BARS]
        ]
        rows.sort(key=lambda row: -row[1])
        subtitle = "steps that worked and followed one another, found most widely"
        plots.bars(rows, plot, title="Steps that come again", subtitle=subtitle, unit="times")
        output.talk(f"drawn: {plot}")


def similar(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="A session's id, the beginning of one, or a file.")
    ] = "",
    text: Annotated[str, typer.Option("--text", metavar="WORDS", help="Like these words instead.")] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 5,
    folder: TranscriptsOption = None,
    newest: NewestOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the sessions most like one.

    It goes by what was asked, the files worked on and the commands run; 1.00 would be the same. What they
    share is listed, what says most first.
    """
    if bool(session) == bool(text):
        raise UsageError("like what", fix="Name a session, or give --text, one of them.")
    source = use_case.Source(folder, newest=newest)
    with progress("reading"):
        wanted, found = use_case.similar_sessions(source, session, text, most=limit)
    columns = ("session", "began", "like", "what was asked first", "both have")
    output.data(
        {"session": wanted, "text": text, "similar": found},
        lambda: table(columns, map(_similar_row, found), empty="no matches"),
        as_json=as_json,
    )
    _tell_source(source)


def _similar_row(item: Similar) -> Sequence[object]:
    shared = [feature.text for feature in item.shared if feature.kind != COMMAND] or [
        feature.text for feature in item.shared if feature.kind != FILE
    ]
    return (
        item.session[:8],
        _day(item.first_ms),
        f"{item.score:.2f}",
        item.title,
        ", ".join(shared[:_MOST_SHARED]),
    )


def coaccess(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Only with this file: the end of its path.")
    ] = "",
    times: Annotated[int, typer.Option("--times", metavar="N", min=1, help="At least so many times.")] = 2,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only of this session.")] = "",
    folder: TranscriptsOption = None,
    newest: NewestOption = None,
    limit: LimitOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List files used together.

    That is within five minutes of one another in a session; the most frequent pair comes first.
    """
    source = use_case.Source(folder, newest=newest)
    with progress("reading"):
        found = use_case.used_together(source, session=session, file=file, times=times)
    shown = listings.most(limit, as_json=as_json)
    pairs = listings.first(found, shown)
    columns = ("file", "with", "times", "sessions", "in")
    rows = map(_pair_row, pairs)
    output.data(pairs, lambda: table(columns, rows, empty="no files were used together"), as_json=as_json)
    listings.tell_rest(len(found), shown, how="--limit 0 shows all")
    if plot is not None:
        from pipeline.formats.keisei import plots

        names, counts = use_case.field_of(found, plots.MOST_FILES)
        below = shared_folder(names)
        plots.together([name.removeprefix(below) for name in names], counts, plot, folder=below)
        output.talk(f"drawn: {plot}")
    _tell_source(source)


def _pair_row(pair: Pair) -> Sequence[object]:
    folder = shared_folder((pair.file_a, pair.file_b))
    names = (pair.file_a.removeprefix(folder), pair.file_b.removeprefix(folder))
    return *names, pair.count, pair.sessions, folder


def errors(
    tools: Annotated[bool, typer.Option("--by-tool", help="By tool, over all sessions.")] = False,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only of this session.")] = "",
    folder: TranscriptsOption = None,
    newest: NewestOption = None,
    limit: LimitOption = None,
    everything: AllOption = False,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List for each session how many calls of tools failed.

    The latest comes last. Among the failed are calls that a person refused.
    """
    source = use_case.Source(folder, newest=newest)
    with progress("reading"):
        known = errors_per_session(source.events(session), source.clean)
    shown = listings.most(limit, everything=everything, as_json=as_json)
    some = known if shown is None else known[-shown:]
    if tools:
        _show_tools(known, as_json=as_json)
    else:
        values = [output.plain(held) | {"share": round(held.share, 4)} for held in some]
        columns = ("session", "began", "calls", "failed", "share", "refused", "corrected", "failed of")
        output.data(
            values, lambda: table(columns, map(_errors_row, some), empty="no sessions"), as_json=as_json
        )
        listings.tell_rest(len(known), shown, which="earlier")
        if some and not as_json and output.width() is not None:
            output.talk(_LEGEND)
    _plot_errors(known, plot)
    _tell_source(source)


def _errors_row(held: SessionErrors) -> Sequence[object]:
    tools = ", ".join(f"{tool} {number}" for tool, number in _ranked(held))
    figures = (f"{held.calls:,}", held.errors, f"{100 * held.share:.0f} %" if held.calls else "")
    return held.session[:8], _day(held.first_ms), *figures, held.refused, held.corrections, tools


def _ranked(held: SessionErrors) -> list[tuple[str, int]]:
    return sorted(held.by_tool.items(), key=lambda item: (-item[1], item[0]))


def _show_tools(known: Sequence[SessionErrors], *, as_json: bool) -> None:
    found = by_tool(known)
    rows = [
        (tool, f"{calls:,}", errors, f"{100 * errors / calls:.0f} %" if calls else "")
        for tool, calls, errors in found
    ]
    value = [{"tool": tool, "calls": calls, "errors": errors} for tool, calls, errors in found]
    columns = ("tool", "calls", "failed", "share")
    output.data(value, lambda: table(columns, rows, empty="no calls"), as_json=as_json)


def _plot_errors(known: Sequence[SessionErrors], plot: Path | None) -> None:
    if plot is None:
        return
    from pipeline.formats.keisei import plots

    drawn = known[-_MOST_PLOTTED:]
    top = [tool for tool, _, errors in by_tool(drawn) if errors][:_TOP_TOOLS]
    stacks = [(tool, [held.by_tool[tool] for held in drawn]) for tool in top]
    rest = [held.errors - sum(held.by_tool[tool] for tool in top) for held in drawn]
    if any(rest):
        stacks.append(("others", rest))
    labels = [f"{_day(held.first_ms)}  {held.session[:6]}" for held in drawn]
    plots.failures(labels, stacks, [held.calls for held in drawn], plot)
    output.talk(f"drawn: {plot}")


def _day(moment: int | None) -> str:
    return "" if moment is None else day(datetime.fromtimestamp(moment / 1000, UTC))


def _tell_source(source: use_case.Source) -> None:
    for error in source.skipped:
        output.talk(f"skipped: {error}")
    if len(source.files) < source.known:
        output.talk(f"of the {len(source.files):,} transcripts written last, of {source.known:,}")
