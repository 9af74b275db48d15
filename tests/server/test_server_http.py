"""One server over HTTP for many clients: on loopback, with a token, each in its own project."""

import os
import stat
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ListRootsResult, Root

from pipeline.core import paths
from tests.support.mcp_clients import SERVER, within

FACT = "The build box has twelve cores."


IMPATIENT = (
    "from pipeline.server import jsonrpc; jsonrpc.ROOTS_SECONDS = 0.2; import pipeline.cli.main as m; m.run()"
)


@pytest.fixture
def served(project, request):
    """The address of a server that was started in `project`, and the token it wants."""
    command = [*getattr(request, "param", SERVER), "--http", "--profile", "all"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        address = server.stdout.readline().decode().strip()
        yield address, (paths.home_dir() / "mcp.token").read_text("utf-8").strip()
        server.terminate()


@asynccontextmanager
async def session(served, roots=None):
    address, token = served

    async def named(context):
        return ListRootsResult(roots=[Root(uri=root.as_uri()) for root in roots or ()])

    asked = named if roots is not None else None
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode="legacy", list_roots_callback=asked) as client:
            yield client


async def eight(served, folders):
    async def one_client(number):
        async with session(served, [folders[number % 2]]) as client:
            result = await client.call_tool(
                "remember", {"text": f"Host {number} listens on port {8000 + number}.", "type": "reference"}
            )
            assert not result.is_error, result.content
            for _ in range(2):
                found = await client.call_tool("get", {"name": result.structured_content["name"]})
                assert not found.is_error, found.content

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(one_client, number)
    for folder in folders:
        async with session(served, [folder]) as client:
            answer = (await client.call_tool("status", {})).structured_content
            assert (answer["memories"], answer["project"]) == (4, str(folder))


def test_eight_clients_share_a_server_and_no_project(served, tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    within(eight, served, folders)


async def all_of_it(served, project):
    async with session(served) as client:
        assert len((await client.list_tools()).tools) > 6
        assert not (await client.call_tool("remember", {"text": FACT, "type": "reference"})).is_error
        assert (await client.call_tool("status", {})).structured_content["project"] == str(project)
        assert FACT in (await client.read_resource("reverie://memory")).contents[0].text
        assert (await client.get_prompt("review", {})).messages
        steps = []

        async def noted(progress, total, message):
            steps.append(message)

        await client.call_tool("memory_reflect", {"dry_run": True}, progress_callback=noted)
        assert steps[:1] == ["looking at what changed"]
        wrong = await client.call_tool("recall", {"query": ""})
        assert wrong.is_error and "empty" in wrong.content[0].text


def test_all_that_stdio_has_is_there_over_http_as_well(served, project):
    within(all_of_it, served, project)


async def with_odd_roots(served, project):
    asked = []

    async def mute(context):
        asked.append("mute")
        await anyio.sleep_forever()

    async def odd(context):
        asked.append("odd")
        return ListRootsResult.model_construct(**{"roots": 7})  # type: ignore[arg-type]

    address, token = served
    for named in (mute, odd):
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, mode="legacy", list_roots_callback=named) as client:
                for _ in range(2):
                    answer = (await client.call_tool("status", {})).structured_content
                    assert answer["project"] == str(project)
    assert asked == ["mute", "odd", "odd"]


@pytest.mark.parametrize("served", [[sys.executable, "-c", IMPATIENT, "mcp"]], indirect=True)
def test_a_client_that_names_no_roots_is_asked_once_and_odd_ones_are_none(served, project):
    within(with_odd_roots, served, project)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
REFUSED = [
    ({}, 401),
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Authorization": "Basic {token}"}, 401),
    ({"Authorization": "Bearer {token}", "Host": "evil.example"}, 421),
    ({"Authorization": "Bearer {token}", "Origin": "http://evil.example"}, 403),
]


def test_only_who_shows_the_token_under_a_name_of_this_machine_is_answered(served):
    address, token = served
    for headers, status in REFUSED:
        sent = {name: value.format(token=token) for name, value in headers.items()}
        sent["Accept"] = "application/json, text/event-stream"
        assert httpx2.post(address, json=PING, headers=sent).status_code == status, headers


def test_the_token_is_the_persons_alone_and_stays(served, project):
    file = paths.home_dir() / "mcp.token"
    assert len(served[1]) > 30
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    taken = served[0].rpartition(":")[2].partition("/")[0]
    again = [*SERVER, "--http", "--port", taken]
    done = subprocess.run(again, cwd=project, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Choose another --port" in done.stderr
    assert file.read_text("utf-8").strip() == served[1]


WITHOUT = "import sys; sys.modules['uvicorn'] = None; import pipeline.cli.main as m; m.run()"


def test_without_the_packages_it_says_what_to_install(project):
    command = [sys.executable, "-c", WITHOUT, "mcp", "--http"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "[mcp]" in done.stderr
    assert Path(project).is_dir()
