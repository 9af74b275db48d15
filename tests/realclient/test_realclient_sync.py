"""What a sync brings while a session of the real client is open: each line reaches the model once."""

import json
import time

import pytest

from pipeline.hooklib import news
from tests.realclient.box import REPO, OpenBox
from tests.realclient.scripted_api import SESSION, Rule

pytestmark = pytest.mark.realclient

PLUGIN = ("--plugin-dir", str(REPO))
NEW = "- [Prices are whole cents.](prices.md)"
SHARED = "- [Releases are cut from harbour.](release-branch.md)"


def test_the_client_tells_of_its_index_and_the_hook_of_what_the_client_does_not_load(
    open_box: OpenBox,
) -> None:
    machine = open_box(Rule(["Gladly."], when="let us go on"), Rule(["Yes."], when="and further"))
    index = machine.memory / "MEMORY.md"
    machine.memory.mkdir(parents=True)
    index.write_text(f"# Memory\n\n{NEW}\n", "utf-8")
    home = machine.home / ".claude" / "reverie"
    with machine.terminal(*PLUGIN) as terminal:
        # As a sync leaves it, a moment after the session began.
        for store, name, line in (
            (machine.memory, "prices", NEW),
            (machine.memory / "team", "release-branch", f"{SHARED} (Bob, 2026-11-20)"),
        ):
            file = home / news.file_of(str(home), str(store))
            file.parent.mkdir(parents=True)
            # The prompt shows before the hook of the start has ended.
            file.write_text(json.dumps([[time.time() + 60, news.CAME, name, line]]), "utf-8")
        terminal.type("thanks, let us go on")
        terminal.shows("Gladly.")
        terminal.shows("Reverie: 2 changed elsewhere (prices, release-branch)")
        terminal.type("well, and further")
        terminal.shows("Yes.")
    machine.settle()
    first, second = (asked.everything for asked in machine.journal.asked(SESSION)[:2])
    assert first.count(NEW) == 1, "the client has the index, and the hook does not repeat it"
    assert first.count(f"{SHARED} (Bob, 2026-11-20)") == 1 and "not the user's own word" in first
    assert second.count(NEW) == second.count(SHARED) == 1, "neither is said again"
