"""Every exception Reverie raises on purpose.

    ReverieError
    ├── ConfigError            config.toml or the environment is wrong
    ├── InputError             a file or argument the person gave can't be used
    │   ├── UsageError         the command was called in a way that never works: exit code 2
    │   ├── UnreadableError    it is there, but the system does not let us read it now
    │   └── NoSchedulerError   this machine has no scheduler we know
    ├── PromptError            a prompt file is missing, or its variables do not fit
    ├── SpoolError             the spool can't be written or read
    ├── LockError              a lock file can't be opened
    ├── LedgerError            the ledger can't be used
    │   ├── DamagedLedgerError SQLite finds the file damaged; the worker makes a new one
    │   ├── NewerSchemaError   it was written by a newer Reverie
    │   ├── UnwritableError    it is sound, but the disk or another process does not let us write it now
    │   └── LeaseLostError     the job now belongs to another worker
    ├── SearchError            a search index can't be used; it may always be deleted
    ├── EmbeddingError         no vectors could be made; nothing else depends on them
    ├── StoreError             the memory folder can't be used
    │   ├── DocumentError      one memory file can't be read as a memory
    │   │   ├── KeptAsItIsError  it can't be changed without changing more of it than was asked
    │   │   └── UnsettledError   it holds both sides of a conflict that a merge could not settle
    │   ├── ConflictError      a file changed since it was read
    │   ├── BusyStoreError     Claude Code's own dream is at work in it
    │   ├── PathEscapeError    a name leads outside the store
    │   └── UnknownMemoryError no memory has that name
    ├── TeamError              a team's database can't be used, or refuses
    │   └── UnreachableTeamError  it can't be reached now; what waits goes out later
    ├── SpendError             a cap would be passed; the work waits
    │   └── PausedError        the provider is down and is asked again later
    ├── InBatchError           it is being read in a batch; the work waits
    └── ModelError             a model call did not give a usable value
        ├── RefusedError       the model declined
        ├── TruncatedError     the reply hit max_tokens and is never taken as whole
        ├── InvalidReplyError  the reply does not fit the schema, after one repair round
        ├── TooLongError       the prompt does not fit the model's window
        ├── OverloadedError    429, 5xx or 529: worth another try (``retry_after`` in seconds)
        │   └── BusyError      another call of ours is running
        ├── QuotaError         the account's allowance is used up
        ├── UnauthorisedError  no key, a bad key, or not logged in: never retried
        ├── UnavailableError   the provider's program or network is missing
        ├── TimedOutError      no answer in time
        ├── CassetteError      a replay has no answer for this request, or one was left unplayed
        └── LiveCallError      a real call was tried where the switch forbids it

Each carries ``fix``, one sentence a person can act on, and where it applies ``file`` and ``line``, and
``by_tool``, what a model does that met it through a tool and has none of the options of commands.
``outcome`` on a ModelError is the word the ledger keeps for that call, and ``sent`` is False where nothing
can have left this machine: such a call costs nothing and counts towards no cap.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Self

ODD_DATA = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What code raises on data of a shape that nobody thought of.

Caught where many files, records or stores are gone through and one that is odd must not stop the others:
what is at fault is named (a bad line, an event left for later, a warning), and the next one's turn comes.
Whatever else is raised is a fault of ours or of the machine, and ends the job or the command.
"""


