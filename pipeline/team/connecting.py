"""Connections to a team's database: which addresses are taken, and what happens when one is cut.

This and `refusals` alone import psycopg (extra ``team``). No password is taken from an address: libpq
reads ``~/.pgpass`` and ``PGPASSWORD`` by itself. Beyond this machine a server must prove who it is.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from pipeline.core.errors import ConfigError, TeamError, UnreachableTeamError
from pipeline.core.extras import how_to_install
from pipeline.record import record
from pipeline.team.refusals import refused, turned_away

if TYPE_CHECKING:
    from types import ModuleType

    import psycopg

Answer = TypeVar("Answer")
SCHEMES = ("postgresql", "postgres")
KEYS = frozenset(
    ("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "channel_binding", "krbsrvname")
)
"""What an address may say beside host, port, login and database."""
_FILES = frozenset(("sslrootcert", "sslcert", "sslkey"))
PROVEN = frozenset(("verify-full", "verify-ca"))
"""Values of ``sslmode`` by which a server must prove who it is."""
CONNECT_SECONDS = 10
STATEMENT_MILLISECONDS = 60_000
TRANSACTION_SECONDS = 75.0
"""After so long a transaction is cut on our side: whoever is on the way may keep a connection and relay
nothing, and then neither the server's limits nor the system's reach us."""
_ALIVE = {"keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""By which the system notices by itself that the other end is gone."""
TRIES = 6
FIRST_WAIT_SECONDS = 0.2
_NOBODY = (os.strerror(errno.ECONNREFUSED), os.strerror(errno.ENOENT))
"""How the system says, in libpq's words, that nobody listens; they are in the language of this process."""
_LOST = ("08", "57P", "40001", "40P01", "55P03")
"""Starts of SQLSTATEs after which the same may be tried again: cut, restarted, in each other's way."""


@record
class Address:
    """Where a team's database is: `url` as given, and the parameters that libpq gets."""

    url: str
    parameters: dict[str, str]

    @property
    def name(self) -> str:
        """Who and where, for messages: no parameter beyond them."""
        given = self.parameters
        host = given.get("host") or "this machine"
        return f"{given.get('user', 'you')} at {host}, database {given['dbname']}"


