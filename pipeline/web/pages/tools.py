"""Tools: which calls failed in which session, and which files belong together; drawn here, without plots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from pipeline.app import tool_use
from pipeline.app.tool_use import Source
from pipeline.core import zone
from pipeline.core.errors import UsageError
from pipeline.formats.keisei.coaccess import shared_folder
from pipeline.formats.keisei.failures import SessionErrors, by_tool, errors_per_session
from pipeline.web.visit import Visit

NEWEST = (10, 30, 100)
"""How many transcripts one may have read: each is read whole."""
_MOST_SESSIONS, _MOST_TOOLS, _MOST_PAIRS, _MOST_FILES = 100, 20, 30, 12
_TIMES = 2
_SHADES = 4
_HEIGHT, _STEP, _BAR, _LEAST = 100, 10, 8, 1.5
"""Units of the chart: its height, from bar to bar, a bar, and the least that anything above nothing has."""


def tools(visit: Visit) -> Response:
    """Return what the sessions written last show of the use of tools."""
    newest = visit.number("newest", NEWEST[0], most=NEWEST[-1])
    if newest not in NEWEST:
        raise UsageError(f"newest is one of {', '.join(map(str, NEWEST))}", fix="Take a link on the page.")
    source = Source(newest=newest)
    sessions = errors_per_session(source.events(), source.clean)
    pairs = tool_use.used_together(source, session="", file="", times=_TIMES) if sessions else []
    names, counts = tool_use.field_of(pairs, _MOST_FILES)
    folder = shared_folder(names)
    skipped = list(dict.fromkeys(map(str, source.skipped)))
    return visit.page(
        "tools.html",
        "tools",
        "Tools",
        newest=newest,
        amounts=NEWEST,
        read=len(source.files),
        known=source.known,
        skipped=skipped[:_MOST_TOOLS],
        calls=sum(held.calls for held in sessions),
        errors=sum(held.errors for held in sessions),
        chart=_chart(sessions[-_MOST_SESSIONS:]),
        sessions=[_session(held) for held in reversed(sessions[-_MOST_SESSIONS:])],
        tools=_tools(sessions),
        pairs=pairs[:_MOST_PAIRS],
        folder=folder,
        matrix=_matrix([name.removeprefix(folder) for name in names], counts),
    )


def _chart(sessions: Sequence[SessionErrors]) -> dict[str, Any]:
    """Return a bar for each session, what failed at its foot."""
    top = max((held.calls for held in sessions), default=0) or 1
    bars = []
    for number, held in enumerate(sessions):
        whole = max(held.calls / top * _HEIGHT, _LEAST)
        failed = max(whole * held.share, _LEAST) if held.errors else 0.0
        bars.append(
            {
                "name": f"{held.session[:8]}, {_day(held.first_ms)}",
                "calls": held.calls,
                "errors": held.errors,
                "x": number * _STEP + (_STEP - _BAR) / 2,
                "top": round(_HEIGHT - whole, 2),
                "whole": round(whole - failed, 2),
                "failed": round(failed, 2),
            }
        )
    return {"bars": bars, "width": max(len(bars), 1) * _STEP, "bar": _BAR, "height": _HEIGHT, "top": top}


def _session(held: SessionErrors) -> dict[str, Any]:
    ranked = sorted(held.by_tool.items(), key=lambda item: (-item[1], item[0]))
    return {
        "id": held.session[:8],
        "day": _day(held.first_ms),
        "held": held,
        "width": round(100 * held.share, 2),
        "failed_of": ", ".join(f"{tool} {number}" for tool, number in ranked),
    }


def _tools(sessions: Sequence[SessionErrors]) -> list[dict[str, Any]]:
    found = by_tool(sessions)[:_MOST_TOOLS]
    return [
        {"tool": tool, "calls": calls, "errors": errors, "width": round(100 * errors / (calls or 1), 2)}
        for tool, calls, errors in found
    ]


def _matrix(names: Sequence[str], counts: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Return a row for each file: how often it was used with each other, and how dark that is."""
    most = max((number for row in counts for number in row), default=0) or 1
    return [
        {
            "number": at,
            "name": name,
            "cells": [(number, -(-_SHADES * number // most)) for number in row],
        }
        for at, (name, row) in enumerate(zip(names, counts, strict=True), start=1)
    ]


def _day(moment: int | None) -> str:
    return "" if moment is None else zone.day(datetime.fromtimestamp(moment / 1000, UTC))
