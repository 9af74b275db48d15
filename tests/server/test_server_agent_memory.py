"""The agent-memory profile: five tools, five resources, seven codes, over the commands' files."""

import json
from typing import Any

import pytest

from pipeline.core import paths
from pipeline.formats.agent_memory import AgentMemory
from pipeline.server import agent_memory
from pipeline.server.calls import Call
from pipeline.server.jsonrpc import NO_RESOURCE, ProtocolError
from pipeline.server.requests import Requests
from pipeline.server.tools import of_profile
from tests.support.mcp_clients import client, within

FIVE = ["store_memory", "query_memories", "update_memory", "delete_memory", "get_memory_stats"]
PATHS = ["recent", "core", "learnings", "tasks/active", "tasks/completed"]
NOBODY = "550e8400-e29b-41d4-a716-446655440009"


@pytest.fixture
def ask(project):
    """Call a tool of the profile; answers its value, or the code of its error."""
    requests = Requests("agent-memory")

    def asked(name: str, /, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        found = requests.answer("tools/call", params, lambda: Call(project))
        if found["isError"]:
            return json.loads(found["content"][0]["text"])["error"]["code"]
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
        return found["structuredContent"]

    yield asked
    agent_memory._OPEN.clear()


@pytest.fixture
def read(project):
    """Read a resource of the profile."""

    def found(path: str) -> Any:
        params = {"uri": f"memory://{path}"}
        answered = Requests("agent-memory").answer("resources/read", params, lambda: Call(project))
        return json.loads(answered["contents"][0]["text"])

    return found


def test_other_profiles_list_what_they_did_and_all_lists_these_too():
    assert [*of_profile("agent-memory")] == FIVE
    assert not {*FIVE} & ({*of_profile("lean")} | {*of_profile("cognitive")})
    assert [name for name in of_profile("all") if name in FIVE] == FIVE
    assert "coded" not in of_profile("agent-memory")["store_memory"].listed


def test_a_memory_is_stored_found_changed_and_deleted(ask):
    stored = ask("store_memory", type="core", content="User prefers pytest", tags=["python"], category="fact")
    assert stored["created"] and stored["memory"]["importance"] == "medium"
    ident = stored["id"]
    assert ask("query_memories", tags=["python"], search="PYTEST")["memories"][0]["access_count"] == 1
    again = ask("store_memory", type="core", content="User prefers pytest 8", id=ident)
    assert (again["created"], again["memory"]["tags"]) == (False, ["python"])
    changed = ask("update_memory", id=ident, importance="high", tags=["testing"])
    assert changed["updated_fields"] == ["tags", "importance"]
    assert ask("delete_memory", id=ident) == {"success": True, "action": "archived", "id": ident}
    assert ask("query_memories")["total"] == 0
    assert ask("query_memories", archived=True)["total"] == 1
    assert ask("update_memory", id=ident, archived=False)["memory"]["archived"] is False
    assert ask("get_memory_stats")["by_type"] == {"core": 1, "learning": 0, "task": 0}
    assert ask("delete_memory", id=ident, permanent=True)["action"] == "deleted"


def test_each_trouble_has_its_code(ask):
    root = paths.config_dir() / "agents" / "memories"
    assert ask("store_memory", type="note", content="x") == "INVALID_INPUT"
    assert ask("store_memory", type="core", content="日" * 4_000) == "INVALID_INPUT"
    assert ask("store_memory", type="core", content=f"token ghp_{'a1B2c3D4e5F6' * 3}") == "INVALID_INPUT"
    assert ask("query_memories", limit=101) == "INVALID_INPUT"
    assert ask("store_memory", type="core", content="x", id=NOBODY) == "NOT_FOUND"
    assert ask("update_memory", id=NOBODY, content="x") == "NOT_FOUND"
    task = ask("store_memory", type="task", content="A task", category="completed")
    assert task["memory"]["task_metadata"]["status"] == "completed"
    assert ask("store_memory", type="core", content="x", id=task["id"]) == "INVALID_INPUT"
    (root / ".memory-config.json").write_text('{"limits":{"max_core_memories":0}}')
    assert ask("store_memory", type="core", content="x") == "LIMIT_EXCEEDED"
    (root / "core_memories.jsonl").unlink()
    (root / "core_memories.jsonl").mkdir()
    assert ask("query_memories") == "STORAGE_ERROR"
    (root / "core_memories.jsonl").rmdir()
    (root / "index.json").write_text('{"version":"9.0.0"}')
    assert ask("store_memory", type="learning", content="x") == "STORAGE_ERROR"
    assert ask("query_memories")["total"] == 1


def test_a_fault_of_ours_has_its_code_too(project):
    odd = of_profile("agent-memory")["get_memory_stats"]._replace(name="odd")
    requests = Requests("agent-memory", {"odd": (odd, lambda *_: {"never": 1 // 0})})
    found = requests.answer("tools/call", {"name": "odd"}, lambda: Call(project))
    assert found["isError"] and '"INTERNAL_ERROR"' in found["content"][0]["text"]


def test_five_resources_are_listed_and_reading_one_counts_as_no_use(ask, read, project):
    ask("store_memory", type="core", content="Low", importance="low", category="fact")
    high = ask("store_memory", type="core", content="High", importance="high")["id"]
    learning = ask("store_memory", type="learning", content="Learned")["memory"]
    blocked = ask("store_memory", type="task", content="Waits", task_metadata={"status": "blocked"})["id"]
    done = ask("store_memory", type="task", content="Done", task_metadata={"status": "completed"})["id"]
    ask("delete_memory", id=done)
    listed = Requests("agent-memory").answer("resources/list", {}, lambda: Call(project))["resources"]
    assert [item["uri"] for item in listed] == [f"memory://{path}" for path in PATHS]
    assert read("recent")["count"] == 4 and read("recent")["generated_at"]
    core = read("core")
    assert core["memories"][0]["id"] == high and core["by_importance"]["high"] == [high]
    assert [*core["by_category"]] == ["", "fact"] and core["by_importance"]["medium"] == []
    at = learning["created_at"]
    assert read("learnings")["date_range"] == {"from": at, "to": at}
    assert read("tasks/active")["by_status"]["blocked"] == [blocked]
    assert [item["id"] for item in read("tasks/completed")["memories"]] == [done]
    kept = AgentMemory(paths.config_dir() / "agents" / "memories")
    assert {record["access_count"] for record in kept.every()} == {0}
    with pytest.raises(ProtocolError, match="RESOURCE_NOT_FOUND") as caught:
        read("nothing")
    assert caught.value.code == NO_RESOURCE


def test_a_client_of_the_official_sdk_uses_the_profile(project):
    async def work() -> None:
        async with client(project, "--profile", "agent-memory") as session:
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert names == FIVE
            made = await session.call_tool("store_memory", {"type": "core", "content": "Kept"})
            assert made.structured_content["created"] is True
            missing = await session.call_tool("delete_memory", {"id": NOBODY})
            assert missing.is_error and "NOT_FOUND" in missing.content[0].text
            found = await session.read_resource("memory://core")
            assert "Kept" in found.contents[0].text

    within(work)


def test_a_secret_in_the_files_is_shown_by_no_tool_and_no_resource(ask, read):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    ident = ask("store_memory", type="core", content="A fact.")["id"]
    files = AgentMemory(paths.config_dir() / "agents" / "memories")
    files.add([{**files.get(ident), "id": NOBODY, "content": f"it is {secret}", "category": secret}])
    answers = [
        ask("query_memories"),
        ask("update_memory", id=NOBODY, tags=["a"]),
        read("core"),
        read("recent"),
    ]
    for answer in answers:
        assert secret not in json.dumps(answer) and "[redacted:" in json.dumps(answer)
    assert secret not in json.dumps(ask("get_memory_stats"))
    assert secret in (files.root / "core_memories.jsonl").read_text()
