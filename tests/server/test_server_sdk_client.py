"""The official SDK's own client drives the server over stdio: it validates each answer by its schema."""

import subprocess
import sys
from pathlib import Path

import anyio

from pipeline.core.paths import project_store
from pipeline.server.tools import of_profile
from tests.support.mcp_clients import client, within

FACT = "The build box has twelve cores."


async def call(session, name, /, **arguments):
    """Return the structured answer of a tool that must do its work."""
    result = await session.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def a_life(project):
    async with client(project) as session:
        assert session.server_info.name == "reverie"
        listed = (await session.list_tools()).tools
        assert [tool.name for tool in listed] == list(of_profile("lean"))
        assert (await call(session, "status"))["memories"] == 0
        kept = await call(session, "remember", text=FACT, type="reference", tags=["machine"])
        assert kept["origin"] == "assistant-written"
        found = await call(session, "recall", query="how many cores has the build box")
        assert [hit["name"] for hit in found["memories"]] == [kept["name"]]
        whole = await call(session, "get", name=kept["name"])
        assert (whole["text"], whole["tags"], whole["by"]) == (FACT, ["machine"], "Claude, not confirmed")
        assert (await call(session, "why", name=kept["id"]))["sources"] == []
        gone = await call(session, "forget", name=kept["name"])
        assert gone["back"] == f"reverie restore {kept['name']}"
        refused = await session.call_tool("get", {"name": kept["name"]})
        assert refused.is_error and "restore" in refused.content[0].text


def test_a_memory_lives_and_dies_through_the_lean_tools(project):
    within(a_life, project)


async def pages(project):
    async with client(project) as session:
        await call(session, "remember", text=FACT, type="reference")
        found = {str(item.uri) for item in (await session.list_resources()).resources}
        assert {"reverie://memory", "reverie://core"} <= found
        page = (await session.read_resource("reverie://memory")).contents[0]
        assert FACT in page.text
        templates = (await session.list_resource_templates()).resource_templates
        assert [item.name for item in templates] == ["episode"]
        names = [prompt.name for prompt in (await session.list_prompts()).prompts]
        assert names == ["remember", "review"]
        for name, arguments in (("remember", {"fact": FACT}), ("remember", {}), ("review", {"about": "CI"})):
            asked = await session.get_prompt(name, arguments)
            assert asked.messages[0].role == "user"


def test_resources_and_prompts_are_there(project):
    within(pages, project)


async def others_read(project):
    async with client(project, "--profile", "cognitive") as session:
        stored = await call(
            session, "memory_store", type="fix", title="Retry uploads", content="Uploads are tried thrice."
        )
        await call(session, "memory_store", type="decision", title="Ship on Mondays", content="We ship then.")
        found = await call(session, "memory_search", types=["fix"])
        assert [hit["name"] for hit in found["memories"]] == [stored["name"]]
        first = await call(session, "memory_search", limit=1)
        second = await call(session, "memory_search", limit=1, offset=first["next_offset"])
        names = {hit["name"] for hit in (*first["memories"], *second["memories"])}
        assert len(names) == 2 and second["next_offset"] is None
        assert (await call(session, "memory_get", id=stored["id"][:8]))["title"] == "Retry uploads"
        assert (await call(session, "memory_stats"))["by_type"] == {"fix": 1, "decision": 1}
        said = []

        async def told(progress, total, message):
            said.append((progress, message))

        report = await session.call_tool("memory_reflect", {"dry_run": True}, progress_callback=told)
        assert not report.is_error and said and said[0][1] == "looking at what changed"
        assert (await session.call_tool("memory_reflect", {"since": "someday", "dry_run": True})).is_error
        assert (await call(session, "memory_reflect", since="1d", dry_run=True))["word"] == "dry"
        assert (await call(session, "memory_config"))["provider"] == "off"
        assert (await call(session, "memory_config", provider="wordllama"))["provider"] == "wordllama"
        for away in ({"provider": "openai"}, {"openai_key": "made-up"}):
            assert (await session.call_tool("memory_config", away)).is_error


def test_the_cognitive_tools_do_their_work(project):
    within(others_read, project)


async def related(project):
    async with client(project, "--profile", "cognitive") as session:
        fix = {
            "type": "fix",
            "title": "Keepalive",
            "content": "Redis keeps idle lines.",
            "tags": ["redis", "net"],
        }
        ends = [
            await call(session, "memory_store", **fix),
            await call(
                session, "memory_store", type="problem", title="Drops", content="Lines drop.", tags=["redis"]
            ),
        ]
        ids = {"from_id": ends[0]["id"], "to_id": ends[1]["id"]}
        edge = await call(session, "memory_relate", **ids, type="SOLVES", description="Idle lines stay.")
        again = await call(session, "memory_relate", **ids, type="SOLVES", strength=0.5)
        assert again["id"] == edge["id"] and again["strength"] == 0.5
        assert await call(session, "memory_edge_get", edge_id=edge["id"][:8]) == again
        assert (await call(session, "memory_edge_search", types=["SOLVES"]))["edges"] == [again]
        (found,) = (await call(session, "memory_related", id=ends[1]["id"]))["related"]
        assert (found["name"], found["direction"]) == (ends[0]["name"], "incoming")
        tags = (await call(session, "memory_tags_list"))["tags"]
        assert [(item["tag"], item["count"]) for item in tags] == [("redis", 2), ("net", 1)]
        beside = (await call(session, "memory_tags_related", tag="net"))["tags"]
        assert [item["tag"] for item in beside] == ["redis"]
        assert (await call(session, "memory_decay"))["counted"] == 2
        assert "Keepalive" in (await call(session, "memory_core"))["text"]
        assert "## Themes" in (await call(session, "memory_reflection"))["text"]
        noted = await call(session, "memory_episode", type="note", title="Redis day", memory_id=ends[0]["id"])
        assert noted["title"] == "Redis day"
        assert (await call(session, "memory_embed"))["stores"][0]["total"] == 2


