"""The server over HTTP on loopback, for many clients at once: the official SDK speaks, `requests` answers.

Only who shows the token is answered, and only under the names of this machine, so that no page in a browser
gets through. Each client's roots decide its project; without any it is the folder the server was started in.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline import __version__
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError
from pipeline.core.extras import how_to_install
from pipeline.core.home import Home
from pipeline.server.calls import Call
from pipeline.server.folders import project_of
from pipeline.server.jsonrpc import ROOTS_SECONDS, ProtocolError
from pipeline.server.requests import INSTRUCTIONS, Requests

try:
    import anyio
    import mcp_types as types
    import uvicorn
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
except ModuleNotFoundError as error:
    raise InputError(
        f"HTTP needs a package that is not installed: {error.name}", fix=how_to_install("mcp")
    ) from error

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

_HOST = "127.0.0.1"
_NEEDS_PROJECT = ("tools/call", "resources/list", "resources/read")
_Result = TypeVar("_Result", bound=types.Result)


def token_file(home: Path) -> Path:
    """Return the file with what clients have to show, made at the first use; nobody else can read it."""
    file = Home(home).mcp_token
    if not file.exists() or not file.read_text("utf-8").strip():
        write_atomic(file, f"{secrets.token_urlsafe(32)}\n".encode())
    return file


def serve(
    requests: Requests, folder: Path, token: str, *, port: int = 0, ready: Callable[[str], object]
) -> None:
    """Serve until the process is ended; `ready` is given the address once clients can connect."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"port {port} can't be had: {error}", fix="Choose another --port.") from error
        app = Guard(_Answers(requests, folder).server().streamable_http_app(host=_HOST), token)
        listening.listen()
        ready(f"http://{_HOST}:{listening.getsockname()[1]}/mcp")
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


class Guard:
    """Lets through who shows the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(shown, self._wanted):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


class _Answers:
    """Gives what the SDK asks for by way of `requests`, each in a thread of its own."""

    def __init__(self, requests: Requests, folder: Path) -> None:
        self._requests = requests
        self._folder = folder
        self._mute = set[str]()
        """The sessions whose client once did not name its roots in time: it is not asked again."""

    def server(self) -> Server[Any]:
        """Return the SDK's server over these answers."""
        return Server(
            "reverie",
            version=__version__,
            title="Reverie",
            instructions=INSTRUCTIONS,
            on_list_tools=self._answering("tools/list", types.ListToolsResult),
            on_call_tool=self._answering("tools/call", types.CallToolResult),
            on_list_resources=self._answering("resources/list", types.ListResourcesResult),
            on_list_resource_templates=self._answering(
                "resources/templates/list", types.ListResourceTemplatesResult
            ),
            on_read_resource=self._answering("resources/read", types.ReadResourceResult),
            on_list_prompts=self._answering("prompts/list", types.ListPromptsResult),
            on_get_prompt=self._answering("prompts/get", types.GetPromptResult),
        )

    def _answering(self, method: str, kind: type[_Result]) -> Callable[[Any, Any], Any]:
        async def answer(context: ServerRequestContext[Any], params: types.RequestParams | None) -> _Result:
            given = {} if params is None else params.model_dump(by_alias=True, exclude_none=True)
            roots = await self._roots(context) if method in _NEEDS_PROJECT else []
            call = Call(
                project_of(roots, self._folder),
                token=0,
                peer=_Peer(context),
                cancelled=(gone := Event()).is_set,
            )
            try:
                found = await anyio.to_thread.run_sync(
                    lambda: self._answered(method, given, call), abandon_on_cancel=True
                )
            except ProtocolError as error:
                raise MCPError(error.code, str(error)) from error
            finally:
                gone.set()
            return kind.model_validate(found)

        return answer

    async def _roots(self, context: ServerRequestContext[Any]) -> list[str]:
        """Return the roots of the client, none where it has none, does not say in time or can't be asked."""
        asked = context.session.client_capabilities
        session = context.request.headers.get("mcp-session-id") if context.request else None
        if asked is None or asked.roots is None or session in self._mute:
            return []
        with anyio.move_on_after(ROOTS_SECONDS) as waiting:
            try:
                return [str(root.uri) for root in (await context.session.list_roots()).roots]
            except (MCPError, ValueError):
                return []  # It says that it has roots, and can't name them, or not as the protocol has it.
        if waiting.cancelled_caught and session is not None:
            self._mute.add(session)
        return []

    def _answered(self, method: str, given: Mapping[str, Any], call: Call) -> dict[str, Any]:
        found = self._requests.answer(method, given, lambda: call)
        for work in call.later:
            self._requests.alone(work)
        return found


class _Peer:
    """The client of one request over HTTP."""

    def __init__(self, context: ServerRequestContext[Any]) -> None:
        self._session = context.session

    def roots(self) -> list[str]:
        """Return none: they were asked for before the call."""
        return []

    def progress(self, token: str | int, done: float, message: str) -> None:
        """Tell the client how far the call is, if it wants to know."""
        del token  # The SDK knows it.
        anyio.from_thread.run(self._session.report_progress, done, None, message)
