"""What `process --estimate` tells: what it would cost to read a conversation, from its length alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.extraction.shortening import size
from pipeline.ledger import Ledger, conversations, utterances
from pipeline.llm import budget

if TYPE_CHECKING:
    from pipeline.config import Settings

_OVERHEAD = (2_000, 0)
"""Tokens in and out of reading one window, both readers, that the dialogue has no part in."""
_LATER = (5_300, 900)
"""The same on top, where memories and earlier dialogue are shown: but in the first conversation."""
_PER_CHARACTER = (0.68, 0.42)
"""Tokens in and out for each character of the dialogue. All three are fitted to the recorded sessions."""
_CALLS = 2
"""Calls of a window: one to extract, one to read again."""
_MOST_OVERHEAD_CHARS = 40_000
"""Rules, schema, memories by name and what waits: no request has more of these."""


def most(settings: Settings, chars: int, windows: int) -> budget.Usage:
    """Return the most that reading dialogue of `chars` characters in `windows` can use, both readers."""
    limits = settings.extraction
    beside = _MOST_OVERHEAD_CHARS + limits.context_chars + limits.known_chars
    first = windows * budget.estimate_tokens("x" * beside) + budget.estimate_tokens("x" * chars)
    out = _CALLS * windows * settings.model.max_output_tokens
    # The second reader is shown no more than the first, and what that wrote.
    return budget.Usage(2 * first + windows * settings.model.max_output_tokens, out, estimated=True)


def estimate(
    ledger: Ledger, settings: Settings, item: conversations.Conversation, *, offline: bool
) -> dict[str, Any]:
    """Return what reading one conversation as a whole would cost, estimated from its characters.

    The second reader is counted in. Nothing when it goes by rules (`offline`). One that is too short to be
    read as a whole is read by its turns, which is about as much; ``note`` says so.
    """
    spoken = utterances.utterances_of_conversation(ledger, item.id)
    needed = sum(size(utterance) for utterance in spoken)
    windows = max(1, -(-needed // max(1, settings.extraction.window_chars)))
    shown = sum(len(utterance.text) for utterance in spoken)
    chars = min(max(shown, needed), windows * settings.extraction.window_chars)
    later = windows - (not conversations.has_earlier(ledger, item))
    tokens_in, tokens_out = (
        windows * base + later * more + round(chars * each)
        for base, more, each in zip(_OVERHEAD, _LATER, _PER_CHARACTER, strict=True)
    )
    usage = budget.Usage(input_tokens=tokens_in, output_tokens=tokens_out, estimated=True)
    bound = most(settings, chars, windows)
    is_short = len(spoken) < settings.extraction.min_conversation_messages
    return {
        "conversation": item.id,
        "file": item.source_file,
        "from": item.first_message_at,
        "messages": len(spoken),
        "note": "by rules" if offline else "short: read by its turns" if is_short else "",
        "calls": 0 if offline else _CALLS * windows,
        "tokens": 0 if offline else usage.total,
        "most": 0.0 if offline else round(budget.dollars(settings.model.model, bound), 4),
        "dollars": 0.0 if offline else round(budget.dollars(settings.model.model, usage), 4),
    }
