"""An HTTP server on the loopback address, for the APIs that tests play."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Quiet(BaseHTTPRequestHandler):
    """A handler that sends whole replies and logs nothing."""

    def send(self, status: int, kind: str, data: bytes, headers: Mapping[str, str], *, cut: int = -1) -> None:
        """Send `data` of the content type `kind`; `headers` win. After `cut` bytes the connection ends."""
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        end = len(data) if cut < 0 else cut
        self.wfile.write(data[:end])
        if end < len(data):
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], proof: ssl.SSLContext | None = None) -> Iterator[str]:
    """Let `handler` answer until the block ends, by TLS where there is a `proof`, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if proof is not None:
        server.socket = proof.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