class ReverieError(Exception):
    """Something Reverie can name went wrong."""

    def __init__(
        self,
        message: str = "",
        *,
        fix: str = "",
        by_tool: str = "",
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.fix = fix
        self.by_tool = by_tool
        self.file = file
        self.line = line

    def __str__(self) -> str:
        """``file:line: message``, without the fix, which a caller shows on its own line."""
        where = self.file or ""
        if where and self.line is not None:
            where += f":{self.line}"
        text = super().__str__()
        return f"{where}: {text}" if where else text


def cause(error: BaseException) -> str:
    """Return what a person reads of `error`: its message, never its class, which is for the log."""
    if isinstance(error, OSError) and error.strerror:
        named = isinstance(error.filename, (str, bytes, os.PathLike)) and error.filename
        return f"{error.strerror}: {os.fsdecode(error.filename)}" if named else error.strerror
    if isinstance(error, ReverieError) or type(error).__module__ == "sqlite3":
        # What a database says of its file is in words: a full disk, a lock, damage.
        return str(error)
    return f"a fault in Reverie ({error})" if str(error) else "a fault in Reverie"


def _redacted(text: str) -> str:
    if not text:
        return text
    # Deferred: it is for what failed, and every command imports this module.
    from pipeline.safety.redaction import redact

    return redact(text).text


class ConfigError(ReverieError):
    """The configuration can't be used."""


class InputError(ReverieError):
    """The input can't be used."""


class UsageError(InputError):
    """The command was called in a way that works with no file and no memory."""


class UnreadableError(InputError):
    """The file can't be read at the moment; nothing is known of what is in it."""


class NoSchedulerError(InputError):
    """This machine has no scheduler we know."""


class PromptError(ReverieError):
    """A prompt can't be rendered."""


class SpoolError(ReverieError):
    """The spool can't be used."""


class LockError(ReverieError):
    """A lock file can't be opened."""


class SearchError(ReverieError):
    """A search index can't be used; the files it was made from are not touched by that."""


class EmbeddingError(ReverieError):
    """No vectors could be made; whatever would have used them goes on with words alone."""

    def __init__(
        self, message: str = "", *, fix: str = "", file: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(_redacted(message), fix=fix, file=file, line=line)


class LedgerError(ReverieError):
    """The ledger can't be used."""


class DamagedLedgerError(LedgerError):
    """The ledger's file is damaged."""


class NewerSchemaError(LedgerError):
    """The ledger was written by a newer Reverie."""


class UnwritableError(LedgerError):
    """The ledger can't be written or opened at the moment."""


class LeaseLostError(LedgerError):
    """The job is no longer ours."""


class BusyWorkerError(LedgerError):
    """Another process works in this home and does not come to its end; it is nobody's fault."""


class StoreError(ReverieError):
    """The memory folder can't be used."""


class DocumentError(StoreError):
    """The file can't be read as a memory."""


class KeptAsItIsError(DocumentError):
    """The file can't be changed without changing more of it than was asked."""


class UnsettledError(DocumentError):
    """The file holds both sides of a conflict that a merge could not settle."""


class ConflictError(StoreError):
    """A file changed since it was read."""


class OvertakenError(ConflictError):
    """Something later stands in the way of the undo of the change `run`.

    `later` undoes that first, "" where nothing does; `paths` are the files, within the store at `file`.
    """

    def __init__(
        self, message: str, *, fix: str, file: str, later: str, run: str, paths: tuple[str, ...]
    ) -> None:
        super().__init__(message, fix=fix, file=file)
        self.later = later
        self.run = run
        self.paths = paths


class BusyStoreError(StoreError):
    """Claude Code's own dream is at work in the memory folder."""


class PathEscapeError(StoreError):
    """The name leads outside the store."""


class UnknownMemoryError(StoreError):
    """No memory has that name."""


class TeamError(ReverieError):
    """A team's database can't be used."""


class UnreachableTeamError(TeamError):
    """A team's database can't be reached now."""


class SpendError(ReverieError):
    """A spending cap would be passed."""


class InBatchError(ReverieError):
    """What is asked for is being read in a batch, and is nobody else's until that has ended."""


class PausedError(SpendError):
    """The provider does not answer for now, and is asked again later."""


_LEAST_SECRET = 8
"""Characters below which what a variable holds is no secret, but a word that may stand anywhere."""


class ModelError(ReverieError):
    """The model call gave no usable value.

    `usage` is what it cost all the same, when that is known. `sent` is False only when it is certain that no
    request left this machine. The message may hold what a server answered or an address, and goes into the
    ledger and the log: secrets of a known form are taken out of it.
    """

    outcome = "failed"
    usage: object | None = None
    sent = True

    def unsent(self) -> Self:
        """Return this error, as one of a call of which nothing left this machine."""
        self.sent = False
        return self

    def __init__(
        self, message: str = "", *, fix: str = "", file: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(_redacted(message), fix=fix, file=file, line=line)

    def hide(self, secrets: Iterable[str]) -> None:
        """Take `secrets` out of the message as well, whatever their form."""
        for secret in secrets:
            if len(secret) >= _LEAST_SECRET:
                self.args = tuple(str(part).replace(secret, "[secret]") for part in self.args)
                self.fix = self.fix.replace(secret, "[secret]")


class RefusedError(ModelError):
    """The model declined to answer."""

    outcome = "refused"


class TruncatedError(ModelError):
    """The reply was cut at its token limit."""

    outcome = "truncated"


class InvalidReplyError(ModelError):
    """The reply does not fit the schema.

    `reply` is what came instead of an answer. It may repeat dialogue, so only that of a question without any
    may be shown.
    """

    outcome = "invalid"
    reply = ""


class TooLongError(ModelError):
    """The prompt does not fit the model's window."""

    outcome = "too_long"


class OverloadedError(ModelError):
    """The provider is overloaded or rate limited."""

    outcome = "overloaded"

    def __init__(self, message: str = "", *, retry_after: float | None = None, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.retry_after = retry_after


class BusyError(OverloadedError):
    """Another call of ours is running on this machine."""


class QuotaError(ModelError):
    """The account's allowance is used up."""

    outcome = "quota"


class UnauthorisedError(ModelError):
    """The provider does not accept our credentials."""

    outcome = "unauthorised"


class UnavailableError(ModelError):
    """The provider can't be reached."""

    outcome = "unavailable"


class TimedOutError(ModelError):
    """The provider gave no answer in time."""

    outcome = "timeout"


PROVIDER_DOWN = (OverloadedError, QuotaError, UnauthorisedError, UnavailableError, TimedOutError)
"""The provider, not what was asked, is at fault: no other call would fare better now."""


class CassetteError(ModelError):
    """No recorded reply fits this request."""

    outcome = "cassette"


class LiveCallError(ModelError):
    """A live model call was tried where none is allowed."""

    outcome = "forbidden"
    sent = False
