"""`reverie watch` over files that grow, killed and started again, gives the rows of one import."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from random import Random

import pytest

from pipeline.ledger.conversations import MOST_ENTRIES
from tests.support.transcripts import Transcript
from tests.support.watching import Watch, environment, lines, rows, run

CRASHES = ("", "ingest.begun#2", "ingest.before_commit#3", "ingest.after_commit#2", "watch.taken#3")


class Growing:
    """Two sessions that are written a few bytes at a time."""

    def __init__(self, projects: Path, random: Random) -> None:
        self._random = random
        self.files: list[tuple[Path, str]] = []
        self._lines = []
        self._written: dict[Path, bytes] = {}
        for number in (1, 2):
            name = f"5e55000{number}-0000-4000-8000-000000000000"
            path = projects / f"-w-shop-{number}" / f"{name}.jsonl"
            path.parent.mkdir(parents=True)
            session = Transcript(name, f"/w/shop/{number}", "2026-03-02T09:00:00Z", step_seconds=2.5)
            self.files.append((path, f"{path.parent.name}/{path.name}"))
            self._lines.append(lines(session, Random(number)))
            self._written[path] = b""

    def write(self) -> tuple[str, int]:
        """Write a line or some in pieces to one file; return its key, and how much of it is whole lines."""
        which = self._random.randrange(2)
        path, key = self.files[which]
        data = b"".join(next(self._lines[which]) for _ in range(self._random.randrange(1, 40)))
        with path.open("ab", buffering=0) as out:
            while data:
                size = self._random.randrange(1, 1 + min(len(data), 400))
                out.write(data[:size])
                data = data[size:]
        return key, path.stat().st_size

    def tear(self) -> None:
        """Write the first half of a line, in the middle of a character, to each file."""
        for path, _ in self.files:
            with path.open("ab", buffering=0) as out:
                out.write('{"type":"user","message":{"role":"user","content":"caf\u00e9'.encode()[:-1])


@pytest.mark.parametrize(
    ("lives", "seconds"),
    [(6, 0.0), pytest.param(30, 60.0, marks=pytest.mark.whole)],
    ids=["short", "a minute"],
)
def test_watching_with_kills_gives_the_rows_of_one_import(tmp_path: Path, lives: int, seconds: float) -> None:
    random, projects = Random(18), tmp_path / "claude" / "projects"
    growing = Growing(projects, random)
    begun, life, deaths = time.monotonic(), 0, 0
    while life < lives or time.monotonic() - begun < seconds:
        crash = CRASHES[life % len(CRASHES)]
        env = environment(tmp_path, "watched", **({"REVERIE_CRASH_AT": crash} if crash else {}))
        watch = Watch(env, projects)
        alive = all(watch.reads(*growing.write()) for _ in range(8))
        code, complaints = watch.end(signal.SIGKILL if life % 2 else signal.SIGTERM)
        assert alive != bool(crash), (crash, complaints)
        assert code in (0, -signal.SIGKILL), complaints
        deaths += code != 0
        life += 1
    assert deaths > life // 2
    growing.tear()
    watch = Watch(environment(tmp_path, "watched"), projects)
    whole = {key: path.read_bytes().rfind(b"\n") + 1 for path, key in growing.files}
    assert all(watch.reads(key, size) for key, size in whole.items())
    assert watch.end()[0] == 0
    for home in ("imported", "watched"):
        done = run(environment(tmp_path, home), "ingest", "--dir", str(projects))
        assert done.returncode == 0, done.stderr
        assert run(environment(tmp_path, home), "conversations", "--json").returncode == 0
    watched, imported = rows(tmp_path / "watched"), rows(tmp_path / "imported")
    for part, expected in imported.items():
        assert watched[part] == expected, part
    assert len(imported["entries"]) > 300 and imported["bad lines"]
    assert max(row[4] for row in imported["conversations"]) == MOST_ENTRIES, "some were full"
