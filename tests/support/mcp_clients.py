"""Clients of the MCP server: the official SDK's over a real subprocess, and a bare one for any bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import ListRootsResult, Root

SERVER = [sys.executable, "-m", "pipeline.cli.main", "mcp"]
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


def parameters(folder: Path, *more: str) -> StdioServerParameters:
    """Return how the SDK's client starts the server in `folder`."""
    command, *arguments = SERVER
    return StdioServerParameters(command=command, args=[*arguments, *more], env=dict(os.environ), cwd=folder)


def client(folder: Path, *more: str, roots: "list[Path] | None" = None) -> Client:
    """Return the SDK's client for a server that is started in `folder`, with `roots` if it has any."""

    async def named(context: Any) -> ListRootsResult:
        del context
        return ListRootsResult(roots=[Root(uri=root.as_uri()) for root in roots or ()])

    return Client(parameters(folder, *more), list_roots_callback=named if roots is not None else None)


def within(work: Any, *arguments: Any) -> Any:
    """Return what the coroutine function gives, within a minute."""

    async def limited() -> Any:
        with anyio.fail_after(60):
            return await work(*arguments)

    return anyio.run(limited)


def exchanged(
    folder: Path, *messages: "dict[str, Any] | bytes", command: "list[str]" = SERVER
) -> "list[Any]":
    """Return every line the server prints for these, sent at once behind the handshake; each must be JSON."""
    return alone(folder, HANDSHAKE, *messages, command=command)[1:]


def alone(folder: Path, *messages: "dict[str, Any] | bytes", command: "list[str]" = SERVER) -> "list[Any]":
    """Return every line the server prints for these and nothing else."""
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    sent = b"\n".join(lines) + b"\n"
    done = subprocess.run(command, cwd=folder, input=sent, capture_output=True, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def asking(number: int, name: str, /, **arguments: Any) -> "dict[str, Any]":
    """Return the request number `number`, to call the tool `name`."""
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
