"""What extraction leaves in the diary: what a conversation was about or, without a model, what was kept."""

from __future__ import annotations

from pipeline.core import zone
from pipeline.extraction.run import extract
from pipeline.store import diary_day
from tests.support.extraction import Bench
from tests.support.transcripts import Transcript


def pages(bench: Bench) -> dict[str, str]:
    return {file.stem: file.read_text("utf-8") for file in (bench.store.root / "episodes").glob("*.md")}


def test_without_a_model_each_memory_has_an_entry_in_the_person_s_day(bench: Bench) -> None:
    session = Transcript(start="2026-03-02T22:30:00Z")
    session.user("From now on always run the linter. Remember that staging is reset each night.")
    session.assistant("Noted.")
    with zone.using("Asia/Tokyo"):
        extract(bench.desk(offline=True), bench.turns(bench.hear(session)))
    ((day, page),) = pages(bench).items()
    assert day == "2026-03-03" and page.startswith(f"# {day}\n\n## 07:3")
    entries = diary_day(bench.store.root, day)
    assert [(entry.type, entry.summary[0]) for entry in entries] == [
        ("feedback", "From now on always run the linter."),
        ("project", "Remember that staging is reset each night."),
    ]
    assert all((bench.store.root / entry.memory).is_file() for entry in entries)
    assert "<!--" not in page
