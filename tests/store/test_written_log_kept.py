"""A log that is kept open reads only what was added, and says what one that is read anew says."""

from __future__ import annotations

import random

import pytest

from pipeline.core import jsonl
from pipeline.hooklib.ownership import WRITTEN
from pipeline.store.ownership.written_log import WrittenLog


def appends(file, chance):
    jsonl.append(file, [(f"m{chance.randrange(4)}.md", f"{chance.randrange(100):064x}")])


def retires(file, chance):
    jsonl.append(file, [(f"m{chance.randrange(4)}.md", "")])


def tears(file, chance):
    file.write_bytes(file.read_bytes() + b'["m1.md","12')


def compacts(file, chance):
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[len(lines) // 2 :]))


def rewrites(file, chance):
    file.write_bytes(file.read_bytes().replace(b"m1", b"m2") + b'["m3.md","aa"]\n')


@pytest.mark.parametrize("seed", range(20))
def test_it_says_what_a_log_read_anew_says(tmp_path, seed):
    chance = random.Random(seed)
    file = tmp_path / WRITTEN
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    kept = WrittenLog(tmp_path)
    for _ in range(25):
        size = file.stat().st_size
        chance.choice((appends, appends, retires, tears, compacts, rewrites))(file, chance)
        if file.stat().st_size == size:
            continue  # One of the same size counts as the same.
        fresh = WrittenLog(tmp_path)
        assert kept.digests()[1] == fresh.digests()[1]
        assert (kept.paths(), kept._lines) == (fresh.paths(), fresh._lines)
