"""The events of Claude Code that Reverie's hooks listen to, and the variable that silences them."""

SESSION_START = "SessionStart"
PROMPT = "UserPromptSubmit"
ANSWERED = (SESSION_START, PROMPT)
"""The events to which Reverie may answer with what it remembers."""
EVENTS = ("Stop", "SessionEnd", "PreCompact", *ANSWERED)
"""All that Reverie listens to."""
SENTINEL = "REVERIE_INSIDE"
"""Set by the worker for the model processes it starts: their hooks do nothing, so nothing feeds itself."""
