"""Who is answered: only who knows the token in the address, under this machine's own names.

The token is part of the path, so no cookie is needed: a cookie would be sent to every other server on this
machine, whatever its port. A foreign page can't read the address, can't guess it, and is stopped by Host and
Origin all the same. Whatever is wrong, the answer is the same short one.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # Not "no-referrer": with that a browser sends "Origin: null" with a form.
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
REFUSAL = b"Nothing is shown here. `reverie open` prints the address of the page.\n"
"""All that anybody is told who is refused."""
_KEPT = b"no-store"
_READS = ("GET", "HEAD")
_SAME = (b"same-origin", b"none")
"""What a browser says of a request that no foreign page made (``Sec-Fetch-Site``)."""


class Gate:
    """Lets requests through whose path begins with the token, and takes it off for the app behind."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._root = f"/{token}"
        self._hosts = frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))
        self._origins = frozenset(b"http://" + host for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        status = self._refusal(scope)
        if status:
            await _refuse(status, send)
            return
        rest = scope["path"][len(self._root) :]
        inner = {**scope, "root_path": self._root, "path": self._root + (rest or "/")}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*_without(message["headers"]), *HEADERS]}
                if not any(name.lower() == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append((b"cache-control", _KEPT))
            await send(message)

        await self._app(inner, receive, guarded)

    def _is_ours(self, path: str) -> bool:
        """Whether `path` begins with the token, as a whole part."""
        start, rest = path[: len(self._root)], path[len(self._root) :]
        same = hmac.compare_digest(start.encode("utf-8", "surrogatepass"), self._root.encode())
        return same and rest[:1] in ("", "/")

    def _refusal(self, scope: Scope) -> int:
        """Return with which status a request is refused, 0 where it is let through."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope.get("headers", ()):
            if name in headers and name in (b"host", b"origin"):
                return 400
            headers[name] = value
        if headers.get(b"host") not in self._hosts:
            return 421
        if not self._is_ours(scope["path"]):
            return 404
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"none")
        if origin is not None and origin not in self._origins:
            return 403
        if scope["method"] not in _READS and (origin is None or site not in _SAME):
            return 403
        # A link on a foreign page may lead here, and shows nobody but the person what it opens; no more.
        navigates = headers.get(b"sec-fetch-mode", b"navigate") == b"navigate"
        return 0 if site in _SAME or navigates else 403


def _without(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    ours = {name for name, _ in HEADERS}
    return [(name, value) for name, value in headers if name.lower() not in ours]


def refusal_headers() -> list[tuple[bytes, bytes]]:
    """Return what stands above `REFUSAL`."""
    return [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(REFUSAL)).encode()),
        (b"cache-control", _KEPT),
        (b"connection", b"close"),
        *HEADERS,
    ]


async def _refuse(status: int, send: Send) -> None:
    await send({"type": "http.response.start", "status": status, "headers": refusal_headers()})
    await send({"type": "http.response.body", "body": REFUSAL})
