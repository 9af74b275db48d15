"""What the first sight of a long history leaves is read when asked for, and conversations in any order."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.extraction.strategies import ConversationStrategy
from pipeline.ledger import conversations
from tests.support.extraction import NOTHING, NOW, Bench
from tests.support.transcripts import Transcript

OLD = [f"old line {number}" for number in range(6)]
SHORT = ["a short question", "a short rule"]


def history(bench: Bench) -> str:
    """Hear a conversation of last month, a short one of the day after, and a turn of just now."""
    session = Transcript(start="2026-02-01T09:00:00Z")
    for day, lines in enumerate((OLD, SHORT)):
        session.now = NOW - timedelta(days=30 - day)
        for line in lines:
            session.user(line)
    session.now = NOW - timedelta(minutes=3)
    session.user("a new rule")
    key = bench.hear(session)
    bench.script(lambda _: {**NOTHING, "episode": {}})
    return key


def test_the_old_part_of_a_history_waits_until_it_is_asked_for(bench: Bench) -> None:
    key = history(bench)
    assert [o.word for o in bench.run(bench.turns(key))] == ["nothing"]
    assert "a new rule" in bench.prompt() and len(bench.provider.history) == 1
    found = bench.worker().read_file(key)
    assert [outcome.word for outcome in found] == ["nothing", "nothing"]
    (old, short) = (r.messages[0].content for r in bench.provider.history[1:])
    assert [line for line in OLD if line not in old] == []
    assert [line for line in SHORT if line not in short] == []
    states = [item.status for item in conversations.list_conversations(bench.ledger, key=key)]
    assert states[:2] == ["archived", "archived"]
    assert bench.worker().read_file(key) == [] and len(bench.provider.history) == 3


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_conversation_is_read_whole_whatever_was_read_before_it(bench: Bench, order: list[int]) -> None:
    key = history(bench)
    items = conversations.list_conversations(bench.ledger, key=key)
    for at in order:
        strategy = ConversationStrategy(items[at], bench.settings.extraction, minimum=1)
        assert [outcome.word for outcome in bench.run(strategy)] == ["nothing"]
        assert bench.run(strategy) == []
        wanted = (OLD, SHORT)[at]
        assert [line for line in wanted if line not in bench.prompt()] == []
