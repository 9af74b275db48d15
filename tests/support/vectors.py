"""Servers on the loopback address that answer as Ollama and OpenAI do, and embedders that follow a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pipeline.core.errors import EmbeddingError

Answer = Callable[[str, Any], "tuple[int, Any]"]
"""From the path and the JSON that was sent to a status and what is sent back: JSON, or bytes."""


@dataclass
class Server:
    """What a server was asked: path, headers and body of each question, in order."""

    url: str
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    @property
    def inputs(self) -> list[list[str]]:
        return [body["input"] for _, _, body in self.asked if body]


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self._reply(json.loads(self.rfile.read(length)))

        def do_GET(self) -> None:
            self._reply(None)

        def _reply(self, body: Any) -> None:
            server.asked.append((self.path, dict(self.headers), body))
            status, value = answer(self.path, body)
            raw = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", raw.decode())
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{httpd.server_port}")
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def vector(text: str, dim: int = 3) -> list[float]:
    """A vector made of the text's letters: equal texts have equal ones."""
    return [1.0 + sum(ord(char) for char in text[at::dim]) % 97 for at in range(dim)]


def ollama(path: str, body: Any, dim: int = 3) -> tuple[int, Any]:
    if path == "/api/version":
        return 200, {"version": "0.12.0"}
    return 200, {"model": body["model"], "embeddings": [vector(text, dim) for text in body["input"]]}


def openai(path: str, body: Any) -> tuple[int, Any]:
    rows = [
        {"object": "embedding", "index": at, "embedding": vector(text)}
        for at, text in enumerate(body["input"])
    ]
    return 200, {"object": "list", "data": rows[::-1], "model": body["model"]}


class Scripted:
    """An embedder that fails after `most` texts, and remembers what it was asked."""

    def __init__(
        self, *, name: str = "scripted", model: str = "m", dim: int = 3, most: int | None = None
    ) -> None:
        self.name, self.model, self._length, self._most = name, model, dim, most
        self.dim = dim
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._most is not None and len(self.asked) + len(texts) > self._most:
            raise EmbeddingError("the script ends here")
        self.asked += texts
        return [vector(text, self._length) for text in texts]
