"""What the worker has read of a session no longer overrules a memory; what was said since still does."""

import json

from pipeline.core.clock import FixedClock, parse_time
from pipeline.ledger import unread
from pipeline.recall.live import spoken
from tests.support.loopback import LoopbackApi, keep_each_line
from tests.support.workshop import Workshop, at

NOW = "2026-03-02T09:05:00+00:00"
SAID = "use bun from now on, not npm"


def work(shop: Workshop, now: str = NOW) -> None:
    with shop.worker(FixedClock(at(now))) as worker:
        worker.run()


def words(shop: Workshop, number: int = 1) -> list[str]:
    session = shop.session(number)
    file = shop.folder / f"{session.session_id}.jsonl"
    return [text for _, text in spoken.unread(str(shop.home), session.session_id, str(file))]


def test_words_count_until_the_worker_has_read_them(shop: Workshop, api: LoopbackApi) -> None:
    api.answer = keep_each_line
    session = shop.session()
    session.user(SAID)
    session.assistant("Bun it is.")
    shop.fire(session)
    other = shop.session(2)
    other.user("no more npm here")
    shop.write(other)
    assert (words(shop), words(shop, 2)) == ([SAID], ["no more npm here"])
    work(shop)
    assert (words(shop), words(shop, 2)) == ([], ["no more npm here"])
    session.user("and no more yarn either")
    shop.write(session)
    assert words(shop) == ["and no more yarn either"]
    shop.fire(session)
    work(shop)
    assert words(shop) == ["and no more yarn either"], "taken in, and its turn to be read is yet to come"


def test_a_ledger_tells_how_far_each_session_was_read_and_forgets_old_ones(
    shop: Workshop, api: LoopbackApi
) -> None:
    api.answer = keep_each_line
    session = shop.session()
    session.user(SAID)
    typed_at = parse_time(json.loads(shop.write(session).read_text("utf-8").splitlines()[-1])["timestamp"])
    session.assistant("Bun it is.")
    shop.fire(session)
    with shop.ledger() as ledger:
        assert unread.read_through(ledger, 0.0) == {}
    work(shop)
    assert typed_at is not None
    with shop.ledger() as ledger:
        assert unread.read_through(ledger, 0.0) == {session.session_id: typed_at.timestamp()}
        assert unread.read_through(ledger, at("2026-03-03T09:00:00+00:00").timestamp()) == {}
    board = json.loads((shop.home / "recall" / "board.json").read_text("utf-8"))
    assert board["read"] == {session.session_id: typed_at.timestamp()}
