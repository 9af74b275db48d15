"""Real remotes on the loopback address: git's own daemon, its smart HTTP, and some that behave badly."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.support.http_server import Quiet, listening


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextmanager
def daemon(base: Path) -> Iterator[str]:
    """Serve the repositories below `base` by git's daemon, to be read and written, and give its address."""
    port = free_port()
    # The program itself: `git daemon` would start it as a child that outlives it.
    folder = subprocess.run(["git", "--exec-path"], capture_output=True, check=True).stdout.decode().strip()
    process = subprocess.Popen(
        [
            *(f"{folder}/git-daemon", "--verbose", "--export-all", "--enable=receive-pack", "--reuseaddr"),
            *("--listen=127.0.0.1", f"--port={port}", f"--base-path={base}", str(base)),
        ],
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert b"Ready to rumble" in process.stderr.readline()
    # What it tells of each connection is read, so that it never waits for us.
    reader = threading.Thread(target=process.stderr.read, daemon=True)
    reader.start()
    try:
        yield f"git://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stderr.close()


def http_backend(base: Path, *, password: str = "") -> type[BaseHTTPRequestHandler]:
    """Return a handler that serves the repositories below `base` as web servers do; for `password` alone."""

    class Backend(Quiet):
        def _answer(self) -> None:
            if password and self.headers.get("Authorization") != password:
                asks = {"WWW-Authenticate": 'Basic realm="memories"'}
                self.send(401, "text/plain", b"who are you?", asks)
                return
            path, _, query = self.path.partition("?")
            given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            done = subprocess.run(
                ["git", "http-backend"],
                input=given,
                capture_output=True,
                check=False,
                timeout=60,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": os.environ["HOME"],
                    "GIT_PROJECT_ROOT": str(base),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "REMOTE_USER": "somebody",
                    "REMOTE_ADDR": "127.0.0.1",
                    "REQUEST_METHOD": self.command,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(given)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                },
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            status = int(lines.pop("Status", "200").split()[0])
            # Whoever asked may have been killed meanwhile.
            with suppress(BrokenPipeError, ConnectionResetError):
                self.send(status, lines.pop("Content-Type", "text/plain"), body, lines)

        do_GET = do_POST = _answer

    return Backend


@contextmanager
def smart_http(base: Path, *, password: str = "") -> Iterator[str]:
    """Serve the repositories below `base` by git's smart HTTP, and give the address."""
    with listening(http_backend(base, password=password)) as address:
        yield address


@contextmanager
def smart_https(base: Path, certificate: Path, *, password: str = "") -> Iterator[str]:
    """Serve them as `smart_http` does, with the `certificate` of ``localhost`` (see `self_signed`)."""
    proof = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    proof.load_cert_chain(certificate)
    with listening(http_backend(base, password=password), proof) as address:
        yield address.replace("http://127.0.0.1", "https://localhost")


def self_signed(folder: Path) -> Path | None:
    """Make a certificate of ``localhost`` with its key in one file, None where no openssl is here."""
    if shutil.which("openssl") is None:
        return None
    file = folder / "localhost.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    file.write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return file


@contextmanager
def silent() -> Iterator[int]:
    """Take connections and never answer; give the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            # It ends the waiting; a thread that still waited would take what is the next server's.
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in taken:
                connection.close()
