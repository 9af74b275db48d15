"""A loopback Messages API and a fake claude program."""

import json
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_server import Quiet, listening
from tests.support.model import HELP, PROGRAM, Api, FakeClaude


@pytest.fixture
def api() -> Iterator[Api]:
    api = Api()

    class Handler(Quiet):
        def do_POST(self) -> None:
            api.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            api.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, body = api.answers.pop(0)
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            kind = "text/html" if isinstance(body, str) else "application/json"
            self.send(status, kind, data, headers)

    with listening(Handler) as api.url:
        yield api


@pytest.fixture
def fake_claude(tmp_path: Path) -> FakeClaude:
    """Make a claude program that records how it was called in ``seen.json`` and then runs `body`.

    `prints` is JSON to print instead; `help_text` is what ``--help`` names.
    """

    def make(prints: Any = None, *, body: str = "", help_text: str = HELP, code: int = 0) -> Path:
        if not body:
            text = prints if isinstance(prints, str) else json.dumps(prints)
            body = f"sys.stdout.write({text!r})\nsys.exit({code})"
        program = tmp_path / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        seen = str(tmp_path / "seen.json")
        program.write_text(
            PROGRAM.format(python=sys.executable, seen=seen, help=help_text, body=body), "utf-8"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program

    return make


@pytest.fixture
def silent_url() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
