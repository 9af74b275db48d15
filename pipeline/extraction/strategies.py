"""The two ways to extract, behind one interface (seed 4, D-16): by turn (s09) and by conversation (Claudia).

A strategy finds the next span of dialogue to read and says how to ask about it; `run` does the rest. What was
read stands in the ledger (a file's watermark for turns, the runs for conversations), so a row is new material
to each strategy at most once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pipeline.config import first_sight_from
from pipeline.core.clock import parse_time
from pipeline.domain.speech import Utterance
from pipeline.extraction.acknowledgements import only_noise
from pipeline.extraction.render import windows
from pipeline.ledger import Ledger, conversations, dialogue, runs, utterances, watermarks
from pipeline.record import record

if TYPE_CHECKING:
    from pipeline.config import ExtractionSettings
    from pipeline.extraction.schema import Extraction

_LAST_ROW = 2**63 - 1
LEAST_CONTEXT_CHARS = 1_500
"""What the lines before may take even where a few words are new: they may answer a menu."""
_CONTEXT_PER_CHAR = 2
"""Characters of the lines before for each of new dialogue."""


@record
class Span:
    """A stretch of dialogue to extract from.

    `through_row` is the watermark once it is done. `skip` is "" or why no model call is needed.
    `conversation` is its ledger id for the conversation strategy; `written` are the paths of memory files
    that the assistant itself wrote in it. `begins_row` is the first row of the turns or of the conversation
    that it is a part of. `room` and `context_room` are how many characters its lines, and those before, may
    take when they are shown.
    """

    key: str
    new: Sequence[Utterance]
    context: Sequence[Utterance]
    from_row: int
    through_row: int
    skip: str = ""
    conversation: int | None = None
    last: bool = True
    written: tuple[str, ...] = ()
    ended_at: str | None = None
    begins_row: int = 0
    room: int | None = None
    context_room: int | None = None
    lines_counted: int = 0

    @property
    def spoken(self) -> int:
        """How many of the new lines are a person's; after a crash as they were counted before it."""
        return self.lines_counted or sum(utterance.speaker == "person" for utterance in self.new)


def context_room(limits: ExtractionSettings, new: Sequence[Utterance]) -> int:
    """Return how many characters of earlier dialogue go with `new`: a few words do not carry 6,000."""
    fresh = sum(len(utterance.text) for utterance in new)
    return min(limits.context_chars, max(LEAST_CONTEXT_CHARS, _CONTEXT_PER_CHAR * fresh))


def newest(spoken: Sequence[Utterance], limits: ExtractionSettings) -> list[Utterance]:
    """Return the last of `spoken` that `limits` let a call read: all of it unless a person set one.

    Messages are counted where somebody said something. The oldest that still has room loses its beginning.
    """
    if not (limits.newest_messages or limits.newest_chars):
        return [*spoken]
    from dataclasses import replace  # Of those who read, few have such limits.

    found: list[Utterance] = []
    messages, chars = limits.newest_messages or len(spoken), limits.newest_chars or _LAST_ROW
    for utterance in reversed(spoken):
        if messages < 1 or chars < 1:
            break
        short = len(utterance.text) <= chars
        found.append(utterance if short else replace(utterance, text=utterance.text[-chars:]))
        messages -= bool(utterance.text)
        chars -= len(utterance.text)
    return found[::-1]


class Strategy(Protocol):
    """How to cut dialogue into spans, and which prompt and reply schema fit them."""

    @property
    def id(self) -> str:
        """The strategy's name in watermarks and runs."""
        ...

    @property
    def prompt(self) -> str:
        """The prompt file that asks."""
        ...

    @property
    def schema(self) -> type[Extraction]:
        """The shape of the reply."""
        ...

    @property
    def source(self) -> str:
        """The key of the file that is read."""
        ...

    def next_span(self, ledger: Ledger, store: str, *, max_chars: int, now: datetime) -> Span | None:
        """Return the next span that `store` has not been given, or None when there is none."""
        ...


