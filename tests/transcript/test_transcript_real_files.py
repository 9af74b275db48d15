"""Real transcripts, read in place: how many people's words they hold was counted by hand."""

import os
from collections import Counter
from pathlib import Path

import pytest

from pipeline.domain.speech import Entry
from pipeline.transcript import Reading, abandoned, read

SHARED = Path(os.environ.get("REVERIE_SHARED") or Path(__file__).parents[3] / "shared")
FOLDER = SHARED / "data" / "transcripts"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no real transcripts at {FOLDER}")


def load(name: str) -> tuple[Reading, list[Entry]]:
    reading = read(FOLDER / f"{name}.jsonl", quiet=True)
    return reading, list(reading.entries)


@pytest.mark.parametrize(
    ("name", "channels", "bad_lines"),
    [
        ("client-2.1.332-print", {"typed": 3, "prose": 4}, []),
        ("client-2.1.332-typed", {"typed": 1, "prose": 1}, []),
        ("growth-1", {"typed": 7, "queued": 1, "prose": 15}, []),
        ("growth-2", {"typed": 8, "queued": 1, "prose": 18}, []),
        ("handmade-edge-cases", {"typed": 4, "slash": 1, "prose": 2}, [13, 15, 16]),
        ("handmade-representative", {"typed": 4, "prose": 3}, []),
        ("long-dialogue", {"typed": 21, "prose": 126}, []),
        ("team-session", {"typed": 22, "prose": 72}, []),
        ("tiny", {"typed": 2, "prose": 3}, []),
        ("warmup-sidechain", {"typed": 5, "prose": 13}, []),
    ],
)
def test_what_was_said(name: str, channels: dict[str, int], bad_lines: list[int]) -> None:
    reading, entries = load(name)
    assert Counter(entry.channel for entry in entries if entry.speaker) == channels
    assert [line for line, _ in reading.bad] == bad_lines
    assert reading.cursor.offset == reading.bytes_read == (FOLDER / f"{name}.jsonl").stat().st_size


def test_the_second_growth_continues_the_first(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes((FOLDER / "growth-1.jsonl").read_bytes())
    first = read(path, quiet=True)
    entries = list(first.entries)
    path.write_bytes((FOLDER / "growth-2.jsonl").read_bytes())
    second = read(path, first.cursor, quiet=True)
    entries += second.entries
    assert second.restarted == ""
    assert [(e.uuid, e.text) for e in entries] == [(e.uuid, e.text) for e in load("growth-2")[1]]


def test_both_glued_records_are_there() -> None:
    data = (FOLDER / "growth-2.jsonl").read_bytes().split(b"\n")[171]
    seam = data.index(b"}{") + 1
    reading, entries = load("growth-2")
    start = sum(map(len, (FOLDER / "growth-2.jsonl").read_bytes().split(b"\n")[:171])) + 171
    [glued] = [entry for entry in entries if entry.offset == start]
    assert (glued.type, glued.length) == ("assistant", seam)
    assert reading.type_counts["summary"] == 2


def test_nobody_rewound_in_these() -> None:
    for name in ("team-session", "long-dialogue", "growth-2", "client-2.1.332-typed", "warmup-sidechain"):
        links = [
            (entry.uuid, entry.parent_uuid, entry.speaker == "person", entry.sidechain)
            for entry in load(name)[1]
            if entry.chained
        ]
        assert links and abandoned(links) == set()


def test_the_clients_own_memory_write_is_seen() -> None:
    writes = [path for entry in load("client-2.1.332-print")[1] for path in entry.memory_writes]
    assert [Path(path).name for path in writes] == ["deploy-friday.md"]


def test_every_entry_of_the_new_client_is_dated_and_placed() -> None:
    for name in ("client-2.1.332-print", "client-2.1.332-typed"):
        for entry in load(name)[1]:
            assert entry.at_source == "own" and entry.cwd and entry.entrypoint in ("cli", "sdk-cli")
