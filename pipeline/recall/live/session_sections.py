"""The memory of a session: its sections."""

ASKED, STOOD, KEPT, WHERE = HEADINGS = (
    "## What the user asked, newest last",
    "## Where it stood",
    "## Kept as memories",
    "## Worked in",
)
"""The headings of a session's memory, as the worker writes it and the hook tells its sections."""
