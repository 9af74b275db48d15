"""What would end the loop or leave it deaf: odd messages, pipes that do not wait, clients that are gone."""

import json
import os
import select
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.core import paths
from pipeline.server import jsonrpc
from pipeline.server.jsonrpc import INVALID_REQUEST
from tests.support.mcp_clients import HANDSHAKE, SERVER, asking, exchanged

PING = {"jsonrpc": "2.0", "id": 99, "method": "ping"}
FACT = "The build box has twelve cores."
WITH_ROOTS = json.loads(json.dumps(HANDSHAKE).replace('"capabilities": {}', '"capabilities": {"roots": {}}'))


def line(message):
    return json.dumps(message).encode() + b"\n"


def ids(answers):
    return [answer["id"] for answer in answers if "id" in answer and "method" not in answer]


ODD_VALUES = [
    7,
    True,
    5.5,
    "x",
    "",
    [],
    [7],
    [[]],
    {},
    {"roots": 7},
    {"roots": True},
    {"roots": [7, {"uri": 7}]},
    None,
]


def test_no_odd_value_in_any_place_ends_the_loop(project):
    sent = []
    for odd in ODD_VALUES:
        sent += [
            {"id": "roots-1", "result": odd},
            {"id": odd, "result": odd},
            {"id": "roots-0", "error": odd},
        ]
        for name in ("notifications/cancelled", "notifications/roots/list_changed", "odd"):
            sent += [{"method": name, "params": value} for value in (odd, {"requestId": odd})]
        sent += [{"method": "tools/list", "params": odd}]
    sent = [{"jsonrpc": "2.0", **message} for message in sent]
    # None of them is a request: nothing is answered, not even what is wrong.
    answers = exchanged(project, *sent, PING)
    assert answers == [{"jsonrpc": "2.0", "id": 99, "result": {}}]
    asked = []
    for number, odd in enumerate(ODD_VALUES, start=100):
        params = ({"name": odd}, {"name": "status", "_meta": odd}, {"name": "status", "arguments": odd})
        for step, given in enumerate(params):
            asked.append(
                {"jsonrpc": "2.0", "id": number * 10 + step, "method": "tools/call", "params": given}
            )
        given = {"capabilities": odd, "protocolVersion": odd}
        asked.append({"jsonrpc": "2.0", "id": number * 10 + 3, "method": "initialize", "params": given})
    assert sorted(ids(exchanged(project, *asked))) == [message["id"] for message in asked]


