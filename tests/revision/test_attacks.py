"""What a hostile reader of the door found, each as it was found: whose words may take whose place."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pipeline.domain.memory import Evidence
from pipeline.store.history.forgotten import Forgotten, Line
from pipeline.verify.floor import ACTED_ON
from tests.support.dreaming import Dreaming, dreaming, note, op, planned


@pytest.fixture
def bench(tmp_path):
    with dreaming(tmp_path) as found:
        found.set(retire_share=1.0)
        yield found


def guess(name: str, text: str, day: str):
    """A memory that the assistant alone stated."""
    made = note(name, text, day)
    source = replace(made.sources[0], speaker="assistant")
    return replace(made, origin="assistant-inferred", sources=(source,))


def test_words_of_the_assistant_said_later_do_not_bring_back_what_was_forgotten():
    at = datetime(2026, 3, 2, tzinfo=UTC)
    gone = Forgotten({"u1": [Line("keep the retries at 3", at, "asked")]})
    old = Evidence(session="s", uuid="u1", quote="keep the retries at 3", at="2026-03-01T00:00:00Z")
    later = Evidence(
        session="s", uuid="u2", quote="no longer 3", at="2026-03-03T00:00:00Z", speaker="assistant"
    )
    assert gone.bars([old, later])
    assert not gone.bars([old, replace(later, speaker="person")])


def test_a_guess_with_a_person_s_reason_supersedes_no_person_s_rule(bench: Dreaming):
    rule = note("rule", "Never deploy on Fridays.", "2026-03-01")
    made = guess("guess", "Deploying on Fridays is fine.", "2026-05-01")
    bears = {"speaker": "person", "uuid": "u9", "bears": ("deadbeef",)}
    stated = replace(made.sources[0], bears=())
    bench.keep(rule, replace(made, sources=(stated, replace(stated, **bears))))
    bench.model(planned(op("supersede", "rule", "guess", into="guess")))
    bench.dream()
    assert bench.names() == ["guess", "rule"]


def test_a_guess_speaks_for_no_person_s_sentence(bench: Dreaming):
    bench.keep(
        note("rule", "Always run the full test suite before a push."),
        guess("guess", "Run the test suite before a push where it is quick.", "2026-05-01"),
    )
    bench.model(planned(op("merge", "rule", "guess", into="guess", covered=[("rule.1", "guess.1")])))
    bench.dream()
    assert bench.names() == ["guess", "rule"]


def test_texts_that_differ_in_a_bracket_a_quote_or_a_capital_do_not_merge_without_a_model(bench: Dreaming):
    bench.keep(
        note("one", "The range of alpha is (0, 1]."), note("two", "The range of alpha is [0, 1)."),
        note("three", "Mail the invoices to US only."), note("four", "Mail the invoices to us only."),
        note("five", "Put it into `__init__`."), note("six", "Put it into `init`."),
    )  # fmt: skip
    bench.dream(offline=True)
    assert len(bench.names()) == 6


def test_a_merge_too_large_to_be_read_back_stops_no_other(bench: Dreaming):
    def heavy(name: str, text: str):
        made = note(name, text)
        line = made.sources[0]
        return replace(
            made,
            sources=tuple(replace(line, uuid=f"{name}-{n}", quote="q" * 150) for n in range(500)),
        )

    bench.keep(heavy("one", "Use tabs."), heavy("two", "Use tabs!"))
    bench.keep(note("a", "Ship on Mondays."), note("b", "Ship on  Mondays"))
    report = bench.dream(offline=True)
    assert {"one", "two"} <= set(bench.names()) and len(bench.names()) == 3
    assert any("can't be read" in item["why"] for item in report.refused)


def test_every_type_that_claude_acts_on_needs_a_person_s_command():
    assert {"user", "feedback", "procedure", "workflow", "code_pattern"} == ACTED_ON


def test_a_long_line_is_cut_in_time_that_grows_with_it():
    """Counted in looks, not in seconds: the text behind a mark is looked at, never all before it."""
    from pipeline.domain.sentences import sentences

    assert len(sentences("Word is ok. " * 20_000)) == 20_000
