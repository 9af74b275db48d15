"""A Messages API on loopback that plays a script to the real client and keeps what it was asked.

It answers streamed and plain requests, sorts them by who asked (`Asked.kind`), and writes down in one
`Journal` the order in which things happened: request in, reply out, and whatever the tests note beside
them. Order, not time, is what the tests compare.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SESSION, MODEL, SIDE, COUNT = "session", "model", "side", "count"
STRUCTURED = "StructuredOutput"
PATIENCE = 90.0  # seconds until waiting for something that never happens counts as a failure
HOLD = 8.0  # seconds a reply is kept back at most; must be less than the `timeout` in hooks.json

Block = str | dict[str, Any]  # text, or {"tool": name, "input": {...}}


@dataclass(frozen=True)
class Asked:
    """One request: `kind` says whose it was.

    session: a turn of a person's session · model: how a background pipeline asks: with an output schema, in
    the request or as the StructuredOutput tool the client makes of it, or through a headless client that was
    left no tools · side: what the client asks for itself (titles, probes) · count: token counting.
    """

    path: str
    agent: str
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        if self.path != "/v1/messages":
            return COUNT
        if STRUCTURED in self.tools:
            return MODEL
        if self.tools:
            return SESSION
        schema = (self.body.get("output_config") or {}).get("format")
        by_client = self.agent.startswith("claude-cli")
        return MODEL if "sdk-cli" in self.agent or (schema and not by_client) else SIDE

    @property
    def tools(self) -> list[str]:
        """Names of the tools offered, but for the client's stand-in for tools it may load later."""
        names = [str(tool.get("name")) for tool in self.body.get("tools") or []]
        return [name for name in names if name != "DeferredToolPlaceholder"]

    @property
    def said(self) -> str:
        """The text of the last user message."""
        users = [message for message in self.body.get("messages", []) if message["role"] == "user"]
        return "\n".join(_texts(users[-1]["content"])) if users else ""

    @property
    def everything(self) -> str:
        """All text the request carries: system prompt and messages."""
        parts = _texts(self.body.get("system") or [])
        for message in self.body.get("messages", []):
            parts += _texts(message["content"])
        return "\n".join(parts)

    @property
    def brings_result(self) -> bool:
        """Whether the last message answers a tool call."""
        last = (self.body.get("messages") or [{"content": ""}])[-1]["content"]
        return isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)


def value_reply(asked: Asked, value: Any) -> list[Block]:
    """Return the reply that hands `value` over: as a tool call where one is asked for, else as text."""
    if STRUCTURED in asked.tools:
        return [{"tool": STRUCTURED, "input": value}]
    return [json.dumps(value)]


@dataclass
class Rule:
    """What to answer: the first rule that fits a request is played, at most `times` times.

    `reply` is a list of blocks or a function of the request. `hold` keeps the reply back until the event
    is set, or for `HOLD` seconds. `after_tool` is played when the result of the rule's tool call comes back.
    """

    reply: Sequence[Block] | Callable[[Asked], Sequence[Block]]
    kind: str = SESSION
    when: str = ""
    times: int = 1_000_000
    hold: threading.Event | None = None
    after_tool: Sequence[Block] = ("Done.",)


@dataclass(frozen=True)
class Noted:
    """One line of the journal."""

    number: int
    what: str
    detail: Any


