"""Who wrote a memory file that Reverie did not write as it is: the one rule. Pure: facts in, an answer out.

In doubt the answer is `UNKNOWN`, and then a person's word is needed for any change:

- A call in a transcript proves the text that it left, and no other. Where the text can't be told, as with
  older clients, the file must have been written within the seconds of the call.
- Bytes that somebody known wrote before, and that no call explains since, are a person's, whatever they
  say of themselves.
- What front matter says of itself anybody can write, and an archive can keep a file's time. The client's
  stamp counts only where its session is known to have been here, and the file was written at the very moment
  that the stamp names, which is over: an edit, a copy or a checkout has another time. Where a transcript has
  the text of that moment, only the text counts.
- Where Claude edits a file that holds others' words, or words of which nobody can tell, these stay theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pipeline.record import record

By = Literal["reverie", "claude", "person", "unknown"]
REVERIE: By = "reverie"
CLAUDE: By = "claude"
PERSON: By = "person"
UNKNOWN: By = "unknown"

Sign = Literal["bytes", "call", "mixed", "stamp", "dialog", "changed", "none"]
"""By what the author is known: Reverie's own record, a call in a transcript, one on a file that was not
Claude's, the client's stamp in the front matter, a person's change in the client's dialog, a change that
nothing explains; or by nothing."""
NEW = "new"
"""Stands for the text before a call that made the file."""

AUTHORS: dict[tuple[str, str], str] = {
    (REVERIE, "bytes"): "Reverie",
    (CLAUDE, "call"): "Claude, as the session's transcript shows",
    (CLAUDE, "mixed"): "Claude, in a file that held words of others",
    (CLAUDE, "stamp"): "Claude, by the stamp and the time of the file",
    (PERSON, "dialog"): "a person, who changed Claude's text before it was written",
    (PERSON, "changed"): "a person: it was changed, and no session did it",
}
"""Who wrote a file and how that is known, in words; what is not here nobody can tell (`NOBODY`)."""
NOBODY = "nobody can tell"

BEFORE, AFTER = 2.0, 3.0
"""Seconds that a file's time may lie before a call and after its result; transcripts tell whole seconds."""
COARSE, STAMPED = 2.0, 1.0
"""Seconds that a file's time may lie before the client's stamp, where a disk tells whole seconds only, and
after it; the client writes within some milliseconds."""


@record
class FileWrite:
    """One call that wrote a memory file: `path` is absolute, `at` and `until` are epoch seconds or None.

    `digest` is that of the text it left, whatever its line ends, and `before` of the text there was (`NEW`
    for none), "" where that can't be told; `changed` says that a person changed the text before they let it
    be written.
    """

    path: str
    uuid: str
    tool: str
    session: str
    at: float | None
    until: float | None
    digest: str = ""
    before: str = ""
    changed: bool = False

    @property
    def done_at(self) -> float:
        """Return when it was done, as far as that is known (epoch seconds), else 0."""
        return self.until or self.at or 0.0


@record
class Stamp:
    """What the client wrote into front matter: the session a memory began in, when it was last written.

    `was_here` says that more than the file itself tells of that session: the ledger, or a transcript.
    """

    session: str
    at: float
    was_here: bool = False


@record
class Facts:
    """A file as it stands: the digest of its text (as in `FileWrite`), when it was written, its stamp.

    `was_seen` says that it was looked at before, with other bytes or these, and `was_known` that somebody
    known had written it then. `tended` is the digest of the text in which it last held nobody's words but
    the assistant's, "" for none. `now` is when it is looked at (epoch seconds, as `mtime`): what is later
    was not written by then.
    """

    text: str
    mtime: float
    now: float
    stamp: Stamp | None = None
    was_seen: bool = False
    was_known: bool = False
    tended: str = ""


@record
class Author:
    """Who wrote a file, by what sign, and for Claude the session, record and time (epoch seconds) of it."""

    by: By
    sign: Sign = "none"
    session: str = ""
    uuid: str = ""
    at: float = 0.0

    @property
    def alone(self) -> bool:
        """Whether it is Claude, and nobody else's words are in the file."""
        return self.by == CLAUDE and self.sign != "mixed"


def author_of(facts: Facts, writes: Sequence[FileWrite]) -> Author:
    """Return who wrote the file of `facts`, of which transcripts tell `writes`, oldest first."""
    own = _claudes_own(facts, writes)
    for write in reversed(writes):
        if write.digest and write.digest == facts.text:
            if write.changed:
                return Author(PERSON, "dialog", write.session, write.uuid, write.done_at)
            return _by_claude(write, alone=facts.text in own)
    # Where the text of a call can't be told, it went on from what was seen last.
    went_on = bool(facts.tended) or not facts.was_seen
    last = writes[-1] if writes else None
    if last is not None and not last.changed and not last.digest and _within(facts.mtime, last):
        return _by_claude(last, alone=went_on)
    if facts.was_known:
        return Author(PERSON, "changed")
    stamp = facts.stamp
    if stamp is not None and _holds(stamp, facts) and not _denied(stamp, writes):
        return Author(CLAUDE, "stamp" if went_on else "mixed", stamp.session, "", stamp.at)
    return Author(PERSON, "changed") if any(write.digest for write in writes) else Author(UNKNOWN)


def _by_claude(write: FileWrite, *, alone: bool) -> Author:
    return Author(CLAUDE, "call" if alone else "mixed", write.session, write.uuid, write.done_at)


def _claudes_own(facts: Facts, writes: Sequence[FileWrite]) -> set[str]:
    """Return the digests of texts that are Claude's alone: made by it, or gone on from such a text."""
    own = {facts.tended} - {""}
    for write in writes:
        if write.digest and not write.changed and (write.before == NEW or write.before in own):
            own.add(write.digest)
    return own


def _within(mtime: float, write: FileWrite) -> bool:
    if write.at is None or write.until is None:
        return False
    return write.at - BEFORE <= mtime <= write.until + AFTER


def _holds(stamp: Stamp, facts: Facts) -> bool:
    """Whether a session that was here can have written the file at the moment that the stamp names."""
    at_once = -COARSE <= facts.mtime - stamp.at <= STAMPED
    return stamp.was_here and at_once and max(facts.mtime, stamp.at) <= facts.now


def _denied(stamp: Stamp, writes: Sequence[FileWrite]) -> bool:
    """Whether the stamp is that of a call which left another text, or one that a person changed."""
    return any(_within(stamp.at, write) for write in writes if write.digest or write.changed)
