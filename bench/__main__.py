"""``make bench``: one table of ratios, each of two things measured in turn in this very run.

    python -m bench [--only WORD] [--rounds N] [--big]

A ratio is wall time of the subject over that of its floor, medians of the rounds; the CPU column is the same
of processor time, which a busy machine blurs less. ``--big`` takes 1 GB for the memory row instead of 100 MB.
Nothing here is a test: no ratio fails anything.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import dream, hooks, ingest, search, store
from bench.measure import Ratio


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what is measured, against what, the ratio wanted, and how to get it."""

    what: str
    floor: str
    target: float
    run: Callable[[Path, int], Ratio]
    unit: str = "ms"


def rows(*, big: bool) -> list[Row]:
    """Return the table's rows in order."""
    size = 1_000 if big else 100
    return [
        Row(
            "Stop hook, capture.py", "bare interpreter", 1.5, lambda _, n: hooks.ratio(n * 20, hooks.CAPTURE)
        ),
        Row("Stop hook, sh run", "bare interpreter", 1.5, lambda _, n: hooks.ratio(n * 20, hooks.LAUNCHER)),
        Row(
            "prompt hook, 10,000",
            "bare interpreter",
            5,
            lambda _, n: hooks.recall_ratio(n * 8, 10_000, "prompt, a"),
        ),
        Row("prompt hook, 50 foreign", "bare interpreter", 5, lambda _, n: hooks.foreign_ratio(n * 8)),
        Row(
            "session hook, 10,000",
            "bare interpreter",
            5,
            lambda _, n: hooks.recall_ratio(n * 8, 10_000, "session"),
        ),
        Row("Stop, as installed", "python -c pass", 1, lambda _, n: hooks.installed_ratio(n * 20, "Stop")),
        Row(
            "SessionStart, as installed",
            "python -c pass",
            2,
            lambda _, n: hooks.installed_ratio(n * 8, "SessionStart"),
        ),
        Row("search index of 10,000", "read + CSafeLoader", 2, store.index_anew),
        Row("reverie ingest, 105 MB", "orjson.loads of the lines", 2, ingest.transcripts),
        Row("3 entries after 180,000", "3 entries after 1,800", 2, ingest.one_more_turn),
        Row("re-scan 5,000 unchanged", "scandir + stat", 1.8, ingest.rescan),
        Row("rebuild 10,000 memories", "read + CSafeLoader", 2, store.rebuild),
        Row("one memory into 10,000", "one into 100", 3, store.one_more),
        Row("20 searches in 10,000", "20 in 100", 5, search.growth),
        Row("dream, 10 of 10,000 changed", "10 of 100 changed", 1.2, dream.tokens, "tok"),
        Row(f"peak memory, {size:,} MB", "10 MB transcript", 1.3, lambda p, _: ingest.memory(p, size), "MB"),
    ]


def main() -> None:
    """Measure the rows chosen on the command line and print the table as it comes."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Reverie, in ratios.")
    parser.add_argument("--only", default="", help="rows whose name contains this word")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (default 5)")
    parser.add_argument("--big", action="store_true", help="take a 1 GB transcript for the memory row")
    options = parser.parse_args()
    print(f"{'what':28}{'against':28}{'subject':>11}{'floor':>11}{'ratio':>8}{'cpu':>7}{'target':>8}")
    for row in rows(big=options.big):
        if options.only not in row.what:
            continue
        with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder:
            found = row.run(Path(folder), options.rounds)
        cpu = "" if found.cpu is None else f"{found.cpu:.2f}"
        print(
            f"{row.what:28}{row.floor:28}{found.subject_ms:8.1f} {row.unit}{found.floor_ms:8.1f} {row.unit}"
            f"{found.wall:8.2f}{cpu:>7}{row.target:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
