"""One call of a tool, as the tool sees it: its project, how to tell how far it is, whether to go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pipeline.app.application import App
    from pipeline.store import Store


_BEAT = 0.001
"""So much a sign of life adds to the steps that were done: progress has to grow."""


class CancelledCallError(Exception):
    """The client wants no answer any more."""


class Peer(Protocol):
    """The client at the other end of a connection."""

    def roots(self) -> list[str]:
        """Return the URIs of the folders it works in, none where it does not say."""

    def progress(self, token: str | int, done: float, message: str) -> None:
        """Tell it how far the call is to which it gave `token`."""


class Call:
    """A call for the project at `folder`; `cancelled` says that nobody waits for it any more.

    `kept` are the stores that earlier calls in the same thread have opened.
    """

    def __init__(
        self,
        folder: Path,
        *,
        token: str | int | None = None,
        peer: Peer | None = None,
        cancelled: Callable[[], bool] = bool,
        kept: dict[Path, Store] | None = None,
    ) -> None:
        self.folder = folder
        self.graph: str | None = None
        """The named graph that is meant instead of the project's memories."""
        self.later: list[Callable[[], object]] = []
        """What is done once the answer is sent."""
        self._kept = kept
        self._token = token
        self._peer = peer
        self._cancelled = cancelled
        self._done = 0.0
        self._lock = Lock()

    def app(self, *, user: bool = False) -> App:
        """Return the use cases for the project, or for what is kept for all."""
        from pipeline.server.serving import ServedApp

        kept = {} if self._kept is None else self._kept
        return ServedApp(self.folder, user=user, graph=None if user else self.graph, kept=kept)

    def go_on(self, message: str = "") -> None:
        """Tell the client that the work goes on; CancelledCallError where it does not wait any more."""
        if self._cancelled():
            raise CancelledCallError
        self._tell(1, message)

    def beat(self) -> None:
        """Tell the client that the work still goes on."""
        self._tell(_BEAT, "still at work")

    def _tell(self, more: float, message: str) -> None:
        if self._token is not None and self._peer is not None:
            with self._lock:
                self._done = round(self._done + more, 3)
                self._peer.progress(self._token, self._done, message)


Answer = dict[str, Any]
Run = Callable[[Call, dict[str, Any]], Answer]