@pytest.mark.parametrize("roots", [{"roots": 7}, {"roots": True}, {"roots": {}}, 7, None])
def test_roots_of_an_odd_kind_are_none(project, roots):
    with subprocess.Popen(SERVER, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdin.write(line(WITH_ROOTS) + line(asking(1, "status")))
        server.stdin.flush()
        while (question := json.loads(server.stdout.readline())).get("method") != "roots/list":
            continue
        server.stdin.write(line({"jsonrpc": "2.0", "id": question["id"], "result": roots}))
        rest, _ = server.communicate(timeout=60)
    answer = json.loads(rest)
    assert answer["id"] == 1 and answer["result"]["structuredContent"]["project"] == str(project)
    assert server.returncode == 0


IMPATIENT = """
from pipeline.server import jsonrpc, requests, stdio
jsonrpc.ROOTS_SECONDS = 0.2
stdio.serve(requests.Requests("lean"))
"""


def test_a_client_that_does_not_name_its_roots_is_waited_for_once(project, tmp_path):
    named = tmp_path / "named"
    named.mkdir()
    command = [sys.executable, "-c", IMPATIENT]
    with subprocess.Popen(command, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:

        def told(*messages, until):
            server.stdin.write(b"".join(map(line, messages)))
            server.stdin.flush()
            found: list[Any] = []
            while until not in ids(found):
                found.append(json.loads(server.stdout.readline()))
            return found

        found = told(WITH_ROOTS, *(asking(number, "status") for number in (1, 2, 3)), until=3)
        questions = [message for message in found if message.get("method") == "roots/list"]
        assert len(questions) == 1 and ids(found) == [0, 1, 2, 3]
        # What it says too late still counts.
        late = {"jsonrpc": "2.0", "id": questions[0]["id"], "result": {"roots": [{"uri": named.as_uri()}]}}
        answer = told(late, asking(4, "status"), until=4)[-1]
        assert answer["result"]["structuredContent"]["project"] == str(named)
        server.stdin.close()


@pytest.mark.skipif(os.name != "posix", reason="a pipe that does not wait")
def test_pipes_that_do_not_wait_lose_nothing(project):
    # stdout is full long before it is read, and stdin mostly empty.
    back, out = os.pipe()
    in_, to = os.pipe()
    os.set_blocking(out, False)
    os.set_blocking(in_, False)
    many = 400
    with subprocess.Popen(SERVER, cwd=project, stdin=in_, stdout=out) as server:
        os.close(out)
        os.close(in_)
        os.write(to, line(HANDSHAKE))
        lists = [{"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(1, many + 1)]
        os.write(to, b"".join(map(line, lists)))
        select.select([back], [], [])
        # The answer to the last ping comes by way of the reading thread, behind those of the lane.
        os.write(to, line(PING | {"id": "last"}))
        os.close(to)
        with os.fdopen(back, "rb") as answers:
            found = ids(map(json.loads, answers))
    assert server.returncode == 0
    assert [ident for ident in found if ident != "last"] == [*range(many + 1)] and "last" in found


@pytest.mark.skipif(not hasattr(socket, "SO_LINGER") or os.name != "posix", reason="a socket as stdin")
def test_a_client_that_is_gone_at_once_loses_no_write_that_was_asked_for(project):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        theirs, _ = listening.accept()
    with (
        theirs,
        ours,
        subprocess.Popen(
            SERVER, cwd=project, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE
        ) as server,
    ):
        theirs.close()
        ours.sendall(line(HANDSHAKE))
        assert ours.recv(1)
        ours.sendall(line(asking(1, "remember", text=FACT, type="reference")))
        with ours.makefile("rb") as lines:
            while b'"id":1' not in lines.readline():
                continue
            ours.sendall(line(asking(2, "remember", text="The spare box has six.", type="reference")))
            ours.sendall(line({"jsonrpc": "2.0", "id": 3, "method": "ping"}))
            # Its answer says that the one before was read, and is in its lane.
            while b'"id":3' not in lines.readline():
                continue
        # Closed like that, the other end gets a reset instead of an end.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ours.close()
        said = server.communicate(timeout=60)[1]
    assert server.returncode == 0, said
    kept = b"".join(file.read_bytes() for file in paths.project_store(project).glob("*.md"))
    assert b"spare box" in kept and b"Traceback" not in said


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="a full disk")
def test_where_nothing_can_be_written_any_more_it_ends_and_says_so(project):
    with FULL.open("wb") as full:
        server = subprocess.Popen(
            SERVER, cwd=project, stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE
        )
        with server:
            server.stdin.write(line(HANDSHAKE))
            server.stdin.flush()
            assert b"can't be answered any more" in server.stderr.readline()
            # The next message finds nobody who could be answered.
            server.stdin.write(line(PING))
            server.stdin.flush()
            assert b"Traceback" not in server.stderr.read()
    assert server.returncode == 0


BROKEN = """
from pipeline.server import requests, stdio
from pipeline.server.shapes import answer, fields
from pipeline.server.tool import READS, Tool
odd = Tool("odd", "Odd", "Leaves odd work.", fields(), answer(), READS, "own.own")

def run(call, given):
    call.later += [lambda: 1 / 0, lambda: open("/nowhere/at/all")]
    return {}

class Requests(requests.Requests):
    def answer(self, method, params, call):
        if method == "odd":
            raise ZeroDivisionError("beyond every boundary")
        return super().answer(method, params, call)

stdio.serve(Requests("lean", {"odd": (odd, run)}))
"""


def test_a_lane_outlives_whatever_is_put_into_it(project):
    beyond = {"jsonrpc": "2.0", "id": 1, "method": "odd"}
    command = [sys.executable, "-c", BROKEN]
    answers = exchanged(project, beyond, asking(2, "odd"), asking(3, "status"), command=command)
    assert ids(answers) == [2, 3]


LARGE = "x" * jsonrpc.MOST_BYTES
CALL = {"name": "get", "arguments": {"name": LARGE}}
TOO_LARGE: list[tuple[dict[str, Any], object]] = [
    ({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": CALL}, 5),
    ({"method": "tools/call", "params": CALL, "jsonrpc": "2.0", "id": "a\"}b"}, "a\"}b"),
    ({"jsonrpc": "2.0", "method": "ping", "id": "first", "params": {"id": 4, "x": LARGE}}, "first"),
    ({"jsonrpc": "2.0", "method": "ping", "params": {"id": 4, "x": LARGE, "y": {"id": 8}}}, None),
    ({"jsonrpc": "2.0", "method": "ping", "params": {"x": LARGE + LARGE}, "id": -7}, -7),
    ({"jsonrpc": "2.0", "method": "ping", "params": [LARGE, ',"id":9}']}, None),
]  # fmt: skip


def test_of_a_message_that_is_too_large_the_id_is_told(project):
    assert all(len(line(message)) > jsonrpc.MOST_BYTES for message, _ in TOO_LARGE)
    # As long as it may be, and one byte more: both come whole.
    fits = line({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": ""}})[:-1]
    fits = fits.replace(b'""', b'"' + b"x" * (jsonrpc.MOST_BYTES - len(fits)) + b'"')
    over = fits.replace(b'"id": 1,', b'"id": 11,')
    answers = exchanged(project, *(message for message, _ in TOO_LARGE), fits, over, PING)
    assert ids(answers) == [*(ident for _, ident in TOO_LARGE), 1, 11, 99]
    errors = [answer["error"] for answer in answers if "error" in answer]
    assert {error["code"] for error in errors} == {INVALID_REQUEST} and len(errors) == len(TOO_LARGE) + 1
    assert all("too large" in error["message"] for error in errors)


def test_a_whole_number_may_be_written_with_a_point(project):
    asked = [
        asking(n, "recall", query="box", limit=limit) for n, limit in enumerate((5.0, 5.5, 1e300), start=2)
    ]
    answers = exchanged(project, asking(1, "remember", text=FACT, type="reference"), *asked)
    assert [answer["result"]["isError"] for answer in answers] == [False, False, True, True]
