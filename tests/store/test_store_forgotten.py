"""What was forgotten is known by its sources: the same words bring it back under no name, later ones do."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.clock import iso
from pipeline.domain.memory import Evidence
from pipeline.store import Store
from pipeline.store.history.forgotten import FILE
from tests.support.stores import NOW

SAID = "use 3 retries for the gateway, never more"
BEFORE, AFTER = iso(NOW - timedelta(hours=1)), iso(NOW + timedelta(hours=1))


def source(quote: str = SAID, uuid: str = "u1", at: str | None = BEFORE, session: str = "s") -> Evidence:
    return Evidence(session=session, uuid=uuid, quote=quote, at=at)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def forget(store: Store, *sources: Evidence, now: datetime = NOW, **more: Any) -> None:
    values = {"name": "retries", "reason": "forgotten on request", **more}
    store.note_forgotten(sources, now=now, **values)


def bars(store: Store, *sources: Evidence, name: str = "") -> bool:
    return Store.open(store.path).forgotten().bars(sources, name)


def test_nothing_is_forgotten_at_first(store: Store) -> None:
    assert not bars(store, source(), name="retries") and not bars(store)


def test_the_same_words_are_barred_under_any_name_and_from_a_fork(store: Store) -> None:
    forget(store, source())
    assert bars(store, source()) and bars(store, source(), name="gateway-bans-at-five")
    assert bars(store, source(session="a-fork")), "a fork copies entries with their ids"
    assert bars(store, source(at=None))
    assert not bars(store, source(uuid="u2")) and not bars(store)


def test_words_said_after_it_bring_it_back_alone_or_beside_the_old(store: Store) -> None:
    forget(store, source())
    later = source("use 3 retries after all", "u9", AFTER)
    assert not bars(store, later) and not bars(store, source(), later)
    assert bars(store, source(), source("another line", "u2"))
    assert bars(store, source(), source("at the same moment", "u3", iso(NOW)))


def test_forgotten_again_the_last_time_counts(store: Store) -> None:
    forget(store, source())
    forget(store, source(), now=NOW + timedelta(hours=2))
    assert bars(store, source(), source("use 3 retries after all", "u9", AFTER))


@pytest.mark.parametrize(
    ("quote", "barred"),
    [
        (SAID, True),
        ("Use 3 retries   for the GATEWAY", True),
        ("retries for the gateway, never more, since", True),
        (f"as I said: {SAID}. And deploy at night.", True),
        ("deploy at night", False),
        ("use 5 workers for the queue, never more", False),
        ("never more of that", True),
        ("more of that, please", False),
        ("", False),
    ],
)
def test_two_quotes_of_one_entry_are_about_the_same_where_they_overlap(
    store: Store, quote: str, barred: bool
) -> None:
    forget(store, source())
    assert bars(store, source(quote)) is barred


@pytest.mark.parametrize(
    ("quote", "other", "barred"),
    [
        ("リトライは3回までにする", "リトライは3回まで", True),
        ("リトライは3回までにする", "デプロイは夜にする", False),
        ("重试三次，不能再多", "重试三次", True),
        ("重试三次，不能再多", "晚上部署", False),
        ("استخدم ثلاث محاولات فقط", "ثلاث محاولات فقط", True),
        ("استخدم ثلاث محاولات فقط", "النشر في الليل", False),
        ("ＡＢＣを使う", "ABCを使う", True),
        ("👍", "👍", True),
        ("👍", "use tabs", False),
    ],
)
def test_quotes_of_any_script(store: Store, quote: str, other: str, barred: bool) -> None:
    forget(store, source(quote))
    assert bars(store, source(other)) is barred


def test_lifting_takes_back_what_stands_for_that_reason(store: Store) -> None:
    forget(store, source())
    forget(store, source(), reason="undone on request")
    forget(store, source(), reason="undone on request", lifted=True)
    assert bars(store, source())
    forget(store, source(), lifted=True)
    assert not bars(store, source())
    forget(store, source())
    assert bars(store, source())
    forget(store, source(), reason="", lifted=True)
    assert not bars(store, source())


def test_lifting_other_words_lifts_nothing(store: Store) -> None:
    forget(store, source())
    forget(store, source("never more"), source(uuid="u2"), lifted=True)
    assert bars(store, source())


def test_what_has_no_source_is_known_by_its_name(store: Store) -> None:
    forget(store)
    assert bars(store, source(), name="retries") and not bars(store, source(), name="other")
    assert not bars(store, source("use 3 retries", "u9", AFTER), name="retries")
    forget(store, lifted=True)
    assert not bars(store, source(), name="retries")


@pytest.mark.parametrize(
    "line",
    [b'{"uuid": "u1", "quo', b"5", b"[]", b"\xff\xfe", b'{"uuid": 5, "quote": "x", "day": "d"}',
     b'{"uuid": "u1", "quote": "x", "day": "no day"}', b'{"name": ["x"], "day": "2026-01-01"}', b"null"],
)  # fmt: skip
def test_a_line_that_can_not_be_read_hides_no_other(store: Store, line: bytes) -> None:
    forget(store, source())
    file = store.root / ".reverie" / FILE
    file.write_bytes(line + b"\n" + file.read_bytes() + line)
    assert bars(store, source()) and not bars(store, source(uuid="u2"))
    forget(store, source(uuid="u2"))
    assert bars(store, source(uuid="u2"))


def test_the_file_is_private(store: Store) -> None:
    forget(store, source())
    assert (store.root / ".reverie" / FILE).stat().st_mode & 0o777 == 0o600


TEXT = "Ship on Mondays.\n\n**Why:** The team is complete then.\n"


@pytest.mark.parametrize(
    ("quote", "barred"),
    [
        ("Ship on Mondays.", True),
        ("please ship on mondays", False),
        ("SHIP on  Mondays!", True),
        ("so it is: we test first. Ship on Mondays.", True),
        ("the team is complete then", True),
        ("ship on fridays.", False),
        ("👍", False),
        ("", False),
    ],
)
def test_what_has_no_source_is_known_by_its_sentences_too(store: Store, quote: str, barred: bool) -> None:
    forget(store, name="ship", text=TEXT)
    assert bars(store, source(quote), name="other") is barred
    assert bars(store, source("anything"), name="ship")
    assert not bars(store, source(quote, at=AFTER), name="ship"), "said later"
    forget(store, name="ship", lifted=True)
    assert not bars(store, source(quote), name="ship")


def test_only_digests_of_the_sentences_are_kept(store: Store) -> None:
    forget(store, name="ship", text=TEXT)
    forget(store, source(), name="with-a-source", text=TEXT)
    first, second = (
        json.loads(line) for line in (store.root / ".reverie" / FILE).read_text().splitlines() if line
    )
    assert len(first["sentences"]) == 2 and "Mondays" not in json.dumps(first)
    assert "sentences" not in second


@pytest.mark.parametrize("odd", [5, None, "x", [5, None], {}])
def test_odd_sentences_hide_no_name(store: Store, odd: Any) -> None:
    line = {"name": "ship", "day": iso(NOW), "reason": "r", "sentences": odd}
    (store.root / ".reverie").mkdir(exist_ok=True)
    (store.root / ".reverie" / FILE).write_text(json.dumps(line) + "\n")
    assert bars(store, source(), name="ship") and not bars(store, source(), name="other")
