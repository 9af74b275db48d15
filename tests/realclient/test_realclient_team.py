"""Where the real client keeps a team's memories, and what a session is told of them."""

import json

import pytest

from tests.realclient.box import REPO, OpenBox
from tests.realclient.scripted_api import SESSION, Rule

pytestmark = pytest.mark.realclient

PLUGIN = ("--plugin-dir", str(REPO))
STORE = {"path": "/stores/harbour", "scope": "team", "mount": "harbour"}
FACT = "Releases are cut from the branch called harbour."
LINE = "- [Deploy day](deploy-day.md) — Deploys happen on Tuesdays."


@pytest.mark.parametrize("private", [True, False])
def test_the_client_names_the_folder_and_recall_tells_what_is_in_it(open_box: OpenBox, private: bool) -> None:
    stores = [STORE, *([{"path": "/stores/mine", "scope": "user"}] if private else [])]
    machine = open_box(Rule(["From harbour."], when="which branch"), CLAUDE_MEMORY_STORES=json.dumps(stores))
    folder = machine.memory / "team" / "harbour"
    folder.mkdir(parents=True)
    text = f"---\nname: release-branch\ndescription: {FACT}\norigin: user-stated\n---\n{FACT}\n"
    (folder / "release-branch.md").write_text(text, "utf-8")
    (machine.memory / "MEMORY.md").write_text(f"{LINE}\n", "utf-8")
    with machine.terminal(*PLUGIN) as terminal:
        terminal.type("which branch are releases cut from?")
        terminal.shows("From harbour.")
    machine.settle()
    told = machine.journal.asked(SESSION)[0].everything
    assert f"`{folder.parent if private else folder}`" in told.replace("/`", "`"), (
        "the client's folder is ours"
    )
    assert FACT in told and 'by="the team" scope="team"' in told
    assert told.count(LINE) == 1, "the client loads no MEMORY.md beside shared stores, so the hook gives it"
    assert [file.name for file in folder.parent.rglob("*") if file.is_file()] == ["release-branch.md"]
