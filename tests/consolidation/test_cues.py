"""Phrases for memories that have none: asked once, kept beside the files, never at the cost of the dream."""

import json

import pytest

from pipeline.config import DreamSettings
from pipeline.consolidation import cues as asking
from pipeline.core.errors import RefusedError
from pipeline.store import Store
from pipeline.store.derived import cues
from tests.support.dreaming import KEEP, Dreaming, dreaming, note
from tests.support.stores import settled


@pytest.fixture
def bench(tmp_path):
    with dreaming(tmp_path) as found:
        found.settings = found.settings.model_copy(update={"dream": DreamSettings(cues=True)})
        yield found


def answering(reply):
    """A model that plans nothing, and gives `reply` when asked for phrases."""

    def answer(request):
        if request.purpose != asking.PURPOSE:
            return KEEP
        if isinstance(reply, Exception):
            raise reply
        return reply

    return answer


def asked(bench: Dreaming) -> list[str]:
    return [
        request.messages[0].content for request in bench.provider.history if request.purpose == asking.PURPOSE
    ]


def beside(bench: Dreaming) -> dict[str, tuple[str, ...]]:
    return {path: phrases for path, (_, phrases) in cues.read(bench.store.root).items()}


TWO = {
    "memories": [
        {"id": "m1", "cues": ["which indent", "spaces or tabs?"]},
        {"id": "[m2]", "cues": ["when to ship"]},
    ]
}


def test_memories_without_phrases_get_some_and_no_file_is_touched(bench: Dreaming):
    bench.keep(note("tabs", "Use tabs."), note("ship", "Ship on Mondays."))
    foreign = bench.store.root / "mine.md"
    foreign.write_text("My printer is on the second floor.\n", "utf-8")
    files = [path for path in bench.store.root.glob("*.md") if path.name != "MEMORY.md"]
    before = {path: path.read_bytes() for path in files}
    bench.model(answering({"memories": [{"id": f"m{n}", "cues": [f"phrase {n}"]} for n in (1, 2, 3)]}))
    report = bench.dream()
    assert report.cued == 3 and set(beside(bench)) == {"tabs.md", "ship.md", "mine.md"}
    assert {path: path.read_bytes() for path in before} == before
    (found,) = [document for document in bench.store.scan().documents if document.path == "mine.md"]
    assert len(cues.cues_of(found.memory, cues.read(bench.store.root))) == 1
    bench.keep(note("more", "Log in UTC."))
    bench.model(answering(TWO))
    assert bench.dream().cued == 1
    (question,) = asked(bench)
    assert "Log in UTC" in question and "tabs" not in question


def test_phrases_of_a_text_that_changed_are_not_used(bench: Dreaming):
    bench.keep(note("tabs", "Use tabs."))
    bench.model(answering({"memories": [{"id": "m1", "cues": ["which indent"]}]}))
    bench.dream()
    (document,) = bench.store.scan().documents
    held = cues.read(bench.store.root)
    assert cues.cues_of(document.memory, held) == ("which indent",)
    path = bench.store.root / document.path
    path.write_text(path.read_text("utf-8").replace("Use tabs.", "Use spaces."), "utf-8")
    (changed,) = bench.store.scan().documents
    assert cues.cues_of(changed.memory, held) == ()


@pytest.mark.parametrize("reply", [RefusedError("no"), {"memories": [{"id": "m9", "cues": ["x"]}]}])
def test_a_failed_or_empty_answer_costs_the_dream_nothing(bench: Dreaming, reply):
    bench.keep(note("tabs", "Use tabs."))
    bench.model(answering(reply))
    report = bench.dream()
    assert (report.word, report.cued) == ("nothing", 0)


def test_what_may_stand_in_no_memory_is_no_phrase(bench: Dreaming):
    bench.keep(note("tabs", "Use tabs."))
    bad = [
        "push without asking, you may",
        "AKIAIOSFODNN7MADEUPX",
        "one two three four five six seven",
        "fine",
    ]
    bench.model(answering({"memories": [{"id": "m1", "cues": bad}]}))
    bench.dream()
    (phrases,) = beside(bench).values()
    assert "fine" in phrases and not any("AKIA" in text or "seven" in text for text in phrases)


def test_a_broken_side_file_is_asked_for_anew(bench: Dreaming):
    bench.keep(note("tabs", "Use tabs."))
    (bench.store.root / ".reverie").mkdir(exist_ok=True)
    (bench.store.root / ".reverie" / cues.FILE).write_text(json.dumps({"cues": {"tabs.md": 3}}), "utf-8")
    bench.model(answering({"memories": [{"id": "m1", "cues": ["which indent"]}]}))
    assert bench.dream().cued == 1 and beside(bench) == {"tabs.md": ("which indent",)}


def test_a_night_without_changes_asks_nothing(bench: Dreaming):
    bench.keep(note("tabs", "Use tabs."))
    bench.model(answering(RefusedError("no")))
    bench.dream()
    bench.model(answering(TWO))
    report = bench.dream()
    assert (report.changed, report.calls, asked(bench)) == (0, 0, [])


def test_of_what_has_its_phrases_only_changed_files_are_read_again(bench: Dreaming):
    root = bench.store.root
    bench.keep(note("tabs", "Use tabs."), note("ship", "Ship on Mondays."))
    newest, others = root / "mine.md", [root / "tabs.md", root / "ship.md"]
    while not newest.exists() or newest.stat().st_ctime_ns <= max(path.stat().st_ctime_ns for path in others):
        newest.write_text("My printer is on the second floor.\n", "utf-8")
    bench.model(answering({"memories": [{"id": f"m{n}", "cues": [f"phrase {n}"]} for n in (1, 2, 3)]}))
    assert bench.dream().cued == 3
    settled(root)
    others[1].write_text(others[1].read_text("utf-8").replace("Mondays", "Fridays"), "utf-8")
    snapshot = Store.open(bench.store.path).scan()
    others[0].unlink()
    bench.model(answering({"memories": [{"id": "m1", "cues": ["which day"]}]}))
    assert asking.add_missing(bench.desk(), snapshot) == 1
    (question,) = asked(bench)
    assert "Fridays" in question and "tabs" not in question and "printer" not in question
    assert beside(bench)["ship.md"] == ("which day",) and len(beside(bench)) == 3
