"""What `status` tells of a backlog that is being read in batches, from the ledger alone."""

from __future__ import annotations

from typing import Any

from pipeline.ledger import Ledger, batches


def batch_state(ledger: Ledger) -> dict[str, Any] | None:
    """Return how far the open order is, None without one."""
    found = batches.open_order(ledger)
    if found is None:
        return None
    so_far = batches.progress(ledger, found)
    return {
        "state": found.state,
        "read": so_far.read,
        "conversations": so_far.total,
        "batches": so_far.batches,
        "requests": so_far.requests,
        "since": so_far.since,
        "reserved_dollars": round(so_far.reserved_dollars, 4),
        "spent_dollars": round(so_far.spent_dollars, 4),
        "most_dollars": found.most_dollars,
        "waits": found.waits,
    }
