"""Traces written out for other programs, against decoding the lines they are made of; and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson

from bench.ingest import resident_peak
from bench.material import write_transcript
from bench.measure import Ratio, compare
from pipeline.app.traces import Exported, Redaction, export


def _export(path: Path) -> None:
    with Path(os.devnull).open("wb") as out:
        for made in export([path], known=None, annotated=True, write=out.write, redaction=Redaction()):
            if not isinstance(made, Exported) or not made.lines or made.problems:
                raise RuntimeError(f"the trace was not exported: {made}")


def _decode(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def exported(folder: Path, rounds: int, megabytes: int = 10) -> Ratio:
    """Export an annotated trace of that size without its secrets, against `orjson.loads` of its lines."""
    path = folder / "trace.jsonl"
    write_transcript(path, megabytes)
    return compare(lambda: _export(path), lambda: _decode(path), rounds)


def memory(folder: Path, megabytes: int = 100) -> Ratio:
    """Peak resident memory of a process that exports a trace of that size, against one of 10 MB."""
    peaks = [_peak(folder, size) for size in (megabytes, 10)]
    return Ratio(peaks[0] / peaks[1], None, peaks[0], peaks[1], 1)


def _peak(folder: Path, megabytes: int) -> float:
    path = folder / f"{megabytes}.jsonl"
    write_transcript(path, megabytes)
    printed = subprocess.run(
        [sys.executable, "-m", "bench.traces", str(path)], capture_output=True, text=True, check=True
    )
    path.unlink()
    return float(printed.stdout)


def main() -> None:
    """Export the trace named on the command line and print this process's peak memory in MB."""
    _export(Path(sys.argv[1]))
    print(resident_peak())


if __name__ == "__main__":
    main()
