"""The server over stdin and stdout: one client, whose requests are answered in two lanes.

What is quick goes in turn through one lane, what may take minutes through another, and neither keeps the
loop from reading: so a call can be cancelled, and the client asked for its roots, while one runs. The pipe of
stdout is taken away from everything else in the process at the start: what prints, prints to stderr.
"""

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.server import jsonrpc
from pipeline.server.jsonrpc import MOST_BYTES, ProtocolError
from pipeline.server.requests import Requests

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.server.calls import Call
    from pipeline.store import Store

_BEAT_SECONDS = 2.0
"""Between two signs of life of a slow call whose client asked for progress."""
_PART = 1 << 16


class Wire:
    """The two ends of the pipe, as lines; nobody else in the process has them."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._lock = threading.Lock()

        self._gone = False

    def lines(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield each line with nothing behind it; of one that is too long the beginning and the end."""
        head, rest = b"", b""
        while part := self._read():
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                if head or line.strip():
                    yield (head, line) if head else (line, b"")
                head = b""
            if head or len(rest) > MOST_BYTES:
                head, rest = head or rest[:_PART], rest[-_PART:]
        if rest.strip():
            yield (head, rest) if head else (rest, b"")

    def send(self, message: dict[str, Any]) -> None:
        """Write `message`; nothing happens where the client is gone."""
        data = memoryview(jsonrpc.write(message))
        with self._lock:
            try:
                while data and not self._gone:
                    data = data[self._write(data) :]
            except ConnectionError:
                self._gone = True  # The end of stdin says the same, and ends the loop.
            except OSError as error:
                # A part may be written: nothing that came behind it could be read.
                import logging

                self._gone = True
                logging.getLogger("reverie.server").error("the client can't be answered any more: %s", error)

    def _read(self) -> bytes:
        """Return what comes next, nothing at the end or where nobody can be answered any more."""
        while not self._gone:
            try:
                return os.read(self._in, _PART)
            except BlockingIOError:
                _wait(self._in, to_write=False)
            except OSError:
                break  # Reset, or hung up: an end as well, of a client that did not wait for its answers.
        return b""

    def _write(self, data: memoryview) -> int:
        """Write what there is room for, and return how much that was."""
        try:
            return os.write(self._out, data)
        except BlockingIOError:
            _wait(self._out, to_write=True)
            return 0


def _wait(handle: int, *, to_write: bool) -> None:
    """Wait until a pipe that does not itself wait is ready: whoever started the server may have set it so."""
    import selectors

    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_WRITE if to_write else selectors.EVENT_READ)
        selector.select()


