"""The days of a conversation are those of the person: in the request, in what is kept, in the diary."""

from __future__ import annotations

import pytest

from pipeline.core import zone
from pipeline.extraction.strategies import ConversationStrategy
from pipeline.ledger import conversations
from tests.support.extraction import Bench, fact, reply
from tests.support.transcripts import Transcript

SAID = "the freeze starts tomorrow and ends by Friday"
# In the evening west of Greenwich, in the morning east of it, at half an hour, on the night clocks change.
SPOKEN = [
    ("America/Los_Angeles", "2026-03-03T04:30:00Z", "2026-03-02 20:30", "2026-03-03", "2026-03-06"),
    ("Asia/Tokyo", "2026-03-02T23:30:00Z", "2026-03-03 08:30", "2026-03-04", "2026-03-06"),
    ("Asia/Kolkata", "2026-03-02T18:29:00Z", "2026-03-02 23:59", "2026-03-03", "2026-03-06"),
    ("Asia/Kolkata", "2026-03-02T18:30:00Z", "2026-03-03 00:00", "2026-03-04", "2026-03-06"),
    ("Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29 00:30", "2026-03-30", "2026-04-03"),
    ("Europe/Berlin", "2026-10-25T22:30:00Z", "2026-10-25 23:30", "2026-10-26", "2026-10-30"),
]


@pytest.mark.parametrize(("name", "at", "stamp", "tomorrow", "friday"), SPOKEN)
def test_tomorrow_is_the_day_after_the_persons_own(
    bench: Bench, name: str, at: str, stamp: str, tomorrow: str, friday: str
) -> None:
    zone.use(name)
    session = Transcript(start=at)
    session.user(SAID)
    for word in ("a", "b", "c", "d"):
        session.user(word)
    key = bench.hear(session)
    bench.clock.at = session.now
    (found,) = conversations.list_conversations(bench.ledger, key=key)
    said = fact(1, SAID, statement=SAID, description="The freeze.", name="freeze")
    bench.script([reply(said, episode={"title": "Freeze", "summary": ["It was set."]})])
    bench.run(ConversationStrategy(found, bench.settings.extraction))

    day = stamp[:10]
    assert f"[1] {stamp} PERSON: {SAID}" in bench.prompt(0)
    asked = bench.provider.second.history[0].messages[0].content
    assert f"[1] {day} PERSON: {SAID}" in asked, "the second reader is told the same day"
    memory = bench.store.read("freeze").memory
    assert f"starts {tomorrow} and ends by Friday {friday}" in memory.body
    assert (memory.sources[0].at or "").startswith(f"{at[:-1]}+00:00"), "what is kept stays in UTC"
    (page,) = (bench.store.root / "episodes").glob("*.md")
    assert page.name == f"{day}.md" and f"## {stamp[11:]} - Freeze" in page.read_text("utf-8")


def test_a_memory_is_shown_with_the_day_on_which_the_person_said_it(bench: Bench) -> None:
    zone.use("America/Los_Angeles")
    session = Transcript(start="2026-03-03T04:30:00Z")
    session.user("keep the retries at 3")
    key = bench.hear(session)
    bench.script([reply(fact(1, "keep the retries at 3"))])
    bench.run(bench.turns(key))
    session.user("what about the retries of the payment gateway?")
    key = bench.hear(session)
    bench.script([reply()])
    bench.run(bench.turns(key))
    assert "2026-03-02, person" in bench.prompt() and "2026-03-03" not in bench.prompt().split("# ")[0]
