"""What nobody sees, said by everybody in every field, reaches no file of the store and no request."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.safety.invisible import has_hidden, visible
from tests.support.hidden import SECRET_ORDER, in_selectors
from tests.support.loopback import fact, person_lines, serving
from tests.support.workshop import Workshop

MARKS = "".join(("\u200b", "\u3164", "\u202e", "\U000e0041", in_selectors(SECRET_ORDER), "\x1b[31m"))


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "place", {"REVERIE_NOW": "2026-03-02T09:05:00+00:00"})


def hide(prompt: str) -> dict[str, object]:
    """Answer with a memory for each line, one with marks in one field after the other."""
    lines = person_lines(prompt)
    fields = ("name", "description", "statement", "why", "how_to_apply", "type")
    told = []
    for at, (number, text) in enumerate(lines):
        item = fact(f"note-{at}", text, number, quote=text, tags=["ship"], cues=["how do we ship"])
        if at < len(fields):
            item[fields[at]] = f"{item.get(fields[at], 'since it is so')}{MARKS} x"
        if at == len(fields):
            item |= {"tags": [f"ship{MARKS}"], "aliases": [f"ship{MARKS}it"], "cues": [f"how{MARKS} do we"]}
        told.append(item)
    episode = {
        "title": f"ship{MARKS}ping",
        "summary": f"We talked{MARKS} of it.",
        "text": f"It{MARKS} went well.",
    }
    return {"memories": told, "episode": episode}


def test_hidden_characters_reach_no_file_and_no_request(shop: Workshop) -> None:
    session = shop.session()
    said = ("we ship on mondays with make ship", "the box in oslo is called thor", "tabs in go files, please")
    with serving(hide) as api:
        shop.env.update(api.environment)
        for number, text in enumerate(said * 3):
            session.user(f"{text} number {number}{MARKS}, that is how we do it")
            session.assistant(f"Noted{MARKS}, and it will be kept as long as we ship from there.")
        shop.fire(session, "SessionEnd")
        assert shop.work() == 0
        session.gap(90)
        assert shop.work(REVERIE_NOW="2026-03-02T12:05:00+00:00") == 0
    assert api.prompts
    for prompt in (*api.prompts, *api.second):
        assert visible(prompt) == prompt
    files = [
        file for file in shop.store.rglob("*") if file.is_file() and file.suffix in (".md", ".json", ".jsonl")
    ]
    assert any(file.name == "MEMORY.md" for file in files)
    assert [str(file) for file in files if has_hidden(str(file) + file.read_text("utf-8"))] == []
    for command in (["list"], ["inbox", "list"], ["search", "ship"], ["status"], ["audit", str(shop.store)]):
        done = shop.reverie(*command)
        assert not has_hidden(done.stdout), command
