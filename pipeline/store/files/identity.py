"""What a memory file that Reverie did not write is called, and who wrote it: as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.core.clock import parse_time
from pipeline.core.ids import digest, text_digest
from pipeline.domain.authorship import CLAUDE, REVERIE, UNKNOWN, By, Sign
from pipeline.domain.memory import Evidence, Memory

ASSISTANT = "assistant-inferred"


@dataclass(frozen=True, slots=True)
class Identity:
    """The id of the file at `path`, and who wrote it when its bytes had `digest`.

    `session`, `uuid` and `at` (ISO 8601) tell of Claude's call, "" where it is not known. `tended` says that
    code may change it without a person's word, and `text` is then the digest of its text (`ids.text_digest`).
    """

    path: str
    id: str
    digest: str = ""
    by: By = UNKNOWN
    sign: Sign = "none"
    session: str = ""
    uuid: str = ""
    at: str = ""
    tended: bool = False
    text: str = ""

    def seen_in(self, memory: Memory) -> Memory:
        """Return `memory`, as its file says, under this id; what Claude wrote is the assistant's word only.

        Whatever the file itself says of its sources: it may have been copied from anywhere.
        """
        named = memory if memory.id else replace(memory, id=self.id)
        if self.by != CLAUDE or not self.tended:
            return named
        return replace(named, origin=ASSISTANT, sources=self._sources())

    def _sources(self) -> tuple[Evidence, ...]:
        if not self.session:
            return ()
        at = self.at if parse_time(self.at) else None
        # Where only the stamp is known, no record can be named but the session itself.
        return (
            Evidence(
                session=self.session, uuid=self.uuid or self.session, quote="", at=at, speaker="assistant"
            ),
        )


def of_guess(path: str, memory_id: str, raw: bytes) -> Identity:
    """Return what is noted of a memory of ours that only the assistant said: should Claude write in its file
    next, that is no person's either. `raw` are its bytes.
    """
    text = text_digest(raw.decode("utf-8", "replace"))
    return Identity(path, memory_id, digest(raw), REVERIE, "bytes", tended=True, text=text)
