"""Transcripts into the ledger: a new one, many unchanged ones, one more turn of a long one, and memory."""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.material import Session, encode, write_transcript
from bench.measure import Ratio, compare
from pipeline.app.application import App
from pipeline.config import Settings
from pipeline.core.clock import SystemClock
from pipeline.intake.ingest import ingest_file
from pipeline.ledger import Ledger, open_ledger


def _ingest(ledger: Ledger, path: Path) -> int:
    return ingest_file(
        ledger, path, key=path.name, settings=Settings(), clock=SystemClock(), quiet=True
    ).new_rows


def _into_new(path: Path, home: Path) -> int:
    for file in home.glob("ledger.sqlite*"):
        file.unlink()
    with open_ledger(home / "ledger.sqlite") as ledger:
        return _ingest(ledger, path)


_COMMAND = "from _reverie_start import run; run()"
_DECODE = """
import sys
from pathlib import Path
import orjson
for path in Path(sys.argv[1]).glob("*/*.jsonl"):
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)
"""


def transcripts(folder: Path, rounds: int, files: int = 30, megabytes: float = 3.5) -> Ratio:
    """``reverie ingest`` of 105 MB in 30 files into a home without any, against decoding their lines.

    Both are whole processes, what they import and the processes they start included. The home is in use, as
    after an installation: its ledger is there, and the settings that were found sound are kept.
    """
    projects = folder / "claude" / "projects"
    for number in range(files):
        path = projects / f"-home-dev-{number % 5}" / f"session-{number}.jsonl"
        session = Session(seed=number)
        # A dozen of a wallet's words in a row, which the random words have, would be taken for its secret.
        session.prose = re.sub(r"((?:\w+ ){7})", r"\1of ", session.prose)
        write_transcript(path, megabytes, session)
    ingest = [sys.executable, "-c", _COMMAND, "ingest", "--dir", str(projects)]
    decode = [sys.executable, "-I", "-c", _DECODE, str(projects)]
    mine: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        shutil.rmtree(folder / "home", ignore_errors=True)
        with _home(folder):
            (folder / "nothing").mkdir(exist_ok=True)
            for _ in range(2):
                _process([*ingest[:-1], str(folder / "nothing")])
            pair = (_process(ingest), _process(decode))
        if number:  # The first round warms up.
            mine.append(pair[0])
            bare.append(pair[1])
    wall, cpu = (statistics.median(times) for times in zip(*mine, strict=True))
    wall0, cpu0 = (statistics.median(times) for times in zip(*bare, strict=True))
    return Ratio(wall / wall0, cpu / cpu0, wall * 1e3, wall0 * 1e3, rounds)


def _process(command: list[str]) -> tuple[float, float]:
    """Return the seconds a command takes by the clock, and of processor, its own children's included."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return wall, used.ru_utime + used.ru_stime


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """Point Reverie and the client's folder at `folder` as long as this lasts."""
    before = dict(os.environ)
    # An installation has its modules compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.update(REVERIE_HOME=str(folder / "home"), CLAUDE_CONFIG_DIR=str(folder / "claude"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def rescan(folder: Path, rounds: int, files: int = 5_000) -> Ratio:
    """``reverie ingest`` over transcripts that have not changed, against listing them with their stamps."""
    projects = folder / "claude" / "projects"
    session = Session()
    for number in range(files):
        place = projects / f"-home-dev-{number % 50}"
        place.mkdir(parents=True, exist_ok=True)
        session.parent = None
        record = session.record("user", message={"role": "user", "content": f"number {number}"})
        (place / f"{record['uuid']}.jsonl").write_bytes(encode(iter([record])))

    def look() -> int:
        count = 0
        with os.scandir(projects) as places:
            for place in places:
                with os.scandir(place) as found:
                    count += sum(entry.stat().st_size > 0 for entry in found)
        return count

    with _home(folder):
        app = App()
        with app.ledger() as ledger:
            # Making the material need not survive a power cut.
            ledger.execute("PRAGMA synchronous = OFF")
            for path in sorted(projects.glob("*/*.jsonl")):
                key = path.relative_to(projects).as_posix()
                ingest_file(ledger, path, key=key, settings=app.settings, clock=app.clock, quiet=True)
        return compare(lambda: list(app.ingest()), look, rounds)


def _grown(folder: Path, turns: int) -> tuple[Path, Session]:
    path = folder / f"after-{turns}.jsonl"
    session = Session()
    session.code = session.code[:40_000]
    with path.open("wb") as out:
        for _ in range(turns):
            # Tool results are left out of the long file: what counts is how many entries there are.
            out.write(encode(record for record in session.turn() if "toolUseResult" not in record))
    return path, session


def one_more_turn(folder: Path, rounds: int, long: int = 4_000, short: int = 40) -> Ratio:
    """Three entries more after 4,000 turns (180,000 entries), against the same after 40."""
    with open_ledger(folder / "long.sqlite") as ledger, open_ledger(folder / "short.sqlite") as other:
        works = []
        for led, turns in ((ledger, long), (other, short)):
            path, session = _grown(folder, turns)
            _ingest(led, path)
            works.append(lambda led=led, path=path, session=session: _append(led, path, session))
        return compare(works[0], works[1], rounds * 3)


def _append(ledger: Ledger, path: Path, session: Session) -> None:
    more = [
        session.record("user", message={"role": "user", "content": "and the rest of it?"}),
        session.assistant({"type": "thinking", "thinking": "", "signature": "x" * 200}),
        session.assistant({"type": "text", "text": "The rest is done as well."}),
    ]
    with path.open("ab") as out:
        out.write(encode(iter(more)))
    assert _ingest(ledger, path) == 2


def memory(folder: Path, megabytes: int) -> Ratio:
    """Peak resident memory of a process that ingests a transcript of that size, against one of 10 MB."""
    peaks = [_peak(folder, size) for size in (megabytes, 10)]
    return Ratio(peaks[0] / peaks[1], None, peaks[0], peaks[1], 1)


def _peak(folder: Path, megabytes: int) -> float:
    path = folder / f"{megabytes}.jsonl"
    write_transcript(path, megabytes)
    told = subprocess.run(
        [sys.executable, "-m", "bench.ingest", str(path)], capture_output=True, text=True, check=True
    )
    path.unlink()
    return float(told.stdout)


def main() -> None:
    """Ingest the transcript named on the command line and print this process's peak memory in MB."""
    import pipeline.worker.process  # noqa: F401 - the worker's own modules count too

    path = Path(sys.argv[1])
    _into_new(path, path.parent)
    print(resident_peak())


def resident_peak() -> float:
    """Return this process's peak in MB; on Linux getrusage counts the parent's in, so ask elsewhere."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