class Journal:
    """What happened, in order; threads may add to it and wait for it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: list[Noted] = []
        self._changed = threading.Condition()

    def note(self, what: str, detail: Any = None) -> Noted:
        """Add a line, also to the file, for a person to read after a failure."""
        with self._changed:
            noted = Noted(len(self._lines), what, detail)
            self._lines.append(noted)
            shown = vars(detail) | {"kind": detail.kind} if isinstance(detail, Asked) else detail
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps([noted.number, what, shown], default=str) + "\n")
            self._changed.notify_all()
        return noted

    def all(self, what: str = "") -> list[Noted]:
        """Return the lines called `what`, or all."""
        with self._changed:
            return [line for line in self._lines if what in ("", line.what)]

    def wait(
        self, what: str, fits: Callable[[Noted], bool] = lambda noted: True, *, after: int = -1
    ) -> Noted:
        """Return the first line after number `after` that is called `what` and fits; fails without."""
        noted = self.look(what, fits, after=after, seconds=PATIENCE)
        if noted is None:
            seen = [(line.what, getattr(line.detail, "kind", "")) for line in self.all()]
            raise AssertionError(f"no {what!r} within {PATIENCE:.0f} s; happened: {seen}")
        return noted

    def look(
        self, what: str, fits: Callable[[Noted], bool], *, after: int = -1, seconds: float
    ) -> Noted | None:
        """Return what `wait` returns, or None where it has not come within so many seconds."""

        def found() -> Noted | None:
            return next((n for n in self._lines if n.number > after and n.what == what and fits(n)), None)

        with self._changed:
            return self._changed.wait_for(found, seconds)

    def asked(self, kind: str = "") -> list[Asked]:
        """Return the requests of one kind, or all, in order."""
        return [n.detail for n in self.all("request") if kind in ("", n.detail.kind)]


@dataclass
class Script:
    """The rules, and what still waits for a tool's result."""

    rules: list[Rule]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _after: dict[str, Sequence[Block]] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def answer(self, asked: Asked) -> tuple[list[dict[str, Any]], threading.Event | None]:
        """Return content blocks for `asked` and what to wait for before sending them."""
        with self._lock:
            if asked.brings_result:
                return self._blocks(self._follow_up(asked), ("Done.",)), None
            for rule in self.rules:
                if rule.kind == asked.kind and rule.when in asked.said and rule.times > 0:
                    rule.times -= 1
                    reply = rule.reply(asked) if callable(rule.reply) else rule.reply
                    return self._blocks(reply, rule.after_tool), rule.hold
            return self._blocks(["Done."], ("Done.",)), None

    def _follow_up(self, asked: Asked) -> Sequence[Block]:
        results = [block.get("tool_use_id") for block in asked.body["messages"][-1]["content"]]
        return next((self._after.pop(name) for name in results if name in self._after), ("Done.",))

    def _blocks(self, reply: Sequence[Block], after_tool: Sequence[Block]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for block in reply:
            if isinstance(block, str):
                blocks.append({"type": "text", "text": block})
                continue
            name = f"toolu_{next(self._ids):06d}"
            self._after[name] = after_tool
            blocks.append({"type": "tool_use", "id": name, "name": block["tool"], "input": block["input"]})
        return blocks


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the journal has it."""

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        self._send(b"{}", "application/json", 404)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = Asked(self.path.split("?")[0], self.headers.get("user-agent", ""), json.loads(raw or b"{}"))
        number = self.server.journal.note("request", asked).number
        if asked.kind == COUNT:
            self._send(b'{"input_tokens":10}', "application/json")
            return
        blocks, hold = self.server.script.answer(asked)
        if hold is not None:
            hold.wait(HOLD)
        message = _message(asked, number, blocks)
        # Noted before the bytes leave, so nothing the reply sets off can be noted earlier than it.
        self.server.journal.note("reply", {"to": number, "kind": asked.kind})
        if asked.body.get("stream"):
            self._send("".join(_events(message)).encode(), "text/event-stream")
        else:
            self._send(json.dumps(message).encode(), "application/json")

    def _send(self, payload: bytes, kind: str, status: int = 200) -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
        except (BrokenPipeError, ConnectionResetError):
            self.server.journal.note("hung-up", self.path)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    journal: Journal
    script: Script


@contextmanager
def serving(script: Script, journal: Journal) -> Iterator[str]:
    """Serve `script` on a free loopback port while the block runs; gives the base URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.script, server.journal = script, journal
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if isinstance(block, dict) and block.get("type") == "text"]


def _message(asked: Asked, number: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", ""),
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 7},
    }


def _events(message: dict[str, Any]) -> Iterator[str]:
    yield _event("message_start", message=message | {"content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": 7})
    yield _event("message_stop")


def _event(kind: str, **rest: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | rest)}\n\n"