class Lane:
    """Does work in turn, in a thread of its own that ends with the process; `bounded` keeps it alive."""

    def __init__(self, bounded: Callable[[Callable[[], object]], object]) -> None:
        self._bounded = bounded
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], object]) -> None:
        """Do `work` after what was put before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._work.put(work)

    def finish(self) -> None:
        """Wait until all is done."""
        self._work.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while work := self._work.get():
            self._bounded(work)


class _Running(NamedTuple):
    """A request that is being answered: whether it is cancelled, and whether it may take minutes."""

    cancelled: threading.Event
    slow: bool


class Connection:
    """What is known of the client, and what it waits for. Where it was started is asked when it matters."""

    def __init__(self, wire: Wire, requests: Requests, started_in: "Callable[[], Path]") -> None:
        self._wire = wire
        self._requests = requests
        self._started_in = started_in
        self._quick, self._slow = Lane(requests.alone), Lane(requests.alone)
        self._initialized = self._has_roots = False
        self._roots = _Roots()
        self._running: dict[str | int, _Running] = {}
        self._kept: dict[Path, Store] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        """Answer until the client closes its end; what is quick is still done then, what is slow ends."""
        for line, end in self._wire.lines():
            ident: object = None
            try:
                message = jsonrpc.read(line, end)
                ident = message.get("id")
                self._take(message)
            except ProtocolError as error:
                whose = error.ident if ident is None else ident
                self._wire.send(jsonrpc.error(whose, error.code, str(error)))
        with self._lock:
            slow = [running.cancelled for running in self._running.values() if running.slow]
        for cancelled in slow:
            cancelled.set()
        self._roots.take([])
        self._quick.finish()

    # -- what calls need of the client -----------------------------------------------------------------

    def roots(self) -> list[str]:
        """Return the client's roots, asked once and again when it says that they changed."""
        if not self._has_roots:
            return []
        number = self._roots.to_ask()
        if number:
            self._wire.send({"id": f"roots-{number}", "method": "roots/list"})
        return self._roots.wait()

    def progress(self, token: str | int, done: float, message: str) -> None:
        """Tell how far a call is."""
        params = {"progressToken": token, "progress": done, "message": message}
        self._wire.send({"method": "notifications/progress", "params": params})

    # -- messages ----------------------------------------------------------------------------------

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._take_answer(message)
        elif "id" not in message:
            # Nobody waits for an answer, not even for one that says what is wrong with it.
            params = message.get("params")
            self._take_notification(message["method"], params if isinstance(params, dict) else {})
        elif not jsonrpc.is_id(message["id"]):
            raise ProtocolError(jsonrpc.INVALID_REQUEST, "an id is a text or a whole number")
        else:
            self._take_request(message["id"], message["method"], jsonrpc.params_of(message))

    def _take_answer(self, message: dict[str, Any]) -> None:
        result = message.get("result")
        if message.get("id") == f"roots-{self._roots.asked}":
            found = result.get("roots") if isinstance(result, dict) else None
            named = found if isinstance(found, list) else []
            uris = [item.get("uri") for item in named if isinstance(item, dict)]
            self._roots.take([uri for uri in uris if isinstance(uri, str)])

    def _take_notification(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/roots/list_changed":
            self._roots.forget()
        elif method == "notifications/cancelled":
            ident = params.get("requestId")
            with self._lock:
                running = self._running.get(ident) if jsonrpc.is_id(ident) else None
            if running is not None:
                running.cancelled.set()

    def _take_request(self, ident: str | int, method: str, params: dict[str, Any]) -> None:
        if method == "ping":
            self._wire.send({"id": ident, "result": {}})
        elif method == "initialize":
            capabilities = params.get("capabilities")
            self._has_roots = isinstance(capabilities, dict) and "roots" in capabilities
            self._wire.send({"id": ident, "result": self._requests.initialize(params)})
            self._initialized = True
        elif not self._initialized and method != "server/discover":
            raise ProtocolError(jsonrpc.INVALID_REQUEST, "the first request is initialize")
        else:
            self._put(ident, method, params)

    def _put(self, ident: str | int, method: str, params: dict[str, Any]) -> None:
        running = _Running(threading.Event(), self._requests.is_slow(method, params))
        with self._lock:
            if ident in self._running:
                raise ProtocolError(jsonrpc.INVALID_REQUEST, "a request with that id is being answered")
            self._running[ident] = running
        lane = self._slow if running.slow else self._quick
        lane.put(lambda: self._answer(ident, method, params, running))

    def _answer(self, ident: str | int, method: str, params: dict[str, Any], running: _Running) -> None:
        """Answer one request, in its lane; one that was cancelled gets no answer."""
        from pipeline.server.calls import Call, CancelledCallError

        ended, calls = threading.Event(), list[Call]()
        try:
            if running.cancelled.is_set():
                return
            result = self._requests.answer(method, params, lambda: self._call(params, running, ended, calls))
            answer: dict[str, Any] = {"id": ident, "result": result}
        except CancelledCallError:
            return
        except ProtocolError as error:
            answer = jsonrpc.error(ident, error.code, str(error))
        finally:
            ended.set()
            with self._lock:
                del self._running[ident]
        if not running.cancelled.is_set():
            self._wire.send(answer)
        for call in calls:
            for work in call.later:
                self._requests.alone(work)

    def _call(
        self, params: dict[str, Any], running: _Running, ended: threading.Event, calls: "list[Call]"
    ) -> "Call":
        from pipeline.server.calls import Call
        from pipeline.server.folders import project_of

        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        call = Call(
            project_of(self.roots(), self._started_in()),
            token=token if jsonrpc.is_id(token) else None,
            peer=self,
            cancelled=running.cancelled.is_set,
            kept=None if running.slow else self._kept,
        )
        calls.append(call)
        if running.slow and token is not None:
            threading.Thread(target=_beat, args=(call, ended), daemon=True).start()
        return call


class _Roots:
    """The roots of a client: asked for once, and kept until it says that they changed."""

    def __init__(self) -> None:
        self.asked = 0
        self._known: list[str] | None = None
        self._silent = False
        """Whether the client once did not say in time: it is not waited for again."""
        self._taken = threading.Event()
        self._lock = threading.Lock()

    def to_ask(self) -> int:
        """Return the number of the question to ask now, 0 where they are known."""
        with self._lock:
            if self._known is not None:
                return 0
            self._taken.clear()
            self.asked += 1
            return self.asked

    def wait(self) -> list[str]:
        """Return them, none where the client does not say in time; what it says later still counts."""
        if self._known is None and not self._taken.wait(0 if self._silent else jsonrpc.ROOTS_SECONDS):
            with self._lock:
                self._silent = True
                if self._known is None:
                    self._known = []
        return self._known or []

    def take(self, uris: list[str]) -> None:
        """Take in what the client said."""
        with self._lock:
            self._known, self._silent = uris, False
        self._taken.set()

    def forget(self) -> None:
        """Ask anew at the next call."""
        with self._lock:
            self._known = None


def _beat(call: "Call", ended: threading.Event) -> None:
    """Give signs of life until the call has `ended`."""
    while not ended.wait(_BEAT_SECONDS):
        call.beat()


def serve(requests: Requests) -> None:
    """Answer the client at the other end of stdin and stdout until it goes."""
    from pathlib import Path

    Connection(Wire(), requests, Path.cwd).run()
