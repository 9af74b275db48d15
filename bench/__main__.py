"""``make bench``: every row of the registry, its figures, its target, and whether it meets it.

    python -m bench [--only WORD] [--rounds N] [--full] [--json FILE]

*cpu* and *wall* are how many times the processor and wall time of its floor a row takes, medians of the
rounds, in which both run in turn; *other* is memory, tokens or an exponent. ``--full`` also takes the rows
that need long (1 GB of transcripts, 100,000 memories). Exit code 1: a row fell short of its target or could
not be measured; which ones is said at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.registry import groups
from bench.row import Found, Group, Row, missed

WIDTH = 36


def main() -> int:
    """Measure what the command line chose; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Reverie, in ratios.")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name contains this")
    parser.add_argument("--rounds", type=_rounds, default=5, help="rounds of each measurement (default 5)")
    parser.add_argument("--full", action="store_true", help="also the rows that need very long")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there")
    parser.add_argument("--list", action="store_true", help="print the rows, measure nothing")
    options = parser.parse_args()
    chosen = chosen_rows(groups(), options.only, full=options.full)
    if not chosen:
        parser.error(f"no row has “{options.only}” in its name; --list names them")
    if options.list:
        for row in (row for _, rows in chosen for row in rows):
            print(f"{row.name:{WIDTH}}{row.target.text():>20} {row.target.source:6} {row.work} / {row.floor}")
        return 0
    before = machine()
    found = measure(chosen, options.rounds)
    if options.json:
        run = {
            "machine": {**before, "load_after": _load()},
            "rounds": options.rounds,
            "rows": [one.as_json() for one in found.values()],
        }
        options.json.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return report([row for _, rows in chosen for row in rows], found)


def _rounds(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def chosen_rows(known: Sequence[Group], word: str, *, full: bool) -> list[tuple[Group, list[Row]]]:
    """Return the groups with those of their rows that have `word` in their name."""
    made = []
    for group in known:
        rows = [row for row in group.rows if word.lower() in row.name.lower() and (full or not row.full)]
        if rows:
            made.append((group, rows))
    return made


def measure(chosen: Sequence[tuple[Group, list[Row]]], rounds: int) -> dict[str, Found]:
    """Measure the rows group by group and print each as it comes."""
    print(f"{'row':{WIDTH}}{'cpu':>8}{'wall':>8}{'other':>10}{'target':>22}  verdict")
    found: dict[str, Found] = {}
    for group, rows in chosen:
        names = [row.name for row in rows]
        with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder:
            try:
                figures = group.measure(Path(folder), rounds, names)
            except (RuntimeError, AssertionError, OSError, subprocess.CalledProcessError) as error:
                why = " ".join(str(error).split())[:300] or type(error).__name__
                figures = {name: Found(name, why=why) for name in names}
        for row in rows:
            one = figures.get(row.name, Found(row.name, why="nothing came of it"))
            found[row.name] = one
            print(line(row, one), flush=True)
    return found


def line(row: Row, found: Found) -> str:
    """Return a line of the table."""
    other = f"{_figure(found.other)} {'' if row.unit == 'exponent' else row.unit}".rstrip()
    other = "" if found.other is None else other
    short = missed(row, found)
    verdict = f"SHORT: {short}" if short else "ok"
    target = f"{row.target.text()} ({row.target.source})"
    return (
        f"{row.name:{WIDTH}}{_figure(found.cpu):>8}{_figure(found.wall):>8}{other:>10}{target:>22}  {verdict}"
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def report(rows: Sequence[Row], found: Mapping[str, Found]) -> int:
    """Say which rows fell short; return the exit code."""
    short = [row.name for row in rows if missed(row, found[row.name])]
    print(f"\n{len(rows) - len(short)} of {len(rows)} rows meet their target.")
    if short:
        print(f"Short of it: {'; '.join(short)}.")
    return 1 if short else 0


def machine() -> dict[str, Any]:
    """Return what the figures were made on. Neither its name nor any path is in it."""
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "load_before": _load(),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for text in cpuinfo.read_text("utf-8").splitlines():
            if text.startswith("model name"):
                return text.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _load() -> float:
    return round(os.getloadavg()[0], 1)


if __name__ == "__main__":
    sys.exit(main())
