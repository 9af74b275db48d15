"""When a dream may start, and what a person is told when it may not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pipeline.config import DreamSettings
from pipeline.consolidation.gates import GateFacts, evaluate, first_closed, settled

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
LIMITS = DreamSettings()
READY = GateFacts(
    enabled=True,
    changed=3,
    last_success=NOW - timedelta(hours=30),
    last_scan=NOW - timedelta(hours=1),
    sessions=5,
    spend_refusal=None,
    lock_holder=None,
    now=NOW,
)


def closed(limits=LIMITS, **facts):
    return [gate.name for gate in evaluate(replace(READY, **facts), limits) if not gate.open]


def ago(**length):
    return NOW - timedelta(**length)


@pytest.mark.parametrize(
    ("facts", "gate", "reason"),
    [
        (
            {"last_success": ago(hours=23, minutes=59), "sessions": 9},
            "interval",
            "The last dream was 23 h 59 min ago; 1 min to wait.",
        ),
        ({"last_success": ago(hours=24), "sessions": 5}, None, ""),
        (
            {"last_success": ago(hours=24), "sessions": 4},
            "sessions",
            "4 sessions since the last dream; 1 more session needed.",
        ),
        ({"lock_holder": "pid 4711"}, "lock", "Another consolidation is at work: pid 4711"),
        (
            {"spend_refusal": "1.00 of 1.00 USD spent today."},
            "spend",
            "Model calls have to wait: 1.00 of 1.00 USD spent today.",
        ),
        ({"enabled": False}, "enabled", "Dreams are switched off for this store."),
        ({"changed": 0}, "changed", "No memory has changed since the last dream."),
        (
            {"last_scan": ago(minutes=9, seconds=30)},
            "scan",
            "Sessions were counted a moment ago; 1 min to wait.",
        ),
        ({"last_success": None}, None, ""),
        (
            {"last_success": None, "sessions": 1},
            "sessions",
            "1 session so far; 4 more sessions needed.",
        ),
        ({"last_success": None, "changed": 0}, "changed", "No memory has changed since the last dream."),
    ],
)
def test_bug_095_each_state_opens_or_names_what_is_missing(facts, gate, reason):
    first = first_closed(evaluate(replace(READY, **facts), LIMITS))
    assert (first and (first.name, first.reason)) == (gate and (gate, reason))
    assert closed(**facts) == ([gate] if gate else [])


def test_the_gates_stand_in_the_order_of_their_cost():
    every = ["enabled", "changed", "interval", "scan", "sessions", "spend", "lock"]
    none = {"enabled": False, "changed": 0, "last_success": NOW, "last_scan": NOW, "sessions": 0}
    assert [gate.name for gate in evaluate(READY, LIMITS)] == every
    assert closed(**none, spend_refusal="cap", lock_holder="pid 1") == every


def test_every_gate_says_something_open_or_closed():
    for gate in evaluate(READY, LIMITS):
        assert gate.reason[0] == gate.reason[0].upper()
        assert gate.reason.endswith(".")


@pytest.mark.parametrize(
    ("limits", "facts", "expected"),
    [
        ({"enabled": False}, {}, ["enabled"]),
        ({"interval_hours": 48}, {}, ["interval"]),
        ({"interval_hours": 0}, {"last_success": NOW}, []),
        ({"scan_minutes": 120}, {}, ["scan"]),
        ({"scan_minutes": 0}, {"last_scan": NOW}, []),
        ({"sessions": 6}, {}, ["sessions"]),
        ({"sessions": 0}, {"sessions": 0}, []),
        ({"memories": 10}, {"held": 9}, ["changed"]),
        ({"memories": 10}, {"held": 10}, []),
        ({"memories": 10}, {}, []),
    ],
)
def test_the_limits_are_the_settings(limits, facts, expected):
    assert closed(DreamSettings(**limits), **facts) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"last_success": ago(days=400)}, []),
        ({"last_scan": None}, []),
        ({"last_scan": ago(minutes=10)}, []),
        ({"last_success": NOW + timedelta(minutes=1)}, ["interval"]),
        ({"last_success": NOW + timedelta(hours=24)}, ["interval"]),
        ({"last_success": NOW + timedelta(hours=24, seconds=1)}, []),
        ({"last_success": NOW + timedelta(days=3650)}, []),
        ({"last_scan": NOW + timedelta(minutes=5)}, ["scan"]),
        ({"last_scan": NOW + timedelta(days=1)}, []),
    ],
)
def test_a_clock_that_jumped_neither_starts_a_second_dream_nor_holds_one_back_for_long(facts, expected):
    assert closed(**facts) == expected


def test_a_dream_in_the_future_is_told_as_one_just_now():
    gates = {
        gate.name: gate for gate in evaluate(replace(READY, last_success=NOW + timedelta(hours=2)), LIMITS)
    }
    assert gates["interval"].reason == "The last dream was 0 min ago; 24 h to wait."


@pytest.mark.parametrize("ahead", [timedelta(seconds=1), timedelta(hours=20), timedelta(days=900)])
def test_a_settled_future_waits_one_interval_and_no_longer(ahead):
    facts = settled(replace(READY, last_success=NOW + ahead, last_scan=NOW + ahead))
    assert (facts.last_success, facts.last_scan) == (NOW, NOW)
    waited = {hours: closed(**{**vars_of(facts), "now": NOW + timedelta(hours=hours)}) for hours in (23, 24)}
    assert waited == {23: ["interval"], 24: []}


def vars_of(facts):
    return {name: getattr(facts, name) for name in ("last_success", "last_scan")}


def test_settling_leaves_the_past_and_never_as_they_are():
    never = replace(READY, last_success=None, last_scan=None)
    assert (settled(READY), settled(never)) == (READY, never)


@pytest.mark.parametrize(
    ("since", "told"),
    [
        ({"hours": 24}, "The last dream was 24 h ago."),
        ({"hours": 47, "minutes": 5}, "The last dream was 47 h 5 min ago."),
        ({"days": 9, "hours": 5}, "The last dream was 9 days ago."),
    ],
)
def test_times_are_told_as_a_person_would(since, told):
    gates = {gate.name: gate.reason for gate in evaluate(replace(READY, last_success=ago(**since)), LIMITS)}
    assert gates["interval"] == told
