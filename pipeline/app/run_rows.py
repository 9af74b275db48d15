"""One extraction run as values, for lists and for where a memory comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.ledger import runs


def run_row(run: runs.Run) -> dict[str, Any]:
    """Return one extraction run with what it did and what it dropped."""
    from pipeline.llm.cassette import in_words

    summary = run.summary
    return {
        "id": run.id,
        "kind": run.kind,
        "file": run.key,
        "store": run.store,
        "strategy": run.strategy,
        "outcome": run.outcome,
        "reason": summary.reason,
        "actions": [action.to_json() for action in summary.actions],
        "rejected": list(summary.rejected),
        "provider": run.provider,
        "model": run.model,
        "replies": in_words(run.provider or ""),
        "prompt_digest": run.prompt_digest,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }
