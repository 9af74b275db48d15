"""The memory of a session: its sections, and when it can stand in for a summary that a model would make.

Source: checklist L-13 (the session memory of seed 4).
"""

ASKED, STOOD, KEPT, WHERE = HEADINGS = (
    "## What the user asked, newest last",
    "## Where it stood",
    "## Kept as memories",
    "## Worked in",
)
"""The headings of a session's memory, as the worker writes it and the hook tells its sections."""
LEAST_TOKENS = 10_000
MOST_TOKENS = 40_000
LEAST_MESSAGES = 5


def summary_instead(tokens: int, text_messages: int) -> bool:
    """Whether a session's memory may be used as its summary, so that no model need be called.

    `tokens` is the size of the dialogue that would stay beside it, `text_messages` how many of its messages
    hold text. Under 10,000 tokens or 5 messages there is too little for it to say; over 40,000 tokens the
    dialogue needs a summary of its own.
    """
    return LEAST_TOKENS <= tokens <= MOST_TOKENS and text_messages >= LEAST_MESSAGES
