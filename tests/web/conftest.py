"""The page as a browser asks for it, without a socket: the whole app behind its gate."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import anyio
import pytest

from pipeline.web.gate import Gate
from pipeline.web.site import site
from pipeline.web.visit import Setting

TOKEN, PORT = "t0ken", 4711
ORIGIN = f"http://127.0.0.1:{PORT}"


class Answer:
    """What came back."""

    def __init__(self, messages: list[Any]) -> None:
        self.status: int = messages[0]["status"]
        self.headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        self.body = b"".join(message.get("body", b"") for message in messages[1:])

    @property
    def text(self) -> str:
        return self.body.decode()


class Browser:
    """Asks for pages as a browser here does; `headers` change what it sends, or leave it out (None)."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._app = Gate(site(setting), TOKEN, PORT)

    def get(self, path: str = "", **headers: str | None) -> Answer:
        """Ask for the page at `path`, which may have a query."""
        return self._ask("GET", f"/{TOKEN}/{path}", b"", headers)

    def post(self, path: str, form: Any = (), **headers: str | None) -> Answer:
        """Send a form with the proof that it is one of the page's."""
        fields = [("proof", self.setting.proof), *dict(form).items()]
        body = urlencode(fields, doseq=True).encode()
        given = {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded", **headers}
        return self._ask("POST", f"/{TOKEN}/{path}", body, given)

    def raw(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> Answer:
        """Ask for any path at all."""
        return self._ask(method, path, body, headers)

    def _ask(self, method: str, path: str, body: bytes, headers: Any) -> Answer:
        path, _, query = path.partition("?")
        sent = {"host": f"127.0.0.1:{PORT}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in sent.items() if v is not None],
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 1),
            "http_version": "1.1",
        }
        messages: list[Any] = []
        incoming = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return incoming.pop() if incoming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            messages.append(message)

        anyio.run(lambda: self._app(scope, receive, send))
        return Answer(messages)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def browse(project: Path) -> Callable[[], Browser]:
    """Open the page in the project's folder."""
    return lambda: Browser(Setting(folder=project, secret=b"s3cret"))
