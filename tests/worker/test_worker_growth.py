"""A real session seen twice, the second time longer: each entry once, and only what is new to the model."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pipeline.transcript import read
from tests.support.loopback import LoopbackApi, keep_nothing, person_lines
from tests.support.workshop import Workshop

SHARED = Path(os.environ.get("REVERIE_SHARED") or Path(__file__).parents[3] / "shared")
FOLDER = SHARED / "data" / "transcripts"
NOW = {"growth-1": "2026-01-06T17:40:00+00:00", "growth-2": "2026-01-06T18:30:00+00:00"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no real transcripts at {FOLDER}")


def spoken(name: str) -> list[str]:
    entries = read(FOLDER / f"{name}.jsonl", quiet=True).entries
    return [e.text.strip().splitlines()[0].strip() for e in entries if e.speaker == "person"]


def grow(shop: Workshop, name: str) -> None:
    """Bring the transcript to the state `name` and run a worker's pass after its Stop."""
    session = shop.session()
    file = shop.fire(session)
    shutil.copyfile(FOLDER / f"{name}.jsonl", shop.folder / f"{session.session_id}.jsonl")
    assert file.exists()
    with shop.worker(NOW[name]) as worker:
        worker.run()


def turns(api: LoopbackApi) -> list[list[str]]:
    return [[text.strip() for _, text in person_lines(p)] for p in api.prompts if "<new_dialogue>" in p]


def test_only_what_is_new_reaches_the_model(shop: Workshop, api: LoopbackApi) -> None:
    api.answer = keep_nothing
    grow(shop, "growth-1")
    assert turns(api) == [spoken("growth-1")]
    grow(shop, "growth-2")
    assert turns(api) == [spoken("growth-1"), spoken("growth-2")[len(spoken("growth-1")) :]]


def test_every_entry_is_kept_once_the_glued_ones_too(shop: Workshop, api: LoopbackApi) -> None:
    api.answer = keep_nothing
    for name in NOW:
        grow(shop, name)
    kept = [entry[:3] for entry in shop.books()["entries"]]
    entries = read(FOLDER / "growth-2.jsonl", quiet=True).entries
    assert len(kept) == len(set(kept))
    assert {(e.session_id, e.uuid, e.block) for e in entries if e.speaker} <= set(kept)
    with shop.ledger() as ledger:
        assert ledger.value("SELECT count(*) FROM bad_lines", ()) == 0
