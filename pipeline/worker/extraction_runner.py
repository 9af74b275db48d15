"""Reading one source file into its store: what the worker's jobs and the commands have in common.

A store is opened only for what a model has to read, and where something changed in it since the last look
(`last_look`). That, and each run that wrote, leaves a ``reindex`` job in the ledger, which `DerivedFiles`
does. A crash between a memory and that job leaves the job of the run, whose next try looks again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.context import PhaseContext
from pipeline.core.errors import BusyStoreError, InBatchError, LeaseLostError, LedgerError, ModelError
from pipeline.domain.job import Job, JobKind
from pipeline.extraction.bookkeeping import Books
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.run import extract, give_up
from pipeline.extraction.strategies import ConversationStrategy, Strategy, TurnStrategy
from pipeline.intake.left_alone import why_left_alone
from pipeline.ledger import (
    batches,
    carry_over,
    conversation_states,
    conversations,
    jobs,
    runs,
    utterances,
    watermarks,
)
from pipeline.ledger.conversations import Conversation
from pipeline.worker.context import WorkerContext, log_fields
from pipeline.worker.last_look import FILES, INDEX
from pipeline.worker.moved import take_over
from pipeline.worker.retry import UNREADABLE
from pipeline.worker.session_store import claim, store_for

if TYPE_CHECKING:
    from pipeline.store import Store

LOG = logging.getLogger("reverie.worker")
TO_READ = ("ready", "queued", "processing")
KINDS: tuple[JobKind, ...] = ("extract_turn", "extract_conversation")


class Reading:
    """Where the file with `key` is read: the name of its store, and the store itself once that is needed."""

    def __init__(self, context: WorkerContext, key: str, store_path: Path) -> None:
        self._context = context
        self._key = key
        self.store_path = store_path
        self.store_key = str(store_path)

    @cached_property
    def phase(self) -> PhaseContext:
        """What reading the file works with.

        Raises BusyStoreError while Claude Code consolidates the store, StoreError when it can't be used or
        is another project's.
        """
        from pipeline.store import foreign_dream_running

        context = self._context
        if foreign_dream_running(self.store_path, context.clock.now()):
            raise BusyStoreError(file=self.store_key, fix="It ends by itself; the work waits.")
        store = context.opened_store(self.store_path)
        if context.store_override is None:
            claim(context.ledger, self._key, store)
        _carry_over(context, store)
        return context.phase(store)

    @property
    def books(self) -> Books:
        """The ledger as the runs over this store are kept in it."""
        return Books(self._context.ledger, self.store_key, self._context.clock)

    def look(self) -> None:
        """See to it that what changed in the store since the last look is known, and owed to what is derived.

        Raises as `phase` does.
        """
        context = self._context
        if self.store_path in context.visited:
            return
        if not context.last_look.is_in_step(self.store_path, FILES, INDEX):
            from pipeline.intake.authors import note_authors

            store = self.phase.store
            context.owe(self.store_path)
            note_authors(context.ledger, store, now=context.clock.now())
        context.visited.add(self.store_path)


class ExtractionRunner:
    """Reads the dialogue of source files, each known by its `key` in the ledger. Errors are the caller's."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._ledger = context.ledger
        self._limits = context.settings.extraction

    # -- for the commands -------------------------------------------------------------------------

    def read_file(self, key: str) -> list[Outcome]:
        """Extract everything of one file that has not been read, now.

        A conversation nobody has read is read as a whole; one that was read in part goes on by turns, so
        that only what is new reaches the model. What turns have passed by for good, the old part of a
        history at its first sight, is read as a whole as well.
        """
        conversations.mark_ready(
            self._ledger, now=self._context.clock.now(), gap_minutes=self._limits.conversation_gap_minutes
        )
        reading = self._reading(key)
        outcomes: list[Outcome] = []
        for item in conversations.list_conversations(self._ledger, key=key):
            rows = [u.row for u in utterances.utterances_of_conversation(self._ledger, item.id)]
            past = watermarks.watermark(self._ledger, key, reading.store_key, "turn")
            spans_read = runs.rows_read(self._ledger, key, reading.store_key, "turn", "conversation")
            unread = [row for row in rows if not any(first <= row <= last for first, last in spans_read)]
            if not unread:
                self.settle(item, self.whole(item))
                continue
            if unread[0] <= past:
                outcomes.extend(self._conversation(reading, self.whole(item, minimum=1), None))
            elif unread == rows and len(rows) >= self._limits.min_conversation_messages:
                outcomes.extend(self._conversation(reading, self.whole(item), None))
            else:
                turns = TurnStrategy(key, self._limits, first_sight=False, until_row=rows[-1])
                outcomes.extend(self._spans(reading, turns, None))
                self.settle(item, self.whole(item))
        conversation_states.end_reviews(self._ledger, now=self._context.clock.now())
        return outcomes

    def read_given_up(self, key: str) -> list[Outcome]:
        """Read the stretches of one file that were passed over as unreadable and not read since.

        One that still can't be read stays passed over. Raises what asking a model raises besides.
        """
        reading = self._reading(key)
        again = tuple(runs.given_up(self._ledger, key=key, store=reading.store_key))
        if not again:
            return []
        strategy = TurnStrategy(key, self._limits, first_sight=False, again=again)
        try:
            outcomes = self._spans(reading, strategy, None)
        except UNREADABLE as error:
            return [Outcome("", runs.GIVEN_UP, f"{error.outcome}: {error}")]
        runs.note_read_later(self._ledger, (run.id for run in again))
        conversation_states.end_reviews(self._ledger, now=self._context.clock.now())
        return outcomes

    def read_spans(self, key: str, strategy: Strategy) -> list[Outcome]:
        """Do every span `strategy` finds in the file `key`, now."""
        return self._spans(self._reading(key), strategy, None)

    def read_conversations(self, key: str) -> list[Outcome]:
        """Read every conversation of the file `key` as a whole, also what was read turn by turn."""
        reading = self._reading(key)
        found = conversations.list_conversations(self._ledger, key=key)
        return [outcome for item in found for outcome in self._conversation(reading, self.whole(item), None)]

    # -- for the jobs -----------------------------------------------------------------------------

    def run(self, job: Job) -> list[Outcome]:
        """Do a claimed job of one of `KINDS`; settling it is the caller's."""
        strategy, key = self._strategy(job), self.source_of(job)
        why = why_left_alone(self._ledger, key, self._context.settings)
        if why:
            LOG.info("left alone: %s", why, extra=log_fields(job, source=key))
            return []
        reading = self._reading(key)
        if isinstance(strategy, TurnStrategy) and self._soon_read_whole(job.key, reading.store_key):
            return []
        if isinstance(strategy, ConversationStrategy):
            if strategy.conversation.status == "skipped":
                # A person passed it over while it waited.
                return []
            return self._conversation(reading, strategy, job)
        return self._spans(reading, strategy, job)

    def give_up(self, job: Job, error: ModelError) -> Outcome | None:
        """Pass over the dialogue of a claimed job, which no model takes; None when nothing is unread."""
        phase = self.phase(self.source_of(job))
        return give_up(phase, self._strategy(job), f"{error.outcome}: {error}")

    def source_of(self, job: Job) -> str:
        """Return the key of the source file that a job reads."""
        return self._found(job).source_file if job.kind == "extract_conversation" else job.key

    def phase(self, key: str) -> PhaseContext:
        """Return what reading the file `key` works with; what changed in its store is looked at first.

        Raises BusyStoreError while Claude Code consolidates the store, StoreError when it can't be used or
        is another project's.
        """
        return self._reading(key).phase

    def _reading(self, key: str) -> Reading:
        if batches.holds(self._ledger, key):
            raise InBatchError(
                f"{key} is being read in a batch",
                fix="It ends by itself; `reverie process --batch` tells how far it is.",
            )
        return self.reading_in_batch(key)

    def reading_in_batch(self, key: str) -> Reading:
        """Return where the file `key` is read, whoever reads it now. Raises as `phase` does."""
        context = self._context
        cwd = None if context.store_override else utterances.first_cwd(self._ledger, key)
        if cwd:
            take_over(self._ledger, Path(cwd))
        reading = Reading(context, key, context.store_override or store_for(self._ledger, key))
        reading.look()
        return reading

    def _spans(self, reading: Reading, strategy: Strategy, job: Job | None) -> list[Outcome]:
        outcomes, is_left = reading.books.skip_ahead(strategy, max_chars=self._limits.window_chars)
        for outcome in outcomes:
            self._note(outcome, strategy, job)
        window = 0
        while is_left and (done := extract(reading.phase, strategy, window=window)):
            outcomes.append(done)
            window = done.window
            if done.wrote:
                self._context.owe(reading.store_path)
            self._note(done, strategy, job)
        return outcomes

    def _note(self, outcome: Outcome, strategy: Strategy, job: Job | None) -> None:
        if job is not None:
            LOG.info(
                "extraction: %s %s",
                outcome.word,
                outcome.reason,
                extra=log_fields(job, source=strategy.source, run=outcome.run_id),
            )
            self._context.keep_alive(job)

    def _conversation(
        self, reading: Reading, strategy: ConversationStrategy, job: Job | None
    ) -> list[Outcome]:
        item, is_read = strategy.conversation, False
        if item.status in TO_READ:
            self._take_up(item)
        try:
            outcomes = self._spans(reading, strategy, job)
            is_read = True
        except LeaseLostError:
            is_read = True  # by the worker that has the job now
            raise
        finally:
            if not is_read and item.status in TO_READ:
                with suppress(LedgerError):
                    self._move(item, "queued" if job else "ready")
        self.settle(item, strategy)
        return outcomes

    def _take_up(self, item: Conversation) -> None:
        """Bring a conversation that is to be read to ``processing``, by the states between."""
        for status in ("queued", "processing")[TO_READ.index(item.status) :]:
            self._move(item, status)

    def settle(self, item: Conversation, strategy: ConversationStrategy) -> None:
        """Bring a conversation whose words were all read, as a whole or by turns, to its last state."""
        if item.status not in TO_READ:
            return
        # Asked anew rather than taken from the outcomes: a crash may have come after the last of them.
        reason = strategy.skipped(self._ledger)
        if reason:
            self._move(item, "skipped", reason)
            return
        current = conversations.conversation(self._ledger, item.id)
        if current is not None and current.status in TO_READ:
            self._take_up(current)
        reason = conversation_states.why_review(self._ledger, item)
        self._move(item, "review" if reason else "archived", reason)

    def _move(self, item: Conversation, status: str, reason: str | None = None) -> None:
        now = self._context.clock.now()
        why = item.reason if reason is None else reason
        conversations.set_status(self._ledger, item.id, status, reason=why, now=now)

    def whole(self, item: Conversation, *, minimum: int | None = None) -> ConversationStrategy:
        """Return the way to read a conversation as a whole, of `minimum` messages or as many as are set."""
        least = self._limits.min_conversation_messages if minimum is None else minimum
        return ConversationStrategy(item, self._limits, minimum=least)

    def _strategy(self, job: Job) -> Strategy:
        if job.kind == "extract_conversation":
            found = self._found(job)
            return self.whole(found, minimum=1 if found.reason == conversation_states.ASKED else None)
        return TurnStrategy(job.key, self._limits)

    def _found(self, job: Job) -> Conversation:
        found = conversations.conversation(self._ledger, int(job.key))
        if found is None:
            raise LedgerError(f"conversation {job.key} is not in the ledger any more")
        return found

    def _soon_read_whole(self, key: str, store_key: str) -> bool:
        """Whether all that is unread belongs to conversations already queued to be read as a whole."""
        after = watermarks.watermark(self._ledger, key, store_key, "turn")
        unread = {u.row for u in utterances.utterances(self._ledger, key, after_row=after)}
        for item in conversations.list_conversations(self._ledger, key=key):
            waits = item.status in ("ready", "queued") and jobs.is_waiting(
                self._ledger, "extract_conversation", str(item.id)
            )
            # One too short to be read as a whole is read by turns, or what was said in it would be lost.
            if waits and not self.whole(item).skipped(self._ledger):
                unread -= {u.row for u in utterances.utterances_of_conversation(self._ledger, item.id)}
        return not unread


def _carry_over(context: WorkerContext, store: Store) -> None:
    """Write beside the memories what an earlier version kept of forgotten ones in the ledger: names."""
    key = str(store.path)
    names = carry_over.forgotten_names(context.ledger, key)
    if not names or not store.root.is_dir():
        return
    for name, at, reason in names:
        store.note_forgotten((), name=name, reason=reason, now=datetime.fromtimestamp(at, UTC))
    # Last: if we die between the two, they are written once more, which changes nothing.
    carry_over.drop_forgotten_names(context.ledger, key)
