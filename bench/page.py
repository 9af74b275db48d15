"""The tables of ``docs/performance.md``, from the stored figures of one run: nothing is measured here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.registry import groups
from bench.row import OWN, Found, Group, Row, missed

STORED = Path(__file__).resolve().parent.parent / "docs" / "performance.json"
HEAD = "| row | work | over | target | cpu | wall | other | |\n" + "| --- " * 4 + "| ---: " * 3 + "| --- |"


def page(stored: Path = STORED) -> str:
    """Return the generated part of the page."""
    run = json.loads(stored.read_text("utf-8"))
    found = {one["name"]: Found(**one) for one in run["rows"]}
    known = groups()
    rows = [row for group in known for row in group.rows]
    parts = [_machine(run), _summary(rows, found)]
    for title, its in _titled(known).items():
        parts += [f"## {title}", "\n".join([HEAD, *(_line(row, found.get(row.name)) for row in its)])]
    return "\n\n".join(parts)


def _titled(known: Iterable[Group]) -> dict[str, list[Row]]:
    made: dict[str, list[Row]] = {}
    for group in known:
        made.setdefault(group.title, []).extend(group.rows)
    return made


def _machine(run: Mapping[str, Any]) -> str:
    on: Mapping[str, Any] = run["machine"]
    made = (
        f"Measured on {on['day']} on {on['processor']} with {on['cores']} cores and {on['memory_gb']} GB, "
        f"{on['system']}, Python {on['python']}, {run['rounds']} rounds or a multiple of them."
    )
    load = max(on["load_before"], on["load_after"])
    if load > on["cores"]:
        made += (
            f" **The machine was busy** (load {load:g} on {on['cores']} cores): wall times of this run say "
            "little, and ratios of processor time are less sharp than on a quiet one."
        )
    return made


def _summary(rows: Sequence[Row], found: Mapping[str, Found]) -> str:
    taken = [row for row in rows if row.name in found]
    short = [row for row in taken if missed(row, found[row.name])]
    left = [row.name for row in rows if row.name not in found]
    lines = [f"{len(taken) - len(short)} of {len(taken)} rows meet their target."]
    if short:
        lines += ["", "**Missed:**", ""]
        lines += [f"- {row.name}: {missed(row, found[row.name])}" for row in short]
    if left:
        lines += ["", f"Not measured in this run: {'; '.join(left)}."]
    return "\n".join(lines)


def _line(row: Row, found: Found | None) -> str:
    target = row.target.text() + (" (own)" if row.target.source == OWN else "")
    over = row.floor or "–"
    work = f"{row.work} ({row.how})" if row.how != "whole process" else row.work
    if found is None:
        return f"| {row.name} | {work} | {over} | {target} | – | – | – | not measured |"
    verdict = "**missed**" if missed(row, found) else "met"
    return f"| {' | '.join((row.name, work, over, target, *_figures(row, found), verdict))} |"


def _figures(row: Row, found: Found) -> Iterator[str]:
    yield from ("–" if value is None else f"{value:.2f}" for value in (found.cpu, found.wall))
    if found.other is None:
        yield "–"
    elif row.unit == "exponent":
        yield f"exponent {found.other:.2f}"
    else:
        number = f"{found.other:,.0f}" if not row.floor else f"{found.other:.2f}"
        yield f"{number} {row.unit}"
