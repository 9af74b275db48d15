"""The MCP server in the real client: brought by the plugin, or registered in the person's own file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.realclient.box import Box, OpenBox
from tests.realclient.scripted_api import SESSION, Asked, Noted, Rule
from tests.realclient.test_realclient_plugin import catalogue, marketed

pytestmark = pytest.mark.realclient
__all__ = ["catalogue"]

Calls = list[tuple[str, dict[str, Any], str]]
SAID = "Deploys happen on Fridays only"
NAME = "deploys-happen-on-fridays-only"
LEAN: Calls = [
    ("remember", {"text": f"{SAID}.", "type": "feedback", "quote": SAID}, "assistant-written"),
    ("recall", {"query": "when do deploys happen"}, NAME),
    ("get", {"name": NAME}, f"{SAID}."),
    ("why", {"name": NAME}, SAID),
    ("status", {}, "for_all_projects"),
    ("get", {"name": "nothing"}, "no memory is called"),
    ("forget", {"name": NAME}, "words stand behind it"),
]
COGNITIVE: Calls = [
    ("memory_store", {"type": "fix", "title": "Retry uploads", "content": "Tried thrice."}, "retry-uploads"),
    ("memory_recall", {"query": "uploads"}, "retry-uploads"),
    ("memory_get", {"id": "retry-uploads"}, "Tried thrice"),
    ("memory_search", {"types": ["fix"]}, "retry-uploads"),
    ("memory_stats", {}, "by_type"),
    ("memory_reflect", {"dry_run": True}, "word"),
]


def rules(server: str, calls: Calls) -> list[Rule]:
    """Return what a model answers to each of the sentences: a call."""
    return [
        Rule([{"tool": f"mcp__{server}__{name}", "input": given}], when=f"turn {number} now", times=1)
        for number, (name, given, _) in enumerate(calls)
    ]


def came_back(asked: Asked) -> list[str]:
    """Return what each tool call gave, as the client sends it to the model."""
    lists = [message["content"] for message in asked.body["messages"]]
    blocks = [block for content in lists if isinstance(content, list) for block in content]
    return [json.dumps(block["content"]) for block in blocks if block.get("type") == "tool_result"]


def brings(count: int) -> Callable[[Noted], bool]:
    """Whether a request brings what so many calls gave."""
    return lambda noted: noted.detail.kind == SESSION and len(came_back(noted.detail)) >= count


def answers(request: Noted) -> Callable[[Noted], bool]:
    """Whether a reply is the one to `request`."""
    return lambda noted: bool(noted.detail["to"] == request.number)


def talked(machine: Box, server: str, calls: Calls) -> None:
    """Say the sentences in a terminal; what came back from each call holds its words."""
    found: list[str] = []
    with machine.terminal("--allowedTools", f"mcp__{server}") as terminal:
        for number in range(len(calls)):
            terminal.type(f"{SAID}, turn {number} now")
            request = machine.journal.wait("request", brings(number + 1))
            machine.journal.wait("reply", answers(request))
            found = came_back(request.detail)
    for result, (name, _, words) in zip(found, calls, strict=True):
        assert words in result, (name, result)


def test_the_plugins_server_is_called_by_the_client(open_box: OpenBox, catalogue: Path) -> None:
    server = "plugin_reverie_reverie"
    machine = marketed(open_box(*rules(server, LEAN)), catalogue)
    talked(machine, server, LEAN)
    assert "deploys-happen" in machine.run("reverie", "list"), "a person's word stays"


def test_a_registered_server_is_called_by_the_client(open_box: OpenBox) -> None:
    machine = open_box(*rules("reverie", COGNITIVE))
    machine.run("reverie", "init", "--client", "claude-code", "--yes")
    state = machine.home / ".claude.json"
    values = json.loads(state.read_text("utf-8"))
    values["mcpServers"]["reverie"]["args"] += ["--profile", "cognitive"]
    state.write_text(json.dumps(values), "utf-8")
    talked(machine, "reverie", COGNITIVE)
    machine.run("reverie", "uninstall", "--yes")
    assert "reverie" not in json.loads(state.read_text("utf-8")).get("mcpServers", {})
