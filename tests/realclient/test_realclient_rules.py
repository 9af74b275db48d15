"""A rule where it matters, with the real client: before an order, and beside the tool call it is about."""

import pytest

from pipeline.store import Store
from tests.realclient.box import REPO, Box, OpenBox
from tests.realclient.scripted_api import SESSION, Asked, Rule
from tests.support.recall import index_store
from tests.support.stores import memory, save

pytestmark = pytest.mark.realclient

PLUGIN = ("--plugin-dir", str(REPO))
COMMITS = "Commit messages are in English and at most 50 characters long."
LABELS = "Every `git tag` begins with the word harbour."


def with_rules(machine: Box) -> Box:
    """Give the project two rules of the person's, and their index."""
    store = Store.open(machine.memory, create=True)
    for name, text in (("commit-messages", COMMITS), ("tag-names", LABELS)):
        save(store, memory(name, description=text, body=f"{text}\n"), id=name)
    index_store(machine.home / ".claude" / "reverie", machine.memory)
    return machine


def asked(machine: Box) -> list[Asked]:
    return machine.journal.asked(SESSION)


def pieces(text: str, name: str) -> int:
    return text.count(f'<recollection name="{name}"')


def test_an_order_brings_its_rule_once_a_session(open_box: OpenBox) -> None:
    order = "write a commit message for the staged changes"
    machine = with_rules(
        open_box(Rule(["Another."], when="again:"), Rule(["Written."], when="commit message"))
    )
    with machine.terminal(*PLUGIN) as terminal:
        terminal.type(order)
        terminal.shows("Written.")
        terminal.type(f"again: {order}")
        terminal.shows("Another.")
    machine.settle()
    assert [pieces(request.everything, "commit-messages") for request in asked(machine)] == [1, 1]
    assert pieces(asked(machine)[-1].everything, "tag-names") == 0


def test_a_tool_call_brings_its_rule_to_the_request_that_follows(open_box: OpenBox) -> None:
    def calls(command: str) -> list[dict[str, object]]:
        return [{"tool": "Bash", "input": {"command": command, "description": "one step"}}]

    machine = with_rules(
        open_box(
            Rule(calls("git tag --list"), when="first step"),
            Rule(calls("git tag --list x"), when="second step", after_tool=("Done twice.",)),
        )
    )
    machine.run("reverie", "config", "set", "recall.before_tools", "true")
    machine.run("reverie", "install", "--yes")
    with machine.terminal("--allowedTools", "Bash(git tag:*)") as terminal:
        terminal.type("take the first step")
        terminal.shows("● Done.")  # the script's answer to a result that a message of the client's follows
        terminal.type("take the second step")
        terminal.shows("Done twice.")
    machine.settle()
    found = [pieces(request.everything, "tag-names") for request in asked(machine)]
    assert found == [0, 1, 1, 1], "from the request that follows the call on, once"
    assert LABELS in asked(machine)[1].everything
