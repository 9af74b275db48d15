"""A PostgreSQL server of its own in a temporary folder, on loopback and a socket, run as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

USER = "nobody"
"""As whom it runs where the tests run as root, which PostgreSQL refuses."""
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{folder}'
fsync = off
max_connections = 120
shared_buffers = 64MB
"""


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs, or None where there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if debian:
        return debian[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


class Server:
    """A running server: `port` on 127.0.0.1; `owner` is the login that may do everything."""

    owner = "founder"

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs
        self.data = folder / "data"
        self.port = _free_port()
        self._as_user = ["setpriv", "--reuid", USER, "--clear-groups"] if os.getuid() == 0 else []

    def url(self, login: str = owner, database: str = "team") -> str:
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}"

    def make(self) -> None:
        """Make the files, start, and make the database."""
        if self._as_user:
            os.chown(self.folder, pwd.getpwnam(USER).pw_uid, -1)
        self._run(
            "initdb",
            "-D",
            str(self.data),
            "-U",
            self.owner,
            "--auth",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "-N",
        )
        settings = SETTINGS.format(folder=self.folder)
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(settings)
        self.start()
        self.sql("CREATE DATABASE team", database="postgres")

    def start(self) -> None:
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.data), "-l", log, "-o", f"-p {self.port}", "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        """End it; "immediate" is as if it crashed."""
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    def sql(self, text: str, *, login: str = owner, database: str = "team") -> str:
        """Return what psql prints, unadorned, for `text`; CalledProcessError where it is refused."""
        return self._run(
            "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(login, database), "-c", text
        )

    def _run(self, program: str, *words: str) -> str:
        done = subprocess.run(
            [*self._as_user, str(self.programs / program), *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
            stderr=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
            text=True,
            check=True,
        )
        return (done.stdout or "").strip()


@contextmanager
def running() -> Iterator[Server]:
    """Give a server, and take it away with all its files."""
    found = programs()
    assert found is not None, "no PostgreSQL"
    # A socket's path may have about 100 characters, and the user must reach it.
    folder = Path(mkdtemp(prefix="pg-", dir=os.environ.get("TMPDIR")))
    folder.chmod(0o755)
    server = Server(folder, found)
    try:
        server.make()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
