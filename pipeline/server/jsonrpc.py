"""JSON-RPC as MCP uses it: one message a line, read strictly and written in ASCII."""

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_RESOURCE = -32002
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol with the ``initialize`` handshake, oldest first.

A later one begins with ``server/discover``; its clients fall back to these where that is no known method.
"""
MOST_BYTES = 4 << 20
"""Of one message."""
_FAR = 4_096
"""Bytes from either end of a message that is too large in which its id is looked for."""
ROOTS_SECONDS = 5.0
"""How long a client has to name its roots; then the folder counts in which the server was started."""


class ProtocolError(Exception):
    """A request that can't be answered; the peer is told `code` and the text.

    `ident` is the request's id where no more of it is known.
    """

    def __init__(self, code: int, message: str, ident: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.ident = ident


def read(line: bytes, end: bytes = b"") -> "dict[str, Any]":
    """Return the message in `line`. Raises ProtocolError for what is none.

    One that is too large is refused; it may come as its beginning and its `end`.
    """
    if end or len(line) > MOST_BYTES:
        what = f"the message is too large: it may have {MOST_BYTES:,} bytes"
        raise ProtocolError(INVALID_REQUEST, what, _ident_of(line, end or line))
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ProtocolError(PARSE, "the message is nested too deep") from None
    except ValueError as error:
        raise ProtocolError(PARSE, f"the message is no JSON: {error}") from None
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, "a message is one JSON-RPC 2.0 object")
    if "method" in value and not isinstance(value["method"], str):
        raise ProtocolError(INVALID_REQUEST, "a method is a text")
    return value


def _ident_of(line: bytes, end: bytes) -> object:
    """Return the id of a message that is too large: its last part, as some clients have it, or early."""
    import re

    last = re.search(rb',\s*"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*\}\s*\Z', end[-_FAR:])
    if last:
        return json.loads(last[1].decode("utf-8", "replace"), strict=False)
    text, decoder = line[:_FAR].decode("utf-8", "replace"), json.JSONDecoder()
    start = re.compile(r"\s*[{,]\s*(?=\")")
    colon = re.compile(r"\s*:\s*")
    position = 0
    try:
        while begins := start.match(text, position):
            name, position = decoder.raw_decode(text, begins.end())
            behind = colon.match(text, position)
            if behind is None:
                return None
            value, position = decoder.raw_decode(text, behind.end())
            if name == "id":
                return value
    except (ValueError, RecursionError):
        return None  # There begins what makes it large.
    return None


def params_of(message: "dict[str, Any]") -> "dict[str, Any]":
    """Return the parameters of a message. Raises ProtocolError where they are no object."""
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params is an object")
    return params or {}


def is_id(value: object) -> "TypeGuard[str | int]":
    """Whether `value` can be the id of a request."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def write(message: "dict[str, Any]") -> bytes:
    """Return `message` as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode("ascii") + b"\n"


def error(ident: object, code: int, message: str) -> "dict[str, Any]":
    """Return the answer that tells what was wrong with the request `ident`."""
    return {"id": ident if is_id(ident) else None, "error": {"code": code, "message": message}}


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