def test_relations_pages_and_tags_by_the_tools(project, monkeypatch):
    monkeypatch.setenv("REVERIE_EMBEDDINGS__PROVIDER", "wordllama")
    within(related, project)


async def steps(project):
    async with client(project, "--profile", "cognitive") as session:
        await call(
            session,
            "memory_store",
            type="procedure",
            title="Release",
            content="How a release is made.",
            steps=["Run the tests", "Tag it"],
            preconditions=["On main"],
            episode=True,
        )
        refused = await session.call_tool(
            "memory_store", {"type": "fix", "title": "No", "content": "No steps here.", "steps": ["One"]}
        )
        assert refused.is_error and "has no steps" in refused.content[0].text


def test_a_procedure_is_stored_with_its_steps_and_told_in_the_diary(project):
    within(steps, project)
    store = next(project_store(project).rglob("release*.md"))
    assert 'steps:\n  - "Run the tests"\n  - "Tag it"\n' in store.read_text("utf-8")
    assert any("Release" in page.read_text("utf-8") for page in project_store(project).glob("episodes/*.md"))


async def elsewhere(project):
    async with client(project, "--profile", "cognitive") as session:
        given = {"type": "fix", "title": "Pond", "content": "The pond is deep.", "graph": "garden"}
        stored = await call(session, "memory_store", **given)
        assert not (await call(session, "memory_search"))["memories"]
        (hit,) = (await call(session, "memory_search", graph="garden"))["memories"]
        assert hit["name"] == stored["name"]
        refused = await session.call_tool("memory_search", {"graph": "nowhere"})
        assert refused.is_error and "nowhere" in refused.content[0].text


def test_a_tool_takes_a_named_graph(project, tmp_path):
    by_command(project, "graphs", "add", "garden", str(tmp_path / "garden"))
    within(elsewhere, project)


async def by_roots(started_in, mine, other):
    async with client(started_in, roots=[mine]) as session:
        assert Path((await call(session, "status"))["project"]) == mine
        await call(session, "remember", text=FACT, type="reference")
    async with client(started_in, roots=[other]) as session:
        assert (await call(session, "status"))["memories"] == 0
    async with client(started_in, roots=[mine / "gone", mine]) as session:
        assert (await call(session, "status"))["memories"] == 1
    async with client(started_in, roots=[]) as session:
        assert Path((await call(session, "status"))["project"]) == started_in


def test_the_roots_of_a_client_decide_its_project(tmp_path):
    folders = [tmp_path / name for name in ("started", "mine", "other")]
    for folder in folders:
        folder.mkdir()
    within(by_roots, *folders)


def by_command(project, *arguments):
    command = [sys.executable, "-m", "pipeline.cli.main", *arguments]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=60)


async def beside(project):
    async with client(project) as session:
        first = await call(session, "remember", text=FACT, type="reference")
        assert (await call(session, "get", name=first["name"]))["text"] == FACT
        by_command(project, "add", "--name", "wiki", "The wiki is at the new address.")
        assert (await call(session, "recall", query="wiki address"))["memories"][0]["by"] == "the user"
        assert (await call(session, "get", name="wiki"))["by"] == "the user"
        store = Path((await call(session, "status"))["store"])
        file = store / "wiki.md"
        file.write_text(file.read_text("utf-8").replace("new address", "third address"), "utf-8")
        edited = await call(session, "get", name="wiki")
        assert edited["text"] == "The wiki is at the third address." and edited["by"] == "edited by hand"
        by_command(project, "forget", "wiki")
        assert (await session.call_tool("get", {"name": "wiki"})).is_error
        assert not (await call(session, "recall", query="wiki address"))["memories"]
        by_command(project, "restore", "wiki")
        assert "third" in (await call(session, "get", name="wiki"))["text"]


def test_what_others_change_meanwhile_is_seen_at_the_next_question(project):
    within(beside, project)


async def eight(project):
    kept = []

    async def one_client(number):
        async with client(project) as session:
            for turn in range(2):
                text = f"Host {number} listens on port {8000 + 10 * number + turn}."
                kept.append((await call(session, "remember", text=text, type="reference"))["name"])

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(one_client, number)
    async with client(project, "--profile", "cognitive") as session:
        found = await call(session, "memory_search", limit=100)
        assert sorted(hit["name"] for hit in found["memories"]) == sorted(kept)
        assert len(set(kept)) == 16


def test_eight_clients_at_once_lose_nothing(project):
    within(eight, project)
