"""How a run stands in the ledger: its begin and its end, and the spans that need no model.

Nothing here opens a store: most turns say nothing that could be kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import faults
from pipeline.core.clock import Clock
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.domain.action import RunSummary
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.strategies import Span, Strategy
from pipeline.ledger import Ledger, inbox, runs, watermarks
from pipeline.record import record

if TYPE_CHECKING:
    from pipeline.extraction.write import Proposal


@record
class Books:
    """The ledger as runs over the store that it calls `store` are kept in it."""

    ledger: Ledger
    store: str
    clock: Clock

    def start(self, strategy: Strategy, span: Span) -> str:
        """Note that a run over `span` begins; return its id."""
        run_id = new_id()
        runs.start_run(
            self.ledger,
            id=run_id,
            kind="extract",
            key=span.key,
            store=self.store,
            strategy=strategy.id,
            from_row=span.from_row,
            through_row=span.through_row,
            now=self.clock.now(),
        )
        return run_id

    def finish(
        self, strategy: Strategy, span: Span, outcome: Outcome, proposals: Sequence[Proposal] = ()
    ) -> Outcome:
        """Note in one transaction how a run ended, that `span` is read, and what goes to the inbox."""
        now = self.clock.now()
        with self.ledger.transaction():
            for item in proposals:
                user_store = Home(Path(self.ledger.path).parent).user_store
                inbox.add_inbox(
                    self.ledger,
                    str(user_store) if item.everywhere else self.store,
                    kind=item.kind,
                    payload_json=json.dumps({"name": item.name, **item.payload}, ensure_ascii=False),
                    reason=item.reason,
                    run_id=outcome.run_id,
                    now=now,
                )
            self.end(outcome)
            self._advance(strategy, span)
        faults.reach("extract.after_cursor")
        return outcome

    def end(self, outcome: Outcome) -> None:
        """Note how a run ended; its span stays unread."""
        summary = RunSummary(outcome.reason, outcome.actions, outcome.rejected)
        runs.finish_run(
            self.ledger, outcome.run_id, outcome=outcome.word, summary=summary, now=self.clock.now()
        )

    def pass_over(self, strategy: Strategy, span: Span, word: str, reason: str) -> Outcome:
        """Move past `span`, leaving a run that ended as `word`."""
        return self.finish(strategy, span, Outcome(self.start(strategy, span), word, reason))

    def skip_ahead(self, strategy: Strategy, *, max_chars: int) -> tuple[list[Outcome], bool]:
        """Move past the next spans of `strategy` that need no model; return whether one is left for a model.

        A run that was interrupted is one that is.
        """
        skipped: list[Outcome] = []
        if runs.pending_run(self.ledger, strategy.source, self.store, strategy.id) is not None:
            return skipped, True
        while span := strategy.next_span(self.ledger, self.store, max_chars=max_chars, now=self.clock.now()):
            if not span.skip:
                return skipped, True
            skipped.append(self.pass_over(strategy, span, "skipped", span.skip))
        return skipped, False

    def _advance(self, strategy: Strategy, span: Span) -> None:
        watermarks.set_watermark(self.ledger, span.key, self.store, strategy.id, span.through_row)
        if strategy.id == "conversation" and not span.skip:
            # What was read as a whole is not read again turn by turn.
            watermarks.set_watermark(self.ledger, span.key, self.store, "turn", span.through_row)