@record
class TurnStrategy:
    """What was said since the watermark, soon after it was said; provisional by nature.

    `first_sight` limits a history never seen before to its newest part; the rest is left to the
    conversation strategy. `until_row`, when given, is the last row to read. With `again` what is unread in
    these stretches is read, wherever the watermark stands: runs that were given up.
    """

    key: str
    limits: ExtractionSettings
    first_sight: bool = True
    until_row: int | None = None
    again: tuple[runs.Run, ...] = ()
    id: str = "turn"
    prompt: str = "extract.turn"

    @property
    def schema(self) -> type[Extraction]:
        """Return the shape of the reply; only who asks a model needs it."""
        from pipeline.extraction.schema import Extraction

        return Extraction

    @property
    def source(self) -> str:
        """Return the key of the file that is read."""
        return self.key

    def next_span(self, ledger: Ledger, store: str, *, max_chars: int, now: datetime) -> Span | None:
        """Return the oldest unread span that fits, with earlier dialogue as context."""
        after = 0 if self.again else watermarks.watermark(ledger, self.key, store, self.id)
        fresh = dialogue.dialogue(ledger, self.key, after_row=after)
        if self.until_row is not None:
            fresh = [utterance for utterance in fresh if utterance.row <= self.until_row]
        if self.again:
            fresh = self._unread_stretch(ledger, store, fresh)
        if not fresh:
            return None
        too_old = ""
        if after == 0 and self.first_sight and not self.again:
            recent = self._recent(fresh, now)
            if not recent:
                too_old = f"older than {self.limits.first_sight_days} days; `reverie process` reads it"
            fresh = recent or fresh[-1:]
        fresh = fresh if self.again else newest(fresh, self.limits)
        new = windows(fresh, max_chars)[0]
        first, last = new[0].row, new[-1].row
        room = context_room(self.limits, new)
        context = dialogue.context_before(ledger, self.key, row=first, max_chars=room)
        return Span(
            key=self.key,
            new=new,
            context=context,
            from_row=first,
            through_row=last,
            skip=too_old or self._skip(new, context),
            last=len(new) == len(fresh),
            written=self._written(ledger, new, fresh),
            begins_row=first,
            room=max_chars,
            context_room=room,
        )

    def _unread_stretch(self, ledger: Ledger, store: str, spoken: list[Utterance]) -> list[Utterance]:
        """Return the first stretch of `spoken` that was given up and that no other run has done with."""
        given_up = [(run.from_row, run.through_row) for run in self.again]
        read = runs.rows_read(
            ledger,
            self.key,
            store,
            "turn",
            "conversation",
            leave_out=[run.id for run in self.again],
        )
        found: list[Utterance] = []
        for utterance in spoken:
            if _within(utterance.row, given_up) and not _within(utterance.row, read):
                found.append(utterance)
            elif found:
                break
        return found

    def _recent(self, fresh: list[Utterance], now: datetime) -> list[Utterance]:
        oldest = first_sight_from(self.limits, now)
        recent = [
            utterance for utterance in fresh if (at := parse_time(utterance.at)) is None or at >= oldest
        ]
        starts = [position for position, utterance in enumerate(recent) if utterance.speaker == "person"]
        if len(starts) > self.limits.first_sight_turns:
            recent = recent[starts[-self.limits.first_sight_turns] :]
        return recent

    def _skip(self, new: Sequence[Utterance], context: Sequence[Utterance]) -> str:
        people = [utterance for utterance in new if utterance.speaker == "person"]
        if not people:
            return "no person spoke"
        before = [utterance for utterance in context if utterance.speaker == "assistant" and utterance.text]
        return only_noise(new, before[-1] if before else None)

    def _written(
        self, ledger: Ledger, new: Sequence[Utterance], fresh: Sequence[Utterance]
    ) -> tuple[str, ...]:
        # A write stands behind the words it answers, up to the next words.
        through_row = fresh[len(new)].row if len(new) < len(fresh) else self.until_row or _LAST_ROW
        first = next((utterance.row for utterance in new if utterance.text), new[0].row)
        writes = utterances.memory_writes(ledger, self.key, after_row=first - 1, through_row=through_row)
        return tuple(writes)


def _within(row: int, stretches: Sequence[tuple[int, int]]) -> bool:
    return any(first <= row <= last for first, last in stretches)


@record
class ConversationStrategy:
    """A whole conversation once it is over: corrects, completes, withdraws, and writes the episode.

    A conversation too long for one call is read in windows; each has the end of what was said before as
    context. `minimum` is how many utterances it must have (seed 4: 5).
    """

    conversation: conversations.Conversation
    limits: ExtractionSettings
    minimum: int = 5
    id: str = "conversation"
    prompt: str = "extract.conversation"

    @property
    def schema(self) -> type[Extraction]:
        """Return the shape of the reply; only who asks a model needs it."""
        from pipeline.extraction.schema import ConversationExtraction

        return ConversationExtraction

    @property
    def source(self) -> str:
        """Return the key of the file that is read."""
        return self.conversation.source_file

    def next_span(self, ledger: Ledger, store: str, *, max_chars: int, now: datetime) -> Span | None:
        """Return the first window of the conversation that was not read yet."""
        key = self.conversation.source_file
        spoken = dialogue.dialogue_of_conversation(ledger, self.conversation.id)
        after = self._through(ledger, store, spoken)
        fresh = [utterance for utterance in spoken if utterance.row > after]
        if not fresh:
            return None
        fresh = newest(fresh, self.limits)
        new = windows(fresh, max_chars)[0]
        room = context_room(self.limits, new)
        return Span(
            key=key,
            new=new,
            # Also what was said before a silence: “4 seems right” is nothing without its menu.
            context=dialogue.context_before(ledger, key, row=new[0].row, max_chars=room),
            from_row=new[0].row,
            through_row=new[-1].row,
            skip=self._skip(spoken),
            conversation=self.conversation.id,
            last=len(new) == len(fresh),
            begins_row=spoken[0].row,
            ended_at=next((utterance.at for utterance in reversed(new) if utterance.at), None),
            # Without an end: a write stands behind the last words it answers.
            written=tuple(
                utterances.memory_writes(ledger, key, after_row=spoken[0].row - 1, through_row=_LAST_ROW)
            ),
            room=max_chars,
            context_room=room,
        )

    def _through(self, ledger: Ledger, store: str, spoken: Sequence[Utterance]) -> int:
        """Return the last row read of this very conversation, 0 for none.

        The file's watermark would not do: conversations are not always read in their order, and one that
        is read late must not count as read because a later one was.
        """
        read = runs.rows_read(ledger, self.conversation.source_file, store, self.id)
        own = (last for _, last in read if spoken and spoken[0].row <= last <= spoken[-1].row)
        return max(own, default=0)

    def skipped(self, ledger: Ledger) -> str:
        """Return why the conversation is not read, or an empty string when it is."""
        return self._skip(utterances.utterances_of_conversation(ledger, self.conversation.id))

    def _skip(self, spoken: Sequence[Utterance]) -> str:
        if sum(bool(utterance.text) for utterance in spoken) < self.minimum:
            return f"fewer than {self.minimum} messages"
        if not any(utterance.speaker == "person" for utterance in spoken):
            return "no person spoke"
        return ""
