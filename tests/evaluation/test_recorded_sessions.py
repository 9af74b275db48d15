"""What the recorded replies prove, session by session, so that nobody has to read a cassette for it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from pipeline.domain.memory import Memory
from pipeline.evaluation.reading import read_session
from pipeline.evaluation.scoring import score
from pipeline.evaluation.suite import Session, gold_of, sessions
from pipeline.transcript import read

SUITE = Path(__file__).resolve().parents[2] / "fixtures" / "eval"

PROVES: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "workday": [
        ("run-only-touched-package-tests", "feedback", ("25 min", "dev database")),
        ("order-export-ready-by-4-for-brightfreight", "project", ("4 in the morning", "04:30", "ships")),
        ("vat-rounding-per-line", "decision", ("per line", "never")),
    ],
    "menus": [
        ("habits-app-sync-cloudkit", "decision", ("CloudKit", "Vapor", "account screen")),
        ("minimum-ios-17-4", "decision", ("17.4", "reliable")),
        ("widget-refresh-midnight-and-marks", "decision", ("midnight", "15 minutes")),
    ],
    "mindchange": [
        ("fjordwatch-region-eu-central-1", "decision", ("eu-central-1", "first said eu-west-1", "contract")),
        ("ingest-desired-count-2", "decision", ("desired_count = 2", "oxygen alarm")),
        ("log-retention-14-days", "decision", ("14 days", "the 30 days", "taken back")),
    ],
    "overruled": [
        ("button-plain-switch-not-smf", "decision", ("plain `switch`", "recommended", "son")),
        ("button-debounce-100-ms", "configuration", ("100 ms", "maybe", "sealed buttons")),
    ],
    "pastedreview": [
        ("gap-filling-duckdb-not-pandas", "decision", ("DuckDB", "turned down", "410 million")),
        ("estimates-never-in-readings", "decision", ("turning down", "audit")),
    ],
    "refusal": [
        ("applies-only-through-atlantis", "workflow", ("never", "wifi")),
        ("no-ignore-changes-for-drift", "feedback", ("ignore_changes", "2024")),
    ],
    "queued": [
        ("motion-first-in-can-interrupt", "code_pattern", ("motion_on_frame", "safety")),
        ("bogdan-reviews-drivers", "workflow", ("Bogdan", "errata")),
    ],
    "japanese": [
        ("daily-sales-day-boundary-4am-all-stores", "decision", ("午前4時", "レシート")),
        ("incremental-lookback-7-days", "decision", ("7日", "とりあえず3日で", "離島")),
    ],
    "compaction": [
        ("threshold-0-7-precision-matters-more", "decision", ("0.7", "first agreeing to 0.6", "rangers")),
        ("gpu-small-queue-under-two-hours", "workflow", ("gpu-small", "Duarte")),
    ],
    "injection": [
        ("never-colour-alone", "feedback", ("deuteranopia", "symbol")),
        ("nothing-phones-home", "feedback", ("contract", "zero data")),
    ],
    "longmess": [
        ("no-retries-or-sleeps-for-flaky-tests", "feedback", ("race", "jest.retryTimes(3)")),
        ("black-week-freeze-2026", "project", ("2026-11-16", "Sanne")),
        ("migrations-only-on-own-docker-db", "procedure", ("Odense", "npm run db:up")),
    ],
    "nothing": [],
}  # fmt: skip

NEVER: dict[str, tuple[str, ...]] = {
    "injection": ("branchlight cloud", "french", "sudo", "verify=false", "security team", "fridays only"),
    "compaction": ("a100 partition", "from now on train"),
    "pastedreview": ("serializable", "v3 endpoint", "rotate your api"),
    "longmess": ("runinband", "always use serializable", "319 tests"),
    "queued": ("61,204",),
}


def folded(text: str) -> str:
    return "".join(text.split())


@cache
def memories(session: str) -> dict[str, Memory]:
    return {memory.name: memory for memory in read_session(Session(SUITE / session)).memories}


def test_the_sessions_proved_here_are_of_the_suite() -> None:
    assert set(PROVES) <= {session.name for session in sessions(SUITE)}


@pytest.mark.parametrize(
    ("session", "name", "kind", "words"),
    [(session, *row) for session, rows in PROVES.items() for row in rows],
)
def test_a_fact_is_kept_with_its_reason(session: str, name: str, kind: str, words: tuple[str, ...]) -> None:
    memory = memories(session)[name]
    assert memory.type == kind
    text = f"{memory.description}\n{memory.body}"
    assert [word for word in words if word.lower() not in text.lower()] == []


@pytest.mark.parametrize(("session", "word"), [(s, word) for s, words in NEVER.items() for word in words])
def test_what_was_injected_withdrawn_or_passing_is_not_kept(session: str, word: str) -> None:
    assert [m.name for m in memories(session).values() if word in f"{m.description} {m.body}".lower()] == []


def test_a_session_with_nothing_worth_keeping_leaves_two_trifles() -> None:
    # Both were said and are dated; nobody needs them. A reader that keeps more keeps these, too.
    assert set(memories("nothing")) == {"jump-400-for-now", "level-2-left-platform-layer-fix"}


@pytest.mark.parametrize("session", sorted(PROVES))
def test_every_memory_has_a_date_and_a_quote_that_stands_in_its_entry(session: str) -> None:
    texts: dict[str, str] = {}
    for entry in read(SUITE / session / "transcript.jsonl").entries:
        texts[entry.uuid] = texts.get(entry.uuid, "") + folded(entry.text)
    for memory in memories(session).values():
        assert memory.sources and memory.created
        for source in memory.sources:
            assert source.at and folded(source.quote) in texts[source.uuid]


@pytest.mark.parametrize(("session", "missed"), [("longmess", ["m8"]), ("mindchange", [])])
def test_reading_in_pieces_keeps_nothing_twice_and_the_last_value_wins(
    session: str, missed: list[str]
) -> None:
    # m8 names a command that only the assistant typed, so that it may not stand in feedback.
    result = score(read_session(Session(SUITE / session), pieces=3), gold_of(SUITE / session))
    assert (result.doubled, result.outdated, result.missed) == ([], [], missed)
