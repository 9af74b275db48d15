"""The extraction phase: one span of dialogue becomes memories, exactly once, whatever dies in between.

    1 span     what has not been read            (ledger)
    2 ask      render, prompt, model             (llm)
    3 commit   the reply, before anything else   (ledger)
    4 screen   what holds against the dialogue   (code)
    5 verify   a second reader, its reply kept   (llm, ledger)
    6 plan     create, update, retire, propose   (code)
    7 apply    one change set                    (revision)
    8 finish   run, watermark and inbox together (ledger)

A crash after 3 resumes from the committed replies; the change set's id is the run's, so applying it again
does nothing. A crash before 3 asks again, since nobody can know what the lost reply said; one in 5 asks the
second reader alone again, and so does a call of its that failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.context import PhaseContext
from pipeline.core import faults
from pipeline.core.errors import ModelError, SpendError, TooLongError, TruncatedError
from pipeline.extraction.bookkeeping import Books
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.shortening import size
from pipeline.extraction.strategies import Span, Strategy
from pipeline.ledger import runs

if TYPE_CHECKING:
    from pipeline.extraction.reading import Read

LEAST_TOO_LONG = 2_000
"""An utterance shorter than this is never itself what is too long for a model, in characters."""
_NO_FIT = (TooLongError, TruncatedError)


def extract(phase: PhaseContext, strategy: Strategy, *, window: int = 0) -> Outcome | None:
    """Do the next span of `strategy`, or finish one that was interrupted; None when nothing is left.

    A span the model can't take is halved until it can; `window` (0: as set) starts with fewer characters,
    and a single long utterance that is still too much is passed over. Raises ModelError, SpendError or
    StoreError with nothing changed, so that the caller can try again later.
    """
    interrupted = runs.pending_run(phase.ledger, strategy.source, phase.store_key, strategy.id)
    if interrupted is not None:
        from pipeline.extraction import reading  # What was said is mostly not worth all that.

        return finished(phase, strategy, reading.resumed(phase, strategy, interrupted))
    window = window or phase.settings.extraction.window_chars
    while True:
        span = strategy.next_span(phase.ledger, phase.store_key, max_chars=window, now=phase.clock.now())
        if span is None:
            return None
        try:
            outcome = _fresh(phase, strategy, span)
        except _NO_FIT as error:
            used = sum(size(utterance) for utterance in span.new)
            # Half of what was used: a window that was not full would give the same span again.
            if len(span.new) > 1:
                window = min(used, window) // 2
                continue
            if used < LEAST_TOO_LONG:
                raise
            reason = f"{error.outcome}: {error}"
            outcome = books_of(phase).pass_over(strategy, span, runs.GIVEN_UP, reason)
        return replace(outcome, window=window)


def books_of(phase: PhaseContext) -> Books:
    """Return the ledger as the runs of `phase` are kept in it."""
    return Books(phase.ledger, phase.store_key, phase.clock)


def _fresh(phase: PhaseContext, strategy: Strategy, span: Span) -> Outcome:
    books = books_of(phase)
    if span.skip:
        return books.pass_over(strategy, span, "skipped", span.skip)
    from pipeline.extraction import reading
    from pipeline.store import require_writable

    if not phase.proposes_only:
        # Before the model is paid for memories that could not be written (bug 52).
        require_writable(phase.store.root)
    run_id = books.start(strategy, span)
    faults.reach("extract.before_call")
    try:
        answer, checkpoint = reading.ask(phase, strategy, span, run_id)
    except (ModelError, SpendError) as error:
        word = error.outcome if isinstance(error, ModelError) else "spend"
        books.end(Outcome(run_id, f"failed:{word}", str(error)))
        raise
    faults.reach("extract.after_reply_commit")
    return finished(phase, strategy, reading.bring_in(phase, span, answer, checkpoint))


def finished(phase: PhaseContext, strategy: Strategy, read: Read) -> Outcome:
    """Note how a run ended whose span was read, and return that."""
    return books_of(phase).finish(strategy, read.span, read.outcome, read.proposals)


def give_up(phase: PhaseContext, strategy: Strategy, reason: str) -> Outcome | None:
    """Move past a span no model can read, leaving a run ``failed:unextractable`` to be seen.

    Its rows stay in the ledger, so nothing is lost: `reverie work --retry` and `reverie process` read exactly
    that span again.
    """
    window = phase.settings.extraction.window_chars
    span = strategy.next_span(phase.ledger, phase.store_key, max_chars=window, now=phase.clock.now())
    return None if span is None else books_of(phase).pass_over(strategy, span, runs.GIVEN_UP, reason)
