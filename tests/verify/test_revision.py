"""What may not take an older memory's place unasked: the assistant's words over a person's, a silent loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pipeline.verify.revision import flaw_of, said_later

from pipeline.domain.memory import Memory
from pipeline.verify.evidence import unvouched
from tests.verify.plans import note

FORCE = "Never force push to shared branches."
LEASE = "Force push with lease is used on shared branches."
PORT = "Deploys go through port 8443.\n\n**Why:** the gateway bans every other port"
SHIP = "Deploys go through make ship."


def reason(old: Memory, new: Memory) -> str:
    flaw = flaw_of(old, new)
    assert flaw is None or flaw.to_inbox
    return flaw.reason if flaw else ""


@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ({"type": "feedback"}, True),
        ({"type": "user"}, True),
        ({"type": "project"}, True),
        ({"type": "feedback", "speaker": "assistant", "origin": ""}, True),
        ({"type": "project", "speaker": "assistant"}, False),
        ({"type": "project", "origin": "hand-written"}, True),
        ({"type": "decision", "origin": "user-confirmed"}, True),
    ],
)
def test_the_assistant_alone_replaces_no_person_s_words(target: dict[str, Any], refused: bool) -> None:
    old = note("force", FORCE, **target)
    new = note("lease", LEASE, "2026-03-09", speaker="assistant")
    assert ("only the assistant said it" in reason(old, new)) is refused
    person = note("lease", LEASE, "2026-03-09")
    assert "only the assistant" not in reason(old, person)


def test_a_dream_s_rule_goes_by_type_and_an_update_s_by_who_is_replaced_too() -> None:
    old, new = note("a", FORCE), note("b", LEASE, speaker="assistant")
    assert unvouched("project", [new]) is None
    assert unvouched("feedback", [new]) is new
    assert unvouched("project", [new], replaced=old) is new
    assert unvouched("project", [new], replaced=replace(old, origin="assistant-inferred")) is None


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (SHIP, "“8443” would be lost"),
        ("Deploys go through port 8443.", "the reason is lost"),
        ("The fair booth shows a banner with 8443 in May.", "the reason is lost"),
        (PORT + ", and asks twice.", ""),
        (PORT.replace("go through", "use"), ""),
    ],
)
def test_what_is_lost_needs_a_person_s_later_word(text: str, lost: str) -> None:
    old = note("port", PORT)
    same_day = note("port", text, "2026-03-01")
    assert reason(old, same_day).startswith(lost) and bool(reason(old, same_day)) is bool(lost)
    assert reason(old, note("port", text, "2026-03-02")) == ""


def test_a_text_about_something_else_needs_one_too() -> None:
    old = note("port", "Deploys go through the old gateway, slowly.")
    assert "about something else" in reason(old, note("port", "Lunch stands in the small kitchen."))


def test_later_than_all_is_said_by_a_person_with_known_times() -> None:
    old, new = note("a", PORT, "2026-03-01"), note("b", SHIP, "2026-03-02")
    assert said_later(new, old)
    assert not said_later(note("b", SHIP, "2026-03-02", speaker="assistant"), old)
    assert not said_later(new, replace(old, sources=(old.sources[0].model_copy(update={"at": None}),)))
    assert not said_later(new, replace(old, sources=(*old.sources, note("c", PORT, "2026-03-03").sources[0])))
    assert said_later(new, replace(old, sources=())), "it rests on nothing"
