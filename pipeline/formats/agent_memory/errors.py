"""What can go wrong with agent-memory's files, by the seven codes that its clients know."""

from __future__ import annotations

from typing import Literal

from pipeline.core.errors import InputError, LockError, ReverieError

Code = Literal[
    "INVALID_INPUT",
    "NOT_FOUND",
    "STORAGE_ERROR",
    "PERMISSION_ERROR",
    "CORRUPTED_DATA",
    "LIMIT_EXCEEDED",
    "INTERNAL_ERROR",
]
NO_SUCH_RESOURCE = "RESOURCE_NOT_FOUND"
"""What is said of a resource that there is not, besides the seven codes of tools."""


class AgentMemoryError(ReverieError):
    """Agent-memory's files can't do what was asked; `code` says which kind of trouble it is."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        fix: str = "",
        file: str | None = None,
        line: int | None = None,
        suggestions: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, fix=fix, file=file, line=line)
        self.code: Code = code
        self.suggestions = suggestions
        """Ids of memories that could be archived to make room, the least used first."""


def invalid(message: str, fix: str = "") -> AgentMemoryError:
    """Return the error for input that can't be used."""
    return AgentMemoryError("INVALID_INPUT", message, fix=fix)


def code_of(error: BaseException) -> Code:
    """Return the code under which a client is told of `error`."""
    if isinstance(error, AgentMemoryError):
        return error.code
    if isinstance(error, PermissionError):
        return "PERMISSION_ERROR"
    if isinstance(error, OSError | LockError):
        return "STORAGE_ERROR"
    return "INVALID_INPUT" if isinstance(error, InputError) else "INTERNAL_ERROR"


def of_system(error: OSError, file: str) -> AgentMemoryError:
    """Return the error for what the system refused at `file`."""
    code = code_of(error)
    fix = (
        "Make it readable and writable for yourself; `reverie agent-memory repair` sets the modes."
        if code == "PERMISSION_ERROR"
        else "Make room on the disk, or look whether it is mounted for writing. Nothing was lost."
    )
    return AgentMemoryError(code, error.strerror or str(error), fix=fix, file=file)
