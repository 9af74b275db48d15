"""What is closed after use: ``with`` on any object that has a ``close``."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """A base whose ``with`` ends in `close`, which a subclass writes; a second call of it does nothing."""

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
