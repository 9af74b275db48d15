"""The server on loopback: a free port, a new token each time, and an end when nobody asks any more."""

from __future__ import annotations

import asyncio
import gc
import secrets
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline.core.errors import InputError
from pipeline.core.extras import how_to_install

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise InputError(
        f"the page needs a package that is not installed: {error.name}", fix=how_to_install("web")
    ) from error

from pipeline.web.gate import Gate
from pipeline.web.wire import Wire

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
_COLLECT_AFTER = 50_000
"""New objects before Python looks for circles among them: the memories that stay are tens of thousands."""
_LOOK_SECONDS = 1.0
_MOST_AT_ONCE = 500
_LULL_SECONDS = 0.05
"""Nobody has asked for so long: what is read ahead takes no time from an answer."""
_MOST_LULLS = 40


class Watched:
    """An app that notes when it was asked last, and how much is under way."""

    def __init__(self, app: ASGIApp, now: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now = now
        self._under_way = 0
        self._last = now()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self._under_way += scope["type"] == "http"
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= scope["type"] == "http"
            self._last = self._now()

    def idle_for(self) -> float:
        """Return for how many seconds nobody has asked; 0 while a request is under way."""
        return 0.0 if self._under_way else self._now() - self._last


def serve(
    app: ASGIApp,
    *,
    port: int = 0,
    idle_seconds: float,
    ready: Callable[[str], object],
    token: str = "",
    ahead: Callable[[], object] | None = None,
) -> None:
    """Serve `app` until nobody has asked for `idle_seconds`; `ready` is given the address.

    `ahead` begins what is read ahead, once nothing is under way.
    Raises InputError where the port can't be had.
    """
    token = token or secrets.token_urlsafe(24)
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"port {port} can't be had: {error}", fix="Choose another --port.") from error
        listening.listen(_MOST_AT_ONCE)
        port = listening.getsockname()[1]
        watched = Watched(app)
        config = uvicorn.Config(
            Gate(watched, token, port),
            http=Wire,
            ws="none",
            log_level="error",
            access_log=False,  # It would write the token down.
            server_header=False,
            timeout_graceful_shutdown=1,
            lifespan="off",
        )
        ready(f"http://{HOST}:{port}/{token}/")
        asyncio.run(_until_idle(uvicorn.Server(config), listening, watched, idle_seconds, ahead))


async def _until_idle(
    server: uvicorn.Server,
    listening: socket.socket,
    watched: Watched,
    idle_seconds: float,
    ahead: Callable[[], object] | None,
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    if ahead is not None:
        await _lull(server, serving, watched)
        ahead()
    while not serving.done():
        await asyncio.wait({serving}, timeout=min(_LOOK_SECONDS, idle_seconds))
        server.should_exit |= watched.idle_for() >= idle_seconds
    await serving


async def _lull(server: uvicorn.Server, serving: asyncio.Task[None], watched: Watched) -> None:
    """Wait until the server has begun and nobody asks: a browser may have been there before it.

    An answer that goes on and on, as that of Health, is not waited for.
    """
    waited = False
    for _ in range(_MOST_LULLS):
        if serving.done() or (waited and watched.idle_for() >= _LULL_SECONDS):
            return
        waited = server.started
        await asyncio.wait({serving}, timeout=_LULL_SECONDS)
