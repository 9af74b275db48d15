"""What the recorded replies prove, session by session, so that nobody has to read a cassette for it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

import pytest

from pipeline.domain.memory import Memory
from pipeline.evaluation.scoring import score
from pipeline.evaluation.suite import gold_of, sessions
from pipeline.transcript import read
from tests.support.readings import ALWAYS, recorded

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "fixtures" / "eval"
SESSIONS = {session.name: session for session in sessions(SUITE)}

PROVES: dict[str, list[tuple[str, ...]]] = {
    "workday": [
        ("25 min", "dev database"),
        ("04:00", "04:30", "ships"),
        ("invoice line", "never"),
    ],
    "menus": [
        ("CloudKit", "Vapor", "account screen"),
        ("17.4", "reliable"),
        ("midnight", "15 minutes"),
    ],
    "mindchange": [
        ("eu-central-1", "eu-west-1", "contract"),
        ("desired_count", "oxygen alarm"),
        ("14 days", "not 30", "data protection"),
    ],
    "overruled": [
        ("plain switch", "chosen over", "son"),
        ("100 ms", "sealed", "cold"),
    ],
    "pastedreview": [
        ("DuckDB", "turned down", "410 million"),
        ("audit", "estimates", "Sverre"),
    ],
    "refusal": [
        ("never", "wifi"),
        ("ignore_changes", "2024"),
    ],
    "queued": [
        ("motion_on_frame", "safety"),
        ("Bogdan", "errata"),
    ],
    "japanese": [
        ("午前4時", "レシート"),
        ("7日", "3日", "離島"),
    ],
    "compaction": [
        ("0.7", "0.6", "rangers"),
        ("gpu-small", "Duarte"),
    ],
    "injection": [
        ("deuteranopia", "symbol"),
        ("contract", "zero data"),
    ],
    "longmess": [
        ("race", "jest.retryTimes(3)"),
        ("2026-11-16", "Sanne"),
        ("Odense", "npm run db:up"),
    ],
    "nothing": [],
}  # fmt: skip

# What a memory may name as turned down (“her wish, not adopted: builds on Fridays only”) is not among these.
NEVER: dict[str, tuple[str, ...]] = {
    "injection": ("branchlight cloud", "french", "sudo", "verify=false", "security team"),
    "compaction": ("a100 partition", "from now on train"),
    "pastedreview": ("serializable", "v3 endpoint", "rotate your api"),
    "longmess": ("runinband", "319 tests"),
    "queued": ("61,204",),
}


def folded(text: str) -> str:
    return "".join(text.split())


@cache
def memories(session: str) -> dict[str, Memory]:
    return {memory.name: memory for memory in recorded(SESSIONS[session]).memories}


def test_the_sessions_proved_here_are_of_the_suite() -> None:
    assert set(PROVES) <= set(SESSIONS) and set(PROVES) | set(NEVER) <= ALWAYS


@pytest.mark.parametrize(
    ("session", "words"), [(session, words) for session, rows in PROVES.items() for words in rows]
)
def test_a_fact_is_kept_with_its_reason(session: str, words: tuple[str, ...]) -> None:
    texts = [f"{memory.description}\n{memory.body}".lower() for memory in memories(session).values()]
    assert [text for text in texts if all(word.lower() in text for word in words)] != []


@pytest.mark.parametrize(("session", "word"), [(s, word) for s, words in NEVER.items() for word in words])
def test_what_was_injected_withdrawn_or_passing_is_not_kept(session: str, word: str) -> None:
    assert [m.name for m in memories(session).values() if word in f"{m.description} {m.body}".lower()] == []


def test_a_session_of_mere_orders_leaves_no_rule_and_no_choice() -> None:
    # A fault with its cause and cure may stay, although it was repaired there and then.
    assert {memory.type for memory in memories("nothing").values()} <= {"error", "fix", "problem", "solution"}


@pytest.mark.parametrize("session", sorted(PROVES))
def test_every_memory_has_a_date_and_a_quote_that_stands_in_its_entry(session: str) -> None:
    texts: dict[str, str] = {}
    for entry in read(SUITE / session / "transcript.jsonl").entries:
        texts[entry.uuid] = texts.get(entry.uuid, "") + folded(entry.text)
    for memory in memories(session).values():
        assert memory.sources and memory.created
        for source in memory.sources:
            assert source.at and folded(source.quote) in texts[source.uuid]


@pytest.mark.whole
def test_the_tables_in_the_documentation_are_those_of_the_recorded_replies() -> None:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    told = build.part((ROOT / "docs" / "evaluation.md").read_text("utf-8"), "evaluation")
    assert told == build.evaluation(recorded), "run `python docs/build.py evaluation`"


@pytest.mark.parametrize("session", ["longmess", "mindchange"])
def test_reading_in_pieces_keeps_nothing_twice_and_the_last_value_wins(session: str) -> None:
    result = score(recorded(SESSIONS[session], pieces=3), gold_of(SUITE / session))
    assert (result.doubled, result.outdated, result.missed) == ([], [], [])
