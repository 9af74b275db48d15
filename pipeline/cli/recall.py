"""Commands about recall: what it would say, and what it said."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import recall as recollect
from pipeline.app.application import App
from pipeline.app.recall import Told
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, StoreOption
from pipeline.cli.tables import table
from pipeline.core.zone import minute
from pipeline.ledger.recalls import Line, SessionTotals
from pipeline.recall import Considered, Recollections


def recall(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="A prompt, as you would type it.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Every memory that was looked at, with score and verdict.")
    ] = False,
    dormant: Annotated[
        bool, typer.Option("--dormant", help="Dormant memories as well (`reverie decay`).")
    ] = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what recall would put before a prompt."""
    app = App(store=store, graph=graph)
    found = recollect.recall(app, " ".join(query), explain=explain, dormant=dormant)
    output.data(_plain(found), lambda: _tell(found, " ".join(query) if explain else ""), as_json=as_json)
    if explain and found.considered and not as_json:
        for sentence in recollect.needs_in_words(app, found):
            output.talk(sentence)
    for problem in found.problems:
        output.talk(problem)


def injected(
    session: Annotated[
        str | None,
        typer.Argument(metavar="SESSION", help="A session's id, or its start; default: the latest."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The totals of the latest sessions.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what recall put into a session, when and why."""
    if everything:
        rows = recollect.sessions(App())
        output.data(rows, lambda: _tell_sessions(rows), as_json=as_json)
        return
    lines_of_session = recollect.injected(App(), session)
    output.data(
        None if lines_of_session is None else _session_plain(lines_of_session),
        lambda: _tell_session(lines_of_session),
        as_json=as_json,
    )


def _plain(found: Recollections) -> dict[str, Any]:
    return {
        "text": found.text,
        "chars": found.chars,
        "tokens": found.tokens,
        "left_out": found.left_out,
        "items": [
            {
                **item.as_item(),
                "type": item.type,
                "said": item.said,
                "origin": item.origin,
                "by": item.by,
                "freshness": item.freshness,
            }
            for item in found.items
        ],
        "considered": [
            {
                "memory": item.memory,
                "score": round(item.score, 4),
                "verdict": item.verdict,
                "words": item.words,
                "cue": item.cue,
                "meaning": round(item.near, 4),
            }
            for item in found.considered
        ],
        "problems": found.problems,
    }


def _tell(found: Recollections, explained: str) -> None:
    """Print what was found; where a query is to be `explained`, why it was or was not."""
    if explained:
        for item in found.considered:
            _explain(item)
        if not found.considered:
            output.line(_nothing(explained))
    elif found.text:
        output.line(found.text.rstrip("\n"))
    if not found.items:
        output.talk("recall would say nothing" + ("" if explained else "; --explain tells why"))
    else:
        output.talk(f"{_number(len(found.items), 'memory', 'memories')}, {_size(found.chars, found.tokens)}")


def _nothing(query: str) -> str:
    """Return that no memory has a word of `query` that counts, and which of its words don't."""
    passed = recollect.passed_over(query)
    why = f" (passed over, as they stand in anything: {', '.join(passed)})" if passed else ""
    return f"no memory has a telling word of it{why}"


def _explain(item: Considered) -> None:
    """Print a memory that was looked at, with its score and verdict, and below what led to it."""
    scope = " (all projects)" if item.everywhere else ""
    output.hanging(f"{item.score:.2f}  ", f"{Path(item.memory).name}{scope}: {item.verdict}")
    reasons = [f"words {', '.join(item.words)}" if item.words else ""]
    reasons += [f"cue {', '.join(item.cue)}" if item.cue else ""]
    reasons += [f"meaning {item.near:.2f}" if item.near else ""]
    output.hanging("      ", "; ".join(filter(None, reasons)))


def _session_plain(lines_of_session: Told) -> dict[str, Any]:
    """Return `lines_of_session` for JSON, where a line's position keeps the name of its column: ``place``."""
    value = asdict(lines_of_session)
    for lines in ("lines", "bad"):
        value[lines] = [{"place": line.pop("position"), **line} for line in value[lines]]
    return value


def _tell_session(lines_of_session: Told | None) -> None:
    if lines_of_session is None:
        output.line("recall has put nothing into any session yet")
        return
    output.line(_tell_totals(lines_of_session.totals))
    table(
        ["at", "when", "memory", "score", "tokens", "why"],
        [r for line in lines_of_session.lines for r in _rows(line)],
    )
    for bad in lines_of_session.bad:
        output.talk(f"a line of its file can't be understood (byte {bad.position}): {bad.reason}")


def _rows(line: Line) -> list[list[str]]:
    at = _moment(line.at)
    if line.kind == "reset":
        return [[at, line.hook or "reset", "the context was made anew"]]
    source = line.hook.partition(":")[2]
    when = "prompt" if line.kind == "sent" else f"session start ({source})" if source else "session start"
    rows = [
        [at, when, item.name or item.path, f"{item.score:.2f}", f"{item.tokens:,}", ", ".join(item.why)]
        for item in line.items
    ]
    whole = "in all, with the text around them" + (
        f"; {line.left_out} more found no room" if line.left_out else ""
    )
    return [*rows, [at, when, whole, "", f"{line.tokens:,}", ""]]


def _tell_totals(totals: SessionTotals) -> str:
    what = f"{_number(totals.times, 'time', 'times')}, {_number(totals.memories, 'memory', 'memories')}"
    size = _size(totals.chars, totals.tokens)
    return f"session {totals.session} in {totals.cwd or 'an unknown place'}: {what}, {size}"


def _tell_sessions(rows: list[SessionTotals]) -> None:
    if not rows:
        output.line("recall has put nothing into any session yet")
        return
    columns = ["last", "session", "memories", "times", "tokens", "directory"]
    table(
        columns,
        [[_moment(r.last), r.session, r.memories, r.times, f"{r.tokens:,}", r.cwd] for r in rows],
    )


def _size(chars: int, tokens: int) -> str:
    return f"{_number(chars, 'character', 'characters')}, about {_number(tokens, 'token', 'tokens')}"


def _number(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"


def _moment(seconds: float) -> str:
    return minute(datetime.fromtimestamp(seconds, UTC))