def parse(url: str) -> Address:
    """Return the address that `url` names.

    Raises ConfigError for a URL that is none of PostgreSQL's, that holds a password or a parameter we don't
    know, or that leads beyond this machine without a proof of who the server is.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ConfigError(
            "the database is not a PostgreSQL address",
            fix="Give postgresql://LOGIN@HOST:PORT/DATABASE.",
        )
    if parts.password is not None:
        raise ConfigError(
            "the address of the database holds a password, which would be kept in the settings",
            fix="Leave it out of the address: put it into ~/.pgpass (mode 0600) or PGPASSWORD.",
        )
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    host = unquote(given.pop("host", "") or parts.hostname or "")
    if unknown := sorted(given.keys() - KEYS):
        raise ConfigError(
            f"the address of the database has {', '.join(unknown)}, which is not taken",
            fix=f"It may have {', '.join(sorted(KEYS))}.",
        )
    named = {"host": host, "port": _port(parts.port), "user": unquote(parts.username or "")}
    found = {key: value for key, value in named.items() if value} | {
        "dbname": unquote(parts.path[1:]) or "postgres"
    }
    return Address(url, found | given | _proof(host, given))


def for_login(url: str, login: str) -> str:
    """Return the address `url` as `login` gives it: without what lies on another's disk."""
    parts = urlsplit(url)
    given = [
        (key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in _FILES
    ]
    netloc = f"{quote(login, safe='')}@{parts.netloc.rpartition('@')[2]}"
    return urlunsplit((parts.scheme, netloc, parts.path, urlencode(given), ""))


def _port(port: int | None) -> str:
    return str(port) if port else ""


def _proof(host: str, given: dict[str, str]) -> dict[str, str]:
    """Return what libpq must be told so that a server beyond this machine proves who it is."""
    if all(_is_here(part) for part in host.split(",")):
        return {}
    mode = given.get("sslmode", "verify-full")
    if mode not in PROVEN:
        raise ConfigError(
            f"sslmode={mode} lets anybody on the way read and change what a team shares",
            fix="Leave sslmode out, or give verify-full (sslrootcert=FILE names an authority of your own).",
        )
    return {"sslmode": mode, "sslrootcert": given.get("sslrootcert", "system")}


def _is_here(host: str) -> bool:
    """Return whether `host` is this machine: no name at all, a socket's folder, or loopback."""
    if not host or host.startswith("/") or host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def within(
    address: Address,
    work: Callable[[psycopg.Connection[Any]], Answer],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Return what `work` returns in a transaction of its own, done again on a new connection when one is cut.

    A commit whose answer was lost is done again, so `work` must be such that twice is as once. `sleep` gets
    seconds. Raises UnreachableTeamError after TRIES, and TeamError for what the database refuses.
    """
    with Line(address, sleep=sleep) as line:
        return line.ask(work)


class Line:
    """A connection for one transaction after another, as `within` has it for one; opened when first needed.

    One thread may use it at a time. A transaction that takes more than `seconds` is cut.
    """

    def __init__(
        self,
        address: Address,
        *,
        sleep: Callable[[float], None] = time.sleep,
        seconds: float = TRANSACTION_SECONDS,
    ) -> None:
        self._address = address
        self._sleep = sleep
        self._seconds = seconds
        self._connection: psycopg.Connection[Any] | None = None

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, work: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        """Return what `work` returns. Raises as `within` does; what takes too long is not tried again.

        Nor is an address where nobody listens, unless somebody did just before: a server that is restarted.
        """
        psycopg = _driver()
        for number in range(TRIES):
            limit = None
            try:
                if self._connection is None:
                    self._connection = _connect(self._address)
                limit = _Limit(self._connection, self._seconds)
                with limit, self._connection.transaction():
                    return work(self._connection)
            except psycopg.Error as error:
                self.close()
                if number == 0 and limit is None and _is_nobody_there(error):
                    raise _unreachable(self._address, str(error)) from error
                if limit is not None and limit.is_over:
                    raise _unreachable(self._address, limit.words) from error
                if (no_entry := turned_away(error)) is not None:
                    raise no_entry from error
                if not _is_passing(error):
                    raise refused(error) from error
                if number == TRIES - 1:
                    raise _unreachable(self._address, str(error)) from error
                self._sleep(FIRST_WAIT_SECONDS * 2**number)
        raise AssertionError("unreachable")  # pragma: no cover


class _Limit:
    """Ends the connection's socket when what is done within takes too long, and wakes who waits for it."""

    def __init__(self, connection: psycopg.Connection[Any], seconds: float) -> None:
        self.is_over = False
        self.words = f"it did not answer within {seconds:g} seconds"
        self._end = threading.Lock()
        # Of our own: libpq may close its descriptor, and the number be another file's, when the time is over.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._end:
            self._socket.close()

    def _cut(self) -> None:
        with self._end:
            if self._socket.fileno() >= 0:
                self.is_over = True
                with contextlib.suppress(OSError):  # The other end was faster.
                    self._socket.shutdown(socket.SHUT_RDWR)


def _driver() -> ModuleType:
    try:
        import psycopg
    except ImportError as error:
        raise TeamError(
            "a team needs PostgreSQL's driver, which is not installed",
            fix=how_to_install("team"),
        ) from error
    return psycopg


@contextlib.contextmanager
def connected(address: Address) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection that waits for nothing for ever, and close it.

    Raises TeamError where the extra is missing; psycopg's own errors come through.
    """
    connection = _connect(address)
    try:
        yield connection
    finally:
        connection.close()


def _connect(address: Address) -> psycopg.Connection[Any]:
    driver = _driver()
    limits = f"-c statement_timeout={STATEMENT_MILLISECONDS} -c idle_in_transaction_session_timeout=60000"
    given: dict[str, Any] = _ALIVE | {"connect_timeout": CONNECT_SECONDS} | address.parameters
    connection: psycopg.Connection[Any] = driver.connect(
        **given,
        application_name="reverie",
        options=f"{limits} -c lock_timeout=20000 -c search_path=reverie_team,reverie_queue",
        autocommit=True,
    )
    return connection


def _is_passing(error: psycopg.Error) -> bool:
    """Return whether the same may go well in a moment."""
    import psycopg

    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_LOST)


def _is_nobody_there(error: psycopg.Error) -> bool:
    """Return whether every address that was tried refuses, or is a socket that is not there."""
    tried = [line for line in str(error).split("\n") if " failed: " in line]
    return bool(tried) and all(line.endswith(_NOBODY) for line in tried)


def _unreachable(address: Address, words: str) -> UnreachableTeamError:
    return UnreachableTeamError(
        f"the team's database can't be reached ({address.name}): {words.strip().partition(chr(10))[0]}",
        fix="Look at the network, the address and the server.",
    )
