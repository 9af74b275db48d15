"""One self-contained file of a page, to keep or to send: nothing is loaded, and nothing foreign runs.

Its own policy names the one style sheet and the one script by their digests, so that no other would run even
if it stood there.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any

from pipeline.app.relation_map import RelationMap, Spot, Wanted
from pipeline.safety.sent import sendable
from pipeline.web import drawn
from pipeline.web.rendering import STATIC, render

MARK = '<meta name="generator" content="Reverie">'
"""Stands near the beginning of each file, so that one is known that may be written anew."""


def graph_file(whole: RelationMap, made: str) -> str:
    """Return the graph as a file; `made` says when."""
    data = drawn.data(whole.part(Wanted()), whole, _in_file)
    return _alone(
        "alone_graph.html",
        script="graph.js",
        title="Graph of memories",
        made=made,
        whole=whole,
        wanted=Wanted(),
        colours=drawn.colours(whole.types()),
        most=drawn.MOST_DRAWN,
        rows=drawn.rows(whole.part(Wanted()), 0, 0),
        address=_in_file,
        data=data,
    )


def report_file(title: str, markdown: str, changes: list[dict[str, Any]], made: str) -> str:
    """Return a dream's report as a file: what it says, and what changed, each by path and lines of a diff."""
    return _alone(
        "alone_report.html", script="", title=title, made=made, lines=_lines(markdown), changes=changes
    )


def without_private(whole: RelationMap, homes: tuple[str, ...]) -> RelationMap:
    """Return `whole` without secrets and paths."""

    def clean(text: str) -> str:
        return sendable(text, homes)

    spots = [
        replace(
            spot,
            name=clean(spot.name),
            title=clean(spot.title),
            type=clean(spot.type),
            description=clean(spot.description),
        )
        for spot in whole.spots
    ]
    bonds = [bond._replace(type=clean(bond.type)) for bond in whole.bonds]
    return RelationMap(spots, bonds, [clean(line) for line in whole.problems])


def changed(path: str, text: str) -> dict[str, Any]:
    """Return one file of a change for `report_file`: its path, and each line of its unified diff."""
    kinds = {"+": "ins", "-": "del"}
    lines = [line for line in text.split("\n") if not line.startswith(("+++ ", "--- "))]
    return {"path": path, "lines": [(kinds.get(line[:1], ""), line) for line in lines]}


def _in_file(number: int, spot: Spot) -> str:
    return f"#spot-{number}"


def _alone(template: str, *, script: str, **values: Any) -> str:
    style = (STATIC / "style.css").read_text("utf-8")
    code = (STATIC / script).read_text("utf-8") if script else ""
    policy = [
        "default-src 'none'",
        f"style-src {_digest(style)}",
        "script-src " + (_digest(code) if code else "'none'"),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return render(template, style=style, script=code, policy="; ".join(policy), **values)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _lines(markdown: str) -> list[tuple[str, str]]:
    """Return the lines of a report with what each is: a heading, an item, one below an item, or text."""
    kinds = (("## ", "heading"), ("# ", "title"), ("  - ", "below"), ("- ", "item"))
    found = []
    for line in markdown.split("\n"):
        start, kind = next((pair for pair in kinds if line.startswith(pair[0])), ("", "text"))
        if line.strip() and kind != "title":
            found.append((kind, line[len(start) :].replace("**", "")))
    return found
